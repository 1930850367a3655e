"""No arguments and no answer within their bounds hold the event loop up on their way to a card."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from gate.arguments import command_tools, json_texts, text_forms
from gate.arguments.declared_targets import Targets
from gate.arguments.secret_patterns import matched_production, matched_secrets
from gate.arguments.target_bounds import LONGEST_REPORTED, too_many_targets
from gate.arguments.text_forms import plain_variants, visible_text
from gate.rules.action import CallClass, Json, Preview, Session, Verdict
from gate.rules.always_gated import ALWAYS
from gate.rules.approvers import Approvers
from gate.rules.asked_names import not_asked_for
from gate.rules.canonical_json import MAX_BYTES, BadArguments, canonical, parse
from gate.rules.plans import LARGE
from gate.rules.policy import Policy, Rule, decide
from gate.rules.ports import Note
from gate.rules.previews import build, has_deceptive_text, plainly
from gate.rules.result_targets import MOST_FILES, told_folders
from gate.rules.steps import StepState
from gate.rules.task import Task
from gate.rules.task_states import TaskState
from gate.rules.tool import Hints, Recipe, Show, ToolSpec, Trust
from gate.tasks.pending import PendingItem
from tests.cpu_time import seconds
from tests.tasks import having
from tests.views.samples import action
from tests.views.task_samples import approved, plan, reading, task
from tools.mcp.limits import ListingSize
from tools.mcp.schema import judge, problems
from views import modals, notices, task_modals, task_plan
from views.card import card
from views.lists import MOST, pending
from views.preview import fits, reviewable
from views.task_questions import answers
from views.tool_results import in_words, table

# Seconds of this thread for one step between two looks at other work. What is aimed at is 0.1 on a quiet machine, which
# `make soak` watches; this leaves room for one that other jobs share, and what these tests are for takes seconds.
LIMIT = 0.3
TRIES = 6  # of which the best counts: other work slows some of them down
ANSWER = 256 * 1024  # bytes of an answer of a tool that is kept
UNREAD = ToolSpec("s", "create_x", "Create", "", {"type": "object"}, "d", Hints(), Trust.DECLARED)
TWO = Approvers(needed=2)
SHOWN = ToolSpec(
    "s",
    "delete",
    "Delete",
    "",
    {},
    "d",
    recipe=Recipe(summary="Delete", show=Show("items", items="{capture.a.items}")),
)


def nested(value: Json, depth: int, name: str = "") -> Json:
    for _ in range(depth):
        value = {name: value} if name else [value]
    return value


def largest(make: Callable[[int], Json], room: int) -> Json:
    """What `make` gives for the largest number with which it is no longer than that."""

    def fits_in(number: int) -> bool:
        return len(json.dumps(make(number), separators=(",", ":"))) <= room

    low, high = 0, 1
    while high <= room and fits_in(high):
        low, high = high, high * 2
    high = min(high - 1, room)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits_in(middle) else (low, middle - 1)
    return make(low)


def wide(number: int) -> str:
    """Two letters of two scripts, which are told apart by their characters."""
    return chr(0x400 + number % 200) + chr(0x370 + number // 200 % 200)


ARGUMENTS: dict[str, Callable[[int], Json]] = {
    "one value": lambda n: {"data": [1] * n},
    "a long name over them": lambda n: {"data": {"k" * 1_000: [1] * n}},
    "a longer name over them": lambda n: {"data": {"k" * (n // 2): [1] * (n // 4)}},
    "a name of two scripts over them": lambda n: {"data": {"aб" * 20: [1] * n}},
    "names in names": lambda n: {"data": nested([1] * n, 28, "k" * 20)},
    "lists in lists": lambda n: {"data": nested([1] * n, 29)},
    "short names": lambda n: {f"{i:x}": 1 for i in range(n)},
    "names of two scripts": lambda n: {f"{i:x}aб": wide(i) for i in range(n)},
    "things": lambda n: {"rows": [{"a": "", "b": None}] * n},
    "empty things": lambda n: {"rows": [{}] * n},
    "a ligature that grows": lambda n: {"data": "\ufdfa" * n},
    "marks": lambda n: {"data": "a" + "\u0301\u0316" * n},
    "marks in names": lambda n: {"data": {chr(0x300 + i % 100) + str(i): "" for i in range(n)}},
    "what turns the order": lambda n: {"data": ["\u202e"] * n},
    "lines": lambda n: {"data": "\n" * n},
    "a plain text": lambda n: {"data": "x" * n},
    "calls": lambda n: {"data": [f"((a){i}" for i in range(n)]},
    "ways up": lambda n: {"data": [f"/proc/..{i}" for i in range(n)]},
    "ways up with patterns": lambda n: {"data": [f"/proc/..{i}*" for i in range(n)]},
    "ways up after signs": lambda n: {"data": [f"$x/proc/..@({i}" for i in range(n)]},
    "homes": lambda n: {"data": [f"~/{i}" for i in range(n)]},
    "encoded words": lambda n: {"data": [f"=?utf-8?q?{i}?=" for i in range(n)]},
}


# What one long text repeats that takes long to be held against the patterns of the built-in rules. Those about the
# commands of shells are searched in all of it, so it may take twice as long there.
REPEATED = (
    ".key ",
    "//.*' ",
    "\t//@{a,b}",
    "a@ü ",
    "./a\\u002e%0a\t",
    "npm ",
    "docker ",
    "prod-",
    "=?utf-8?q?a?=|,",
)


@pytest.mark.parametrize(("tool", "limit"), [("create_x", LIMIT), ("run_command", 2 * LIMIT)])
@pytest.mark.parametrize("repeated", REPEATED)
def test_no_long_text_takes_long_to_be_held_against_the_built_in_rules(
    repeated: str, tool: str, limit: float
) -> None:
    policy, spec = Policy("p", rules=ALWAYS), replace(UNREAD, name=tool)
    number = len(largest(lambda n: {"id": repeated * n}, MAX_BYTES - 1)["id"])
    texts = iter([(repeated * number)[:number] + end for end in "123"])  # none whose forms are known already
    assert (
        seconds(lambda: decide(policy, spec, {"id": next(texts)}, "C1", lambda *_: False), 3, limit) < limit
    )


# What the texts of a list repeat, each of which has many forms that are searched for names: found by trying many.
REPEATED_IN_LISTS = (
    "\t]%25\t@.env",
    "]${a}%0a](9@.env",
    "%2525%25@.env",
    "}''\t@@.env",
    "#%2525аb\u0301",
    "#%2525*(",
    'é․%2525252525252525411.x("',
    "//.*' ",
    "./a\\u002e%0a\t",
    "a.key,",
    "=?utf-8?q?a?=\u0301|%2525,*",
    "|Aé%2525{config/prod",
    "%252525252525252541%25ü",
)


@pytest.mark.slow(but=12)
@pytest.mark.parametrize(("tool", "name"), [("create_x", "path"), ("run_command", "command")])
@pytest.mark.parametrize("size", [257, 3_000])
@pytest.mark.parametrize("repeated", REPEATED_IN_LISTS)
def test_no_list_of_texts_takes_long_to_be_held_against_the_built_in_rules(
    repeated: str, size: int, tool: str, name: str
) -> None:
    policy, spec = Policy("p", rules=ALWAYS), replace(UNREAD, name=tool)
    lists = (listed(repeated, size, end) for end in "123456")  # none whose forms are known already
    run = lambda: decide(policy, spec, {name: next(lists)}, "C1", lambda *_: False)  # noqa: E731
    assert seconds(run, TRIES, LIMIT) < LIMIT


@pytest.mark.parametrize(
    "make",
    [
        lambda n: ["/*"] * n,
        lambda n: [{"/*": "/*"}] * n,
        lambda n: json.dumps(["/*"] * n),
        lambda n: ["a/../.en*"] * n,
    ],
)
def test_no_text_that_stands_in_many_places_is_copied_for_each_of_its_forms(
    make: Callable[[int], Json],
) -> None:
    policy, spec = Policy("p", rules=ALWAYS), replace(UNREAD, name="create_x")
    given = ({"data": largest(make, MAX_BYTES - 100), "n": number} for number in range(TRIES))
    assert seconds(lambda: decide(policy, spec, next(given), "C1", lambda *_: False), TRIES, LIMIT) < LIMIT


@pytest.mark.parametrize("beside", [0, None, [], {}, "a"])
def test_a_text_of_many_names_beside_very_many_values_is_refused_without_work(beside: Json) -> None:
    """All of them were copied for each of its names, which took 7 s."""
    policy, spec = Policy("p", rules=ALWAYS), replace(UNREAD, name="list_items")
    names = (
        ",".join(f"a{i}{end}/b" for i in range(600)) for end in "xyz"
    )  # none whose forms are known already
    found = []
    run = lambda: found.append(  # noqa: E731
        decide(policy, spec, {"to": next(names), "n": [beside] * 10_000}, "C1", lambda *_: False)
    )
    assert seconds(run, 3, LIMIT) < LIMIT
    assert found[0].rule == "too many names"


@pytest.mark.parametrize("beside", [[], {}, [0], {"a": 0}])
def test_some_names_beside_very_many_lists_or_objects_are_refused_without_work(beside: Json) -> None:
    """They were counted as numbers, and took four times as long: 1.5 s for 28 KB."""
    policy, spec = Policy("p", rules=ALWAYS), replace(UNREAD, name="list_items")
    names = ("".join(f"|.env{end}{number}" for number in range(50)) for end in "123")
    found = []
    run = lambda: found.append(  # noqa: E731
        decide(policy, spec, {"owner": next(names), "n": [beside] * 9_000}, "C1", lambda *_: False)
    )
    assert seconds(run, 3, LIMIT) < LIMIT
    assert found[0].rule == "too many names"


def test_a_table_of_numbers_beside_a_path_is_not_too_much() -> None:
    args: dict[str, Json] = {"path": "./Reports (old)/q3.csv", "rows": [["a b", 1, 2.5, None]] * 4_000}
    assert not too_many_targets(None, args)


def test_no_schema_that_requires_many_names_makes_a_call_slow() -> None:
    required: Json = [f"op{number:04d}" for number in range(4_900)]
    schema: Json = {"required": required, "properties": {f"a{n}": {} for n in range(2_000)}}
    spec = replace(UNREAD, name="search_audit", schema=schema)
    args = {f"op{number:03x}": "drop" for number in range(400)}
    assert (
        seconds(lambda: decide(Policy("p", rules=ALWAYS), spec, args, "C1", lambda *_: False), 3, LIMIT)
        < LIMIT
    )
    assert seconds(lambda: plainly(spec, args), 3, 0.05) < 0.05


def listed(repeated: str, size: int, end: str) -> Json:
    """As many texts of this size that repeat this as arguments may have, each ending in another way."""
    one = (repeated * size)[:size]
    return largest(lambda n: [f"{one}{number}.{end}" for number in range(n)], MAX_BYTES - 100)


# What the names and texts of a list with very many of them hold, each of which is held against the names of secret
# files, most of them as a pattern: how many there are, not how long they are, is what takes long.
PATTERNS: dict[str, tuple[str, str, Callable[[int], Json]]] = {
    "names of fields": ("create_x", "path", lambda n: {f"*{i}": "*" for i in range(n)}),
    "braces in names": ("create_x", "data", lambda n: {f"{{{i}": "{" for i in range(n)}),
    "ends of classes": ("create_x", "id", lambda n: {f"]{i}": "]" for i in range(n)}),
    "words between signs": ("create_x", "data", lambda n: [f"<a>{i}/b</a>" for i in range(n)]),
    "names of words between signs": (
        "create_x",
        "data",
        lambda n: {f"{i}": f"</{i}</</</{i}" for i in range(n)},
    ),
    "a text that is a list": ("create_x", "path", lambda n: json.dumps([f"[*</{i}" for i in range(n)])),
    "keys in a command": (
        "run_command",
        "command",
        lambda n: json.dumps([f"[{{[</.pem{i}" for i in range(n)]),
    ),
    "processes in a command": (
        "run_command",
        "command",
        lambda n: json.dumps([f"[[/proc/{i}" for i in range(n)]),
    ),
}


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(("tool", "name", "make"), PATTERNS.values(), ids=PATTERNS)
def test_no_call_of_very_many_short_texts_is_held_against_the_rules(
    tool: str, name: str, make: Callable[[int], Json]
) -> None:
    args = {name: largest(make, MAX_BYTES - 100)}
    assert too_many_targets(None, args)
    assert not too_many_targets(None, {name: make(800)})
    given = ({**args, "n": number} for number in range(TRIES))
    policy, spec = Policy("p", rules=ALWAYS), replace(UNREAD, name=tool)
    assert seconds(lambda: decide(policy, spec, next(given), "C1", lambda *_: False), TRIES, LIMIT) < LIMIT


# Names of which each word is another pattern, which mean no gated file: to find that took up to 1.4 s for one call.
WILD_WORDS: dict[str, Callable[[str], str]] = {
    "stars": lambda i: f"*{i}*.*{i}.*{i}*a.*{i}b.*c{i}",
    "words that begin with a star": lambda i: f"*{i}s.*{i}e.*{i}y.*{i}k.a*{i}",
    "words that a star joins": lambda i: f"credential{i}a*b{i}*c*qq.x*y",
    "a word for production": lambda i: f".s.{i}*e.*.kproduction{i}*y",
    "classes": lambda i: f"*[{i}-z]*[!{i}]q.*[{i}]q",
    "signs for any letter": lambda i: f"?{i}?.?{i}.??{i}.{i}??.c?{i}",
    "folders": lambda i: f"*{i}/*{i}/*{i}a/{i}?/c*{i}",
    "endings": lambda i: f"a{i}.{i}*.b*{i}.??*{i}.p*{i}",
}


@pytest.mark.parametrize("make", WILD_WORDS.values(), ids=WILD_WORDS)
@pytest.mark.parametrize("number", [400, 1_900])
def test_no_names_whose_words_are_all_patterns_are_long_held_against_words(
    make: Callable[[str], str], number: int
) -> None:
    policy, spec = Policy("p", rules=ALWAYS), replace(UNREAD, name="create_x")
    starts = iter(range(0, TRIES * 2_000, 2_000))  # none whose words are known already

    def judged() -> None:
        first = next(starts) + 10_000 * (number < 1_000)
        names = [make(f"{first + place:03x}") for place in range(number)]
        decide(policy, spec, {"path": names}, "C1", lambda *_: False)

    assert seconds(judged, TRIES, LIMIT / 2) < LIMIT / 2


def test_a_decision_that_is_asked_for_again_makes_no_forms_again() -> None:
    policy, args = Policy("p", rules=ALWAYS), {"path": listed("]%0a](9@.env", 300, "0")}
    decide(policy, UNREAD, args, "C1", lambda *_: False)
    made = plain_variants.made
    decide(policy, UNREAD, args, "C1", lambda *_: False)
    assert plain_variants.made == made


def of_labels(number: int) -> Policy:
    """So many rules, each about calls with its label."""
    schemas = [
        {"required": ["labels"], "properties": {"labels": {"contains": {"const": f"team{n}"}}}}
        for n in range(number)
    ]
    rules = (Rule(f"team {n}", ("*",), schema=one, approvers=TWO) for n, one in enumerate(schemas))
    return Policy("p", tuple(rules))


def by_schema(schema: Any, value: Json) -> bool:
    return all(one.unsure for one in problems(schema, value))


def test_no_call_is_long_held_against_several_rules_about_a_list() -> None:
    """Words of a schema in lists in one text made 61 kinds of forms, and six rules took 1.2 s."""
    words = ["required", "labels", "properties", "contains", "const"]

    def call(seed: int) -> Json:
        lists = [[f"{seed}{n:x}" for n in range(60)] for _ in range(12)]
        for place, one in enumerate(lists):
            for n, word in enumerate(words):
                one[place + 12 * n] = word
        return {"title": "t", "labels": [",".join(one) for one in lists] + [f"{n:x}" for n in range(300)]}

    calls = map(call, range(1_000))
    run = lambda: decide(of_labels(8), UNREAD, next(calls), "C1", by_schema)  # noqa: E731
    assert seconds(run, TRIES, LIMIT) < LIMIT
    assert run().approvers == TWO  # what cannot be checked to its end counts as holding


def test_a_long_list_is_held_against_many_rules_to_the_end() -> None:
    labels: Json = [f"word{n}" for n in range(300)]
    assert decide(of_labels(20), UNREAD, {"labels": labels}, "C1", by_schema).approvers == Approvers()
    named = {"labels": [*labels, "team19"]}
    assert decide(of_labels(20), UNREAD, named, "C1", by_schema).approvers == TWO


def test_no_call_with_very_many_plain_paths_is_held_against_many_rules() -> None:
    recipe = Recipe(summary="Delete", targets=Targets(paths=("path",)))
    spec = replace(UNREAD, recipe=recipe, trust=Trust.BUNDLED)
    schema = {"required": ["owner", "repo"], "properties": {"owner": {"const": "acme"}}}
    rules = tuple(Rule(f"r{number}", ("*",), deny=True, schema=schema) for number in range(24))
    policy = Policy("p", (*ALWAYS, *rules))
    for count in (1_900, 8_000):
        given = ({"path": [str(number) for number in range(count)] + [end]} for end in "abcdef")
        found = []
        run = lambda: found.append(decide(policy, spec, next(given), "C1", lambda *_: False))  # noqa: E731, B023
        assert seconds(run, TRIES, LIMIT) < LIMIT
        assert (found[0].rule == "too many names") is (count > 2_000)


def test_percent_encoding_is_taken_off_once_for_each_of_its_levels() -> None:
    text = "a%" + "25" * 12 + "41"
    policy = Policy("p", rules=ALWAYS)
    text_forms._unquoted.clear()
    decide(policy, replace(UNREAD, name="create_x"), {"path": [text]}, "C1", lambda *_: False)
    assert text_forms._unquoted.made <= 2 * text_forms.MAX_DECODED


def test_a_decision_reads_a_text_that_is_json_once_however_often_it_is_given() -> None:
    before = json_texts._whole.made
    decide(Policy("p", rules=ALWAYS), UNREAD, {"data": ['["given often"]'] * 3_000}, "C1", lambda *_: False)
    assert json_texts._whole.made == before + 1


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("make", ARGUMENTS.values(), ids=ARGUMENTS)
def test_no_arguments_take_long_to_become_a_card_or_to_be_refused(make: Callable[[int], Json]) -> None:
    args = largest(make, MAX_BYTES)
    slow = {name: took for name, run in proposed(args) if (took := seconds(run, TRIES, LIMIT)) > LIMIT}
    assert slow == {}


def proposed(args: Json) -> Iterator[tuple[str, Callable[[], object]]]:
    """What is done with the arguments of a call, step by step, until they are refused."""
    text = json.dumps(args, separators=(",", ":"))
    yield "parse", lambda: accepted(parse, text)
    yield "canonical", lambda: accepted(canonical, args)
    if not accepted(canonical, args):
        return
    yield "decide", lambda: decide(Policy("p"), UNREAD, args, "C1", lambda schema, value: False)
    yield "build", lambda: build(UNREAD, args, {})
    preview = build(UNREAD, args, {})
    yield "deceptive", lambda: has_deceptive_text(preview)
    yield from drawn(action(preview, cls=CallClass.UNKNOWN, verdict=Verdict.TYPED, phrase="p"))


def drawn(asked: Any) -> Iterator[tuple[str, Callable[[], object]]]:
    yield "fits", lambda: fits(asked)
    yield "reviewable", lambda: reviewable(asked)
    yield "card", lambda: card(asked)
    yield "review", lambda: modals.review(asked)
    yield "full", lambda: modals.full(asked)


def accepted(judge: Callable[[Any], object], given: Json) -> bool:
    try:
        judge(given)
    except BadArguments:
        return False
    return True


ANSWERS: dict[str, Callable[[int], Json]] = {
    "a long note of marks": lambda n: {"rows": [{"a": 1}], "note": "\u0336_" * (n // 7)},
    "tiny rows": lambda n: {"rows": [{"a": 1}] * n},
    "rows of eight": lambda n: {"columns": list("abcdefgh"), "rows": [[wide(i)] * 8 for i in range(n)]},
    "things of eight": lambda n: {"rows": [{c: wide(i) for c in "abcdefgh"} for i in range(n)]},
    "one wide cell": lambda n: {"rows": [{"a": "x" * 4_000, "b": 1}, *[{"a": "y", "b": 1}] * n]},
    "another name without a value in each row": lambda n: {"rows": [{f"{i}": None} for i in range(n)]},
    "another empty thing in each row": lambda n: {"rows": [{f"{i}": {}} for i in range(n)]},
    "names of nothing beside one": lambda n: {"rows": [{f"{i}": "", "a": i} for i in range(n)]},
    "one giant cell": lambda n: {"rows": [{"a": "\u202e" * n}]},
    "values": lambda n: {"values": [1] * n},
    "empty values": lambda n: {"k" * 3_000: {"l" * 3_000: [[]] * n}},
    "things within": lambda n: {"k" * 3_000: [{"a": {"b": ""}}] * n},
    "names": lambda n: {f"{i}": wide(i) for i in range(n)},
    "deep": lambda n: nested([1] * n, 800, "a"),
    "lines": lambda n: {"text": "\n" * n},
    "a ligature": lambda n: {"text": "\ufdfa" * n},
    "a note": lambda n: {"rows": [{"a": 1}], "note": "\ufdfa" * n},
}


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("make", ANSWERS.values(), ids=ANSWERS)
def test_no_answer_takes_long_to_be_shown(make: Callable[[int], Json]) -> None:
    answer = largest(make, ANSWER)
    of_a_plan = largest(make, LARGE)
    steps = [*told(answer), ("the end of a plan", lambda: answers(over(of_a_plan), with_table=True))]
    slow = {name: took for name, run in steps if (took := seconds(run, TRIES, LIMIT)) > LIMIT}
    assert slow == {}


def told(answer: Json) -> Iterator[tuple[str, Callable[[], object]]]:
    """What is done with what a read gave."""
    text = json.dumps(answer)
    yield "in words", lambda: in_words(answer, text)
    yield "text in words", lambda: in_words(None, text)
    yield "table", lambda: table(None, text)
    body = {"name": "s.read", "arguments": {}, "text": text, "structured": answer}
    read = Note("n1", Session("T1", "C1", "1.1"), "read", body)
    yield "message", lambda: notices.message(read)
    yield "plain message", lambda: notices.plainly(read)


def over(answer: Json) -> Task:
    """A plan that read this eight times."""
    step = having(reading(), state=StepState.DONE, result=answer, text="x")
    return task(TaskState.SATISFACTION, plan=approved(*[step] * 8), ends=1, result="Done")


THINGS: dict[str, Callable[[int], Json]] = {
    "one long kind": lambda n: [
        {"name": "a", "kind": "k" * n},
        *({"name": f"{i}", "kind": "k"} for i in range(999)),
    ],
    "one long moment": lambda n: [{"name": "a", "modified": "\ufdfa" * (n // 6)}, *[{"name": "b"}] * 999],
    "one long name": lambda n: [{"name": "\u202e" * (n // 6)}, *[{"name": "b"}] * 999],
    "short things": lambda n: [{"name": ""}] * n,
    "things without names": lambda n: [{"a": wide(i)} for i in range(n)],
    "moves": lambda n: [{"name": " → " * 60}] * n,
}


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("make", THINGS.values(), ids=THINGS)
def test_no_things_that_a_server_tells_of_take_long_to_become_a_card(make: Callable[[int], Json]) -> None:
    capture = {"a": {"items": largest(make, ANSWER)}}
    preview = build(SHOWN, {}, capture)
    asked = action(preview, verdict=Verdict.TYPED, phrase="p")
    steps = [("build", lambda: build(SHOWN, {}, capture)), *drawn(asked)]
    slow = {name: took for name, run in steps if (took := seconds(run, TRIES, LIMIT)) > LIMIT}
    assert slow == {}


WRITTEN = ToolSpec(
    "s",
    "write",
    "Write",
    "",
    {},
    "d",
    Hints(),
    Trust.BUNDLED,
    recipe=Recipe(
        summary="Write",
        cls=CallClass.WRITE,
        show=Show("diff", path="{args.path}", before="{capture.a.text}", after="{args.content}"),
    ),
)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "repeated", ["\x85", "\r", "\u2028", "\x0b", "a\u0301", "\u0336_", "\u0301\x85", "\u202ea\u0431\n"]
)
def test_no_text_that_stands_in_a_file_makes_its_card_or_that_of_a_plan_slow(repeated: str) -> None:
    capture = {"a": {"text": repeated * (245_000 // len(repeated.encode()))}}
    preview = build(WRITTEN, {"path": "a.md", "content": "a"}, capture)
    of_plan = [
        having(reading(), state=StepState.WAITING, preview=preview, id=f"s{number}") for number in range(12)
    ]
    waiting = task(TaskState.PLAN_REVIEW, plan=approved(*of_plan))
    assert waiting.plan
    steps = [
        ("build", lambda: build(WRITTEN, {"path": "a.md", "content": "a"}, capture)),
        *drawn(action(preview, verdict=Verdict.CONFIRM)),
        ("plan", lambda: task_plan.review(waiting, waiting.plan)),
        ("whole plan", lambda: task_modals.everything(waiting, waiting.plan)),
    ]
    slow = {name: took for name, run in steps if (took := seconds(run, TRIES, LIMIT)) > LIMIT}
    assert slow == {}
    assert len(preview.diff) < 2 * len(capture["a"]["text"]) + 1_000


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("repeated", ["word ", "\x85", "a\u0301"])
@pytest.mark.parametrize(
    "size", [9_000, 230_000]
)  # what just fits on the card of its plan, and what does not
def test_no_plans_that_wait_take_long_to_be_listed(repeated: str, size: int) -> None:
    def waiting(place: int) -> Task:
        text = f"{place} {repeated * (size // len(repeated))}"
        steps = [
            having(reading(), state=StepState.WAITING, preview=Preview("Write", "Write", (), f"{text}{i}"))
            for i in range(12)
        ]
        return task(TaskState.PLAN_REVIEW, plan=plan(*steps))

    listed = iter([[PendingItem(waiting(n * MOST + i)) for i in range(MOST)] for n in range(TRIES)])
    assert seconds(lambda: pending(next(listed), "UANA"), TRIES, 0.05) < 0.05


def test_names_of_arguments_are_compared_with_those_of_commands_in_no_time() -> None:
    names = {f"aB{n}_{n}": True for n in range(2_450)} | {f"é{n}": True for n in range(2_450)}
    schema = {"properties": names | {"shell-Command": True}}
    assert command_tools.runs_commands(["x"], schema, {})
    assert not command_tools.runs_commands(["x"], {"properties": names}, {})
    assert seconds(lambda: command_tools.runs_commands(["x"], schema, {}), TRIES, 0.05) < 0.05


@pytest.mark.parametrize("name", sorted(command_tools.COMMANDS))
def test_a_command_is_known_in_whatever_way_its_name_is_spelled(name: str) -> None:
    first, *rest = name.split("_")
    spellings = (name, name.upper(), name.replace("_", "-"), first + "".join(map(str.capitalize, rest)))
    assert all(command_tools.runs_commands(["x"], {"properties": {one: {}}}, {}) for one in spellings)


SCHEMAS: dict[str, Json] = {
    "empty parts": {"allOf": [{}] * 4_900},
    "properties": {"properties": {str(n): {} for n in range(4_900)}},
    "types": {"properties": {str(n): {"type": "string"} for n in range(2_400)}},
    "required names": {"required": [f"{n:05d}" for n in range(4_900)]},
    "dependent names": {"dependentRequired": {str(n): ["a"] for n in range(2_000)}},
    "one long pattern": {"patternProperties": {"(a|b)" * 15_000: {}}},
    "many patterns": {"patternProperties": {f"[a-z]{{1,{n + 1}}}(x|y)*": {} for n in range(2_400)}},
    "wide classes": {"properties": {"a": {"pattern": "(?i)x" + "[ -\uffff]" * 1_850}}},
    "names by wide classes": {"patternProperties": {f"(?i)x{n}" + "[ -\uffff]" * 3: {} for n in range(200)}},
    "patterns of values": {"allOf": [{"pattern": f"[a-z]{{1,{n + 1}}}(x|y)*"} for n in range(2_400)]},
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_no_schema_takes_long_to_be_judged(schema: Json) -> None:
    assert not ListingSize().too_large_with(schema)
    text = json.dumps(schema)
    assert seconds(lambda: judge(text), 3, 2 * LIMIT) < 2 * LIMIT  # beside the loop


WIDE = "[a-\uffff]"  # a class that `re` takes a millisecond to compile


def of_many_classes(number: int) -> str:
    """A path that is 36 patterns, other ones for each number."""
    return (
        ".e["
        + chr(0x4E00 + number)
        + "{"
        + ",".join("abcdefghijklmnopqrstuvwxyz0123456789")
        + "}-\uffff]"
        + WIDE * 33
    )


@pytest.mark.parametrize("end", ["", "*"])
def test_no_path_that_may_be_a_pattern_is_long_held_against_names(end: str) -> None:
    numbers = iter(range(3))

    def held() -> None:
        path = of_many_classes(next(numbers)) + end
        assert [*matched_secrets(path), *matched_production(path)] == []

    assert seconds(held, 3, 0.05) < 0.05


@pytest.mark.parametrize("asked", ["[" * 4_000, WIDE * 800, "*a" * 2_000, "?" * 4_000])
def test_no_name_that_somebody_asked_for_is_long_held_against_gated_files(asked: str) -> None:
    rule = Rule("keys", ("*",))
    gated = [("a/" * 2_000 + ".env", rule)] * 50
    assert seconds(lambda: list(not_asked_for([(asked, rule)], gated)), 2, 0.1) < 0.1


@pytest.mark.parametrize("path", ["a/" * 20_000, "a/" * 40_000, "a" * 30_000 + "/a" * 10_000])
def test_no_long_path_of_a_listing_has_all_of_its_folders_kept(path: str) -> None:
    targets = Targets(looks=("path",), listed=("hits[].path",))
    found = told_folders(targets, {"path": "."}, {"hits": [{"path": path}]})
    assert len(found) <= 2 * (MOST_FILES + 1)
    assert len(path) <= LONGEST_REPORTED or len(found) < 3


@pytest.mark.parametrize(
    "marks",
    [
        "\u0301" * 5_200 + "\u0323" * 5_200,
        "\u0301\u0301\uff9e" * 3_400 + "\u0323" * 900,
        ("\u0301" * 31 + "\u0323" * 31) * 160,
    ],
    ids=["worst order", "half-width", "runs"],
)
def test_no_marks_upon_marks_take_long_to_be_put_in_order(marks: str) -> None:
    starts = iter("abc")

    def refused() -> None:
        text = next(starts) + marks + ":x?y#z%2525252525252541"
        plain_variants(text)
        assert too_many_targets(None, {"path": text})

    assert seconds(refused, TRIES, LIMIT) < LIMIT


def test_marks_that_people_write_are_composed() -> None:
    assert visible_text("cafe\u0301" + "\u0323" * 29) == "caf\u1eb9" + "\u0323" * 28 + "\u0301"


def test_rows_whose_names_recur_are_judged() -> None:
    rows = [
        {"name": f"Ann {n}", "path": f"a/b%20{n}.md", "note": "plain words", "kind": "x"} for n in range(500)
    ]
    decision = decide(Policy("p", rules=ALWAYS), UNREAD, {"rows": rows}, "C1", lambda *_: False)
    assert decision.verdict is not Verdict.DENY


@pytest.mark.parametrize("kind", [list, dict])
def test_texts_with_other_forms_beside_many_numbers_take_no_memory_that_grows_with_both(kind: type) -> None:
    """One copy of the argument for each of its parts took 2.5 GB for 14 KB."""
    said = {"required": ["database"], "properties": {"database": {"const": "prod"}}}
    policy = Policy("p", rules=(Rule("prod", ("*",), schema=said, deny=True),))
    parts = [" prod"] * 8 + [0] * 4_000
    value = parts if kind is list else {f"k{number}": part for number, part in enumerate(parts)}
    tracemalloc.start()
    try:
        decide(policy, UNREAD, {"database": value}, "C1", fits_schema)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 60 << 20


def fits_schema(schema: Json, value: Json) -> bool:
    return all(problem.unsure for problem in problems(schema, value))


def test_blanks_alone_in_a_list_of_names_are_no_name() -> None:
    assert (
        decide(Policy("p", rules=ALWAYS), UNREAD, {"path": '"\u3000,/'}, "C1", fits_schema).verdict
        is Verdict.CONFIRM
    )


def test_many_numbers_below_texts_with_other_forms_are_counted_however_deep_they_lie() -> None:
    """Five rules of two fields took 6.7 s for 58 KB: copies were counted by their first level alone."""
    said = {"owner": {"pattern": "^prod$"}, "path": {"pattern": "^hr/"}}
    rules = [
        Rule(f"r{number}", ("*",), schema={"properties": said, "required": [*said]}, deny=True)
        for number in range(5)
    ]
    policy = Policy("p", rules=(*ALWAYS, *rules))
    tails = iter(range(TRIES))

    def run() -> None:
        texts = {f"p{one}": f"{one}{next(tails) if not one else 0}/../hr/x" for one in range(5)}
        deep = {"owner": "dev", **texts, "path": "hr/x", "n": [0] * 29_000}
        decide(policy, UNREAD, {"owner": "dev", "path": {"a": {"b": deep}}}, "C1", fits_schema)

    assert seconds(run, TRIES, 2 * LIMIT) < 2 * LIMIT
