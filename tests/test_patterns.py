"""No text makes a regular expression of this repository take more than linear time."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gate.sentences import thread_commands
from handlers.slack.payloads import mention_of
from servers.calendar import times
from servers.data import values
from tests.cpu_time import seconds
from tests.patterns import END, ROOMS, ROOT, Used, collected, grows, hostile, modules, unlike
from tools.phrases.phrase_file import load_phrases
from tools.phrases.replan import order
from tools.phrases.sentence_patterns import LONGEST, beginnings, longest, match

# Patterns that are only ever asked within a function which keeps long or unending texts from them.
THROUGH: Mapping[str, Callable[[str], object]] = {
    "gate.sentences.thread_commands.REPLACE": thread_commands.edit,
    "servers.data.values._CURRENCY": lambda text: values.number(text, comma=False),
    "servers.calendar.times.TIME": lambda text: len(text) <= times.LONGEST and times.TIME.fullmatch(text),
}
HOW = {
    "servers.formats.blocks._ITEM": "fullmatch",
    "servers.formats.blocks._RULE": "fullmatch",
}  # in a tuple there
# Patterns that are made while the product runs, and why no text makes them slow.
MADE_OF = {
    "gate/actions/preview.py": "of a recipe: always_checkable when it is loaded, as tests/tools/test_tools_recipes.py shows",
    "gate/arguments/identifiers.py": "names in a schema of the operator's policy: always_checkable when it is loaded",
    "gate/arguments/pattern_search.py": "of the operator's policy: always_checkable when it is loaded",
    "handlers/slack/payloads.py": "of our own user's id: see below",
    "servers/filesystem/listing.py": "fnmatch's, whose stars are atomic",
    "servers/formats/page_words.py": "its table, which is held against texts here",
    "tools/mcp/pattern_reading.py": "of a server's schema: measured by its syntax, and what it takes to be compiled as well",
    "tools/mcp/schema_fast_path.py": "escapes of its own table, held against single characters",
    "tools/phrases/replan.py": "its forms, which are held against texts here, lines of at most 2,000 characters; an escaped "
    "word between two looks at one character",
    "tools/phrases/runbooks.py": "escaped names, and blanks in a line of at most 2,000 characters",
    "tools/phrases/sentence_patterns.py": "sentences of the phrase file: see below",
    "tools/phrases/tokenize.py": "an escaped quotation mark",
    "workspace/block_schema.py": "ids of Slack's grammar, from a table of it",
}
# Who has fnmatch compile a pattern, and whose that is. Strangers' are read by gate/arguments/name_patterns.py.
FNMATCH = {
    "bot/policy_file.py": "the operator's policy",
    "gate/rules/policy_rules.py": "the operator's policy",
    "gate/rules/reviews.py": "the operator's reviews",
    "servers/filesystem/listing.py": "a caller's: at most 200 characters, beside the loop",
    "tools/mcp/catalogue.py": "the operator's recipes",
    "tools/recipes/check.py": "the operator's recipes",
}


def how(one: Used) -> Used:
    return Used(one.where, one.pattern, frozenset({HOW[one.where]})) if one.where in HOW else one


class _Function:
    """A function in the place of the pattern that it guards."""

    def __init__(self, pattern: re.Pattern[Any], call: Callable[[str], object]) -> None:
        self.pattern, self.flags = pattern.pattern, pattern.flags
        self.match = self.fullmatch = self.search = call


@pytest.mark.slow
@pytest.mark.timeout(600)  # it takes a minute of processor time for the largest room
@pytest.mark.parametrize("room", ROOMS)
def test_no_pattern_of_a_room_takes_more_than_linear_time(room: str) -> None:
    used, _ = collected()
    found = [how(one) for one in unlike(used) if one.where.startswith(room)]
    assert found
    slow = {one.where: grown for one in found if one.where not in THROUGH and (grown := grows(one))}
    assert slow == {}


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("where", THROUGH)
def test_a_pattern_that_could_is_kept_from_such_texts(where: str) -> None:
    used, _ = collected()
    (one,) = [one for one in used if one.where == where]
    guarded: Any = _Function(one.pattern, THROUGH[where])
    assert grows(Used(where, guarded, frozenset({"fullmatch"}))) is None


def test_every_pattern_that_is_made_later_is_accounted_for() -> None:
    _, made_later = collected()
    assert {made.where for made in made_later} == set(MADE_OF)


def test_only_the_patterns_of_operators_are_compiled_by_fnmatch() -> None:
    imported = re.compile(r"^(?:import|from) fnmatch\b", re.MULTILINE)
    found = {str(path.relative_to(ROOT)) for path in modules() if imported.search(path.read_text("utf-8"))}
    assert found == set(FNMATCH)


def test_no_text_makes_the_search_for_a_mention_slow() -> None:
    assert grows(Used("", mention_of("UBOT"), frozenset({"search"}))) is None


@pytest.mark.parametrize("more", [" and 2", ", and step 2", ",and2", " & 2", " "])
def test_no_instruction_about_the_steps_of_a_plan_takes_long(more: str) -> None:
    said = ("skip step 1" + more * 400)[:1900] + ", thanks a lot to you"
    assert seconds(lambda: order(said), 2, 0.1) < 0.1


def test_no_message_takes_long_for_the_new_name_in_it() -> None:
    assert seconds(lambda: thread_commands.new_name("call it" + " " * 40_000 + "y\nz"), 2, 0.1) < 0.1


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    "pattern",
    [r"(?:,|,? and) \d(?: *(?:,|,? *and) *\d)*", r"(a+)+$", r"(?:a|aa)*b", r"<[^>]*>", r"\s*x", r"a.*b.*c"],
)
def test_the_measure_finds_a_slow_pattern(pattern: str) -> None:
    assert grows(Used("", re.compile(pattern), frozenset({"search"})))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_line_makes_the_phrases_slow() -> None:
    """Their slots take any words, so the work grows with a power of the length; but the length has an end."""
    book = load_phrases(Path("manifests/phrases.yaml"))
    said = [pattern for phrase in book.phrases for pattern in phrase.patterns]
    said += [part for pattern in said for part in beginnings(pattern.say)]
    for pattern in said:
        texts = hostile(pattern.regex)
        words = [one for one in texts if " " in one[1].strip()] if len(pattern.slots) > 2 else []
        for start, pump in (*texts[:120:3], *words):
            line = (start + pump * LONGEST)[: longest(pattern) - len(END)] + "\x01"
            took = seconds(lambda pattern=pattern, line=line: match(pattern, line), 2, 0.1)  # type: ignore[misc]
            assert took < 0.1, (pattern.say, start, pump)
