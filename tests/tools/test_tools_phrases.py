"""Plain sentences mean calls, the same ones every time; what is not understood is said, and nothing is guessed."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.rules.action import Session
from gate.rules.planner_port import (
    Clarify,
    Done,
    Exchange,
    ListPending,
    PlannerContext,
    Propose,
    Reply,
    Say,
    Turn,
)
from gate.rules.tool import ToolSpec
from tests.cpu_time import within
from tests.tools.phrases_setup import FILE, Listed, bundled, phrase_book, understood
from tools.phrases.phrase_file import load_phrases
from tools.phrases.planner import Phrases, misfits
from tools.phrases.tokenize import quote
from tools.strict_config import ConfigError


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> Phrases:
    """The bundled phrases over the real tools of the bundled server, and one tool with every kind of argument."""
    return bundled(tmp_path_factory.mktemp("phrases"), KINDS)


KINDS = ToolSpec(
    server="odd",
    name="kinds",
    title="Kinds",
    description="",
    schema={
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer"},
            "ratio": {"type": "number"},
            "sure": {"type": "boolean"},
            "many": {"type": "array", "items": {"type": "integer"}},
            "thing": {"type": "object"},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
    },
    definition="",
)


def calls(reply: Reply) -> list[tuple[str, dict[str, Any]]]:
    assert isinstance(reply, Propose), reply
    return [
        (f"{call.server}.{call.tool}".removeprefix("filesystem."), dict(call.args)) for call in reply.calls
    ]


def says(reply: Reply) -> str:
    assert isinstance(reply, Say), reply
    return reply.text


MOVE = {"source": "a.md", "destination": "b.md"}
TABLE: list[tuple[str, str, dict[str, Any]]] = [
    ("list", "list_dir", {"path": "."}),
    ("list files", "list_dir", {"path": "."}),
    ("ls reports", "list_dir", {"path": "reports"}),
    ("List reports/2026", "list_dir", {"path": "reports/2026"}),
    ("list .", "list_dir", {"path": "."}),
    ("what is in reports?", "list_dir", {"path": "reports"}),
    ("What's in reports", "list_dir", {"path": "reports"}),
    ("what’s in the folder reports?", "list_dir", {"path": "reports"}),
    ("show me what is in reports", "list_dir", {"path": "reports"}),
    ("show me the files in reports", "list_dir", {"path": "reports"}),
    ("which files are in reports?", "list_dir", {"path": "reports"}),
    ("look into reports", "list_dir", {"path": "reports"}),
    ("list everything below reports", "list_dir", {"path": "reports", "recursive": True}),
    ("list reports recursively", "list_dir", {"path": "reports", "recursive": True}),
    ("read a.md", "read_file", {"path": "a.md"}),
    ("show a.md", "read_file", {"path": "a.md"}),
    ("open the file a.md", "read_file", {"path": "a.md"}),
    ("cat 'my notes.md'", "read_file", {"path": "my notes.md"}),
    ("show me the contents of a.md", "read_file", {"path": "a.md"}),
    ("what does a.md say?", "read_file", {"path": "a.md"}),
    ("read the first 500 bytes of a.md", "read_file", {"path": "a.md", "limit": 500}),
    ("find *.md", "search_files", {"path": ".", "pattern": "*.md"}),
    ("find *.md in reports", "search_files", {"path": "reports", "pattern": "*.md"}),
    ("find all files named q3* in reports", "search_files", {"path": "reports", "pattern": "q3*"}),
    ("where is q3.md?", "search_files", {"path": ".", "pattern": "q3.md"}),
    ("search for revenue", "search_files", {"path": ".", "pattern": "*", "contains": "revenue"}),
    (
        "search reports for revenue",
        "search_files",
        {"path": "reports", "pattern": "*", "contains": "revenue"},
    ),
    (
        'search for "in the end" in reports',
        "search_files",
        {"path": "reports", "pattern": "*", "contains": "in the end"},
    ),
    (
        "which files in reports mention revenue?",
        "search_files",
        {"path": "reports", "pattern": "*", "contains": "revenue"},
    ),
    ("describe a.md", "get_metadata", {"path": "a.md"}),
    ("how big is a.md?", "get_metadata", {"path": "a.md"}),
    ("when was a.md changed?", "get_metadata", {"path": "a.md"}),
    ("does a.md exist?", "get_metadata", {"path": "a.md"}),
    ("show me details of a.md", "get_metadata", {"path": "a.md"}),
    ("how big are a.md and b.md?", "describe_paths", {"paths": ["a.md", "b.md"]}),
    ("move a.md to b.md", "move_file", MOVE),
    ("Move a.md into b.md.", "move_file", MOVE),
    ("mv a.md to b.md", "move_file", MOVE),
    ("put a.md in b.md", "move_file", MOVE),
    ("rename a.md to b.md", "move_file", MOVE),
    ("rename the file a.md as b.md", "move_file", MOVE),
    ("move the file a.md to the folder b.md", "move_file", MOVE),
    ("please move a.md to b.md", "move_file", MOVE),
    ("Could you please move a.md to b.md, thanks!", "move_file", MOVE),
    ("move `a.md` to `b.md`", "move_file", MOVE),
    ("move “a.md” to «b.md»", "move_file", MOVE),
    ("move <http://a.md|a.md> to b.md", "move_file", MOVE),
    (
        'move "to do.md" to "from here to there.md"',
        "move_file",
        {"source": "to do.md", "destination": "from here to there.md"},
    ),
    (
        'move "my notes.md" to old notes.md',
        "move_file",
        {"source": "my notes.md", "destination": "old notes.md"},
    ),
    ("copy a.md to b.md", "copy_file", MOVE),
    ("make a copy of a.md in b.md", "copy_file", MOVE),
    ("duplicate a.md as b.md", "copy_file", MOVE),
    ("delete a.md", "delete_file", {"path": "a.md"}),
    ("remove the files a.md, b.md and c.md", "delete_file", {"path": ["a.md", "b.md", "c.md"]}),
    ("delete a.md & b.md", "delete_file", {"path": ["a.md", "b.md"]}),
    ('delete "a and b.md"', "delete_file", {"path": "a and b.md"}),
    ("get rid of a.md", "delete_file", {"path": "a.md"}),
    ("move a.md to the trash", "delete_file", {"path": "a.md"}),
    ("write to a.md: Hello, then. Bye!", "write_file", {"path": "a.md", "content": "Hello, then. Bye!"}),
    ('write "Call  the printer." to a.md', "write_file", {"path": "a.md", "content": "Call  the printer."}),
    ('save "some words" as a.md', "write_file", {"path": "a.md", "content": "some words"}),
    ("create a new file a.md with some words", "write_file", {"path": "a.md", "content": "some words"}),
    ("create an empty file a.md", "write_file", {"path": "a.md", "content": ""}),
    ("write to a.md: ```one\n two\n```", "write_file", {"path": "a.md", "content": "one\n two\n"}),
    ("write to a.md:\n```\none\ntwo\n```", "write_file", {"path": "a.md", "content": "one\ntwo\n"}),
    ("write to a.md\n```\none\n```", "write_file", {"path": "a.md", "content": "one\n"}),
    ("write to a.md:\none\n\ntwo", "write_file", {"path": "a.md", "content": "one\n\ntwo"}),
    ("write ```one``` to a.md", "write_file", {"path": "a.md", "content": "one"}),
    ("overwrite a.md with: new", "write_file", {"path": "a.md", "content": "new"}),
    *(
        (text, "list_dir", {"path": "."})
        for text in (
            "what is in .",
            "ls .",
            "what's here?",
            "what is in this folder",
            "Show me the files in .",
            "please list the top folder",
            "what's in my files?",
            "what files do we have here",
            "show me what is in the root folder",
            "What is in the workspace?",
        )
    ),
    ("create a folder 2027", "create_folder", {"path": "2027"}),
    ("Please make a new folder called Board Papers", "create_folder", {"path": "Board Papers"}),
    ("mkdir reports/2027", "create_folder", {"path": "reports/2027"}),
    ("create a subfolder 2027 in reports", "create_folder", {"path": "reports/2027"}),
    ("make me a folder for invoices", "create_folder", {"path": "invoices"}),
    ("preview the new folder reports/2027", "preview_folder", {"path": "reports/2027"}),
    ("restore 20261120-abc", "restore_file", {"trash_id": "20261120-abc"}),
    ("bring back 20261120-abc", "restore_file", {"trash_id": "20261120-abc"}),
    ("what is in the trash?", "list_trash", {}),
    ("show the trash", "list_trash", {}),
    ("watch reports", "watch_folder", {"path": "reports"}),
    ("watch everything in reports", "watch_folder", {"path": "reports", "recursive": True}),
    ("stop watching reports", "unwatch_folder", {"path": "reports"}),
    ("what changed in reports?", "list_changes", {"path": "reports"}),
    ("preview writing to a.md", "preview_write", {"path": "a.md"}),
    ("preview moving a.md to b.md", "preview_transfer", MOVE),
    ("preview restoring 20261120-abc", "preview_restore", {"trash_id": "20261120-abc"}),
    ("preview purging 20261120-abc", "preview_purge", {"trash_id": "20261120-abc"}),
    ("purge 20261120-abc from the trash", "purge_trash", {"trash_id": "20261120-abc"}),
    ("empty the trash", "purge_trash", {"trash_id": "all"}),
    ("move the folder reports to archive", "move_file", {"source": "reports", "destination": "archive"}),
    ("copy the folder reports to archive", "copy_file", {"source": "reports", "destination": "archive"}),
    ("delete the folder reports", "delete_file", {"path": "reports"}),
    ("filesystem.list_dir path=reports", "list_dir", {"path": "reports"}),
    ("filesystem.move_file source=a.md destination=b.md", "move_file", MOVE),
    ('filesystem.move_file source = "a.md", destination=“b.md”', "move_file", MOVE),
    ('filesystem.delete_file path=["a and b.md", "c.md"]', "delete_file", {"path": ["a and b.md", "c.md"]}),
    ("filesystem.read_file path=a.md limit=500", "read_file", {"path": "a.md", "limit": 500}),
    ("filesystem.list_dir path=. recursive=yes", "list_dir", {"path": ".", "recursive": True}),
    ("filesystem.list_trash", "list_trash", {}),
    (
        "filesystem.write_file path=a.md content=```\nmove x to y then\n```",
        "write_file",
        {"path": "a.md", "content": "move x to y then\n"},
    ),
]


@pytest.mark.parametrize(("text", "tool", "args"), TABLE, ids=[text for text, _, _ in TABLE])
def test_a_sentence_means_one_call(text: str, tool: str, args: dict[str, Any], planner: Phrases) -> None:
    assert calls(understood(planner, text)) == [(tool, args)]


@pytest.mark.parametrize(
    "text",
    [
        "create a folder 2027 and a folder 2028",
        "create a new folder and move the Q3 summary into it",
        "make a folder in reports",
        "add a folder drafts/new to the project",
    ],
)
def test_a_sentence_about_more_than_a_new_folder_makes_no_folder(text: str, planner: Phrases) -> None:
    reply = understood(planner, text)
    assert isinstance(reply, Say)
    assert "what the new folder is to be called" in reply.text


def test_every_tool_of_the_bundled_server_can_be_reached_in_words(planner: Phrases) -> None:
    said = {tool for text, tool, _ in TABLE if not text.startswith("filesystem.")}
    assert {spec.name for spec in planner.tools.specs() if spec.server == "filesystem"} <= said


def test_every_phrase_fits_its_tool_and_every_example_is_understood(planner: Phrases) -> None:
    assert misfits(planner.book, planner.tools) == []
    for phrase in planner.book.phrases:
        if phrase.example and planner.tools.find(phrase.server, phrase.tool):
            assert calls(understood(planner, phrase.example))[0][0] == phrase.tool


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("move a.md to b.md\ndelete c.md", ["move_file", "delete_file"]),
        ("move a.md to b.md then delete c.md", ["move_file", "delete_file"]),
        ("move a.md to b.md, and then delete c.md and d.md", ["move_file", "delete_file"]),
        ("read a.md; read b.md; list", ["read_file", "read_file", "list_dir"]),
        ("- read a.md\n- read b.md", ["read_file", "read_file"]),
        ("Please do this:\n1. read a.md\n2. read b.md", ["read_file", "read_file"]),
        ("move a.md, b.md and c.md into archive", ["move_file", "move_file", "move_file"]),
        ("read a.md and b.md", ["read_file", "read_file"]),
        ("list then write to a.md: read it, then delete b.md", ["list_dir", "write_file"]),
        ("filesystem.list_dir path=. then delete a.md", ["list_dir", "delete_file"]),
        ('write "x" to a.md\nfilesystem.read_file path=a.md', ["write_file", "read_file"]),
    ],
)
def test_several_instructions_become_several_calls_in_order(
    text: str, tools: list[str], planner: Phrases
) -> None:
    assert [tool for tool, _ in calls(understood(planner, text))] == tools


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("text=5", {"text": "5"}),
        ("text=true", {"text": "true"}),
        ("count=5", {"count": 5}),
        ('count="5"', {"count": 5}),
        ("ratio=-0.5", {"ratio": -0.5}),
        ("ratio=2", {"ratio": 2}),
        ("sure=no", {"sure": False}),
        ("many=1,2,3", {"many": [1, 2, 3]}),
        ("many=[1, 2]", {"many": [1, 2]}),
        ('thing={"a": {"b": [1, "x y"]}}', {"thing": {"a": {"b": [1, "x y"]}}}),
        ("maybe=null", {"maybe": None}),
        ("maybe=7", {"maybe": 7}),
        ('text="a \\"b\\" \\\\ c\\nd"', {"text": 'a "b" \\ c\nd'}),
        ("text=a=b", {"text": "a=b"}),
        ('text=""', {"text": ""}),
        ("text=don't", {"text": "don't"}),
        ('text="then; and" count=1', {"text": "then; and", "count": 1}),
        ('thing={\n "a": 1\n}', {"thing": {"a": 1}}),
    ],
)
def test_values_are_typed_by_the_tool_s_schema(text: str, args: dict[str, Any], planner: Phrases) -> None:
    assert calls(understood(planner, f"odd.kinds {text}")) == [("odd.kinds", args)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "filesystem.mov_file source=a",
            "There is no tool `filesystem.mov_file`. Did you mean `filesystem.move_file`",
        ),
        ("filesystm.move_file source=a destination=b", "Did you mean `filesystem.move_file`"),
        ("filesystem.move_file source=a", "`destination` is missing"),
        ("filesystem.move_file", "`destination` is missing"),
        ("filesystem.move_file sorce=a destination=b", "did you mean `source`?"),
        ("filesystem.list_dir path=. limit=many", "`limit` must be a whole number, not text"),
        ("filesystem.list_dir path=. limit=0", "`limit` must be at least 1"),
        ("filesystem.list_dir path=. path=b", "`path` is there twice"),
        ("filesystem.list_dir reports", "could not read “reports”"),
        ('odd.kinds thing={"a":1,"a":2}', "could not"),
        ("odd.kinds thing={1}", "`thing` must be an object, not text"),
        ("mv a.md b.md", "move reports/q3-summary.md to archive/q3-summary.md"),
        ("deelte a.md", "delete drafts/q3-draft.md"),
        ("make it", "I did not understand “make it”"),
        ("move my notes.md", "I did not understand “move my notes.md”"),
        ("save some words as a.md", 'write "Call the printer." to notes.md'),
        ("whats inside of reports", "what is in reports"),
        ("make me a sandwich", "I did not understand “make me a sandwich”"),
        ("notes.md", "I did not understand “notes.md”"),
        ("", "You can write, for example:"),
        ("help", "You can write, for example:"),
        ("Hello!", "I can help with: files, "),
        ("what can you do?", "mention me with `help files`"),
        ("x" * 3000, "too long for one instruction"),
        ("read a.md\nsing a song", "I took none of the 2 instructions"),
        ("\n".join(["list"] * 13), "at most 12"),
    ],
)
def test_what_is_not_understood_is_said_and_nothing_is_proposed(
    text: str, said: str, planner: Phrases
) -> None:
    assert said in says(understood(planner, text))


def test_text_of_several_lines_outside_of_quotes_is_told_to_stand_in_quotes(planner: Phrases) -> None:
    told = "Each line is an instruction of its own. Put text of several lines in quotes or between ```."
    assert told in says(understood(planner, "write to a.md: one line\nand another"))
    assert told not in says(understood(planner, "read a.md then sing a song"))
    assert not isinstance(understood(planner, 'write to a.md: "one line\nand another"'), Say)


def test_a_list_and_a_near_miss_are_short(planner: Phrases) -> None:
    assert says(understood(planner, "deelte a.md")).count("•") <= 3
    assert len(says(understood(planner, "y" * 1500))) < 1500


def test_a_tool_that_is_away_is_named() -> None:
    nothing = Phrases(load_phrases(FILE), Listed({}))
    assert "needs the server for files, and that tool is not there now" in says(nothing.understand("list"))
    assert "No server is connected right now" in says(nothing.understand("help"))
    assert "server.tool" in says(nothing.understand("sing a song"))


@pytest.mark.parametrize("text", ["what is waiting?", "What's pending", "show me pending actions"])
def test_what_waits_can_be_asked_for(text: str, planner: Phrases) -> None:
    assert understood(planner, text) == ListPending()


async def test_a_turn_is_over_after_its_first_reply(planner: Phrases) -> None:
    at = datetime(2026, 11, 21, tzinfo=UTC)
    turn = Turn("t", Session("T1", "C1", "1.1"), "U1", "list", at)
    first = (await planner.reply(turn, PlannerContext("list"), ())).reply
    assert isinstance(first, Propose)
    again = Turn("t", turn.session, "U1", "list", at, (Exchange(first),))
    assert (await planner.reply(again, PlannerContext("list"), ())).reply == Done()


@pytest.mark.slow
@settings(max_examples=100)
@given(text=st.text(max_size=200))
def test_any_text_gets_a_reply(text: str, planner: Phrases) -> None:
    assert isinstance(understood(planner, text), Propose | Say | ListPending | Clarify)


WORDS = [
    "move",
    "to",
    "delete",
    "write",
    "then",
    "and",
    ":",
    "a.md",
    "```",
    '"',
    "'",
    "`",
    "“",
    "{",
    "}",
    "[",
    "=",
]
WORDS += [
    "filesystem.move_file",
    "odd.kinds",
    "thing=",
    "path=",
    "\n",
    "<http://a.md|a.md>",
    "\0",
    "\0" + "0\0",
    ";",
]


@pytest.mark.slow
@settings(max_examples=100)
@given(words=st.lists(st.sampled_from(WORDS), max_size=14), glue=st.sampled_from([" ", ""]))
def test_any_jumble_of_its_own_words_gets_a_reply(words: list[str], glue: str, planner: Phrases) -> None:
    assert isinstance(understood(planner, glue.join(words)), Propose | Say | ListPending | Clarify)


values = st.text(
    st.characters(blacklist_characters="\0\r", blacklist_categories=["Cs"]), min_size=1, max_size=60
)


@settings(max_examples=100)
@given(content=values, path=values)
def test_quoted_values_come_through_unchanged(content: str, path: str, planner: Phrases) -> None:
    expected = [("write_file", {"path": path, "content": content})]
    for text in (
        f"write {quote(content)} to {quote(path)}",
        f"filesystem.write_file path={quote(path)} content={quote(content)}",
    ):
        if "<http" not in text and "<mailto" not in text:
            assert calls(understood(planner, text)) == expected


@settings(max_examples=200)
@given(content=values.filter(lambda text: "```" not in text and not text.endswith("`")))
def test_a_block_comes_through_but_for_the_line_break_that_opens_it(content: str, planner: Phrases) -> None:
    found = calls(understood(planner, f"write to a.md: ```\n{content}```"))
    assert found == [("write_file", {"path": "a.md", "content": content})]


@pytest.mark.parametrize(
    "piece", ["to ", "'a ", "``` ", "“", "={", '="', "move a to b then ", " ", "{a} in "]
)
def test_long_hostile_text_is_answered_soon(piece: str, planner: Phrases) -> None:
    with within(10, time.process_time):
        understood(planner, (piece * 40_000)[:40_000])
        understood(planner, (piece * 2000)[:1900])


def phrases(**entry: Any) -> dict[str, Any]:
    return {"phrases": [{"say": "list {path}", "call": "files.list", "args": {"path": "{path}"}, **entry}]}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "line 1: the file must be a mapping"),
        ({}, "the file needs `phrases`"),
        ({"phrases": {}}, "“phrases” must be a list"),
        (phrases(sya="x"), "“phrases[0].sya” is not known; did you mean “say”"),
        (phrases(say=[]), "“phrases[0].say” must be a sentence"),
        (phrases(say=5), "“phrases[0].say” must be a sentence"),
        (phrases(call="list"), "“phrases[0].call” must be server.tool"),
        (phrases(args=[]), "“phrases[0].args” must be a mapping"),
        (phrases(say="list {dir}"), "do not have the same slots: dir"),
        (phrases(say="list"), "the same slots: path"),
        (phrases(names={"dir": "there"}), "is no slot of “"),
        (phrases(names={"path": "beside"}), "has no slot {source}"),
        (phrases(say="list {path} {path}"), "has a slot twice"),
        (phrases(say="list {Path}"), "a slot that cannot be read"),
        (phrases(say="list {path:word}"), "a slot that cannot be read"),
        (phrases(say="{a}{path}", args={"path": "{path}{a}"}), "between two slots"),
        (phrases(say="list {path:rest} now"), "nothing follows a rest"),
        (phrases(say="list (the {path}|it)"), "no slot inside of brackets"),
        (phrases(say="list {path} [now]"), "no word to leave out at the end"),
        (phrases(say="list (the {path}"), "cannot be read"),
        (phrases(each="path"), "“phrases[0].each” must be a list slot"),
        (phrases(example=1), "“phrases[0].example” must be text"),
        (phrases(args={"path": "{path|shout}"}), "no filter “shout”"),
        (phrases(say=["list {path}", "List {path}"]), "is there twice"),
    ],
)
def test_the_phrase_file_is_read_strictly(data: Any, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        phrase_book(data)
    assert said in str(caught.value)


def test_every_mistake_of_a_phrase_file_is_told_with_its_line(tmp_path: Path) -> None:
    text = 'phrases:\n- say: list {path}\n  call: list\n- say: ["a {b", c]\n  call: files.list\n  call: files.show\n'
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_phrases(tmp_path / "p.yaml")
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "p.yaml, line 3",
        "p.yaml, line 4",
        "p.yaml, line 6",
    ]


def test_a_phrase_file_that_is_no_yaml_says_so(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("a: [")
    with pytest.raises(ConfigError, match=r"p\.yaml, line 1: did not find"):
        load_phrases(tmp_path / "p.yaml")
