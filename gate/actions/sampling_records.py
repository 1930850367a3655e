"""The record of what servers ask a model while their tools run for somebody."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from gate.actions.file_checks import found_gated
from gate.actions.review_log import withholds_words
from gate.rules.action import Action, Session
from gate.rules.audit import Entry
from gate.rules.gated_files import TooManyFiles
from gate.rules.ports import Unavailable, World
from gate.rules.previews import measured
from gate.rules.sampling import RECORD, NotSampled, Sampled, SamplingRecord, recorded_by

EVENT = "sampled"
KEPT_PROMPT, KEPT_ANSWER = 4000, 1000  # characters in the log
UNCHECKED_SOURCE = (
    "it names more files, or odder names, than can be checked for those that are not read at once"
)
UNCONFIRMED = "what is read here is kept from models until somebody has confirmed it"
GATED_SOURCE = "it would be given what is in {path}, which the rule “{rule}” keeps from being read at once"


@dataclass(frozen=True, slots=True)
class SamplingSubject:
    """What the calls are made for. `action`: its id, which it has before it is written down. `withheld`: neither prompt
    nor answer are kept, only their digest and counts."""

    session: Session
    action: str
    requester: str
    withheld: bool = False


async def sampling_subject(world: World, action: Action) -> SamplingSubject:
    """An action that is there."""
    withheld = await withholds_words(world, action)
    return SamplingSubject(action.session, action.id, action.requester, withheld)


@contextmanager
def sampling_for(world: World, made_for: SamplingSubject) -> Iterator[None]:
    """Within it, servers may sample. Each request is an audit entry in a transaction of its own, before the server is
    given the answer: a crash later in the call cannot lose it, and without the entry there is no answer."""

    async def record(one: Sampled) -> None:
        try:
            async with world.ledger.begin() as tx:
                tx.audit(sampling_entry(made_for, one))
        except Unavailable as error:
            raise NotSampled("it could not be put on record") from error

    async def refusal(server: str, tool: str, files: Sequence[str]) -> str:
        return await _gated_source(world, (server, tool), files, made_for.session.channel)

    with recorded_by(SamplingRecord(record, refusal)):
        yield


@contextmanager
def not_sampling() -> Iterator[None]:
    """Within it, no model is given what called tools ask it, nor is that kept: it may quote what nobody has confirmed
    yet that it is read, or what others look at first."""
    record = RECORD.get()
    if record is None:
        yield
        return
    write = record.write

    async def refusal(*_: object) -> str:
        return UNCONFIRMED

    with recorded_by(SamplingRecord(lambda one: write(replace(one, withheld=True)), refusal)):
        yield


async def _gated_source(world: World, tool: tuple[str, str], files: Sequence[str], channel: str) -> str:
    """Why a model is not given what is in these files, or "" where it may be."""
    spec = world.tools.find(*tool)
    if spec is None or not files:
        return ""
    try:
        found = await found_gated(world, spec, {}, files, channel)
    except TooManyFiles:
        return UNCHECKED_SOURCE
    return GATED_SOURCE.format(path=found[0][0], rule=found[0][1].name) if found else ""


def sampling_entry(made_for: SamplingSubject, one: Sampled) -> Entry:
    """The audit entry of a request."""
    tokens_in, tokens_out = one.tokens
    withheld = made_for.withheld or one.withheld
    refused = measured(one.refused) if withheld and one.refused else one.refused  # may name a file
    told = {"prompt": one.prompt[:KEPT_PROMPT]} if not withheld else {}
    counts = f"{tokens_in} tokens in, {tokens_out} out"
    return Entry(
        event=EVENT,
        session=made_for.session.key,
        actor="system",
        action=made_for.action,
        tool=f"{one.server}.{one.tool}",
        arguments=json.dumps({"sha256": one.digest, **told}),
        result="" if withheld else one.answer[:KEPT_ANSWER],
        status="error" if one.refused else "success",
        outcome="refused" if one.refused else "answered",
        reason=refused or ("the answer of an equal request" if one.again else counts),
        requester=made_for.requester,
    )
