"""Prepare: from a proposed call to a pending action, a refusal, or, for a read, its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from gate.actions.action_versions import (
    lease_record,
    logged_result,
    make_proposal,
    record_maker,
    record_proposed,
    request_card,
    token_behind,
    update_cards,
    with_receipt,
)
from gate.actions.claim_click import drop_lease
from gate.actions.gated_results import MadeCall, without_gated_files
from gate.actions.grant_consent import approve_by_grant, with_grant_refusal
from gate.actions.loop_time import counted
from gate.actions.preview import NOT_QUOTED, PreviewResult, decision_in_turn, make_preview, policy_decision
from gate.actions.review_log import announce_action_review, announce_review
from gate.actions.sampling_records import SamplingSubject, sampling_for
from gate.actions.server_questions import QuestionSubject, answered_in_thread
from gate.arguments.canonical_paths import with_canonical_paths
from gate.rules.action import (
    OWN_CARD,
    Action,
    CallClass,
    Decision,
    Execution,
    Json,
    Origin,
    Outcome,
    ResultReview,
    Session,
    Source,
    Verdict,
    milliseconds,
)
from gate.rules.action_states import State
from gate.rules.audit import READ_ALONE, Entry
from gate.rules.canonical_json import BadArguments, canonical
from gate.rules.close_names import close_matches
from gate.rules.grants import returns_outside_content
from gate.rules.permissions import Ruling, account
from gate.rules.planner_port import Call
from gate.rules.policy import is_only_claimed, made_private, with_risk, without_claim_offer
from gate.rules.ports import Tx, Unavailable, World
from gate.rules.previews import measured
from gate.rules.reviews import Phase
from gate.rules.tool import Answer, AnswerTooLong, OutcomeUnknown, ServerUnavailable, ToolSpec

MAX_SUGGESTIONS = 3  # reasons given with a refusal
TOO_MANY_PENDING = "Too many of your actions already wait. Decide some of them first: `/pending` lists them."
REFUSED_ALONE = "Why was told to whoever asked alone."
DO_NOT_FIT = "What it is given is private, and does not fit {tool}: so it is not said what is wrong."


@dataclass(frozen=True, slots=True)
class CallRequest:
    """Who asks for what, where. `id` is derived from what was said, so asking twice is one action."""

    id: str
    session: Session
    requester: str
    call: Call
    turn: str = ""
    index: int = 0
    renews: str = ""
    task: str = ""  # the task whose plan it is a step of
    step: str = ""
    group: str = ""  # the calls of the same reply that it shares a card with
    title: str = ""  # of the step
    again: str = ""  # why it is asked although somebody has said yes before
    assumed: tuple[str, ...] = ()  # what its planner went on with instead of asking
    instructed: frozenset[str] = frozenset()  # who besides the requester has said what is to be done
    private: bool = False  # its arguments hold what is for whoever asked alone
    edited: tuple[str, str] = ("", "")  # who edited it before, and its arguments before that, as JSON

    @property
    def names(self) -> tuple[str, ...]:
        """What a review may call the step."""
        return (self.step, self.title) if self.step and not self.turn else ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """It waits for its person: to run, or where it is a read whose result the operator wants reviewed, with that."""

    action: Action


@dataclass(frozen=True, slots=True)
class Refused:
    """It will not be asked. The reasons are sentences for people and for the planner. `summary`: what was asked for, in
    everyday words, where that is known. `private`: the reasons and the summary are for whoever asked alone."""

    name: str
    reasons: tuple[str, ...]
    summary: str = ""
    private: bool = False

    @property
    def told(self) -> str:
        """Why, for everybody, and for a planner, which speaks to everybody."""
        return REFUSED_ALONE if self.private else " ".join(self.reasons)


@dataclass(frozen=True, slots=True)
class Answered:
    """It was a read: it ran at once, and this is the answer."""

    spec: ToolSpec
    args: Mapping[str, Json]
    answer: Answer
    private: bool = False  # for whoever asked alone


# Writes a new action down, in a transaction of its own; None when too many of its requester's wait already.
Write = Callable[[World, Action], Awaitable[Action | None]]
# Writes down what comes of a read, in the transaction that puts it on record; where it raises, the read is put on
# record alone.
Keep = Callable[[Tx, Answered], Awaitable[None]]


@counted
async def prepare(
    world: World, asked: CallRequest, write: Write | None = None, keep: Keep | None = None
) -> Prepared | Refused | Answered:
    """Validate the arguments, ask the policy, make the preview and the receipt, write the lease, store the action.
    Safe to repeat. `write` may write it down in another way than to wait for its person; `keep` is for a read that is
    answered. Raises Unavailable when a store is out of reach, nothing is pending then; and what these raise."""
    found = await check_call(world, asked)
    name = f"{asked.call.server}.{asked.call.tool}"
    runs = isinstance(found, CheckedCall) and found.decision.verdict is Verdict.RUN
    runs = runs and not world.policy.review(Phase.BEFORE, name, asked.names)
    waiting = 0
    if not runs or world.policy.review(Phase.AFTER, name, asked.names):  # else nothing of it ever waits
        seen = await world.ledger.before_action(asked.id, asked.session.team, asked.requester)
        before = await world.ledger.action(asked.id) if seen.known else None
        if before is not None:
            return Prepared(before)
        waiting = seen.waiting
    if not isinstance(found, CheckedCall):
        return await record_refusal(world, asked, found)
    withheld = _is_withheld(world, found.asked, found.decision)
    with sampling_for(world, SamplingSubject(asked.session, asked.id, asked.requester, withheld)):
        if not runs:
            return await _store_pending(world, found, waiting, write or pending_action)
        is_held = asked.turn or not asked.step  # else the task of its plan waits instead
        if is_held and await _is_crowded(world, found.asked, waiting):
            crowded = Refused(name, (TOO_MANY_PENDING,), private=found.decision.private)
            return await record_refusal(world, found.asked, crowded)
        return await execute_read(world, found.asked, found.spec, found.decision, keep)


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """A call that may be asked for: its arguments as the tool takes them, its tool, and what the policy says."""

    asked: CallRequest
    spec: ToolSpec
    decision: Decision


async def check_call(world: World, asked: CallRequest) -> CheckedCall | Refused:
    """The call as the policy judges it now and as its person may ask for it, or why it is refused. Nothing is
    written."""
    call = asked.call
    name = f"{call.server}.{call.tool}"
    spec = world.tools.find(call.server, call.tool)
    if spec is None:
        return Refused(name, (unknown_tool_text(world, name),), private=asked.private)
    try:
        canonical(call.args)
    except BadArguments as error:
        unfit = DO_NOT_FIT.format(tool=name) if asked.private else str(error)
        return Refused(name, (unfit,), private=asked.private)
    asked = replace(asked, call=replace(call, args=with_canonical_paths(spec.recipe.targets, call.args)))
    decision = await decision_in_turn(world, spec, asked.call.args, asked.session.channel, call.risk)
    decision = made_private(decision, asked.private)
    why = await _why_not(world, asked, spec, decision)
    return Refused(name, why, private=decision.private) if why else CheckedCall(asked, spec, decision)


async def _why_not(world: World, asked: CallRequest, spec: ToolSpec, decision: Decision) -> tuple[str, ...]:
    """Why a call that the policy has judged is refused, in sentences; none where it may be asked for."""
    ruling = await _may_ask(world, asked, decision)
    if not ruling.allowed:
        return (ruling.reason,)
    if decision.verdict is Verdict.DENY:
        return (as_sentence(decision.reason),)
    given = {k: v for k, v in asked.call.args.items() if k not in spec.recipe.bind}
    problems = world.tools.problems(spec.schema, given)
    if problems and asked.private:
        return (DO_NOT_FIT.format(tool=spec.full_name),)
    return tuple(p.text for p in problems[:MAX_SUGGESTIONS])


def _is_withheld(world: World, asked: CallRequest, decision: Decision) -> bool:
    """Whether the log keeps nothing of what servers ask a model or a person in the calls for this."""
    name = f"{asked.call.server}.{asked.call.tool}"
    return decision.private or decision.secret or bool(world.policy.review(Phase.AFTER, name, asked.names))


async def _store_pending(
    world: World, checked: CheckedCall, waiting: int, write: Write
) -> Prepared | Refused:
    """Make the pending action: first its lease, then its row (an orphan lease is harmless). `waiting`: how many of its
    requester wait already."""
    asked, spec, private = checked.asked, checked.spec, checked.decision.private
    crowded = Refused(spec.full_name, (TOO_MANY_PENDING,), private=private)
    asks = write is pending_action or bool(asked.turn)
    if asks and await _is_crowded(world, asked, waiting):  # before anything is looked at
        return await record_refusal(world, asked, crowded)
    args, channel = asked.call.args, asked.session.channel
    seen = await make_preview(world, spec, args, channel, decided=checked.decision)
    private = private or seen.private
    if seen.unseen:
        said = as_sentence(NOT_QUOTED if private else seen.unseen)
        unseen = Refused(spec.full_name, (said,), seen.preview.summary, private)
        return await record_refusal(world, asked, unseen)
    decision = seen.decision or policy_decision(world, spec, seen.args, channel, seen.capture)
    decision = made_private(with_risk(decision, asked.call.risk), private)
    if decision.verdict is Verdict.DENY:  # because of something that was bound
        denied = Refused(spec.full_name, (as_sentence(decision.reason),), private=decision.private)
        return await record_refusal(world, asked, denied)
    reviewed = world.policy.review(Phase.BEFORE, spec.full_name, asked.names)
    if is_only_claimed(decision) and (reviewed or await _is_from_token(world, asked)):
        decision = without_claim_offer(decision)
    drafted = draft_action(world, asked, spec, decision, seen, await world.ledger.now())
    action = await with_grant_refusal(world, spec, drafted)
    seconds = (action.expires_at - action.created_at).total_seconds()
    await world.leases.put(lease_record(action), seconds)
    try:
        stored = await write(world, action)
    except Exception:  # another life of this run may have been first: then the lease is for what that stored
        if (there := await world.ledger.action(action.id)) is not None:
            await world.leases.put(lease_record(there), seconds)
        raise
    if stored is None:
        return await record_refusal(world, asked, crowded)
    if stored.state is State.APPROVED:
        await drop_lease(world, stored)
    if stored.receipt != action.receipt:  # another life of this run was first, and its card is the one
        await world.leases.put(lease_record(stored), seconds)
    return Prepared(stored)


async def _is_from_token(world: World, asked: CallRequest) -> bool:
    """Whether it comes through an API token, which no person stands behind."""
    async with world.ledger.begin() as tx:
        return bool(tx.token or await token_behind(tx, asked.task, asked.turn, asked.renews))


async def pending_action(world: World, action: Action) -> Action | None:
    """The action as it stands in the ledger now, waiting for its person."""
    async with world.ledger.begin() as tx:
        if (granted := await approve_by_grant(tx, world, action)) is not None:
            return granted
        if await has_too_many_pending(tx, world, action):
            return None
        return await insert_pending(tx, action)


async def has_too_many_pending(tx: Tx, world: World, action: Action) -> bool:
    """Whether too many actions of its requester wait already for this one to wait, too."""
    waiting = await tx.count_pending(action.session.team, action.requester)
    crowded = waiting >= world.limits.pending_per_user or await _is_beyond_share(tx, world, action, waiting)
    return crowded and await tx.action(action.id) is None


async def _is_crowded(world: World, asked: CallRequest, waiting: int) -> bool:
    """The same before it is looked at, by how many of its requester's wait."""
    limits = world.limits
    if waiting >= limits.pending_per_user or waiting < limits.pending_of_agents:
        return waiting >= limits.pending_per_user
    async with world.ledger.begin() as tx:
        return await _is_beyond_share(tx, world, asked, waiting)


async def _is_beyond_share(tx: Tx, world: World, asked: CallRequest | Action, waiting: int) -> bool:
    """Whether an agent's token is behind it, and as many wait already as agents may have proposed."""
    most = world.limits.pending_of_agents
    if waiting < most:
        return False
    token = await token_behind(tx, asked.task, asked.turn, asked.renews) or tx.token
    team, user = asked.session.team, asked.requester
    return bool(token) and await tx.count_pending_of_agents(token, team, user) >= most


async def insert_pending(tx: Tx, action: Action) -> Action:
    """Put the action in, to wait for its person; or what is there under its id already."""
    stored = await tx.insert(action)
    if stored.receipt == action.receipt:
        await record_proposed(tx, action)
        await announce_action_review(tx, action)
        request_card(tx, action)
    return stored


def draft_action(
    world: World, asked: CallRequest, spec: ToolSpec, decision: Decision, seen: PreviewResult, now: datetime
) -> Action:
    """A new action as it will be shown, with its receipt. What is reviewed has a card of its own.

    Raises BadArguments."""
    review = world.policy.review(Phase.BEFORE, spec.full_name, asked.names)
    alone = review or world.policy.review(Phase.AFTER, spec.full_name, asked.names)
    source = Source(
        at=now,
        prose=asked.call.prose,
        review=review,
        again=asked.again,
        assumed=asked.assumed,
        edited_by=asked.edited[0],
        proposed=asked.edited[1],
        instructed=asked.instructed,
    )
    action = Action(
        id=asked.id,
        version=1,
        revision=1,
        state=State.PREPARED,
        session=asked.session,
        requester=asked.requester,
        created_at=now,
        origin=Origin(
            turn=asked.turn,
            call=asked.index,
            task=asked.task,
            step=asked.step,
            group=asked.group + OWN_CARD if asked.group and alone else asked.group,
            renews=asked.renews,
        ),
        proposal=make_proposal(world, spec, seen, decision, source),
        receipt="",
    )
    return with_receipt(world, spec, action)


async def read_answer(world: World, checked: CheckedCall) -> Answer:
    """What a read gives, without what the policy keeps from being read at once; a failure is a sentence. Nothing is
    written: the caller puts it on record before anybody sees it."""
    asked, spec, private = checked.asked, checked.spec, checked.decision.private
    args = canonical(asked.call.args)
    try:
        answer = await world.tools.call(spec.server, spec.name, args, world.limits.call, spec.definition)
    except AnswerTooLong as error:
        return Answer(f"{as_sentence(str(error))} Nothing was changed; ask for less of it.", is_error=True)
    except (ServerUnavailable, OutcomeUnknown) as error:
        text = f"{spec.server} did not answer: {error}. Nothing was changed; try again in a moment."
        answer = Answer(text, is_error=True)
    call = MadeCall(spec, asked.call.args, asked.session.channel, is_private=private, names=asked.names)
    return await without_gated_files(world, call, answer)


async def execute_read(
    world: World, asked: CallRequest, spec: ToolSpec, decision: Decision, keep: Keep | None = None
) -> Answered | Prepared | Refused:
    """Run a read at once. Its answer is released only once it is on the record, and where the operator wants it
    reviewed, outside of plans, only by a person; not where too many wait by then."""
    started = world.clock.now()
    subject = _subject(asked, spec, decision, _is_withheld(world, asked, decision))
    with answered_in_thread(world, subject):
        answer = await read_answer(world, CheckedCall(asked, spec, decision))
    took = milliseconds(started, world.clock.now())
    of_plan = asked.step and not asked.turn
    held = "" if of_plan or answer.is_error else world.policy.review(Phase.AFTER, spec.full_name)
    outcome = Outcome("success", answer.text, answer.structured, took, world.clock.now())
    waiting = await _read_under_review(world, asked, spec, decision, (held, outcome)) if held else None
    is_kept = waiting is None and (not subject.withheld or decision.private or decision.secret)
    entry = Entry(
        event="read",
        session=asked.session.key,
        actor=asked.requester,
        action=asked.id,
        tool=spec.full_name,
        arguments=canonical(asked.call.args).decode(),
        result=logged_result(answer.text, decision.private or decision.secret) if is_kept else "",
        status="error" if answer.is_error else "success",
        outcome=READ_ALONE if decision.private else "error" if answer.is_error else "read",
        execution_ms=took,
        reason=logged_result(decision.reason, decision.private),
    )
    answered = Answered(spec, asked.call.args, answer, decision.private)
    if waiting is None:
        await _record_kept(world, asked, entry, answered, keep)
        return answered
    async with world.ledger.begin() as tx:
        crowded = await has_too_many_pending(tx, world, waiting)  # others were held while it ran
        waiting = waiting if crowded else await _insert_read(tx, waiting)
        await _record_read(tx, asked, entry, spec)
    full = Refused(spec.full_name, (TOO_MANY_PENDING,), private=decision.private)
    return await record_refusal(world, asked, full) if crowded else Prepared(waiting)


async def _record_kept(
    world: World, asked: CallRequest, entry: Entry, read: Answered, keep: Keep | None
) -> None:
    """Put a read on record, and what comes of it. What has run stays on record where nothing comes of it."""
    try:
        async with world.ledger.begin() as tx:
            await _record_read(tx, asked, entry, read.spec)
            if keep is not None:
                await keep(tx, read)
    except Unavailable:
        raise
    except Exception:
        if keep is not None:
            await _record_kept(world, asked, entry, read, None)
        raise


async def _record_read(tx: Tx, asked: CallRequest, entry: Entry, spec: ToolSpec) -> None:
    await tx.grants.taint(asked.session, spec.full_name, returns_outside_content(spec))
    tx.audit(replace(entry, token=await tx.token_of(asked.task, asked.turn)))


def _subject(asked: CallRequest, spec: ToolSpec, decision: Decision, withheld: bool) -> QuestionSubject:
    return QuestionSubject(
        session=asked.session,
        requester=asked.requester,
        server=spec.server,
        tool=spec.name,
        action=asked.id,
        about=spec.title or spec.name,
        task=asked.task,
        is_read=True,
        private=decision.private,
        withheld=withheld,
    )


async def _read_under_review(
    world: World, asked: CallRequest, spec: ToolSpec, decision: Decision, found: tuple[str, Outcome]
) -> Action:
    """A read that has run, as an action whose result waits for a person."""
    held, outcome = found
    seen = await make_preview(world, spec, asked.call.args, asked.session.channel)
    decision = made_private(decision, seen.private)
    made = draft_action(world, asked, spec, decision, seen, await world.ledger.now())
    ran, waits = Execution(outcome=outcome), ResultReview(awaits=held)
    return replace(made, state=State.SUCCEEDED, execution=ran, result_review=waits)


async def _insert_read(tx: Tx, waiting: Action) -> Action:
    """Put in a read whose result waits; or what is there under its id already."""
    stored = await tx.insert(waiting)
    if stored.receipt == waiting.receipt:
        await record_maker(tx, stored)
        await announce_review(tx, stored)
        update_cards(tx, stored)
    return stored


async def record_refusal(world: World, asked: CallRequest, refused: Refused) -> Refused:
    """Write the refusal down and hand it back."""
    why = " ".join(refused.reasons)
    async with world.ledger.begin() as tx:
        tx.audit(
            Entry(
                event="refused",
                session=asked.session.key,
                actor="policy",
                action=asked.id,
                tool=refused.name,
                status="error",
                outcome="refused",
                reason=measured(why) if refused.private else why[:1000],
            )
        )
    return refused


async def _may_ask(world: World, asked: CallRequest, decision: Decision) -> Ruling:
    person = await world.people.fresh(asked.session.team, asked.requester)
    if person and person.is_bot and person.id in world.policy.listed_bots and decision.cls is CallClass.READ:
        return Ruling(True)
    return account(person)


def unknown_tool_text(world: World, name: str) -> str:
    """The sentence for a tool that is not there, with the closest ones."""
    close = close_matches(name, [spec.full_name for spec in world.tools.specs()], n=3)
    down = [s.name for s in world.tools.servers() if s.state != "ready"]
    hint = f" The closest are {', '.join(close)}." if close else ""
    absent = f" Not connected at the moment: {', '.join(down)}." if down else ""
    return f"There is no tool called {name}.{hint}{absent}"


def as_sentence(text: str) -> str:
    """First letter up, unless it begins with a name such as a path; a full stop at the end."""
    named = not text.partition(" ")[0].rstrip(",:;.").isalpha()
    first = text[:1] if named else text[:1].upper()
    return first + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
