"""The cards that ask: what is missing, what was understood, why it waits, whether it was what they needed; answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain, groupby

from gate.rules.action import CallClass
from gate.rules.plans import is_shortened, is_taken_back
from gate.rules.routing import can_be_skipped
from gate.rules.steps import Step, StepState, is_shown_in_thread
from gate.rules.task import Flow, Plan, Question, SettledPoint, Task
from gate.rules.task_states import TaskState
from gate.sentences.plurals import counted
from views import long_result
from views import task_buttons as buttons
from views.block_kit import (
    Block,
    Message,
    actions,
    boxes,
    bullets,
    context,
    escaped,
    field,
    line,
    mention,
    mrkdwn,
    one_line,
    option,
    pack,
    paragraphs,
    person,
    plain,
    rich,
    select,
    sentence,
    text_input,
    words,
)
from views.task_wording import effect, ended, fields_and_text
from views.task_wording import number as number_of
from views.tool_results import MORE_ROWS, in_table, in_words, table, table_holds

PART = 24_000  # characters of what is kept that one window shows
MOST = 8  # answers that are shown
EACH_ANSWER = 1_500  # characters of one
S = TaskState
WORDS = "words"  # block and action id of a card's own input
GIVEN = "given"  # the action id of every answer
ON_CARD = 8  # questions whose fields still stand on the card itself
MOST_OPTIONS = 100
ANSWER = 3_000  # characters of an answer, a reason, an instruction
SHOWN = 30  # decisions and requirements of a card
EACH = 300  # characters of each of them
IN_THREAD = "You can also answer here in the thread."
NOTHING_GIVEN = "It gave nothing."
NOT_KEPT = "Some of these results were longer than what I keep: they are cut off."
SETTLES = "No answer needed. You can also say here what should change."


def answers(task: Task, with_table: bool) -> list[Block]:
    """What a plan that ended has to say: the planner's answer, or else the results of its reads, each below what was
    read, without those that were private. `with_table`: the first that is a list stands in a table block, of which a
    message has one at most."""
    if task.plan is None or not task.planned or task.flow is Flow.SIMPLE:
        return []
    if task.plan.closing:
        return paragraphs(task.plan.closing)
    read = _read(task.plan)
    left = len(read) - MOST
    tables = ((place, table(*fields_and_text(step))) for place, step in enumerate(read[:MOST]) if with_table)
    place, found = next(((place, one) for place, one in tables if one is not None), (MOST, None))
    parts = [
        [_named(task.plan, step), *(() if found and at == place else _answer_of(step))]
        for at, step in enumerate(read[:MOST])
    ]
    more = [line(words(f"… and {counted(left, 'more result')}", "italic"))] if left > 0 else []
    after = [*chain(*parts[place + 1 :]), *more]
    heading = parts[place] if found else []
    cut = left > 0 or any(
        not table_holds(found) if found and at == place else _is_cut(_told(step, EACH_ANSWER))
        for at, step in enumerate(read[:MOST])
    )
    return [
        *pack([*chain(*parts[:place]), *heading]),
        *(in_table(found) if found else []),
        *pack(after),
        *(long_result.row_of(task.id, len(_parts(task.plan))) if cut else []),
    ]


def answers_window(task: Task, number: int) -> dict[str, object] | None:
    """The window of this number, from 1, with all that the reads of a plan gave; None where there is none."""
    plan = task.plan
    made = _parts(plan) if plan and not plan.closing else []
    if plan is None or not 0 < number <= len(made):
        return None
    told = "\n\n".join(
        f"{number_of(plan, step)}. {effect(step)}\n{_told(step, long_result.MOST) or NOTHING_GIVEN}"
        for step in made[number - 1]
    )
    title = f"Part {number}" if len(made) > 1 else long_result.WHOLE
    missing = NOT_KEPT if any(map(is_shortened, made[number - 1])) else ""
    return long_result.window_of(one_line(task.text), told, title, missing)


def _parts(plan: Plan) -> list[list[Step]]:
    """What each window shows, by the size of what is kept: how long it is in words is known only once it is made."""
    read = _read(plan)
    ends = list(accumulate(len(json.dumps(step.result)) for step in read))
    room = max(PART, ends[-1] // long_result.MOST_PARTS + 1) if ends else PART
    parts = groupby(zip(ends, read, strict=True), key=lambda pair: (pair[0] - 1) // room)
    return [[step for _, step in found] for _, found in parts]


def _read(plan: Plan) -> list[Step]:
    """The reads that everybody in the thread may see."""
    done = (step for step in plan.steps if step.state is StepState.DONE and step.cls is CallClass.READ)
    return [step for step in done if is_shown_in_thread(step)]


def _named(plan: Plan, step: Step) -> Block:
    return line(words(f"{number_of(plan, step)}. {effect(step)}", "bold", most=200))


def _answer_of(step: Step) -> Iterator[Block]:
    told = _told(step, EACH_ANSWER)
    if not told:
        yield line(words(NOTHING_GIVEN, "italic"))
        return
    yield from boxes(told[:EACH_ANSWER])
    if len(told) > EACH_ANSWER:
        yield line(words("This is the beginning.", "italic"))


def _told(step: Step, most: int) -> str:
    return in_words(*fields_and_text(step), most).strip()


def _is_cut(told: str) -> bool:
    """Whether there is more than a card shows of it."""
    return len(told) > EACH_ANSWER or MORE_ROWS.search(told) is not None


def question(task: Task) -> Message:
    """What is missing before it can go on; afterwards what was decided."""
    if task.state is S.CLARIFYING and task.questions:
        return _asking(task)
    over = task.state in (S.CANCELLED, S.STOPPED_BY_USER, S.FAILED)
    told = ended(task) if over else "Decided:" if task.decided else "This was answered."
    return Message(
        f"Questions: {told}" if over else "Questions: answered",
        [_head("Before I start: ", task), sentence(told), *decisions(task.decided)],
    )


def question_over(task: Task) -> Message:
    """An older question card, once there is a newer one."""
    return Message("Questions: answered", [_head("Before I start: ", task), sentence("This was answered.")])


def _asking(task: Task) -> Message:
    on_card = len(task.questions) <= ON_CARD
    skippable = all(map(can_be_skipped, task.questions))
    form = answer_fields(task.questions) if on_card else _listed(task.questions)
    return Message(
        f"{counted(len(task.questions), 'question')} before I start: {escaped(one_line(task.text), 200)}",
        [
            _head("Before I start: ", task),
            context(
                mrkdwn(f"Asked by {mention(task.requester)}"),
                *([plain(task.reason, 500)] if task.reason else []),
            ),
            *form,
            actions(*buttons.answering(task, on_card, skippable)),
            *decisions(task.decided, "Decided so far:"),
            context(mrkdwn(IN_THREAD)),
        ],
    )


def answer_fields(questions: Iterable[Question]) -> list[Block]:
    """One field for each question: a menu where there are options, else text."""
    unique = {one.id: one for one in questions}.values()
    return [_answer(one) for one in unique]


def _answer(one: Question) -> Block:
    assumed = f"Without an answer I assume: {one.assumption}" if one.assumption else ""
    if 0 < len(one.options) <= MOST_OPTIONS:
        element = select(GIVEN, [option(text, str(index)) for index, text in enumerate(one.options)])
    else:
        element = text_input(GIVEN, multiline=True, most=ANSWER)
    asked = f"{one.text} {'; '.join(one.options)}" if len(one.options) > MOST_OPTIONS else one.text
    return _long_label(block_of(one), asked, element, assumed, bool(one.assumption))


def _long_label(block_id: str, label: str, element: Block, hint: str, optional: bool) -> Block:
    made = field(block_id, "", element, hint=hint, optional=optional)
    return {**made, "label": plain(label, 2_000)}


def block_of(one: Question) -> str:
    """The block of a question's field: the same as long as the question is."""
    return "q." + hashlib.sha256(one.id.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _listed(questions: Iterable[Question]) -> list[Block]:
    """More questions than there are fields for: the form has them."""
    return pack([bullets(line(words(one.text, most=EACH)) for one in list(questions)[:SHOWN])])


def decisions(decided: Iterable[SettledPoint], title: str = "") -> list[Block]:
    """What was settled, by whom; an assumption says that it is one."""
    listed = list(decided)
    if not listed:
        return []
    shown = [line(*_decision(one)) for one in listed[-SHOWN:]]
    left = [f"… and {len(listed) - SHOWN} before"] if len(listed) > SHOWN else []
    heads = [line(words(text, "bold")) for text in [title, *left] if text]
    return pack([*heads, bullets(shown)])


def _decision(one: SettledPoint) -> list[Block]:
    given = words(one.answer, "bold", most=EACH)
    if not one.by:
        return [words("Assumed: "), given, words(f" ({one.question})", "italic", most=EACH)]
    return [words(f"{one.question} ", "italic", most=EACH), given, words(" by "), person(one.by)]


def requirements(task: Task) -> Message:
    """What was understood in a conversation, to be confirmed before anything is planned."""
    head = _head("What I understood: ", task)
    if task.state is not S.TALKING:
        told = ended(task) if task.state in (S.CANCELLED, S.STOPPED_BY_USER, S.FAILED) else "Confirmed."
        return Message(
            f"What I understood: {told}", [head, *_points(task), sentence(told), *decisions(task.decided)]
        )
    why = task.because.removeprefix("because ").replace("*", "")
    because = [context(plain(f"I ask because {why}.", 500))] if why else []
    return Message(
        "Is this what you want built? Please confirm.",
        [
            head,
            *_points(task),
            *decisions(task.decided, "Decided:"),
            *because,
            sentence("Nothing is planned or done before you confirm."),
            actions(*buttons.confirming(task)),
        ],
    )


def talked_on(task: Task) -> Message:
    """What was understood, once somebody said more instead of confirming it."""
    return Message(
        "What I understood: not confirmed",
        [_head("What I understood: ", task), sentence("This was not confirmed: we went on talking.")],
    )


def _points(task: Task) -> list[Block]:
    shown = [line(words(one, most=EACH)) for one in task.requirements[:SHOWN]]
    left = len(task.requirements) - len(shown)
    more = [line(words(f"… and {left:,} more, all of them kept", "italic"))] if left > 0 else []
    return pack([*([bullets(shown)] if shown else []), *more])


def tells_nothing_more(task: Task) -> bool:
    """Whether the card of a plan that was taken back has nothing left to say beside the plan's own."""
    return is_taken_back(task) and not answers(task, with_table=False)


def satisfaction(task: Task, plainly: bool = False) -> Message:
    """The result in short, and whether it was what they needed. `plainly`: without Slack's newest blocks."""
    asked = line(words("Finished: ", "bold"), words(one_line(task.text), most=EACH))
    if is_taken_back(task):
        return Message(
            f"Finished: {escaped(one_line(task.text), 200)}", [rich(asked), *answers(task, not plainly)]
        )
    head = rich(asked, line(words(task.result or "It ran to its end.", "bold", most=600)))
    if task.state is not S.SATISFACTION:
        told = _verdict(task)
        return Message(
            f"Finished: {escaped(task.result, 200)}",
            [head, *answers(task, not plainly), context(mrkdwn(told))],
        )
    return Message(
        f"Finished: {escaped(task.result, 150)} Does this meet your needs?",
        [
            head,
            *answers(task, not plainly),
            sentence("Does this meet your needs?"),
            *buttons.feedback(task, plainly),
            actions(*buttons.satisfying(task, plainly)),
            context(mrkdwn(SETTLES)),
        ],
    )


def satisfied_before(task: Task) -> Message:
    """The result of an attempt before the present one."""
    told = f"{mention(task.requester)} wanted changes. I went on with what they said."
    head = rich(line(words("Finished: ", "bold"), words(one_line(task.text), most=EACH)))
    return Message("Finished once: changes were wanted", [head, context(mrkdwn(told))])


def _verdict(task: Task) -> str:
    if task.state in (S.CANCELLED, S.STOPPED_BY_USER, S.FAILED):
        return ended(task)
    if task.state is not S.DONE:
        return f"{mention(task.requester)} wanted changes. I went on with what they said."
    if not task.ended_by:
        return "Nobody said otherwise, so I take it as done."
    if task.reason == "started over":
        return f"{mention(task.ended_by)} started over, without what was said before."
    return f"{mention(task.ended_by)} says that this meets their needs."


def _head(label: str, task: Task) -> Block:
    return rich(line(words(label, "bold"), words(one_line(task.text), most=EACH)))
