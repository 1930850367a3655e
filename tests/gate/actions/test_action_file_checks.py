"""However many files a result or a prompt is about, the loop is never held up while they are held against the rules."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from bot.watchdog import LIMIT
from bot.wiring import SystemClock
from gate.actions.file_checks import SLICE, in_slices
from gate.actions.gated_results import TOO_MANY_FILES, MadeCall, without_gated_files
from gate.actions.preview import run_read
from gate.actions.sampling_records import SamplingSubject, sampling_for
from gate.arguments.declared_targets import Root, Targets
from gate.arguments.target_bounds import LONGEST_REPORTED
from gate.rules.action import CallClass, Json, Session
from gate.rules.always_gated import ALWAYS
from gate.rules.jobs import for_owner, person_of
from gate.rules.judging_turns import JudgingTurns
from gate.rules.policy import Policy, Rule
from gate.rules.sampling import RECORD
from gate.rules.tool import Answer, Hints, Read, Recipe, ToolSpec, Trust
from tests.cpu_time import slowness
from tests.gate.gate_setup import ANN
from tools.mcp.schema import problems

SESSION = Session("T1", "C1", "1.1")
SEARCH = ToolSpec(
    "s",
    "search",
    "Search",
    "",
    {"type": "object"},
    "d",
    Hints(read_only=True),
    Trust.DECLARED,
    recipe=Recipe(
        cls=CallClass.READ,
        targets=Targets(
            paths=("path",),
            found=("hits[].path",),
            below=("{args.path}",),
            roots=(Root("a", ("/srv/a",)),),
        ),
    ),
)
# A rule that tells no names apart, so that all forms of all of them are looked at
LISTED: Json = {"properties": {"path": {"enum": [f"hr/{n}" for n in range(500)]}}, "required": ["path"]}
POLICY = Policy("p", rules=(*ALWAYS, Rule("hr", ("s.*",), deny=True, schema=LISTED)))
# Names whose check takes 0.2 s and more in all, some of them until they turn out to be too many
NAMES: dict[str, Callable[[str], list[str]]] = {
    "single braces": lambda seed: named(seed, "{a}", 235, 669),
    "words and signs": lambda seed: named(seed, "x-y.", 200, 1_000),
    "short names": lambda seed: named(seed, "a-", 60, 1_400),
    "keys": lambda seed: named(seed, ".key ", 4_000, 50),
    "signs that are decoded": lambda seed: named(seed, 'é․%2525252525252525411.x("', 4_000, 50),
    "marks": lambda seed: named(seed, "%2541\u0316\u0301", 4_000, 50),
}


def named(seed: str, repeated: str, size: int, number: int) -> list[str]:
    """So many names of this size, none of which was looked at before."""
    return [(f"{seed}{one:x}" + repeated * size)[:size] for one in range(number)]


def world(hits: Sequence[str] = (), rules: Policy = POLICY) -> Any:
    async def call(*asked: object) -> Answer:
        return found(hits)

    tools = SimpleNamespace(find=lambda *_: SEARCH, specs=lambda: [SEARCH], problems=problems, call=call)
    return SimpleNamespace(policy=rules, tools=tools, clock=SystemClock(), judging=JudgingTurns())


def found(hits: Sequence[str]) -> Answer:
    return Answer("t", structured={"hits": [{"path": path} for path in hits]})


async def of_a_result(hits: list[str]) -> object:
    call = MadeCall(SEARCH, {"path": "q", "pattern": ".env*"}, "C1", is_confirmed=True)
    return await without_gated_files(world(), call, found(hits))


async def of_a_card(hits: list[str]) -> object:
    return await run_read(world(hits), "s", Read("search", {"path": "q"}), {}, "C1")


async def of_a_prompt(hits: list[str]) -> object:
    with sampling_for(world(), SamplingSubject(SESSION, "a", ANN)):
        record = RECORD.get()
    assert record
    assert record.refusal
    return await record.refusal("s", "search", hits)


async def longest_turn(work: Coroutine[Any, Any, object]) -> tuple[float, int]:
    """The seconds of this thread that the longest turn of this work takes, and how many turns there are."""
    longest, turns = 0.0, 0
    while True:
        begun = time.thread_time()
        try:
            work.send(None)
        except StopIteration:
            return max(longest, time.thread_time() - begun), turns + 1
        longest, turns = max(longest, time.thread_time() - begun), turns + 1
        await asyncio.sleep(0)


async def never_holds_up(work: Callable[[int], Coroutine[Any, Any, object]]) -> None:
    """It is done in several turns, none of which is too long; the best of three tries counts."""
    for number in range(3):
        took, turns = await longest_turn(work(number))
        assert turns > 1
        if took < LIMIT or took / slowness(took) < LIMIT:
            return
    pytest.fail(f"a turn of the loop takes {took:.3f} s")


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("check", [of_a_result, of_a_card, of_a_prompt])
@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
async def test_no_names_of_files_hold_the_loop_up(
    names: Callable[[str], list[str]], check: Callable[[list[str]], Coroutine[Any, Any, object]]
) -> None:
    await never_holds_up(lambda n: check(names(f"{check.__name__}{n}")))


async def test_names_that_a_confirmed_search_asks_for_hold_the_loop_up_no_more_than_what_it_finds() -> None:
    """Each is held against each."""
    asked = [f"{number:x}.pem" for number in range(900)]
    call = MadeCall(SEARCH, {"path": "q", "patterns": asked}, "C1", is_confirmed=True)
    gated = [f"a/x{number:x}.pem" for number in range(900)]
    await never_holds_up(lambda _: without_gated_files(world(), call, found(gated)))


async def test_a_path_that_is_longer_than_any_cannot_be_checked() -> None:
    call = MadeCall(SEARCH, {}, "C1")
    for size, is_told in ((LONGEST_REPORTED, True), (LONGEST_REPORTED + 1, False)):
        answer = await without_gated_files(world(), call, found(["x" * size]))
        assert (answer.text == TOO_MANY_FILES) is not is_told


async def test_files_are_not_counted_where_no_rule_keeps_any_from_being_read() -> None:
    call, many = MadeCall(SEARCH, {"path": "q"}, "C1"), found([f"{n}.md" for n in range(3_001)])
    assert (await without_gated_files(world(), call, many)).text == TOO_MANY_FILES
    assert await without_gated_files(world(rules=Policy("p")), call, many) == many


class Slow(SystemClock):
    """By which any piece of work takes longer than a slice."""

    def __init__(self) -> None:
        self.begun = datetime(2026, 11, 28, tzinfo=UTC)

    def now(self) -> datetime:
        self.begun += 2 * SLICE
        return self.begun


async def test_of_many_such_works_at_once_one_has_a_slice_in_a_turn_of_the_loop() -> None:
    """Each of 24 had one, so that a click waited for 24 in each turn of the loop that it needs."""
    turn = 0

    async def count_turns() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    def work() -> Iterator[int]:
        for _ in range(5):
            yield turn

    world: Any = SimpleNamespace(clock=Slow(), judging=JudgingTurns())
    counting = asyncio.create_task(count_turns())
    found = await asyncio.gather(*(in_slices(world, work()) for _ in range(24)))
    counting.cancel()
    turns = Counter(one for each in found for one in each)
    assert turns.total() == 24 * 5
    assert max(turns.values()) == 1


async def test_people_take_turns_at_such_slices_however_much_one_of_them_asks_for() -> None:
    order: list[str] = []

    def work(whose: str) -> Iterator[int]:
        for number in range(5):
            order.append(whose)
            yield number

    async def ask(whose: str) -> None:
        with for_owner(whose):
            await in_slices(world, work(person_of(whose)))

    world: Any = SimpleNamespace(clock=Slow(), judging=JudgingTurns())
    bens = [ask(f"ben:{number % 2}") for number in range(24)]
    await asyncio.gather(*bens, ask("ann"))
    first = order.index("ann")
    assert first <= 3
    assert order[first : first + 9].count("ann") == 5
