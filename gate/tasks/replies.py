"""Replies: the calls of one reply of the planner as steps of its task, and what the planner is told of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gate.actions.batch import card_groups
from gate.actions.prepare import Answered, Refused
from gate.arguments.tool_names import tool_in_words
from gate.rules.action import Action, CallClass, Json
from gate.rules.action_states import State
from gate.rules.autonomy import ApprovalMode
from gate.rules.canonical_json import stored_args
from gate.rules.ids import derive_id
from gate.rules.messages import CardKey, CardKind
from gate.rules.plan_changes import tried_tools
from gate.rules.planner_port import (
    CODE,
    WITHHELD,
    Call,
    CallReport,
    Clarify,
    Done,
    Exchange,
    Implement,
    Mode,
    Planner,
    Propose,
    ProposePlan,
    Reply,
    Say,
    Turn,
    as_told,
)
from gate.rules.plans import asks_each, is_shortened, with_failure
from gate.rules.ports import Note, Tx, World
from gate.rules.previews import plainly, summary_of
from gate.rules.reviews import Phase, released
from gate.rules.steps import PRIVATE
from gate.rules.task import LAST_WORDS, Origin, Plan, Step, StepCall, StepState, Task
from gate.sentences.past_tense import past_if_known
from gate.tasks.task_transitions import rewrite_result

MAX_NAMES = 3  # calls named in a result
WAITING = "waiting"
UNDER_REVIEW, DROPPED = (
    "held",
    "dropped",
)  # it has run; a person has to look at its result, or has rejected it
OPEN = (WAITING, UNDER_REVIEW)
NOTHING_RAN = {"cancelled", "rejected", "expired", "refused"}
WORDS = {
    "succeeded": "done",
    "undone": "done and taken back",
    "unknown": "of unknown outcome",
    "dropped": "done with its result rejected",
}
TOO_MANY = (
    "I stopped here: this took more steps than I may take for one request. Please ask for less at a time."
)
SETTLED = (State.SUCCEEDED, State.FAILED)  # what a person can say of a call whose outcome was unknown
STATUS = {
    State.SUCCEEDED: "succeeded",
    State.UNDOING: "succeeded",
    State.UNDONE: "undone",
    State.FAILED: "failed",
    State.CANCELLED: "cancelled",
    State.REJECTED: "rejected",
    State.EXPIRED: "expired",
    State.SUPERSEDED: "cancelled",
    State.UNKNOWN: "unknown",
}


# From a reply to steps


def within_limits(world: World, reply: Reply) -> Reply:
    """The reply as it is stored: with as many calls as one may make, and the number of the others."""
    most = world.limits.calls_per_turn
    if not isinstance(reply, Propose) or len(reply.calls) <= most:
        return reply
    return replace(reply, calls=reply.calls[:most], surplus=len(reply.calls) - most)


def with_reply_steps(world: World, task: Task, turn: Turn, index: int, reply: Reply) -> Plan | None:
    """The task's plan with the calls of the reply at `index` as its newest steps; as it is where the reply calls for
    nothing, or they are there already. None comes after another, and several may share a card where not each is
    to ask for itself; but in the mode `manual`, which waits after every step, each comes after the one before it."""
    plan = task.plan
    if not isinstance(reply, Propose) or turn.mode is not Mode.ACT or is_lookup(reply):
        return plan
    if plan and of_reply(plan, turn, index):
        return plan
    before = plan or Plan(0, ())
    manual = task.switches.approval_mode == ApprovalMode.MANUAL
    alone = manual or asks_each(task)
    shared = {} if alone else card_groups(world, turn, index, reply.calls, tried_tools(before.steps))
    new: list[Step] = []
    for place, call in enumerate(reply.calls):
        after = (new[-1].id,) if manual and new else ()
        origin = Origin(turn.id, index, place, shared.get(place, ""))
        new.append(replace(_step(f"s{before.last + 1 + place}", call, origin), after=after))
    most = world.limits.calls_per_turn  # of a reply that was stored while there were more, too
    new = [*new[:most], *(with_failure(step, TOO_MANY) for step in new[most:])]
    return replace(before, steps=(*before.steps, *new), last=before.last + len(new))


def _step(step_id: str, call: Call, origin: Origin) -> Step:
    origin = replace(origin, risk=call.risk, prose=call.prose)
    called = StepCall(call.server, call.tool, dict(call.args))
    return Step(id=step_id, title="", call=called, origin=origin, after=())


def of_turn(plan: Plan | None, turn: Turn) -> list[Step]:
    """The steps that the replies of a turn called for, in order."""
    return [step for step in plan.steps if step.origin and step.origin.turn == turn.id] if plan else []


def of_reply(plan: Plan | None, turn: Turn, index: int) -> list[Step]:
    return [step for step in of_turn(plan, turn) if step.origin and step.origin.reply == index]


# What a reply has come to


def is_settled(exchange: Exchange) -> bool:
    """Whether everything that a reply asked for has come to an end."""
    if isinstance(exchange.reply, Done | Clarify | ProposePlan | Implement):
        return True
    count = len(exchange.reply.calls) if isinstance(exchange.reply, Propose) else 1
    return len(exchange.reports) == count and all(told.status not in OPEN for told in exchange.reports)


def is_finished(planner: Planner, turn: Turn) -> bool:
    """Whether a turn has come to its end: the planner has nothing more to do, and nothing of it waits."""
    last = turn.exchanges[-1] if turn.exchanges else None
    if last is None or not is_settled(last) or is_preparatory_read(turn, last.reply):
        return False
    return isinstance(last.reply, Say | Clarify | ProposePlan | Implement | Done) or not planner.follows


def is_preparatory_read(turn: Turn, reply: Reply) -> bool:
    """Whether it only reads before it plans or proposes: what people said is taken in by what comes of it."""
    return is_lookup(reply) or (turn.mode is Mode.PLAN and isinstance(reply, Propose))


def is_lookup(reply: Reply) -> bool:
    """Whether it asks for reads whose results nobody but the planner sees."""
    return isinstance(reply, Propose) and reply.lookup


async def report_steps(world: World, turn: Turn, task: Task, ended: Mapping[str, Action]) -> Turn:
    """Write down what has become of the calls of a turn, where that is news; the turn as it now stands. `ended`:
    actions that have come to their end, by id, as they were read just now. The card of several is asked for once all of
    them are there."""
    exchanges = list(turn.exchanges)
    for index, exchange in enumerate(turn.exchanges):
        steps = of_reply(task.plan, turn, index)
        told = tuple([await _report(world, step, exchange, ended) for step in steps])
        begun = bool(exchange.reports) or any(one.status != WAITING for one in told) or _share_card(steps)
        if steps and begun and told != exchange.reports:
            exchanges[index] = replace(exchange, reports=told)
            async with world.ledger.begin() as tx:
                await tx.record_reports(turn.id, index, told)
                _draw_shared(tx, steps)
    return replace(turn, exchanges=tuple(exchanges))


def _share_card(steps: Sequence[Step]) -> bool:
    """Whether some of them stand on one card."""
    return any(step.origin and step.origin.group for step in steps)


def _draw_shared(tx: Tx, steps: Sequence[Step]) -> None:
    if any(step.state is StepState.WAITING for step in steps):
        return
    for group in {step.origin.group for step in steps if step.origin and step.state is StepState.ASKED}:
        if group:
            tx.request_card(CardKey(CardKind.GROUP, group))


async def _report(world: World, step: Step, exchange: Exchange, ended: Mapping[str, Action]) -> CallReport:
    """What the planner is told of a step: what really became of it, and who decided."""
    assert step.origin is not None
    place = step.origin.call
    if step.state is StepState.WAITING:
        return CallReport(place, WAITING, "")
    if step.state is StepState.ASKED:  # also where its action has just ended: nobody has looked at that yet
        return CallReport(place, UNDER_REVIEW if await _is_under_review(world, step) else WAITING, step.title)
    action = ended.get(step.action) or (await world.ledger.action(step.action) if step.action else None)
    if action is not None:
        return await report_of_action(
            world, action, place, dropped=step.ran and step.state is StepState.SKIPPED
        )
    refused = CallReport(place, "refused", step.text, private=step.is_private)
    known = next((one for one in exchange.reports if one.call == place), refused)
    if step.edited:
        return replace(known, text=step.text)
    said = "" if known.private else step.text
    return replace(known, status=DROPPED, text=said) if step.rejected_by else known


async def _is_under_review(world: World, step: Step) -> bool:
    """Whether it has run and its result waits for a review."""
    if not world.policy.review(Phase.AFTER, step.name):
        return False
    action = await world.ledger.action(step.action)
    return action is not None and bool(action.under_review)


async def report_of_action(world: World, action: Action, place: int, *, dropped: bool = False) -> CallReport:
    """What became of an action and who decided, or of the one that asks it again. `dropped`: nobody trusts what it
    gave."""
    asked_again = action.state in (State.EXPIRED, State.CANCELLED)
    if asked_again and (renewed := await world.ledger.action(derive_id("renew", action.id))):
        return await report_of_action(world, renewed, place, dropped=dropped)
    if action.private:
        return _report_of_private(action, place, dropped)
    if not action.is_finished and action.state is not State.UNKNOWN:
        return CallReport(place, UNDER_REVIEW if action.under_review else WAITING, action.preview.summary)
    if action.judged is not None and not action.judged.kept:
        said = action.judged
        return CallReport(place, DROPPED, said.comment, by=said.by, summary=action.preview.summary)
    if dropped:
        return CallReport(place, DROPPED, "", summary=action.preview.summary)
    outcome = released(action)
    return CallReport(
        place,
        STATUS[action.state],
        as_told(outcome.text if outcome else action.decision),
        stored_args(action.args) if action.edited_by else None,
        action.decided_by,
        action.edited_by,
        "" if outcome else _reason_author(action),
        summary=action.preview.summary,
    )


def _reason_author(action: Action) -> str:
    """Whose words the reason of a decision is. A sentence of ours that ends no decision of a person may quote a
    tool, and what came through an API token may be an agent's."""
    said = action.resolution
    if said.own:
        return CODE if said.by else ""
    return "" if said.token else said.by


def _report_of_private(action: Action, place: int, dropped: bool) -> CallReport:
    """The same of what is for whoever asked alone: the planner speaks to everybody, so it is told only how it ended."""
    if not action.is_finished and action.state is not State.UNKNOWN:
        return CallReport(place, UNDER_REVIEW if action.under_review else WAITING, "", private=True)
    rejected = action.judged is not None and not action.judged.kept
    if rejected or dropped:
        by = action.judged.by if action.judged and rejected else ""
        return CallReport(place, DROPPED, "", by=by, private=True)
    text = PRIVATE if action.outcome else ""
    return CallReport(place, STATUS[action.state], text, by=action.decided_by, private=True)


# What the planner says in the end


def answer_of(turn: Turn | None) -> str:
    """The answer that a turn has ended with; "" where it ended without one."""
    last = turn.exchanges[-1].reply if turn and turn.exchanges else None
    return last.text if isinstance(last, Say) else ""


def may_end_on_card(turn: Turn, text: str) -> bool:
    """Whether the last words of a turn may be about a change, and have room on its card."""
    called = any(isinstance(exchange.reply, Propose) for exchange in turn.exchanges)
    return turn.mode is Mode.ACT and called and len(text) <= LAST_WORDS


def card_step(task: Task, turn: Turn) -> Step | None:
    """The step on whose card the last words of a turn stand: its one change, which was done, where all else that the
    turn called for are reads that went through. None where they are a message of their own."""
    steps = [step for step in of_turn(task.plan, turn) if not (step.ran and step.cls is CallClass.READ)]
    alone = len(steps) == 1 and steps[0].state is StepState.DONE
    return steps[0] if alone and steps[0].action == task.asked_on else None


# What came back at once

AT_ONCE = ("read", "refused")  # the kinds of notes about the calls of a reply
MOST_BEFORE = 10  # calls of a reply whose notes stand above that of a later one


async def report_surplus(world: World, turn: Turn, index: int) -> None:
    """Say once how many calls of a reply are not made because it has too many."""
    reply = turn.exchanges[index].reply
    if isinstance(reply, Propose) and reply.surplus:
        more = f"{reply.surplus:,} more {'call' if reply.surplus == 1 else 'calls'}"
        async with world.ledger.begin() as tx:
            await report_refusal(tx, turn, (index, len(reply.calls)), Refused(more, (TOO_MANY,)))


async def report_refusal(tx: Tx, turn: Turn, place: tuple[int, int], found: Refused) -> None:
    """Say why a call will not be asked, once in a turn; of one that is private to whoever asked alone. `place`: the
    reply and the call, from 0."""
    if _was_told(turn, place, found):
        return
    body: dict[str, Json] = {
        "name": found.summary or tool_in_words(found.name),
        "reasons": list(found.reasons),
    }
    await _post(tx, turn, place, "refused", body, turn.requester if found.private else "")


def _was_told(turn: Turn, place: tuple[int, int], found: Refused) -> bool:
    """Whether the same was said of a call of the same tool in an earlier reply of this turn."""
    reply, call = place
    asked = turn.exchanges[reply].reply if reply < len(turn.exchanges) else None
    calls = asked.calls if isinstance(asked, Propose) else ()
    told = CallReport(call, "refused", found.told, private=found.private)
    return any(
        isinstance(one.reply, Propose)
        and call < len(calls)
        and replace(report, call=call) == told
        and one.reply.calls[report.call] == replace(calls[call], prose=one.reply.calls[report.call].prose)
        for one in turn.exchanges[:reply]
        for report in one.reports
    )


async def report_read(tx: Tx, turn: Turn, place: tuple[int, int], read: Answered, shown: bool) -> CallReport:
    """What the planner is told of a read. `shown`: people see its answer, too, where it does not only look something
    up. What is for whoever asked alone is always shown to them: nobody else may tell it."""
    lookup = is_lookup(turn.exchanges[place[0]].reply)
    if lookup and read.private:  # the rules have changed since it was begun
        return CallReport(place[1], WITHHELD, "")
    body = {
        "name": plainly(read.spec, {}),
        "summary": summary_of(read.spec, read.args, plainly(read.spec, read.args)),
        "arguments": dict(read.args),
        "structured": read.answer.structured,
        "text": read.answer.text,
        "clipped": read.answer.clipped,
        "open_world": bool(read.spec.hints.open_world),
        "error": read.answer.is_error,
    }
    if (shown or read.private) and not lookup:
        await _post(tx, turn, place, "read", body, turn.requester if read.private else "")
    text = PRIVATE if read.private else read.answer.text if lookup else as_told(read.answer.text)
    return CallReport(place[1], "failed" if read.answer.is_error else "succeeded", text, private=read.private)


async def show_reads(tx: Tx, turn: Turn, task: Task) -> None:
    """Show what the reads of a turn found, as far as its steps keep it: its planner has ended without a word of it."""
    for step in of_turn(task.plan, turn):
        if step.origin is None or step.cls is not CallClass.READ or step.is_private:
            continue
        kept = dict(step.result) if isinstance(step.result, Mapping) else {}
        text = str(kept.pop("text", "") or step.text)
        body: dict[str, Json] = {
            "name": tool_in_words(step.name),
            "summary": step.title,
            "arguments": dict(step.args),
            "structured": kept or None,
            "text": text,
            "clipped": is_shortened(step),
            "error": step.state is StepState.FAILED,
        }
        await _post(tx, turn, (step.origin.reply, step.origin.call), "read", body)


async def _post(
    tx: Tx, turn: Turn, place: tuple[int, int], kind: str, body: Mapping[str, Json], to: str = ""
) -> None:
    reply, call = place
    before = [_note_id(turn, (reply, one), kind) for one in range(call)[-MOST_BEFORE:] for kind in AT_ONCE]
    note = Note(
        _note_id(turn, place, kind), turn.session, kind, {**body, "after": before} if before else body, to
    )
    await tx.note(note)


def _note_id(turn: Turn, place: tuple[int, int], kind: str) -> str:
    return derive_id("note", turn.id, *place, kind)


async def report_step_read(tx: Tx, turn: Turn, step: Step, read: Answered, shown: bool) -> Turn:
    """The same of a step, whose planner is told once the others of its reply are settled, too; the turn as it then
    stands."""
    assert step.origin is not None
    index = step.origin.reply
    one = await report_read(tx, turn, (index, step.origin.call), read, shown)
    exchanges = list(turn.exchanges)
    told = (*(other for other in exchanges[index].reports if other.call != one.call), one)
    exchanges[index] = replace(exchanges[index], reports=told)
    await tx.record_reports(turn.id, index, told)
    return replace(turn, exchanges=tuple(exchanges))


def is_single(turn: Turn, index: int) -> bool:
    """Whether this reply calls for one thing alone."""
    reply = turn.exchanges[index].reply
    return isinstance(reply, Propose) and len(reply.calls) == 1


# The end


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What came of a turn, in short, and what the planner was told of it."""

    result: str
    told: tuple[CallReport, ...]


def turn_result(task: Task, turn: Turn, made: Sequence[Action] = ()) -> TurnResult:
    """What came of the turn; `1 done, 1 done and taken back: Moved a.md; Write b.md`. `made`: its actions, where
    some may have been taken back or settled since its planner was told."""
    steps = of_turn(task.plan, turn)
    results = list(_results(turn, steps, {action.id: action.state for action in made}))
    counts = Counter(WORDS.get(one.status, one.status) for _, one in results)
    tally = ", ".join(f"{count} {word}" for word, count in counts.items())
    done = {step.id for step, one in results if one.status == "succeeded"}
    return TurnResult(tally + _named(steps, done), tuple(one for _, one in results))


def _results(
    turn: Turn, steps: Sequence[Step], states: Mapping[str, State]
) -> Iterator[tuple[Step, CallReport]]:
    """Each step that the planner was told of, with how it stands."""
    for step in steps:
        assert step.origin is not None
        told = {one.call: one for one in turn.exchanges[step.origin.reply].reports}
        one = told.get(step.origin.call)
        if one is not None:
            now = states.get(step.action)
            changed = now is State.UNDONE or (one.status == "unknown" and now in SETTLED)
            yield step, replace(one, status=STATUS[now]) if now and changed else one


def _named(steps: Sequence[Step], done: Container[str]) -> str:
    """What was asked for, in the words of the cards: `: Moved a.md; Read b.md`. `done`: the ids of what was done."""
    titles = (past_if_known(step.title) if step.id in done else step.title for step in steps if step.title)
    shown = list(dict.fromkeys(titles))
    more = [f"{len(shown) - MAX_NAMES} more"] if len(shown) > MAX_NAMES else []
    return f": {'; '.join([*shown[:MAX_NAMES], *more])}" if shown else ""


async def refresh_result(world: World, task: Task) -> bool:
    """While it is asked whether that was what they needed: what was taken back since is not called done, and once all
    of it was, nobody is asked any more. False: nothing comes after it."""
    turn = await world.ledger.turn(task.turn)
    if turn is not None and task.plan is not None:
        made = await world.ledger.actions_of_turn(turn.id)
        result = turn_result(task, turn, made).result
        back = {action.id for action in made if action.state is State.UNDONE}
        changes = [step for step in task.plan.steps if step.cls is not CallClass.READ]
        ran = {one.action for step in changes for one in step.run.tries}
        ran |= {step.action for step in changes if step.ran}
        undone = result if ran <= back else ""
        await rewrite_result(world, replace(task, plan=replace(task.plan, undone=undone)), result)
    return False
