"""Text of others on the cards and in the windows of a task calls nobody, links nowhere and hides nothing."""

import pytest

from gate.rules.action import Affected, Fact, Preview
from gate.rules.ports import Note
from gate.rules.task import Flow, Instruction, Missing, Plan, Question, SettledPoint, StepState, Task, Usage
from gate.rules.task_states import TaskState
from tests.tasks import having
from tests.views.samples import NOW, action, opened, parts, sent
from tests.views.task_samples import everything, step
from tests.views.test_views_hostile import CORPUS, MARK, NAMES, marked
from views import notices, task_modals
from views.block_kit import Message, visible
from views.rendering import cards
from views.task_form import changed


def hostile(text: str, state: TaskState) -> Task:
    told = Preview(
        summary=text,
        verb=text,
        facts=(Fact(text, text), Fact("path", text, old=text)),
        diff=text,
        affected=(Affected(text, 5, text, text),),
        undo=text,
        notifies=text,
        notes=(text,),
        problem=text,
    )
    odd = {"title": text, "server": text, "tool": text, "args": {text: text}, "refs": {text: text}}
    more = {"note": text, "problem": text, "text": text}
    steps = tuple(
        step(f"{n}{text}", told if n % 2 else None, state=each, **odd, **more)
        for n, each in enumerate([*StepState, *StepState])
    )
    asked = tuple(Question(f"{n}{text}", text, Missing.VALUE, (text, "b") * n, text) for n in range(3))
    return having(
        everything(state),
        text=text,
        plan=Plan(2, steps, "cd" * 32, text, "UBEN", closing=text if state is TaskState.DONE else ""),
        questions=asked,
        decided=(SettledPoint(text, text, text, text), SettledPoint("x", text, text, "UBEN")),
        requirements=(text,) * 60,
        because=text,
        reason=text,
        result=text,
        ended_by=text,
        instructions=tuple(Instruction(str(n), text, text, NOW, text * (n % 2)) for n in range(9)),
        usage=Usage(3, 10, 10),
    )


def payloads(text: str, states=tuple(TaskState)):
    for state in states:
        of = hostile(text, state)
        more = having(of, flow=Flow.TALK, questions=of.questions * 5)
        for card in [
            *cards(of),
            *(cards(more) if state in (TaskState.TALKING, TaskState.CLARIFYING) else ()),
        ]:
            yield sent(card.message)
            yield sent(card.plain or card.message)
        yield sent(notices.status(of, [action(preview=of.plan.steps[1].preview)] * 20))
    of = hostile(text, TaskState.TALKING)
    yield opened(task_modals.answers(of))
    yield opened(task_modals.changes(of))
    yield opened(task_modals.replan(of, of.plan))
    yield opened(task_modals.modify(of, of.plan, {}))
    yield opened(task_modals.everything(of, of.plan))
    for kind in ("talk", "status"):
        note = Note("n", of.session, kind, {"text": text, "task": of.id})
        yield sent(notices.message(note, task=having(of, requirements=())))
    assert changed(of.plan, {}, {}).errors == {}


@pytest.mark.slow(but=7)
@pytest.mark.parametrize("text", CORPUS, ids=NAMES)
def test_text_of_others_calls_nobody_links_nowhere_and_hides_nothing(text):
    for payload in payloads(marked(text)):
        made = payload if isinstance(payload, dict) else payload.blocks
        assert MARK not in "".join(part["text"] for part in parts(made, "mrkdwn"))
        assert not parts(made, "link") + parts(made, "image")
        assert {user["user_id"] for user in parts(made, "user")} <= {"UBEN", "UANA"}
        titles = [one["title"] for block in parts(made, "plan") for one in [block, *block["tasks"]]]
        assert not {"<", ">"} & set("".join(titles))
        for part in [*(p["text"] for p in [*parts(made, "text"), *parts(made, "plain_text")]), *titles]:
            assert visible(part).replace("\\u{5c}", "\\") == part
        if isinstance(payload, Message):
            assert "<" not in payload.text.replace("<@UBEN>", "")
            assert len(payload.text) <= 300


@pytest.mark.slow
def test_a_megabyte_is_clipped_everywhere():
    for payload in payloads("x" * 1_000_000, (TaskState.RUNNING,)):
        assert len(str(payload)) < 400_000
