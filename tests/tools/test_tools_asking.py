"""What a sentence lacks is asked for; an answer counts for its own question alone, and a wrong one is said."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gate.rules.planner_port import Clarify, PlannerContext, Propose, Reply, Say
from gate.rules.routing import route
from gate.rules.settings import Switches
from gate.rules.task import Flow, Missing, Question, SettledPoint
from gate.rules.tool import Hints, ToolSpec, Trust
from tests.tools.phrases_setup import bundled, listed, phrase_book, replied, turn
from tools.phrases.planner import Phrases

MAIL = ToolSpec(
    server="mail",
    name="send",
    title="Send",
    description="",
    schema={
        "type": "object",
        "properties": {
            "to": {"type": "string"},
            "priority": {"type": "string", "enum": ["low", "high"], "default": "low"},
            "copies": {"type": "integer", "minimum": 1},
            "quick": {"type": "boolean"},
        },
        "required": ["to"],
    },
    definition="",
    hints=Hints(destructive=True, read_only=False),
    trust=Trust.DECLARED,
)
MAIL_PHRASES = {
    "phrases": [
        {
            "say": "mail {to} with {priority} priority {copies:number}",
            "call": "mail.send",
            "args": {"to": "{to}", "priority": "{priority}", "copies": "{copies}"},
        },
        {
            "say": "post {to} as {priority}",
            "call": "mail.send",
            "args": {"to": "{to}", "priority": "{priority}"},
        },
        {"say": "fax {to} quickly {quick}", "call": "mail.send", "args": {"to": "{to}", "quick": "{quick}"}},
    ]
}


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> Phrases:
    return bundled(tmp_path_factory.mktemp("asking"))


@pytest.fixture(scope="module")
def mailer(tmp_path_factory: pytest.TempPathFactory) -> Phrases:
    return Phrases(phrase_book(MAIL_PHRASES), listed(tmp_path_factory.mktemp("mail"), MAIL))


def asked(reply: Reply) -> tuple[Question, ...]:
    assert isinstance(reply, Clarify), reply
    return reply.questions


def answers(questions: Sequence[Question], *texts: str) -> tuple[SettledPoint, ...]:
    return tuple(SettledPoint(q.id, q.text, text, "U1") for q, text in zip(questions, texts, strict=True))


@pytest.mark.parametrize(
    ("text", "name", "answer", "args"),
    [
        (
            "move reports/q3.md",
            "destination",
            "archive/",
            {"source": "reports/q3.md", "destination": "archive/"},
        ),
        (
            "please move reports/q3.md to",
            "destination",
            '"a b.md"',
            {"source": "reports/q3.md", "destination": "a b.md"},
        ),
        ("rename c/a.md", "destination", "<http://b.md|b.md>", {"source": "c/a.md", "destination": "c/b.md"}),
        ('copy "my notes"', "destination", "'x'", {"source": "my notes", "destination": "x"}),
        ("create a.md", "content", "one\ntwo, and three", {"path": "a.md", "content": "one\ntwo, and three"}),
        ("write to a.md:", "content", "```\nx\n```", {"path": "a.md", "content": "x\n"}),
    ],
)
async def test_what_the_end_of_a_sentence_lacks_is_asked_for(
    text: str, name: str, answer: str, args: dict[str, str], planner: Phrases
) -> None:
    (question,) = asked(await replied(planner, text))
    assert (question.id, question.missing) == (f"value:{name}", Missing.VALUE)
    assert name in question.text
    reply = await replied(planner, text, brief=PlannerContext(text, decided=answers([question], answer)))
    assert isinstance(reply, Propose)
    assert [dict(call.args) for call in reply.calls] == [args]


async def test_the_assessment_asks_the_same_and_nothing_afterwards(planner: Phrases) -> None:
    first = (await planner.assess(turn("move a.md"), PlannerContext("move a.md"))).assessment
    assert first.missing == (Missing.VALUE,)
    assert first.questions == asked(await replied(planner, "move a.md"))
    again = (
        await planner.assess(turn("move a.md"), PlannerContext("x", decided=answers(first.questions, "b.md")))
    ).assessment
    assert (again.missing, again.questions, again.steps) == ((), (), 1)


async def test_a_description_is_shown_where_its_server_is_trusted(planner: Phrases) -> None:
    (question,) = asked(await replied(planner, "move a.md"))
    assert question.text.startswith("Which destination for “move a.md”? A path inside the allowed folders")


async def test_choices_and_a_default_come_from_the_schema(mailer: Phrases) -> None:
    (question,) = (
        (await mailer.assess(turn("post a@b.c"), PlannerContext("post a@b.c"))).assessment
    ).questions
    assert (question.options, question.assumption) == (("low", "high"), "low")
    (quick,) = asked(await replied(mailer, "fax a@b.c"))
    assert (quick.options, quick.assumption) == (("yes", "no"), "")


async def test_a_wrong_answer_is_asked_for_again_with_the_reason(mailer: Phrases) -> None:
    text = "mail a@b.c with"
    questions = ((await mailer.assess(turn(text), PlannerContext(text))).assessment).questions
    assert [q.id for q in questions] == ["value:priority", "value:copies"]
    first = answers(questions, "urgent", "two")
    (number,) = asked(await replied(mailer, text, brief=PlannerContext(text, decided=first)))
    assert "“two” is no whole number." in number.text
    second = (*first[:1], *answers([number], "2"))
    (choice,) = asked(await replied(mailer, text, brief=PlannerContext(text, decided=second)))
    assert "`priority` must be low or high, not urgent" in choice.text
    assert choice.assumption == ""  # a wrong answer is never taken for a default
    third = (*answers([choice], "high"), *second[1:])
    reply = await replied(mailer, text, brief=PlannerContext(text, decided=third))
    assert isinstance(reply, Propose)
    assert dict(reply.calls[0].args) == {"to": "a@b.c", "priority": "high", "copies": 2}


async def test_an_answer_counts_for_its_own_question_alone(planner: Phrases) -> None:
    old = answers(asked(await replied(planner, "move a.md")), "archive")
    (question,) = asked(await replied(planner, "move b.md", brief=PlannerContext("move b.md", decided=old)))
    assert "b.md" in question.text


async def test_several_instructions_ask_each_for_their_own(planner: Phrases) -> None:
    text = "move d/a.md\nrename d/b.md"
    questions = asked(await replied(planner, text))
    assert [q.id for q in questions] == ["value:destination", "value:destination:2"]
    reply = await replied(
        planner, text, brief=PlannerContext(text, decided=answers(questions, "x/", "'y.md'"))
    )
    assert isinstance(reply, Propose)
    assert [call.args["destination"] for call in reply.calls] == ["x/", "d/y.md"]


async def test_a_value_that_was_passed_over_is_not_asked_for_forever(planner: Phrases) -> None:
    (question,) = asked(await replied(planner, "move a.md"))
    passed = (SettledPoint(question.id, question.text, "", "U1"),)
    reply = await replied(planner, "move a.md", brief=PlannerContext("move a.md", decided=passed))
    assert isinstance(reply, Say)
    assert "cannot be done without destination" in reply.text


@pytest.mark.parametrize(
    "text",
    [
        "move",
        "move it",
        "move my notes.md",
        "mv a.md b.md",
        "make it",
        "copy that",
    ],
)
async def test_what_may_be_another_sentence_is_a_near_miss(text: str, planner: Phrases) -> None:
    reply = await replied(planner, text)
    assert isinstance(reply, Say)
    assert "I did not understand" in reply.text


@pytest.mark.parametrize(
    ("text", "complexity", "steps"),
    [
        ("list", 10, 1),
        ("delete a.md", 25, 1),
        ("delete a.md then delete b.md", 29, 2),
        ("read a.md\nread b.md\nread c.md", 30, 3),
        ("move a.md to b\nmove c.md to d\ndelete e.md", 45, 3),
        ("run archive-quarter for q3", 30, 3),
        ("run publish-note for x, text=y", 30, 3),
        ("\n".join(["delete a.md"] * 9), 100, 9),
        ("make me a sandwich", 10, 1),
        ("help", 0, 1),
        ("runbooks", 0, 1),
        ("what is waiting?", 0, 1),
    ],
)
async def test_complexity_goes_by_rule(text: str, complexity: int, steps: int, planner: Phrases) -> None:
    found = (await planner.assess(turn(text), PlannerContext(text))).assessment
    assert (found.complexity, found.steps) == (complexity, steps)
    assert all(question.assumption for question in found.questions), "it can go on without an answer"


async def test_a_hint_that_says_destructive_counts(mailer: Phrases) -> None:
    text = "post a@b.c as high"
    assert ((await mailer.assess(turn(text), PlannerContext(text))).assessment).complexity == 25


@pytest.mark.parametrize(
    ("text", "flow"),
    [
        ("move a.md to b", Flow.SIMPLE),
        ("run archive-quarter for q3", Flow.PLAN),
        ("make me a sandwich", Flow.SIMPLE),
        ("move a to b\nmove c to d\nmove e to f", Flow.PLAN),
    ],
)
async def test_code_makes_a_flow_of_it(text: str, flow: Flow, planner: Phrases) -> None:
    assert route((await planner.assess(turn(text), PlannerContext(text))).assessment, Switches()).flow is flow
