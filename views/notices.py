"""Stored notes as messages, how things stand for who asks, and the short sentences that one person alone sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gate.rules import messages
from gate.rules.access import Token, TokenKind
from gate.rules.action import Action
from gate.rules.audit import Line
from gate.rules.grants import Grant
from gate.rules.ports import Note, UndoEntry
from gate.rules.task import StopRequest, Task
from gate.rules.task_states import TaskState
from gate.sentences.plurals import counted
from views import grants, lists, long_result
from views import task_buttons as buttons
from views.block_kit import (
    SAID,
    Block,
    Message,
    actions,
    beginning,
    boxes,
    bullets,
    context,
    escaped,
    line,
    mention,
    mrkdwn,
    one_line,
    pack,
    paragraphs,
    person,
    plain,
    quote,
    rich,
    sentence,
    words,
)
from views.task_progress import WISHES
from views.task_wording import mode, number, spent, state, what
from views.tool_results import MORE_ROWS, Table, in_table, outlined, table, table_holds
from views.wording import effect, may_confirm

NOTHING = "Nothing is under way in this thread."
MOST = 10  # waiting actions that are named
AWAITED = {
    TaskState.TALKING: "say more, or confirm what I understood",
    TaskState.CLARIFYING: "answer the questions",
    TaskState.PLAN_REVIEW: "decide on the plan",
    TaskState.PAUSED: "say how it goes on",
    TaskState.SATISFACTION: "say whether this meets their needs",
}
OVER = "No more of this is told here."
TEXT = 300
ASKED = 2_000  # characters of what was asked for over the API


def status(task: Task | None, waiting: Sequence[Action] = ()) -> Message:
    """`waiting`: the actions that wait for a decision in the thread."""
    if task is None:
        return Message(NOTHING, [sentence(NOTHING), *_waiting(waiting)])
    own = [each for each in waiting if not each.task or each.task == task.id]
    return Message(
        f"{state(task)}: {escaped(one_line(task.text), 200)}",
        [
            rich(line(words(f"{state(task)}: ", "bold"), words(one_line(task.text), most=300))),
            *_step(task),
            *_awaited(task),
            *_waiting(own),
            *([sentence(WISHES[task.wish])] if task.wish is not StopRequest.NONE else []),
            *_notes(task),
        ],
    )


def _step(task: Task) -> list[Block]:
    if task.plan is None or not task.planned:
        return []
    current, steps = task.plan.current, len(task.plan.steps)
    over = sum(step.is_finished for step in task.plan.steps)
    if current is None or task.is_finished:
        return [sentence(f"{over} of {counted(steps, 'step')} over.")]
    place = f"Step {number(task.plan, current)} of {steps}: "
    return [rich(line(words(place), words(what(current), "bold", most=200)))]


def _awaited(task: Task) -> list[Block]:
    """What the requester is asked to do now."""
    told = AWAITED.get(task.state, "")
    if not told or (task.state is TaskState.CLARIFYING and not task.questions):
        return []
    return [sentence(f"Waits for {mention(task.requester)} to {told}.")]


def _waiting(waiting: Sequence[Action]) -> list[Block]:
    shown = [
        block
        for action in waiting[:MOST]
        for block in (
            rich(line(words(effect(action), "bold", most=200))),
            context(mrkdwn(f"Waits for {may_confirm(action)}.")),
        )
    ]
    left = len(waiting) - MOST
    return [*shown, *([context(mrkdwn(f"… and {left:,} more."))] if left > 0 else [])]


def _notes(task: Task) -> list[Block]:
    unused = len(task.unused)
    told = [
        f"M{mode(task.switches)[1:]}." if task.plan else "",
        f"{counted(unused, 'instruction')} {'waits' if unused == 1 else 'wait'} for the next step."
        if unused
        else "",
        spent(task.planning.usage),
        f"Attempt {task.attempts}." if task.ends and task.attempts > 1 else "",
    ]
    own = " ".join(filter(None, told))
    return [context(mrkdwn(own))] if own else []


def talk(text: list[Block], top: str, task: Task | None) -> Message:
    """Words in a conversation, with *Implement now* under them while it is still talked about."""
    open_talk = task is not None and task.state is TaskState.TALKING and not task.requirements
    offered = task is not None and open_talk and task.switches.allow_execution_transition
    press = [actions(buttons.implement(task.id, task.attempts))] if task is not None and offered else []
    return Message(top, [*text, *press])


def message(
    note: Note,
    *,
    waiting: Sequence[Action] = (),
    entries: Sequence[UndoEntry] = (),
    lines: Sequence[Line] = (),
    task: Task | None = None,
    allowed: Sequence[Grant] = (),
) -> Message:
    """The message of a note. `waiting`, `entries`, `lines`, `task` and `allowed` are for the kinds that tell of them.

    Raises ValueError for a kind that nobody has heard of.
    """
    listed: dict[str, Callable[[], Message]] = {
        "undo": lambda: lists.undo(entries),
        "audit": lambda: lists.audit(lines),
        "help": lambda: lists.help_text(str(note.body.get("text") or "")),
        "grants": lambda: grants.listed(allowed, list(note.body.get("void") or ())),
    }
    if note.kind in listed:
        return listed[note.kind]()
    match note.kind:
        case "text":
            return _text(note)
        case "answer" | messages.UNDECIDED | messages.LATE:
            return answer(str(note.body["text"]))
        case "read":
            return _read(note)
        case "refused":
            return _refused(note)
        case "news":
            return _news(note)
        case "talk":
            return talk(paragraphs(str(note.body["text"])), _text(note).text, task)
        case "status":
            return status(task, waiting)
    raise ValueError(f"a note of kind {note.kind!r} cannot be shown")


def plainly(note: Note) -> Message | None:
    """What was read without a table block, for where Slack does not take it; None where `message` has none."""
    if note.kind != "read" or _found(note) is None:
        return None
    return _read(note, with_table=False)


def answer(own: str) -> Message:
    """One of our own sentences: a refusal, or who was first."""
    text = mrkdwn(own)["text"]
    return Message(text if len(text) <= TEXT else "An answer for you", [sentence(own)])


def _text(note: Note) -> Message:
    """Words of a planner: nothing in them is parsed, so they can call nobody and link nowhere."""
    text = str(note.body["text"])
    return Message(escaped(one_line(text), TEXT) or "(empty)", paragraphs(text))


def _found(note: Note) -> Table | None:
    """The list of things that a read gave, where it gave one."""
    body = note.body
    return None if body.get("error") else table(body.get("structured"), str(body.get("text") or ""))


def _read(note: Note, with_table: bool = True) -> Message:
    """What a read found: the tool's words, which nobody has checked."""
    body = note.body
    failed = bool(body.get("error"))
    found = _found(note) if with_table else None
    name, summary = str(body["name"]), str(body.get("summary") or "")
    source = outlined(body["arguments"]) if body.get("arguments") and not summary else ""
    outside = (
        [context(mrkdwn("From outside of this workspace: read with care."))] if body.get("open_world") else []
    )
    clipped = [context(mrkdwn("The answer was longer than what I keep."))] if body.get("clipped") else []
    text, hidden = ("", []) if found else beginning(long_result.told(note, SAID))
    cut = not table_holds(found) if found else bool(hidden) or MORE_ROWS.search(text) is not None
    start = ("Failed: " if failed else "") if summary else "Could not read: " if failed else "Read: "
    named = [] if summary else [words(name, most=200)]
    blocks = [
        rich(line(words(start + summary, "bold", most=200), *named)),
        *([context(plain(source, 500))] if source else []),
        *(in_table(found) if found else _in_boxes(text, hidden)),
        *outside,
        *clipped,
        *(long_result.row(note) if cut else []),
    ]
    return Message(start + escaped(summary or name, TEXT - len(start)), blocks)


def _in_boxes(shown: str, hidden: list[Block]) -> list[Block]:
    """What a read gave as text of one width."""
    return pack([*boxes(shown), *hidden]) or [context(mrkdwn("Nothing came back."))]


def _refused(note: Note) -> Message:
    name, reasons = str(note.body["name"]), note.body["reasons"]
    start = "Not done: "
    listed = [line(words(str(reason), most=600)) for reason in reasons[:10]]
    head = rich(line(words(start, "bold"), words(name, most=200)))
    return Message(
        start + escaped(name, TEXT - len(start)), [head, *([rich(bullets(listed))] if listed else [])]
    )


def _news(note: Note) -> Message:
    """What has changed since an action, in a tool's words, which nobody has checked."""
    title, end = str(note.body["title"]), str(note.body["end"])
    listed = [line(words(str(one), most=TEXT)) for one in note.body["lines"]]
    head = rich(line(words(title, "bold", most=200)), *([bullets(listed)] if listed else []))
    over = [rich(line(words(f"{OVER} {end}", "italic", most=400)))] if end else []
    return Message(escaped(title, TEXT), [head, *over])


def api_thread(token: Token, text: str) -> Message:
    """The message that opens a thread for what is proposed over the API.

    `text`: what was asked for in words; "" for single calls.
    """
    if token.kind is TokenKind.AGENT:
        first = line(
            words("The agent "), words(token.name, "bold", most=80), words(" works for "), person(token.user),
            words(" here. What it proposes is asked in this thread; it decides nothing."),
        )  # fmt: skip
        told = f"The agent {token.name} asks in this thread."
    else:
        first = line(
            person(token.user), words(" asks over the API. What has to be decided stands in this thread.")
        )
        told = "Something was asked for over the API."
    said = [quote(text, ASKED)] if text else []
    return Message(escaped(told, TEXT), [rich(first, *said)])
