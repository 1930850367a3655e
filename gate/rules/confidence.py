"""Confidence: how sure we may be that a step did what it should, from 0 to 1, by the weights of GATE-14."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gate.rules.action import Json, Proposal
from gate.rules.canonical_json import BadArguments, parse

CHECKS, JUDGED, RETRIES, HARMLESS, CALL = 0.3, 0.3, 0.2, 0.1, 0.1  # weights, normalised over what applies
HIGH, MEDIUM, LOW = 0.8, 0.5, 0.2  # where the bands begin
BELOW_HIGH, BELOW_MEDIUM, BELOW_LOW = 0.79, 0.49, 0.19  # caps
MAX_RETRIES = 3  # after that many, a retry counts for nothing more
QUOTED = 200  # characters of an admission that are kept
NOT_TOLD = "how is not told here"  # in place of an admission that not everybody may read
# “Error log archived” and “Failed logins were exported” are no admissions: after such a word the sentence has to go on
# as one of a failure.
ADMISSION = re.compile(
    r"""\s*(?:(?:http\ )?[45]\d\d\ )?(?:
    (?:errors?|failed|failure|fatal|exception|err|fehler)\b(?=\W*$|\ *[:.!,;(\[–—\n-]|\ \d|\ (?:to|in|at|on|with|while|
        when|because|due|from|code|error|occurred|during|reading|writing|opening|creating|deleting|moving|copying|saving|
        sending|parsing|connecting|executing|running|fetching|loading|updating|calling|processing)\b)|
    traceback\b|unable\ to\b|not\ (?:possible|permitted|allowed|authori[sz]ed)\b|
    (?:unauthori[sz]ed|forbidden)\b(?=\W*$|\ *[:.!,;])|
    (?:permission|access)\ (?:was\ )?denied\b|zugriff\ verweigert\b|
    nothing\ (?:was|has\ been)\ (?:written|changed|created|deleted|moved|copied|sent|saved|updated|added|removed)\b|
    (?:sorry,\ )?(?:i\ )?(?:could\ not|couldn't|cannot|can't|was\ not\ able\ to|were\ not\ able\ to)\b)""",
    re.I | re.X,
)
# How programs end a line that says why they stopped.
ENDING = re.compile(
    r":\ *(?:permission denied|operation not permitted|access denied|no such file or directory|command not found|"
    r"read-only file system|no space left on device|connection (?:refused|reset by peer|timed out))\W*$",
    re.I,
)
WRAPPED = "result"  # the one field in which the MCP SDK wraps a result that is no object
LONGEST_LINE = 2_000  # characters in which a text says that it failed
LONGEST_JSON = 20_000  # characters of a text that is read as JSON
REFUSED = frozenset({"error", "failed", "failure", "fatal"})


@dataclass(frozen=True, slots=True)
class Check:
    """One deterministic check of a result (verification tier 1): what was looked at, and what was wrong."""

    name: str  # completes "it failed because …": "its result keeps the tool's schema"
    passed: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a rule or a model makes of a result (verification tier 2). `admits`: it says that the step failed."""

    confidence: float
    reason: str = ""
    admits: bool = False
    by: str = ""  # who judged, in words: "the model"


PASSED = 0.9  # a model's word is no proof: it never makes a score whole
DOUBTFUL, FAILED = 0.4, 0.1


def verdict(judged: Judgement | None) -> str:
    """How it was judged and by whom: `judged doubtful by the model`; "" where nobody has. Without the reason, which
    may quote the result."""
    if judged is None:
        return ""
    kind = "failed" if judged.admits else "good" if _within(judged.confidence) >= MEDIUM else "doubtful"
    return f"judged {kind}{f' by {judged.by}' if judged.by else ''}"


def judgement(verdict: str, reason: str, by: str, passed: float = PASSED) -> Judgement | None:
    """A verdict in words ("passed", "doubtful", "failed") as the scorer takes it; None for any other word."""
    value = {"passed": passed, "doubtful": DOUBTFUL, "failed": FAILED}.get(verdict)
    return None if value is None else Judgement(value, reason, verdict == "failed", by)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known of a step that is over. Without a check or a judgement, that tier does not apply."""

    checks: tuple[Check, ...] = ()
    judgement: Judgement | None = None
    retries: int = 0
    destructive: bool = False
    succeeded: bool = True  # its call
    known: bool = False  # such a step has gone well before
    admitted: str = ""  # the words in which the result says that it failed


def without_quotes(seen: Evidence) -> Evidence:
    """The same evidence without any words that may quote what the step was given or gave."""
    return replace(
        seen,
        checks=tuple(replace(check, detail="") for check in seen.checks),
        judgement=replace(seen.judgement, reason="") if seen.judgement else None,
        admitted=NOT_TOLD if seen.admitted else "",
    )


@dataclass(frozen=True, slots=True)
class Confidence:
    """The score, and in words what kept it from being higher."""

    score: float
    reasons: tuple[str, ...] = ()
    judged: str = ""  # who has judged it good, and why; a judgement that speaks against it is a reason

    @property
    def text(self) -> str:
        """`0.79, because there is no earlier step of this kind`."""
        because = f", because {'; '.join(self.reasons)}" if self.reasons else ""
        return f"{self.score:.2f}{because}{f'; {self.judged}' if self.judged else ''}"

    @property
    def sentence(self) -> str:
        """The same for people, without the number: `There is no earlier step of this kind.`"""
        told = "; ".join(filter(None, [*self.reasons, self.judged]))
        return f"{told[:1].upper()}{told[1:]}." if told else ""


def score(seen: Evidence) -> Confidence:
    """The weighted mean of what applies, held down by what no good mean may hide."""
    parts = list(_parts(seen))
    mean = sum(weight * value for weight, value in parts) / sum(weight for weight, _ in parts)
    caps = list(_caps(seen))
    # Rounded, so that 0.8 made of tenths is 0.8.
    held = min([round(mean, 4), *(cap for cap, _ in caps)])
    return Confidence(
        held, tuple([*(reason for _, reason in caps), *_shortfalls(seen)]), _good(seen.judgement)
    )


def _good(judged: Judgement | None) -> str:
    if judged is None or not judged.by or judged.admits or not _within(judged.confidence) >= MEDIUM:
        return ""
    return f"its result was judged good by {judged.by}{f': {judged.reason}' if judged.reason else ''}"


def _parts(seen: Evidence) -> Iterator[tuple[float, float]]:
    """Weight and value, from 0 to 1, of each part that applies."""
    if seen.checks:
        yield CHECKS, sum(check.passed for check in seen.checks) / len(seen.checks)
    if seen.judgement:
        yield JUDGED, _within(seen.judgement.confidence)
    yield RETRIES, 1 - _within(seen.retries / MAX_RETRIES)
    yield HARMLESS, 0.0 if seen.destructive else 1.0
    yield CALL, 1.0 if seen.succeeded else 0.0


def _within(value: float) -> float:
    """From 0 to 1; what is no number counts for nothing."""
    return 0.0 if math.isnan(value) else min(max(value, 0.0), 1.0)


def _caps(seen: Evidence) -> Iterator[tuple[float, str]]:
    """Each cap that holds, with its reason. A mean alone would let a failed check pass as 0.79."""
    failed = [check for check in seen.checks if not check.passed]
    judged = seen.judgement
    by = f" by {judged.by}" if judged and judged.by else ""
    because = f": {judged.reason}" if judged and judged.reason else ""
    if seen.admitted:
        yield BELOW_LOW, f"its result says that it failed: “{seen.admitted}”"
    elif judged and judged.admits:
        yield BELOW_LOW, f"the judgement of its result{by} says that it failed{because}"
    if failed and seen.retries >= MAX_RETRIES:
        yield BELOW_LOW, "it was tried again and again"
    for check in failed:
        yield BELOW_MEDIUM, f"it is not so that {check.name}{f' ({check.detail})' if check.detail else ''}"
    if judged and not judged.admits and not _within(judged.confidence) >= MEDIUM:
        yield BELOW_MEDIUM, f"its result was judged doubtful{by}{because}"
    if seen.destructive:
        yield BELOW_MEDIUM, "it destroyed something"
    if not seen.known:
        yield BELOW_HIGH, "no step of this kind is known to have gone well before"


def _shortfalls(seen: Evidence) -> Iterator[str]:
    """What took something off the mean, besides the caps."""
    if seen.retries:
        yield f"it took {seen.retries} more {'try' if seen.retries == 1 else 'tries'}"
    if not seen.succeeded:
        yield "its call failed"


def contradicts_result(seen: Evidence) -> bool:
    """Whether something speaks against the result itself, besides that it is new or destroys something."""
    return bool(seen.admitted) or any(cap <= BELOW_MEDIUM for cap, _ in _caps(_kindly(seen)))


def _kindly(seen: Evidence) -> Evidence:
    return Evidence(checks=seen.checks, judgement=seen.judgement, retries=seen.retries, known=True)


def admitted_failure(text: str, structured: Json) -> str:
    """The words in which a result that came as a success says that nothing came of it; "" when it does not."""
    if isinstance(structured, Mapping) and set(structured) == {WRAPPED}:
        structured = structured[WRAPPED]
        text = structured if isinstance(structured, str) else text
    told = structured if isinstance(structured, Mapping) else _object_in(text)
    if told is not None:  # of an object, the text is most often the same in JSON: its fields have spoken
        return _field(told)[:QUOTED]
    line = text[:LONGEST_LINE].strip().partition("\n")[0]
    return line[:QUOTED] if ADMISSION.match(line) or ENDING.search(line) else ""


def _object_in(text: str) -> Mapping[str, Json] | None:
    """The JSON object that the text is; None where it is none."""
    if len(text) > LONGEST_JSON or not text.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, Mapping) else None


def _field(result: Mapping[str, Json]) -> str:
    """The first field that says so: `ok: false`, `error: "no room"`, `status: "failed"`."""
    for name, value in result.items():
        key = str(name).lower().replace("_", "")
        if key in ("ok", "success", "succeeded") and value is False:
            return f"{name}: false"
        if key in ("error", "errors", "iserror", "errormessage") and value:
            return f"{name}: {value}"
        if key == "status" and isinstance(value, str) and value.lower() in REFUSED:
            return f"{name}: {value}"
    return ""


def is_of_its_kind(earlier: Proposal, now: Proposal) -> bool:
    """Whether how another call of the same tool went says something of this one: it is of the same class, and gives
    arguments of the same names."""
    try:
        same = parse(earlier.args).keys() == parse(now.args).keys()
    except BadArguments:  # what was private is no longer kept
        return False
    return same and earlier.decision.cls is now.decision.cls
