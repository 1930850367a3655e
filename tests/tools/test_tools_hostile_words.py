"""What people or their clients may send, at the greatest length: nothing of it keeps the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gate.rules.plan_changes import rebuilt_plan
from gate.rules.planner_port import Call, CallReport, Mode, PlannerContext, Propose, ProposePlan, Say
from gate.rules.settings import parse_header
from gate.rules.task import Instruction
from gate.rules.tool import ToolSpec
from gate.sentences import thread_commands
from gate.sentences.build_intent import intent
from gate.sentences.outcome_claims import claims_outcome
from gate.tasks.inbox import LONGEST
from handlers.slack import payloads
from tests.cpu_time import seconds
from tests.tools.phrases_setup import Listed, bundled, listed, replied, turn, understood
from tools.phrases import listing, runbook_steps
from tools.phrases.conversation import noted
from tools.phrases.interpret import MOST, Understanding
from tools.phrases.phrase_file import load_phrases
from tools.phrases.phrasebook import Phrase
from tools.phrases.plan_draft import Piece, Unclear
from tools.phrases.planner import Phrases, in_order
from tools.phrases.replan import Changing, order
from tools.phrases.sentence_patterns import Found, best
from tools.phrases.tokenize import hear

UNITS = (
    '\\"', "'a ", "‘a", "“", "`", "``", "<http://a", "<@U1|", '={"', '=["', "a ", "a, ", "- a\n", "then ", " then a",
    " and ", "move a to b then ", "move a to ", "a.b x=1 ", "{", "[", "(", "please ", "0 ", "\t", "\n", ". ", "a_",
    "step 1, ", "run ", "run archive-quarter for ", ">", "*", "read file ", "delete a and ", "é", "?", "! ",
    "successfully ", "mode ", "[a=b] ", "in table a of a set a to a where ", "#", "|", "\\",
)  # fmt: skip
Reader = Callable[[str], object]
NOW = datetime(2026, 11, 27, tzinfo=UTC)
GENEROUS = 0.25  # CPU seconds: this machine has others to serve


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reader]:
    """All that reads a message before anybody is asked, by what it looks for."""
    tools = listed(tmp_path_factory.mktemp("files"))
    known = Understanding(load_phrases(Path("manifests/phrases.yaml")), tools)

    def read(text: str) -> object:
        try:
            return known.read(hear(text))
        except Unclear:
            return None

    return {
        "Slack's escapes": lambda text: payloads.as_typed(payloads.clean(text)),
        "quotes": hear,
        "an instruction": read,
        "a question": lambda text: known.answer(hear(text)),
        "what waits": lambda text: known.asks_what_waits(hear(text)),
        "a rule about a plan": order,
        "an intent": intent,
        "an edit": thread_commands.edit,
        "a mode": thread_commands.mode,
        "a command": thread_commands.command,
        "switches": parse_header,
        "a claim": claims_outcome,
    }


def quickest(run: Callable[[], object]) -> float:
    """CPU seconds, the better of two tries where the first takes too long."""
    return seconds(run, 2, GENEROUS)


@pytest.mark.slow(but=9)
@pytest.mark.parametrize("unit", UNITS)
def test_a_hostile_message_is_read_in_less_than_a_tenth_of_a_second(
    unit: str, readers: dict[str, Reader]
) -> None:
    slow = {
        (name, length): took
        for name, read in readers.items()
        for length in (1_950, LONGEST)
        for text in ["move a to " + unit * (length // len(unit))]
        if (took := quickest(lambda read=read, text=text: read(text))) > GENEROUS  # type: ignore[misc]
    }
    assert slow == {}


def test_a_sentence_of_many_parts_is_cut_up_no_further_than_it_is_read(tmp_path: Path) -> None:
    known = Understanding(load_phrases(Path("manifests/phrases.yaml")), listed(tmp_path))
    assert len(known.instructions(hear("delete a and " * 150 + "delete a"))) == MOST + 1


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> Phrases:
    return bundled(tmp_path_factory.mktemp("many"))


CROWDED = "\n".join((f"zz{n} a to b then " * 133)[:1_990] for n in range(12))


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines that were held against the phrases."""
    lines = list[str]()

    def counted(phrases: Iterable[Phrase], line: str) -> Found | None:
        lines.append(line)
        return best(phrases, line)

    monkeypatch.setattr("tools.phrases.interpret.best", counted)
    return lines


COMPARED = "\n".join(("diff" + f" a{n} and" * 2_000)[:1_990] for n in range(12))


@pytest.mark.parametrize("text", [CROWDED, COMPARED])
def test_a_message_is_cut_at_no_more_places_than_it_has_time_for(
    planner: Phrases, tried: list[str], text: str
) -> None:
    assert planner.understand(text) == Say(
        "That has too many parts. Please give me less at once, and put text in quotes."
    )
    assert len(tried) == len({*tried})
    assert sum(map(len, tried)) < 60_000


async def test_a_conversation_notes_nothing_of_a_message_with_too_many_parts(planner: Phrases) -> None:
    reply = await replied(planner, CROWDED, Mode.TALK)
    assert isinstance(reply, Say)
    assert "Noted" not in reply.text


@pytest.mark.parametrize("unit", ["a\n", "? ", "b. ", "move a to\n"])
def test_no_message_of_many_lines_takes_long_to_be_noted(planner: Phrases, unit: str) -> None:
    text = (unit * LONGEST)[:LONGEST]
    assert seconds(lambda: noted(text, Understanding(planner.book, planner.tools)), 3, GENEROUS) < GENEROUS


async def test_what_was_said_before_is_read_again_turn_by_turn(planner: Phrases) -> None:
    before = tuple(turn(f"copy c{n}.md", Mode.TALK, f"t{n}") for n in range(5))
    asked = planner.reply(turn("do it", Mode.TALK), PlannerContext("do it", earlier=before), ())
    assert len([*asked.__await__()]) == 5


def test_each_line_is_held_against_the_phrases_once(planner: Phrases, tried: list[str]) -> None:
    assert isinstance(planner.understand("\n".join(["read a/b"] * 12)), Propose)
    assert tried == ["read a/b"]


def test_a_message_of_many_names_joined_by_and_is_cut_up_as_before(planner: Phrases) -> None:
    names = " and ".join(f"a/{n}.md" for n in range(9))
    reply = planner.understand("\n".join([f"delete {names}"] * 12))
    assert isinstance(reply, Propose | ProposePlan)


# More than a reply can use


@dataclass(frozen=True)
class Counted(Listed):
    """Counts how often a tool is looked up."""

    asked: list[str] = field(default_factory=list)

    def find(self, server: str, tool: str) -> ToolSpec | None:
        self.asked.append(tool)
        return super().find(server, tool)


MANY_THINGS = "That names {} things, and one message can have 100: name a folder, or fewer at a time."


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("read " + ", ".join(["/a"] * 400), "400"),
        ("\n".join(["read " + ",".join(["/a"] * 660)] * 6), "3,960"),
        ("copy " + ", ".join(f"r/{n}.md" for n in range(101)) + " to archive/", "101"),
    ],
)
def test_more_things_than_a_reply_can_have_are_refused_before_calls_are_made(
    planner: Phrases, text: str, count: str
) -> None:
    tools = Counted(planner.tools.known)  # type: ignore[attr-defined]
    reply = understood(Phrases(planner.book, tools), text)
    assert isinstance(reply, Say)
    assert reply.text.endswith(MANY_THINGS.format(count))
    assert len(tools.asked) < 101


def test_what_a_few_folders_hold_is_counted_too(planner: Phrases) -> None:
    tree = [f"f{folder}/{number}.md" for folder in range(3) for number in range(40)]
    lines = [f"copy all files from f{folder} to archive/" for folder in range(3)]
    reply = understood(planner, "\n".join(lines), tree)
    assert isinstance(reply, Say)
    assert reply.text.endswith(MANY_THINGS.format(120))
    assert isinstance(understood(planner, "copy all files from f0 to archive/", tree), Propose)


def test_as_many_things_as_a_reply_can_have_are_proposed(planner: Phrases) -> None:
    reply = understood(planner, "copy " + ", ".join(f"r/{n}.md" for n in range(100)) + " to archive/")
    assert isinstance(reply, Propose)
    assert len(reply.calls) == 100


@pytest.mark.parametrize("count", [100, 1000])
def test_whether_calls_depend_on_each_other_is_seen_in_one_look_at_each(planner: Phrases, count: int) -> None:
    tools = Counted(planner.tools.known)  # type: ignore[attr-defined]
    call = Call("filesystem", "move_file", {})
    pieces = [Piece(f"{n}", call, "t", takes=(f"a/{n}",), gives=(f"b/{n}",)) for n in range(count)]
    assert not in_order(pieces, tools)
    assert len(tools.asked) == count
    assert in_order([*pieces, Piece("last", call, "t", takes=("b/7/inside",))], tools)


# Names that are looked up


QUARTERS = [f"f{n % 5}/the quarter report {n} of the finance team.docx" for n in range(970)]


def looks(monkeypatch: pytest.MonkeyPatch, planner: Phrases, text: str) -> dict[str, int]:
    """How often, in the last understanding of a message, a listing was parsed and a name taken apart."""
    counts = {"parsed": 0, "taken apart": 0}
    parse, apart = runbook_steps.result_of, listing.words

    def parsed(call: Call, told: CallReport) -> Any:
        counts["parsed"] += 1
        return parse(call, told)

    def taken_apart(text: str) -> list[str]:
        counts["taken apart"] += 1
        return apart(text)

    understand = Phrases.understand

    def last(self: Phrases, *given: Any) -> object:
        counts.update({"parsed": 0, "taken apart": 0})
        return understand(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr("tools.phrases.name_lookup.result_of", parsed)
        patch.setattr(listing, "words", taken_apart)
        patch.setattr(Phrases, "understand", last)
        understood(planner, text, QUARTERS)
    return counts


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "line",
    [
        "delete the quarter report {}",
        "move the quarter report {} to f1",
        "delete " + ", ".join(["notes.md"] * 150),
        "delete the raport of quarter figures",
        "delete " + ", ".join(["all in f1"] * 150),
    ],
)
def test_a_listing_is_read_once_however_many_names_are_held_against_it(
    monkeypatch: pytest.MonkeyPatch, planner: Phrases, line: str
) -> None:
    one = looks(monkeypatch, planner, line.format(1))
    twelve = looks(monkeypatch, planner, "\n".join(line.format(n) for n in range(12)))
    assert 0 < one["parsed"] <= twelve["parsed"] <= one["parsed"] + 2
    assert twelve["taken apart"] <= one["taken apart"] + 2 * len(QUARTERS)


def test_a_folder_that_is_named_again_and_again_brings_its_files_once(planner: Phrases) -> None:
    reply = understood(planner, "delete all in f1, all in f1 and everything in f1", QUARTERS)
    assert isinstance(reply, Propose)
    (call,) = reply.calls
    assert len(call.args["path"]) == 194


@pytest.mark.parametrize("line", ["read *", "show *", "read -*", "show (*)", "read *, a/notes.md"])
def test_a_pattern_without_a_word_is_no_folder(planner: Phrases, line: str) -> None:
    assert isinstance(understood(planner, line), Propose)


# What is said about a plan


def changing(planner: Phrases, steps: int, length: int) -> Changing:
    contents = [{"path": f"a/{n}.md", "content": "x " * (length // 2)} for n in range(steps)]
    pieces = [Piece(f"s{n}", Call("filesystem", "write_file", args), "t") for n, args in enumerate(contents)]
    return Changing(pieces, (), Understanding(planner.book, planner.tools))


@pytest.mark.parametrize(
    "text", ["\n".join(["zz"] * 13), "skip step 1 then " * 12 + "skip step 1", "zz\n" * 600]
)
def test_more_rules_about_a_plan_than_one_message_has_are_refused(planner: Phrases, text: str) -> None:
    plan = changing(planner, 3, 2)
    plan.take(text)
    assert plan.notes == [
        "I took none of that: it is more than 12 instructions. Please give me at most 12 at once."
    ]
    assert len(plan.pieces) == 3


def crowded(number: int) -> str:
    """A message that is cut at each of its 60 conjunctions, in each of its twelve lines."""
    return "\n".join((f"also move a{number}x{n} to b and " * 40)[:330] for n in range(12))


def test_all_that_was_said_of_a_plan_is_cut_up_no_more_often_than_one_message(planner: Phrases) -> None:
    one, several = changing(planner, 3, 2), changing(planner, 3, 2)
    one.take(crowded(0))
    for number in range(5):
        several.take(crowded(number))
    assert len(several.understanding.fitting) < len(one.understanding.fitting) + 5 * 12 * 3
    assert "again in another reply" in several.notes[-1]
    assert "also move a4x11 to b" in several.notes[-1]
    assert len(several.notes) + len(several.lookups) >= 60
    several.take("skip step 1")
    assert len(several.pieces) == 2


async def test_others_are_served_between_two_texts_that_are_planned(planner: Phrases) -> None:
    served = await serving(
        planner, PlannerContext("x", requirements=tuple(f"make a folder x{n}" for n in range(9)))
    )
    assert served >= 9


async def test_others_are_served_between_two_instructions_to_a_plan(planner: Phrases) -> None:
    made = await replied(planner, "make a folder x1\nmake a folder x2\nmake a folder x3", Mode.PLAN)
    assert isinstance(made, ProposePlan)
    steps, _ = rebuilt_plan(None, made.steps)
    said = tuple(Instruction(f"i{n}", "U1", crowded(n), NOW) for n in range(9))
    assert await serving(planner, PlannerContext("x", left=steps, instructions=said)) >= 9


async def serving(planner: Phrases, brief: PlannerContext) -> int:
    """How often others had their turn while a plan was made."""
    served, over = 0, asyncio.Event()

    async def other() -> None:
        nonlocal served
        while not over.is_set():
            served += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(other())
    await planner.reply(turn("x", Mode.PLAN), brief, ())
    over.set()
    await beside
    return served


async def test_requirements_of_more_instructions_than_a_request_may_have_calls_are_refused(
    planner: Phrases,
) -> None:
    texts = tuple("\n".join(f"make a folder x{m}-{n}" for n in range(12)) for m in range(9))
    reply = await replied(planner, "x", Mode.PLAN, PlannerContext("x", requirements=texts))
    assert isinstance(reply, Say)
    assert reply.text.startswith("That names 108 things")
    assert isinstance(
        await replied(planner, "x", Mode.PLAN, PlannerContext("x", requirements=texts[:8])), ProposePlan
    )


def test_what_comes_closest_to_a_rule_is_not_looked_for_where_nobody_is_told(
    planner: Phrases, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()
    monkeypatch.setattr("tools.phrases.interpret.near", lambda line, *_: asked.append(line))
    plan = changing(planner, 3, 2)
    plan.take("\n".join(f"movex the reprots to archiv {n}" for n in range(12)))
    assert len(plan.notes) == 12
    assert asked == []


def test_changes_of_much_text_end_where_they_would_take_too_long(planner: Phrases) -> None:
    plan = changing(planner, 12, 40_000)
    plan.take("\n".join(["change x to y", "change y to x"] * 6))
    assert (
        plan.notes[0] == "That is too much text for more changes at once. Write the others in another reply."
    )
    assert plan.looked < 2_000_000
    small = changing(planner, 12, 400)
    small.take("\n".join(["change x to y", "change y to x"] * 6))
    assert small.notes == []
