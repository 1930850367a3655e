"""Ask: what people write, taken in durably, read in order, and turned into answers and proposals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gate import plain, runs
from gate.action import Action, Json, Person, Ref, Session, Verdict
from gate.derive import derived
from gate.flows import grants, mode, steer
from gate.flows.decide import cancel, confirm
from gate.flows.edit import Unfit, by_words
from gate.flows.open import open_task
from gate.flows.press import Press, Said
from gate.people import account, deciders
from gate.stamps import later
from gate.strange import quoted
from gate.switches import BadSwitches, header, switched
from gate.talk import Incoming
from gate.world import Note, Posted, Unavailable, World

READER_SECONDS = (
    900.0  # longer than a turn may take; a run that crashed goes on with what it had, without waiting
)
BROKEN = "Something went wrong on my side when I read this. If no card came of it, please ask in other words."


async def receive(world: World, incoming: Incoming) -> bool:
    """Keep a message before it is acknowledged; False when it is here already, or is none of our business.

    One commit, no tool and no Slack. Raises Unavailable: then Slack must send it again.
    """
    # What began a thread was written before anybody asked for anything in it, however late it is delivered.
    begins = incoming.ts == incoming.session.thread
    if not incoming.mentioned and (begins or not await world.ledger.has_session(incoming.session)):
        return False
    async with world.ledger.begin(world.limits.decision) as tx:
        new = await tx.receive(incoming)
        if new:
            tx.enqueue(runs.take_in(incoming.session.key, incoming.key))
    return new


async def take_in(world: World, session_key: str, reader: str) -> None:
    """Read what came into a session, oldest first, until nothing is left. Safe to repeat: `reader` names the
    run, so that after a crash its next life goes on with what it had reserved.

    Raises Unavailable; and what else went wrong with one message once the others are read."""
    session, wrong = Session.of(session_key), None
    while True:
        async with world.ledger.begin() as tx:
            incoming = await tx.take(session, reader, READER_SECONDS)
        if incoming is None:
            break
        try:
            await _read(world, incoming)
        except Unavailable:
            raise
        except Exception as error:  # the messages behind it must not wait for ever
            wrong = error
            await say(world, incoming, "answer", {"text": BROKEN}, to=incoming.user)
        async with world.ledger.begin() as tx:
            await tx.done_with(incoming.key)
    if wrong:
        raise wrong


async def _read(world: World, incoming: Incoming) -> None:
    person = await world.people.fresh(incoming.session.team, incoming.user)
    listed_bot = person is not None and person.is_bot and person.id in world.policy.listed_bots
    ruling = account(person)
    if not ruling.allowed and not (listed_bot and incoming.mentioned):
        if incoming.mentioned and person is not None and not person.is_bot:
            await say(world, incoming, "answer", {"text": ruling.reason}, to=incoming.user)
        return
    if person is None or await _command(world, incoming):
        return
    changed = await mode.said(world, incoming)
    if changed is not None:
        return await _tell(world, incoming, changed)
    if await _about_pending(world, incoming, person):
        return
    about = await steer.heard(world, incoming)
    if about is not None:
        return await _tell(world, incoming, about)
    small = (plain.is_yes(incoming.text) or plain.is_no(incoming.text)) and not incoming.mentioned
    starter = incoming.mentioned or await world.ledger.starter(incoming.session) == incoming.user
    if starter and not small:
        await _open(world, incoming)


async def _open(world: World, incoming: Incoming) -> None:
    """A request becomes a task. It may begin with switches for itself: `[complex] …`."""
    set_here, text = header(incoming.text)
    try:
        switches = switched(world.switches(incoming.session.channel), set_here)
    except BadSwitches as wrong:
        return await say(world, incoming, "answer", {"text": str(wrong)}, to=incoming.user)
    await open_task(world, replace(incoming, text=text), switches)


async def _tell(world: World, incoming: Incoming, said: Said) -> None:
    if said.text:
        await say(world, incoming, "answer", {"text": said.text}, to=incoming.user)


async def say(world: World, incoming: Incoming, kind: str, body: Mapping[str, Json], to: str = "") -> None:
    """Answer a message with a note; once, however often the run repeats.

    What one person alone sees goes beside a message that began no thread yet: Slack shows it only in active ones.
    """
    beside = bool(to) and incoming.ts == incoming.session.thread
    note = Note(derived("answer", incoming.key, kind), incoming.session, kind, {**body, "beside": beside}, to)
    async with world.ledger.begin() as tx:
        if await tx.note(note):
            tx.enqueue(runs.post(note.id))


async def _command(world: World, incoming: Incoming) -> bool:
    """`@bot pending | undo | audit | help | cancel | …`: slash commands do not work inside threads."""
    command = plain.command(incoming.text) if incoming.mentioned else None
    if command is None:
        return False
    if command.word == "cancel":
        return await _cancel_command(world, incoming)
    if command.word == "stop":
        await _tell(world, incoming, await steer.stop(world, incoming))
        return True
    if command.word == "status":
        return await _status(world, incoming)
    if command.word == "grants":
        void: list[Json] = [
            one.grant.id for one in await grants.in_thread(world, incoming.session) if one.void
        ]
        await say(world, incoming, "grants", {"void": void}, to=incoming.user)
        return True
    if command.word == "help":
        text = world.guide(command.about)
        kind = "text" if command.about and text else "help"
        await say(world, incoming, kind, {"text": text}, to=incoming.user)
        return True
    body: dict[str, Json] = {"count": command.count} if command.count else {}
    await say(world, incoming, command.word, body, to=incoming.user)
    return True


async def _status(world: World, incoming: Incoming) -> bool:
    """`@bot status`: how the newest task of this thread stands."""
    tasks = await world.ledger.tasks_of(incoming.session, 20)
    task = next((one for one in tasks if not one.over), tasks[0] if tasks else None)
    if task is None:
        none = "Nothing was asked for in this thread yet."
        await say(world, incoming, "answer", {"text": none}, to=incoming.user)
    else:
        await say(world, incoming, "status", {"task": task.id}, to=incoming.user)
    return True


async def _cancel_command(world: World, incoming: Incoming) -> bool:
    waiting = await _waiting(world, incoming)
    if not waiting:
        await say(
            world, incoming, "text", {"text": "Nothing of yours is waiting in this thread."}, to=incoming.user
        )
    for action in waiting:  # each its own: the message is read to its end when all are cancelled
        press = replace(_press(action, incoming), message="")
        await _answer(world, incoming, await cancel(world, press), action)
    return True


async def _waiting(world: World, incoming: Incoming) -> tuple[Action, ...]:
    return await world.ledger.pending(incoming.session.team, user=incoming.user, session=incoming.session)


def _press(action: Action, incoming: Incoming) -> Press:
    ref = Ref(action.id, action.version, action.receipt[:16])
    return Press(ref, incoming.session.team, incoming.user, message=incoming.key)


async def _about_pending(world: World, incoming: Incoming, person: Person) -> bool:
    """A plain yes or no, or an edit sentence, about what waits in this thread. True when it was one."""
    text = incoming.text
    yes, no, change = plain.is_yes(text), plain.is_no(text), plain.edit(text)
    if not (yes or no or change):
        return False
    everyone = await world.ledger.pending(incoming.session.team, session=incoming.session)
    waiting = [a for a in everyone if a.requester == person.id]
    if not waiting:
        if everyone and yes:
            only = f"Only {deciders(everyone[0])} can confirm this."
            await say(world, incoming, "answer", {"text": only}, to=incoming.user)
        return bool(everyone) and yes
    if plain.is_stop(text) and any(action.step for action in waiting):
        return False  # of a task, not of the one step that waits
    if len(waiting) > 1:
        many = (
            f"{len(waiting)} of your actions wait in this thread. Please use the buttons on the one you mean."
        )
        await say(world, incoming, "answer", {"text": many}, to=incoming.user)
        return True
    action = waiting[0]
    if yes:
        await _yes(world, incoming, action)
    elif no:
        await _answer(world, incoming, await cancel(world, _press(action, incoming)), action)
    elif change:
        await _answer(world, incoming, await by_words(world, _press(action, incoming), change), action)
    return True


async def _yes(world: World, incoming: Incoming, action: Action) -> None:
    """The requester's own plain yes: to one action, not destructive, whose card stood there before they wrote."""
    posted = await world.ledger.posted(action.id)
    if posted is None or posted.shows != action.version or _unseen(action, posted, incoming):
        text = "The card was not there yet when you wrote this. Please look at it and answer again."
        await say(world, incoming, "answer", {"text": text}, to=incoming.user)
    elif action.verdict is not Verdict.CONFIRM:
        text = "A “yes” is not enough for this one: press *Review…* on its card and type the phrase."
        await say(world, incoming, "answer", {"text": text}, to=incoming.user)
    else:
        await _answer(world, incoming, await confirm(world, _press(action, incoming)), action)


def _unseen(action: Action, posted: Posted, incoming: Incoming) -> bool:
    """Whether this version was shown after the message. A later one stands where the first was posted."""
    since = f"{posted.at.timestamp():.6f}" if posted.at and action.version > 1 else posted.ts
    return later(since, incoming.ts)


async def _answer(world: World, incoming: Incoming, said: Said | Unfit, action: Action) -> None:
    """Tell what came of it, where the card does not say it already."""
    if isinstance(said, Unfit):
        text = (
            "That would not fit: " + quoted(" ".join(p.text for p in said.problems[:3])) + " Nothing changed."
        )
    elif said.code == "cancelled":
        text = f"OK, I cancelled it. Nothing ran: {quoted(action.preview.summary)}"
    else:
        text = said.text
    if text:
        kind = "text"
        note = Note(
            derived("said", incoming.key, action.id), incoming.session, kind, {"text": text}, incoming.user
        )
        async with world.ledger.begin() as tx:
            if await tx.note(note):
                tx.enqueue(runs.post(note.id))
