"""From a line of the log to what is shown of it: secrets masked, long texts cut."""

from __future__ import annotations

from collections.abc import Iterable

from servers.audit.log import Line
from servers.audit.models import Counted, Entry
from servers.security.patterns import SECRETS, hits

LONGEST = 500  # characters of arguments and of a result


def entry(line: Line) -> Entry:
    return Entry(
        seq=line.seq,
        at=line.timestamp,
        session=line.session_id,
        event=line.event,
        actor=line.actor,
        tool=line.tool_name,
        arguments=masked(line.arguments),
        result=masked(line.result),
        status=line.result_status,
        outcome=line.outcome,
        user_confirmed=line.user_confirmed,
        execution_ms=line.execution_time_ms,
        reason=masked(line.reason),
        action=line.action_id,
        version=line.version,
    )


def masked(text: str) -> str:
    """The beginning of a text, without what looks like a password or a key."""
    found = sorted(hits(text[: 4 * LONGEST], SECRETS, lambda: True))
    for hit in reversed(found):
        text = text[: hit.start] + hit.shown + text[hit.end :]
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


def counted(lines: Iterable[Line]) -> list[Counted]:
    """How often each tool was called and what became of it, by name."""
    sums: dict[str, Counted] = {}
    for line in lines:
        if line.tool_name and line.result_status:
            _add(sums.setdefault(line.tool_name, _none(line.tool_name)), line)
    return [sums[name] for name in sorted(sums)]


def _none(tool: str) -> Counted:
    return Counted(tool=tool, calls=0, success=0, error=0, rejected=0, confirmed=0, milliseconds=0)


def _add(sum_: Counted, line: Line) -> None:
    sum_.calls += 1
    sum_.success += line.result_status == "success"
    sum_.error += line.result_status == "error"
    sum_.rejected += line.result_status == "rejected_by_user"
    sum_.confirmed += bool(line.user_confirmed)
    sum_.milliseconds += line.execution_time_ms or 0
