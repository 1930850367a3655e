"""A turn: one message of the requester, the planner's replies to it, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gate.actions.button_press import Press
from gate.actions.claim_click import cancel
from gate.actions.prepare import Answered, CallRequest, Prepared, as_sentence, prepare
from gate.actions.preview import decision_in_turn
from gate.rules import advisers, jobs
from gate.rules.action import Action, CallClass, Decision, Json, Ref, Verdict
from gate.rules.action_states import State
from gate.rules.canonical_json import BadArguments, canonical
from gate.rules.grant_ports import WORDS_OF_OTHERS
from gate.rules.ids import derive_id
from gate.rules.messages import PROGRESS_DELAY, CardKey, CardKind
from gate.rules.planner_port import (
    CODE,
    WITHHELD,
    Call,
    CallReport,
    CancelPending,
    Done,
    Exchange,
    ListPending,
    Mode,
    PlannerContext,
    PlannerInterrupted,
    PlannerReply,
    Propose,
    Reply,
    Say,
    Turn,
)
from gate.rules.plans import applies_when, with_heard
from gate.rules.ports import Note, PlannerUnavailable, StaleTask, Unavailable, World
from gate.rules.task import Flow, Instruction, StopRequest, Task
from gate.rules.task_states import TaskEvent, TaskState
from gate.tasks import run_steps
from gate.tasks.replies import (
    OPEN,
    TOO_MANY,
    card_step,
    is_finished,
    is_lookup,
    is_preparatory_read,
    is_settled,
    may_end_on_card,
    report_of_action,
    report_read,
    report_refusal,
    report_steps,
    report_surplus,
    with_reply_steps,
    within_limits,
)
from gate.tasks.slow_answers import MODEL, server_name, telling_if_late
from gate.tasks.task_transitions import (
    BROKEN,
    move_task,
    planner_away,
    planner_context,
    with_step,
    words_are_private,
)

NOT_NOW = {
    Mode.PLAN: "Not now: this changes something. Put it into the plan.",
    Mode.TALK: "Not now: this is a conversation, and nothing is changed before it is to be built.",
    Mode.ANSWER: "Not now: everything is over, and only words are asked for.",
}
NOT_LOOKED_UP = "I may not look up what that name means. {why} Say it with its folder, as in reports/q3.md."


async def run_turn(
    world: World,
    turn_id: str,
    turn: Turn | None = None,
    task: Task | None = None,
    ended: Action | None = None,
) -> None:
    """Ask the planner until it has nothing more to do, or people have to act first. Safe to repeat:
    every reply is stored before it is acted on, and what it makes has derived ids. `turn`, `task`,
    and `ended`, the action that came to its end: as they stood just now, where the caller knows.

    Raises Unavailable: then the run is tried again; and what else went wrong, once people have been told."""
    try:
        await _run_turn(world, turn or await world.ledger.turn(turn_id), task, ended)
    except Unavailable:
        raise
    except Exception:
        turn = await world.ledger.turn(turn_id)
        if turn is not None:
            await _give_up(world, turn)
        raise


async def _give_up(world: World, turn: Turn) -> None:
    """A fault of ours: say so, and do not leave the task open for ever."""
    await _note(world, turn, len(turn.exchanges), "answer", {"text": BROKEN})
    async with world.ledger.begin() as tx:
        task = await tx.task(turn.task) if turn.task else None
        if task is not None and not task.is_finished:
            await move_task(tx, task, TaskEvent.FAIL, reason=BROKEN)


async def _run_turn(world: World, turn: Turn | None, task: Task | None, ended: Action | None) -> None:
    while turn is not None:
        last = turn.exchanges[-1] if turn.exchanges else None
        if last is not None:
            acted = await _process_reply(world, turn, last, task, ended)
            if acted is None:
                return
            turn, task = acted
        if is_finished(world.planner, turn):
            return await _notify_task(world, turn, task)
        if len(turn.exchanges) >= world.limits.turns_depth:
            await _note(world, turn, len(turn.exchanges), "answer", {"text": TOO_MANY})
            return await _end(world, turn)
        asked = await _next_reply(world, turn)
        turn, task = asked or (None, None)


async def _next_reply(world: World, turn: Turn) -> tuple[Turn, Task | None] | None:
    """The turn with one more reply of the planner, stored before anything is done with it, and its task then. None when
    that has been ended meanwhile: then the planner is not asked any more."""
    task = await world.ledger.task(turn.task) if turn.task else None
    if task is not None and not may_ask(turn, task):
        return None
    brief = (
        replace(await planner_context(world, task), interrupted=lambda: _is_ended(world, turn))
        if task
        else PlannerContext(turn.text)
    )
    pending = await _pending(world, turn)
    try:
        said = await _asked(world, turn, brief, pending)
    except PlannerInterrupted:
        return None
    except PlannerUnavailable:
        if turn.mode is not Mode.ANSWER:
            await _store_note(world, planner_away(turn))
            raise
        said = PlannerReply(Done())  # what was done and read is shown without its words
    while True:
        try:
            return await _store_reply(world, turn, task, brief, said)
        except StaleTask as stale:  # it was changed while the planner was asked
            task = stale.task


async def _asked(
    world: World, turn: Turn, brief: PlannerContext, pending: tuple[Action, ...]
) -> PlannerReply:
    """What the planner replies; where it is a model that takes long, people are told."""
    asking = world.planner.reply(turn, brief, pending)
    if not world.planner.follows:
        return await asking
    key = derive_id(turn.id, len(turn.exchanges))
    return await telling_if_late(world, turn.session, key, MODEL, asking)


async def _store_reply(
    world: World, turn: Turn, task: Task | None, brief: PlannerContext, said: PlannerReply
) -> tuple[Turn, Task | None] | None:
    """Write down what the planner replied, and what it makes of the task. None when that has been ended meanwhile.
    Raises StaleTask."""
    index = len(turn.exchanges)
    async with world.ledger.begin() as tx:
        reply = within_limits(world, said.reply)
        made = Exchange(reply, memo=said.memo, usage=said.usage)
        stored = await tx.store_exchange(turn.id, index, made)
        if said.foreign:
            await tx.grants.taint(turn.session, WORDS_OF_OTHERS, False)
        asked = replace(turn, exchanges=(*turn.exchanges, stored))
        if task is None or stored is not made:
            return asked, task
        plan = with_reply_steps(world, task, turn, index, reply) if may_ask(turn, task) else task.plan
        if plan is not None and plan is not task.plan:
            plan = with_heard(task, plan, brief.told_by)
        heard = advisers.having_heard(task.input, brief.told_by)
        is_new = plan is not task.plan or heard is not task.input
        if said.usage.requests or brief.instructions or is_new:
            taken = (
                task.instructions
                if turn.mode is Mode.ANSWER or is_preparatory_read(turn, reply)
                else _mark_instructions_used(task, brief, index)
            )
            planning = replace(task.planning, usage=task.planning.usage + said.usage)
            heard = replace(heard, instructions=taken)
            task = await tx.update_task(task, planning=planning, input=heard, plan=plan)
    return None if task.is_finished else (asked, task)


async def _is_ended(world: World, turn: Turn) -> bool:
    task = await world.ledger.task(turn.task)
    return task is None or not may_ask(turn, task)


def may_ask(turn: Turn, task: Task) -> bool:
    """Whether the planner may be asked, and what it calls for may begin: not once the task was stopped, or waits."""
    if turn.mode is Mode.ACT:
        return task.state is TaskState.RUNNING and task.wish is StopRequest.NONE
    return not task.is_finished


def _mark_instructions_used(task: Task, brief: PlannerContext, index: int) -> tuple[Instruction, ...]:
    """The instructions, those marked that this reply has taken in."""
    seen = {one.id for one in brief.instructions}
    where = applies_when(task) if task.flow is Flow.PLAN else f"in reply {index + 1}"
    return tuple(replace(i, used=i.used or where) if i.id in seen else i for i in task.instructions)


async def _end(world: World, turn: Turn) -> None:
    """Close a turn that took too long, so that its task can go on."""
    async with world.ledger.begin() as tx:
        await tx.store_exchange(turn.id, len(turn.exchanges), Exchange(Done()))
        if turn.task:
            tx.enqueue(jobs.task(turn.task, f"{turn.id}:end"))


async def _notify_task(world: World, turn: Turn, task: Task | None) -> None:
    """Let its task look at it: once for each end, as an expired call may be asked again. `task`: as it stood just now,
    None where that is not known."""
    if turn.task:
        told = ",".join(one.status for exchange in turn.exchanges for one in exchange.reports)
        async with world.ledger.begin() as tx:
            known = (task, turn) if task else ()
            tx.enqueue(jobs.task(turn.task, f"{turn.id}:{len(turn.exchanges)}:{told}", *known))


async def _process_reply(
    world: World, turn: Turn, exchange: Exchange, task: Task | None, ended: Action | None
) -> tuple[Turn, Task | None] | None:
    """Do what a stored reply asks for, as far as it was not done yet; the turn and its task as they then stand, the
    task where it is known. None when people have to act, or the task has to go on, before the planner is asked
    again."""
    reply, index = exchange.reply, len(turn.exchanges) - 1
    if not is_settled(exchange):
        await report_surplus(world, turn, index)
    if turn.task and turn.mode is Mode.ACT and not is_lookup(reply):
        carried = await _run_reply_steps(
            world, turn, reply, task or await world.ledger.task(turn.task), ended
        )
        if carried is None or isinstance(reply, Propose):
            return carried if carried and all(map(is_settled, carried[0].exchanges)) else None
        turn, task = carried
    if is_settled(exchange):
        return turn, task
    if isinstance(reply, Propose):
        told = tuple([await _read(world, turn, (index, at), call) for at, call in enumerate(reply.calls)])
    else:
        if task is None and turn.task and isinstance(reply, Say):
            task = await world.ledger.task(turn.task)
        told = (await _other(world, turn, task, reply),)
    async with world.ledger.begin() as tx:
        await tx.record_reports(turn.id, index, told)
    if any(one.status in OPEN for one in told):
        return None
    return replace(turn, exchanges=(*turn.exchanges[:-1], replace(exchange, reports=told))), None


async def _run_reply_steps(
    world: World, turn: Turn, reply: Reply, task: Task | None, ended: Action | None
) -> tuple[Turn, Task | None] | None:
    """Take the steps of a turn as far as they go, and write down what the planner is told of them; the turn and its
    task as they now stand. None where its task does not run."""
    index = len(turn.exchanges) - 1
    if task is not None and with_reply_steps(world, task, turn, index, reply) is not task.plan:
        async with world.ledger.begin() as tx:  # stored by an earlier version, or while the task did not run
            now = await tx.task(turn.task)
            if now is not None and may_ask(turn, now):
                task = await tx.update_task(now, plan=with_reply_steps(world, now, turn, index, reply))
    seen = run_steps.Progress(turns={turn.id: turn}, ended={ended.id: ended} if ended else {})
    task = await run_steps.advance(world, task, seen) if task else None
    if task is None or task.state is not TaskState.RUNNING:
        return None
    return await report_steps(world, seen.turns[turn.id], task, seen.ended), task


async def _read(world: World, turn: Turn, place: tuple[int, int], call: Call) -> CallReport:
    """A call of a turn that plans or talks, or of one that looks a name up: reads alone."""
    asked = CallRequest(
        derive_id("action", turn.id, *place), turn.session, turn.requester, call, turn.id, place[1]
    )
    lookup = is_lookup(turn.exchanges[place[0]].reply)
    decision = await _decision(world, turn, call)
    if lookup and decision and decision.private:
        return CallReport(place[1], WITHHELD, "")
    existing = await world.ledger.action(asked.id)
    if existing is not None:
        return await report_of_action(world, existing, place[1])
    reads = decision is None or decision.verdict is Verdict.RUN
    if (lookup or turn.mode is not Mode.ACT) and not reads:
        told = _why_not_looked(world, call, decision) if lookup else NOT_NOW[turn.mode]
        return CallReport(place[1], "refused", told or NOT_NOW[Mode.PLAN], author=CODE)
    result = await telling_if_late(world, asked.session, asked.id, server_name(call), prepare(world, asked))
    if isinstance(result, Prepared):
        return await report_of_action(world, result.action, place[1])
    async with world.ledger.begin() as tx:
        if isinstance(result, Answered):
            return await report_read(tx, turn, place, result, not world.planner.follows)
        await report_refusal(tx, turn, place, result)
    return CallReport(place[1], "refused", result.told, private=result.private)


def _why_not_looked(world: World, call: Call, decision: Decision | None) -> str:
    """Why a name is not looked up, where a rule keeps a read from being answered at once; "" for what is no read."""
    spec = world.tools.find(call.server, call.tool)
    reads = spec is not None and spec.recipe.cls is CallClass.READ
    if decision is None or not (reads or decision.verdict is Verdict.DENY):
        return ""
    denied = decision.verdict is Verdict.DENY
    why = decision.reason if denied else f"The rule “{decision.rule}” wants a person asked first"
    return NOT_LOOKED_UP.format(why=as_sentence(why))


async def _decision(world: World, turn: Turn, call: Call) -> Decision | None:
    """What the policy says of a call; None for one that is refused in a moment, before any rule is held against it."""
    spec = world.tools.find(call.server, call.tool)
    if spec is None:
        return None
    try:
        canonical(call.args)
    except BadArguments:
        return None
    return await decision_in_turn(world, spec, call.args, turn.session.channel)


async def _other(world: World, turn: Turn, task: Task | None, reply: object) -> CallReport:
    index = len(turn.exchanges) - 1
    if isinstance(reply, Say) and turn.mode is Mode.ANSWER:  # it stands in the last message of its task
        return CallReport(0, "succeeded", "")
    if isinstance(reply, Say):
        alone = task is not None and words_are_private(task, turn)
        if (
            not alone
            and may_end_on_card(turn, reply.text)
            and await _put_answer_on_card(world, turn, reply.text)
        ):
            return CallReport(0, "succeeded", "")
        talk = turn.mode is Mode.TALK
        body = {"text": reply.text, "task": turn.task} if talk else {"text": reply.text}
        await _note(world, turn, index, "talk" if talk else "text", body, turn.requester if alone else "")
        return CallReport(0, "succeeded", "")
    if isinstance(reply, ListPending):
        await _note(world, turn, index, "pending", {}, turn.requester)
        return CallReport(0, "succeeded", "")
    if isinstance(reply, CancelPending):
        return await _withdraw(world, turn, reply)
    return CallReport(0, "succeeded", "")


async def _put_answer_on_card(world: World, turn: Turn, text: str) -> bool:
    """Write the last words of a turn down with the change that they are about, whose card shows them. False where no
    card has room for them."""
    async with world.ledger.begin() as tx:
        task = await tx.task(turn.task) if turn.task else None
        step = card_step(task, turn) if task else None
        action = await tx.action(step.action) if step else None
        if task is None or step is None or action is None or not _has_card(action):
            return False
        await tx.update_task(task, plan=with_step(task, replace(step, closing=text)).plan)
        tx.request_card(CardKey(CardKind.ACTION, action.id), PROGRESS_DELAY)
    return True


def _has_card(action: Action) -> bool:
    """Whether an action was done, on a card that shows its step; not so that of a version without steps."""
    return action.state is State.SUCCEEDED and bool(action.task)


async def _pending(world: World, turn: Turn) -> tuple[Action, ...]:
    """What waits in the thread of whoever asks; of an agent's task only what is its own, as its answer may tell it."""
    found = await world.ledger.pending(turn.session.team, user=turn.requester, session=turn.session)
    if found and await _is_of_agent(world, turn):
        return tuple(action for action in found if _is_its_own(turn, action))
    return found


def _is_its_own(turn: Turn, action: Action) -> bool:
    """Whether an action is of the task of this turn, and no undo, which a person has asked for."""
    return action.task == turn.task and not action.undoes


async def _is_of_agent(world: World, turn: Turn) -> bool:
    return bool(turn.task) and turn.task in await world.ledger.grants.of_agents({turn.task})


async def _withdraw(world: World, turn: Turn, reply: CancelPending) -> CallReport:
    """The planner may withdraw what the requester of this very turn has pending: that is always safe. In an agent's
    task only what is of that task: its token may withdraw no more."""
    action = await world.ledger.action(reply.action)
    if (
        action is None
        or action.requester != turn.requester  # an admin may cancel more, a planner may not
        or (not _is_its_own(turn, action) and await _is_of_agent(world, turn))
    ):
        return CallReport(0, "refused", "They have no such action.", author=CODE)
    ref = Ref(action.id, action.version, action.receipt[:16])
    said = await cancel(
        world, Press(ref, turn.session.team, turn.requester, reason="withdrawn in the conversation")
    )
    return CallReport(0, "cancelled" if said.ok else "refused", said.text, author=CODE)


async def _note(
    world: World, turn: Turn, index: int, kind: str, body: Mapping[str, Json], to: str = ""
) -> None:
    await _store_note(world, Note(derive_id("note", turn.id, index, 0, kind), turn.session, kind, body, to))


async def _store_note(world: World, note: Note) -> None:
    async with world.ledger.begin() as tx:
        await tx.note(note)
