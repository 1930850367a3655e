"""A conversation without a model: phrases are noted, and become requirements when it is to be built."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gate.rules.planner_port import (
    Exchange,
    Implement,
    ListPending,
    Mode,
    PlannerContext,
    Propose,
    Reply,
    Say,
    Turn,
)
from gate.rules.settings import Switches
from gate.tasks.converse import ASKED
from tests.tools.phrases_setup import bundled, replied, turn
from tools.phrases.conversation import COMPILE, ONCE
from tools.phrases.planner import Phrases

MOVE, DELETE = "move a.md to archive", "delete b.md"


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> Phrases:
    return bundled(tmp_path_factory.mktemp("talk"))


def says(reply: Reply) -> str:
    assert isinstance(reply, Say), reply
    return reply.text


async def talk(planner: Phrases, *texts: str) -> list[Reply]:
    """What the planner answers to each message of a conversation."""
    turns: list[Turn] = []
    for number, text in enumerate(texts):
        said = turn(text, Mode.TALK, f"t{number}")
        reply = (await planner.reply(said, PlannerContext(texts[0], earlier=tuple(turns)), ())).reply
        turns.append(replace(said, exchanges=(Exchange(reply),)))
    return [one.exchanges[0].reply for one in turns]


async def test_phrases_are_noted_and_the_limits_of_it_are_said_once(planner: Phrases) -> None:
    first, second, third = await talk(planner, f"Next steps:\n{MOVE}", DELETE, "what do you think?")
    assert says(first) == f"{ONCE}\nNoted:\n• {MOVE}"
    assert says(second) == f"Noted:\n• {DELETE}"
    assert "none of my phrases" in says(third)
    assert ONCE not in says(third)


@pytest.mark.parametrize("word", ["yes, implement it", "do it", "Go ahead!", COMPILE])
async def test_what_was_noted_becomes_the_requirements_in_order(word: str, planner: Phrases) -> None:
    *_, last = await talk(planner, "hello there", f"{MOVE} then {DELETE}", "hm", "run tidy-drafts", word)
    assert last == Implement((MOVE, DELETE, "run tidy-drafts"))


async def test_a_sentence_that_lacks_its_end_is_noted_too(planner: Phrases) -> None:
    assert (await talk(planner, "copy c.md", "do it"))[-1] == Implement(("copy c.md",))


async def test_long_texts_come_through_as_they_were_written(planner: Phrases) -> None:
    texts = ["write to a.md:\none\n\ntwo", 'write to b.md: "x: then y"', "write to c.md:\n```\nz\n```"]
    last = (await talk(planner, *texts, "implement it"))[-1]
    assert isinstance(last, Implement)
    direct = [(await replied(planner, text)) for text in texts]
    again = [(await replied(planner, text)) for text in last.requirements]
    assert again == direct


async def test_looking_is_done_at_once_and_is_no_requirement(planner: Phrases) -> None:
    first, last = await talk(planner, "what is in reports?", "do it")
    assert isinstance(first, Propose)
    assert "nothing to plan yet" in says(last)


async def test_a_question_about_building_is_talk(planner: Phrases) -> None:
    _, last = await talk(planner, MOVE, "how would you build it?")
    assert isinstance(last, Say)


async def test_where_the_way_to_doing_is_closed_it_says_so(planner: Phrases) -> None:
    brief = PlannerContext(MOVE, switches=Switches(allow_execution_transition=False))
    assert "switched off" in says(await replied(planner, "implement it", Mode.TALK, brief))


async def test_other_tasks_of_the_thread_are_not_its_words(planner: Phrases) -> None:
    other = replace(turn(MOVE, Mode.TALK, "old"), task="another")
    acted = turn(DELETE, Mode.ACT, "acted")
    reply = await replied(planner, "do it", Mode.TALK, PlannerContext("do it", earlier=(other, acted)))
    assert "nothing to plan yet" in says(reply)


async def test_help_and_what_waits_are_answered_as_ever(planner: Phrases) -> None:
    assert "You can write" in says(await replied(planner, "help", Mode.TALK))
    assert await replied(planner, "what is waiting?", Mode.TALK) == ListPending()


async def test_a_message_of_many_lines_is_not_noted_and_is_said_not_to_be(planner: Phrases) -> None:
    many = "\n".join(f"delete b{n}.md" for n in range(13))
    refused, fits, last = await talk(planner, many, many.rsplit("\n", 1)[0], "do it")
    assert says(refused).startswith(f"{ONCE}\nThat has more than 12 lines")
    assert "• delete b11.md" in says(fits)
    assert isinstance(last, Implement)
    assert len(last.requirements) == 12


async def test_a_conversation_asks_for_no_more_than_a_plan_can_do(planner: Phrases) -> None:
    many = ["\n".join(f"delete b{n}-{m}.md" for n in range(12)) for m in range(9)]
    assert "more than 100 things" in says((await talk(planner, *many, "do it"))[-1])


async def test_a_conversation_that_is_too_long_to_be_gone_through_says_so(planner: Phrases) -> None:
    long = ["well " * 7_000 for _ in range(3)]
    assert "begin a new thread" in says((await talk(planner, *long, "do it"))[-1])
    assert "nothing to plan yet" in says((await talk(planner, *long[:2], "do it"))[-1])


def test_the_button_says_the_same_as_here() -> None:
    assert COMPILE == ASKED
