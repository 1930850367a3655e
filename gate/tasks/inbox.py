"""Ask: what people write, taken in durably, read in order, and turned into answers and proposals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gate.actions import grants
from gate.actions.button_press import Press, PressResult
from gate.actions.claim_click import cancel, confirm
from gate.actions.edit import edit_by_text, naming
from gate.arguments.unicode_safety import quoted
from gate.rules import jobs
from gate.rules.action import Action, Json, Person, Ref, Session
from gate.rules.ids import derive_id
from gate.rules.jobs import for_owner
from gate.rules.messages import UNDECIDED
from gate.rules.permissions import account, deciders
from gate.rules.planner_port import Incoming
from gate.rules.ports import Note, TooManyWaiting, Tx, Unavailable, World
from gate.rules.settings import BadSwitches, parse_header, unknown_label, with_switches
from gate.rules.tool import InvalidAnswer
from gate.sentences import thread_commands
from gate.sentences.feedback import is_thanks
from gate.tasks import approval_mode, steer
from gate.tasks.create_task import TOO_MANY_TASKS, Proceed, open_task
from gate.tasks.plain_words import AMBIGUOUS, is_asked, why_undecided

# What came of words after which a plain yes still means the card: they leave it as it waits, or it asks for them anew.
# Whatever else is told stands between, since a yes may answer that.
LEAVES = frozenset({"waits", "held", "kept", "undecided", "not_found", "early", "changed"})
LONGEST = 40_000  # characters of a message, as many as Slack lets a person write
TOO_LONG = (
    f"Your message is longer than {LONGEST:,} characters, so I did not read it. Please send a shorter one."
)
# Longer than a turn may take; a run that crashed goes on with what it had, without waiting
READER_SECONDS = 900.0
BROKEN = "Something went wrong on my side when I read this. If no card came of it, please ask in other words."


NOTHING_WAITS = (
    "Nothing of yours is waiting in this thread, so there is nothing to confirm or to cancel. Nothing ran."
)


async def receive(world: World, incoming: Incoming) -> bool:
    """Keep a message before it is acknowledged; False when it is here already, or is none of our business.

    Of somebody with too many messages unread, none is taken in but one that stops something; they are told.
    One commit, no tool and no Slack. Raises Unavailable: then Slack must send it again.
    """
    # What began a thread was written before anybody asked for anything in it, however late it is delivered.
    begins = incoming.ts == incoming.session.thread
    if not incoming.mentioned and (begins or not await world.ledger.has_session(incoming.session)):
        return False
    most = None if _asks_to_stop(incoming) else world.limits.requests_per_user
    run = jobs.take_in(incoming.session.key, incoming.key)
    if most is not None and await world.ledger.receive_at_once(incoming, most, run):
        return True
    async with world.ledger.begin(world.limits.decision) as tx:
        try:
            new = await tx.receive(incoming, most)
        except TooManyWaiting:
            await _note_heard(tx, incoming)
            await _reject_message(world, tx, incoming)
            return False
        # Also where it is here already: its commit may have been cut off before its run was asked for.
        tx.enqueue(run)
    return new


async def overhear(world: World, incoming: Incoming) -> None:
    """Note that another app wrote in a thread of ours: what a person writes below it may be an answer to that. Nobody
    reads it. Raises Unavailable."""
    if not await world.ledger.has_session(incoming.session):
        return
    async with world.ledger.begin(world.limits.decision) as tx:
        await _note_heard(tx, incoming)


async def _note_heard(tx: Tx, incoming: Incoming) -> None:
    """That somebody wrote, without what: nobody reads it."""
    if await tx.receive(replace(incoming, text="")):
        await tx.finish_message(incoming.key)


def _asks_to_stop(incoming: Incoming) -> bool:
    """Whether it asks for less: that is taken in however much waits."""
    command = thread_commands.command(incoming.text)
    return thread_commands.is_stop(incoming.text) or (
        command is not None and command.word in ("stop", "cancel")
    )


async def _reject_message(world: World, tx: Tx, incoming: Incoming) -> None:
    """Say that it was not taken in; once a minute in one thread, however many there are."""
    minute = str(int(float(incoming.ts)) // 60)
    key = derive_id("crowded", incoming.session.key, incoming.user, minute)
    beside = incoming.ts == incoming.session.thread  # as in `post_note`
    body: dict[str, Json] = {
        "text": TOO_MANY_TASKS.format(count=world.limits.requests_per_user),
        "beside": beside,
    }
    await tx.note(Note(key, incoming.session, "answer", body, incoming.user))


async def read_inbox(world: World, session_key: str, reader: str) -> None:
    """Read what came into a session, oldest first, until nothing is left. Safe to repeat: `reader` names the
    run, so that after a crash its next life goes on with what it had reserved.

    Raises Unavailable; and what else went wrong with one message once the others are read."""
    session, wrong = Session.of(session_key), None
    reserved: list[Incoming | None] = []

    async def proceed(tx: Tx, done: str) -> None:
        reserved.append(await tx.reserve_message(session, reader, READER_SECONDS, done))

    async with world.ledger.begin() as tx:
        await proceed(tx, "")
    while (incoming := reserved.pop()) is not None:
        try:
            with for_owner(incoming.user):  # whoever's run reads it
                await _read(world, incoming, proceed)
        except Unavailable:
            raise
        except Exception as error:  # the messages behind it must not wait for ever
            wrong = error
            reserved.clear()  # what was reserved in the transaction that failed is not
            await post_note(world, incoming, "answer", {"text": BROKEN}, to=incoming.user)
        if not reserved:
            async with world.ledger.begin() as tx:
                await proceed(tx, incoming.key)
    if wrong:
        raise wrong


async def _read(world: World, incoming: Incoming, proceed: Proceed) -> None:
    """Do what a message asks for. `proceed`: for the transaction that opens a task for it."""
    person = await world.people.fresh(incoming.session.team, incoming.user)
    listed_bot = person is not None and person.is_bot and person.id in world.policy.listed_bots
    ruling = account(person)
    if not ruling.allowed and not (listed_bot and incoming.mentioned):
        if incoming.mentioned and person is not None and not person.is_bot:
            await post_note(world, incoming, "answer", {"text": ruling.reason}, to=incoming.user)
        return
    if person is None or await _is_handled(world, incoming, person):
        return
    starter = incoming.mentioned or await world.ledger.thread_starter(incoming.session) == incoming.user
    if not starter or await _is_answer_to_nothing(world, incoming) or is_thanks(incoming.text):
        return  # to bare thanks there is nothing to say
    await _open(world, incoming, proceed)


async def _is_answer_to_nothing(world: World, incoming: Incoming) -> bool:
    """Whether it is a yes or a no to what is not there. Whoever mentions the bot is told so; a model may know more."""
    yes_or_no = thread_commands.is_yes(incoming.text) or thread_commands.is_no(incoming.text)
    if not yes_or_no or (incoming.mentioned and world.planner.follows):
        return False
    if incoming.mentioned:
        await post_note(world, incoming, "answer", {"text": NOTHING_WAITS}, to=incoming.user)
    return True


async def _is_handled(world: World, incoming: Incoming, person: Person) -> bool:
    """Whether it was about something that is there already, or no request at all; then it has been answered."""
    if len(incoming.text) > LONGEST:
        await post_note(world, incoming, "answer", {"text": TOO_LONG}, to=incoming.user)
        return True
    if await _command(world, incoming):
        return True
    changed = await approval_mode.set_mode_by_text(world, incoming)
    if changed is None and (
        await _decide_pending(world, incoming, person) or await _rename_pending(world, incoming)
    ):
        return True
    about = changed or await steer.handle_thread_message(world, incoming)
    if about is not None:
        await _post_result(world, incoming, about)
    return about is not None


async def _open(world: World, incoming: Incoming, proceed: Proceed) -> None:
    """A request becomes a task, unless too many are under way. It may begin with switches for itself: `[complex] …`."""
    set_here, text = parse_header(incoming.text)
    try:
        switches = with_switches(world.switches(incoming.session.channel), set_here)
    except BadSwitches as wrong:
        await post_note(world, incoming, "answer", {"text": str(wrong)}, to=incoming.user)
        return
    if not world.planner.follows and (
        label := unknown_label(incoming.text)
    ):  # a model may know what it means
        await post_note(world, incoming, "answer", {"text": label}, to=incoming.user)
        return
    crowded = await open_task(world, replace(incoming, text=text), switches, proceed)
    if crowded:
        await _post_result(world, incoming, PressResult(False, "crowded", crowded))


async def _post_result(world: World, incoming: Incoming, said: PressResult) -> None:
    if said.text:
        kind = UNDECIDED if said.code in LEAVES else "answer"
        await post_note(world, incoming, kind, {"text": said.text}, to=incoming.user)


async def post_note(
    world: World, incoming: Incoming, kind: str, body: Mapping[str, Json], to: str = ""
) -> None:
    """Answer a message with a note, which ends it; once, however often the run repeats.

    What one person alone sees goes beside a message that began no thread yet: Slack shows it only in active ones.
    """
    beside = bool(to) and incoming.ts == incoming.session.thread
    note = Note(
        derive_id("answer", incoming.key, kind), incoming.session, kind, {**body, "beside": beside}, to
    )
    await _tell(world, incoming, note)


async def _tell(world: World, incoming: Incoming, note: Note, ends: bool = True) -> None:
    """Put in a note about a message and end the message with it: what was answered with “Nothing ran” is not read
    once more after a crash, when it might be taken for a yes to what still waits by then."""
    async with world.ledger.begin() as tx:
        await tx.note(note)
        if ends:
            await tx.finish_message(incoming.key)


async def _command(world: World, incoming: Incoming) -> bool:
    """`@bot pending | undo | audit | help | cancel | …`: slash commands do not work inside threads."""
    command = thread_commands.command(incoming.text) if incoming.mentioned else None
    if command is None:
        return False
    if command.word == "cancel":
        return await _cancel_command(world, incoming)
    if command.word == "stop":
        await _post_result(world, incoming, await steer.stop(world, incoming))
        return True
    if command.word == "status":
        return await _status(world, incoming)
    if command.word == "grants":
        void: list[Json] = [
            one.grant.id for one in await grants.in_thread(world, incoming.session) if one.void
        ]
        await post_note(world, incoming, "grants", {"void": void}, to=incoming.user)
        return True
    if command.word == "help":
        text = world.guide(command.about)
        kind = "text" if command.about and text else "help"
        await post_note(world, incoming, kind, {"text": text}, to=incoming.user)
        return True
    body: dict[str, Json] = {"count": command.count} if command.count else {}
    await post_note(world, incoming, command.word, body, to=incoming.user)
    return True


async def _status(world: World, incoming: Incoming) -> bool:
    """`@bot status`: how the newest task of this thread stands."""
    tasks = await world.ledger.tasks_of(incoming.session, 20, incoming.user)
    task = next((one for one in tasks if not one.is_finished), tasks[0] if tasks else None)
    if task is None:
        none = "Nothing was asked for in this thread yet."
        await post_note(world, incoming, "answer", {"text": none}, to=incoming.user)
    else:
        await post_note(world, incoming, "status", {"task": task.id}, to=incoming.user)
    return True


async def _cancel_command(world: World, incoming: Incoming) -> bool:
    waiting = await _waiting(world, incoming)
    if not waiting:
        await post_note(
            world, incoming, "text", {"text": "Nothing of yours is waiting in this thread."}, to=incoming.user
        )
    for action in waiting:  # each its own: the message ends when all are cancelled
        press = replace(_press(action, incoming), message="")
        await _answer(world, incoming, await cancel(world, press), action, ends=action is waiting[-1])
    return True


async def _waiting(world: World, incoming: Incoming) -> tuple[Action, ...]:
    return await world.ledger.pending(incoming.session.team, user=incoming.user, session=incoming.session)


def _press(action: Action, incoming: Incoming) -> Press:
    ref = Ref(action.id, action.version, action.receipt[:16])
    return Press(ref, incoming.session.team, incoming.user, message=incoming.key)


async def _decide_pending(world: World, incoming: Incoming, person: Person) -> bool:
    """A plain yes or no, or an edit sentence, about what waits in this thread. True when it was one."""
    text = incoming.text
    yes, no, change = thread_commands.is_yes(text), thread_commands.is_no(text), thread_commands.edit(text)
    if not (yes or no or change):
        return False
    everyone = await world.ledger.pending(incoming.session.team, session=incoming.session)
    waiting = [a for a in everyone if a.requester == person.id]
    others = [a for a in everyone if not a.private]  # nobody else is told that a private one waits
    if not waiting:
        if not (others and yes) or await is_asked(world, incoming):
            return False
        only = f"Only {deciders(others[0])} can confirm this."
        await post_note(world, incoming, "answer", {"text": only}, to=incoming.user)
        return True
    if thread_commands.is_stop(text) and any(action.step for action in waiting):
        return False  # of a task, not of the one step that waits
    if len(waiting) > 1:
        many = (
            f"{len(waiting)} of your actions wait in this thread. Please use the buttons on the one you mean."
        )
        await post_note(world, incoming, "answer", {"text": many}, to=incoming.user)
        return True
    action = waiting[0]
    if yes:
        await _yes(world, incoming, action)
    elif no:
        await _answer(world, incoming, await cancel(world, _press(action, incoming)), action)
    elif change:
        await _answer(world, incoming, await edit_by_text(world, _press(action, incoming), change), action)
    return True


async def _rename_pending(world: World, incoming: Incoming) -> bool:
    """A new name for what the one action of theirs that waits here makes or moves. True when it was one. A model that
    hears what is said meanwhile proposes it anew by itself."""
    name = "" if world.planner.follows else thread_commands.new_name(incoming.text)
    waiting = await _waiting(world, incoming) if name else ()
    change = naming(world, waiting[0], name) if len(waiting) == 1 else None
    if change is None:
        return False
    said = await edit_by_text(world, _press(waiting[0], incoming), change)
    await _answer(world, incoming, said, waiting[0])
    return True


async def _yes(world: World, incoming: Incoming, action: Action) -> None:
    """The requester's own plain yes: to one action, not destructive, whose card stood there before they wrote."""
    if why := await why_undecided(world, incoming, action):
        kind = "answer" if why == AMBIGUOUS else UNDECIDED
        await post_note(world, incoming, kind, {"text": why}, to=incoming.user)
    else:
        await _answer(world, incoming, await confirm(world, _press(action, incoming)), action)


async def _answer(
    world: World, incoming: Incoming, said: PressResult | InvalidAnswer, action: Action, ends: bool = True
) -> None:
    """Tell what came of it, where the card does not say it already."""
    if isinstance(said, InvalidAnswer):
        text = (
            "That would not fit: " + quoted(" ".join(p.text for p in said.problems[:3])) + " Nothing changed."
        )
    elif said.code == "cancelled":
        text = f"OK, I cancelled it. Nothing ran: {quoted(action.preview.summary)}"
    else:
        text = said.text
    if text:
        kind = UNDECIDED if isinstance(said, PressResult) and said.code in LEAVES else "text"
        note = Note(
            derive_id("said", incoming.key, action.id), incoming.session, kind, {"text": text}, incoming.user
        )
        await _tell(world, incoming, note, ends)
