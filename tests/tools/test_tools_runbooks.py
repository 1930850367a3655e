"""Runbooks: plans with a name, read strictly, filled in by people, and carried out with the bundled server."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gate.rules.action import Json
from gate.rules.canonical_json import canonical
from gate.rules.planner_port import (
    WITHHELD,
    CallReport,
    Clarify,
    Exchange,
    Mode,
    PlannerContext,
    Propose,
    ProposedStep,
    ProposePlan,
    Reply,
    Say,
)
from gate.rules.task import Question, SettledPoint
from gate.rules.templates import expand
from servers.filesystem import server as filesystem
from tests.tools.mcp_hosts import hosting
from tests.tools.phrases_setup import FILE, FILES, Listed, bundled, phrase_book, turn
from tools.mcp.client import Host
from tools.phrases.phrase_file import load_phrases
from tools.phrases.planner import Phrases, misfits
from tools.strict_config import ConfigError

SAMPLE = FILE.parent / "sample"
PHRASE = {"say": "list {path}", "call": "filesystem.list_dir", "args": {"path": "{path}"}}
COPY = {
    "say": "copy {source} to {destination}",
    "call": "filesystem.copy_file",
    "args": {"source": "{source}", "destination": "{destination}"},
}


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> Phrases:
    return bundled(tmp_path_factory.mktemp("runbooks"))


async def replied(
    planner: Phrases, text: str, mode: Mode = Mode.ACT, brief: PlannerContext | None = None
) -> Reply:
    """What the planner answers where names are private, so that files are taken as they were typed."""
    asked, told = turn(text, mode), brief or PlannerContext(text)
    reply = (await planner.reply(asked, told, ())).reply
    if isinstance(reply, Propose) and all(call.tool == "search_files" for call in reply.calls):
        withheld = tuple(CallReport(n, WITHHELD, "") for n in range(len(reply.calls)))
        asked = replace(asked, exchanges=(Exchange(reply, withheld),))
        reply = (await planner.reply(asked, told, ())).reply
    return reply


def plan(reply: Reply) -> tuple[ProposedStep, ...]:
    assert isinstance(reply, ProposePlan), reply
    return reply.steps


def says(reply: Reply) -> str:
    assert isinstance(reply, Say), reply
    return reply.text


def asked(reply: Reply) -> tuple[Question, ...]:
    assert isinstance(reply, Clarify), reply
    return reply.questions


async def planned(planner: Phrases, text: str, *decided: SettledPoint) -> tuple[ProposedStep, ...]:
    return plan(await replied(planner, text, Mode.PLAN, PlannerContext(text, decided=decided)))


# Carried out


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[tuple[Path, Host]]:
    """The sample folder, and the bundled server over it."""
    sample = tmp_path / "sample"
    shutil.copytree(SAMPLE, sample)
    async with hosting(tmp_path, FILES, inproc={"filesystem": filesystem([sample])}) as host:
        yield sample, host


async def carried_out(host: Host, steps: tuple[ProposedStep, ...]) -> list[Json]:
    """Run every call of a plan as it stands, each with the results of those before."""
    results: dict[str, Json] = {}
    for place, step in enumerate(steps, 1):
        spec = host.find(step.call.server, step.call.tool)
        assert spec is not None
        args = {
            **step.call.args,
            **{name: expand(ref, {"steps": results}) for name, ref in step.refs.items()},
        }
        assert host.problems(spec.schema, args) == ()
        answer = await host.call(step.call.server, step.call.tool, canonical(args))
        assert not answer.is_error, answer.text
        results[str(place)] = answer.structured
    return list(results.values())


async def test_a_quarter_is_archived(files: tuple[Path, Host]) -> None:
    folder, host = files
    steps = await planned(Phrases(load_phrases(FILE), host), "run archive-quarter for q3")
    assert [step.title for step in steps] == [
        "List reports",
        "Copy reports/q3-figures.csv to archive",
        "Move reports/q3-summary.md to archive",
    ]
    await carried_out(host, steps)
    assert sorted(path.name for path in (folder / "archive").iterdir()) == [
        "q2-summary.md",
        "q3-figures.csv",
        "q3-summary.md",
    ]
    assert [path.name for path in (folder / "reports").iterdir()] == ["q3-figures.csv"]


async def test_drafts_are_tidied(files: tuple[Path, Host]) -> None:
    folder, host = files
    text = "run tidy-drafts keep=drafts/meeting-notes.md, remove=drafts/q3-draft.md"
    steps = await planned(Phrases(load_phrases(FILE), host), text)
    assert [step.call.tool for step in steps] == ["list_dir", "move_file", "delete_file"]
    await carried_out(host, steps)
    assert list((folder / "drafts").iterdir()) == []
    assert (folder / "archive" / "meeting-notes.md").exists()


async def test_a_note_is_published_from_where_it_was_written(files: tuple[Path, Host]) -> None:
    folder, host = files
    text = 'run publish-note for lisbon, text="The lease ends: {steps.1.path} in May, then."'
    steps = await planned(Phrases(load_phrases(FILE), host), text)
    assert [dict(step.refs) for step in steps] == [
        {},
        {"source": "{steps.1.path}"},
        {"path": "{steps.2.destination}"},
    ]
    assert steps[0].title == "Write 44 B to drafts/lisbon.md"
    last: Any = (await carried_out(host, steps))[-1]
    assert last["text"] == "The lease ends: {steps.1.path} in May, then."  # what people write is no template
    assert (folder / "reports" / "lisbon.md").read_text() == last["text"]


def test_the_shipped_runbooks_fit_their_tools(planner: Phrases) -> None:
    assert len(planner.book.runbooks) >= 3
    assert misfits(planner.book, planner.tools) == []


async def test_every_example_is_a_whole_request(planner: Phrases) -> None:
    for runbook in planner.book.runbooks:
        if runbook.looks:  # those need other servers: tests/tools/test_tools_stories.py
            continue
        assert len(await planned(planner, runbook.example)) >= 3


# By name


@pytest.mark.parametrize(
    "text",
    [
        "run archive-quarter for q3",
        "Run archive quarter for Q3.",
        "please run the archive-quarter runbook for q3, thanks!",
        "start the runbook archive-quarter with quarter=q3",
        'run "Archive a quarter" for q3',
        "run archive-quarter: quarter = q3",
        "run archive-quarter q3",
        "run ARCHIVE_QUARTER quarter=`q3`",
    ],
)
async def test_a_runbook_is_run_by_its_name(text: str, planner: Phrases) -> None:
    steps = await planned(planner, text)
    assert steps[1].call.args == {"source": "reports/q3-figures.csv", "destination": "archive"}


async def test_values_by_name_take_the_place_of_defaults(planner: Phrases) -> None:
    text = "run archive-quarter for q3 with folder=old reports, archive=`my, archive`"
    steps = await planned(planner, text)
    assert steps[2].call.args == {"source": "old reports/q3-summary.md", "destination": "my, archive"}


async def test_lists_give_one_call_each_or_one_for_all(planner: Phrases) -> None:
    text = "run tidy-drafts for a.md, b.md and c.md with remove=d.md & e.md"
    calls = [(s.call.tool, s.call.args) for s in await planned(planner, text)]
    assert calls[1:] == [
        *(("move_file", {"source": name, "destination": "archive"}) for name in ("a.md", "b.md", "c.md")),
        ("delete_file", {"path": ["d.md", "e.md"]}),
    ]


async def test_a_runbook_is_one_instruction_among_others(planner: Phrases) -> None:
    text = "run publish-note for x, text=`y` then run publish-note for z, text=`w`\nlist archive"
    steps = await planned(planner, text)
    assert [step.refs.get("source", "") for step in steps] == [
        "",
        "{steps.1.path}",
        "",
        "",
        "{steps.4.path}",
        "",
        "",
    ]


async def test_what_was_assumed_stands_on_the_plan(planner: Phrases) -> None:
    reply = await replied(planner, "run archive-quarter for q3 archive=x", Mode.PLAN)
    assert isinstance(reply, ProposePlan)
    assert (reply.note, reply.own) == ("Assumed: the reports are in reports/", True)


async def test_what_is_missing_is_asked_for_and_defaults_are_offered(planner: Phrases) -> None:
    text = "run archive-quarter"
    found = (await planner.assess(turn(text), PlannerContext(text))).assessment
    assert [(q.id, q.assumption, q.options) for q in found.questions] == [
        ("value:folder", "reports", ()),
        ("value:archive", "archive", ()),
        ("value:quarter", "", ("q1", "q2", "q3", "q4")),
    ]
    (needed,) = asked(await replied(planner, text))
    decided = [
        SettledPoint(needed.id, needed.text, "Q2", "U1"),
        SettledPoint("value:folder", found.questions[0].text, "x", "U1"),
    ]
    steps = await planned(planner, text, *decided)
    assert steps[2].call.args == {"source": "x/q2-summary.md", "destination": "archive"}


async def test_a_wrong_value_is_asked_for_again(planner: Phrases) -> None:
    text = "run archive-quarter for q9"
    (question,) = asked(await replied(planner, text))
    assert question.text == "“q9” is not q1, q2, q3 or q4. Which quarter is to be archived?"
    steps = await planned(planner, text, SettledPoint(question.id, question.text, "q4", "U1"))
    assert steps[2].call.args["source"] == "reports/q4-summary.md"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "run archve-quarter for q3",
            "There is no runbook “archve-quarter for q3”. Did you mean `archive-quarter`?",
        ),
        ("run the runbook sandwich", "There is no runbook “sandwich”.\nRunbooks:\n• Archive a quarter"),
        ("run archive-quarter foldr=x", "`foldr` is not known here; did you mean `folder`?"),
        ("run archive-quarter quarter=q1 quarter=q2", "`quarter` is there twice"),
        ("run away", "I did not understand “run away”"),
        ("runbooks", "Publish a note: Writes a note, copies it"),
        (
            "What runbooks are there?",
            "Takes quarter, folder (reports), archive (archive). Write: `run archive-quarter",
        ),
        ("show me the runbooks", "Runbooks:"),
        ("help", "`runbooks` lists plans with a name"),
        ("help runbooks", "Publish a note: Writes a note, copies it"),
    ],
)
async def test_what_cannot_be_run_is_said(text: str, said: str, planner: Phrases) -> None:
    assert said in says(await replied(planner, text))


async def test_a_folder_of_that_name_can_still_be_listed(planner: Phrases) -> None:
    reply = await replied(planner, 'list "runbooks"')
    assert isinstance(reply, Propose)


async def test_results_of_earlier_steps_make_it_a_plan_even_where_calls_were_wanted(planner: Phrases) -> None:
    assert len(plan(await replied(planner, "run publish-note for x, text=y", Mode.ACT))) == 3


async def test_the_server_of_a_tool_that_is_away_is_named() -> None:
    away = Phrases(load_phrases(FILE), Listed({}))
    text = says(await replied(away, "run archive-quarter for q3"))
    assert (
        "The runbook archive-quarter cannot be run like this. That needs the server for files, and that tool is not there now."
        in text
    )


# Read strictly


def book(*steps: Mapping[str, Any], **entry: Any) -> dict[str, Any]:
    parameter = {"name": "folder", "question": "Which?"}
    runbook = {
        "name": "look",
        "parameters": [parameter],
        "steps": [*steps] or [{"say": "list {folder}"}],
        **entry,
    }
    return {"phrases": [PHRASE, COPY], "runbooks": [runbook]}


def given(**parameter: Any) -> dict[str, Any]:
    return book(parameters=[{"name": "folder", "question": "Which?", **parameter}])


def looking(*looks: Mapping[str, Any]) -> dict[str, Any]:
    return book(looks=[*looks])


CALLED = {"call": "filesystem.list_dir", "args": {"path": "{folder}"}}


def step(**more: Any) -> dict[str, Any]:
    return {"say": "list {folder}", **more}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"phrases": [], "runbooks": {}}, "“runbooks” must be a list"),
        ({"phrases": [], "books": []}, "“books” is not known; did you mean “runbooks”"),
        (book(nmae="x"), "“runbooks[0].nmae” is not known; did you mean “name”"),
        (book(name="Look"), "“runbooks[0].name” must be words in small letters"),
        (book(title=5), "“runbooks[0].title” must be text"),
        (book(steps=[]), "“runbooks[0].steps” must list at least one step"),
        (book(steps=["list"]), "“runbooks[0].steps[0]” must be a mapping"),
        (given(sort="x"), "“runbooks[0].parameters[0].sort” is not known"),
        (given(question=""), "“runbooks[0].parameters[0].question” must say what to ask"),
        (given(name="steps"), "and not `steps`"),
        (given(type="path"), "“runbooks[0].parameters[0].type” must be one of string, number, list, enum"),
        (given(type="enum"), "“runbooks[0].parameters[0].options” belong to the type enum"),
        (given(options=["a"]), "“runbooks[0].parameters[0].options” belong to the type enum"),
        (
            given(type="enum", options=["a"], default="b"),
            "“runbooks[0].parameters[0].default” is no value of its type",
        ),
        (given(type="number", default="5"), "“runbooks[0].parameters[0].default” is no value of its type"),
        (given(type="list", default="a"), "“runbooks[0].parameters[0].default” is no value of its type"),
        (given(default=""), "“runbooks[0].parameters[0].default” is no value of its type"),
        (
            book(parameters=[{"name": "folder", "question": "?"}] * 2),
            "“runbooks[0].parameters[1]” has the name `folder`, which is there twice",
        ),
        (
            book(step(), {"say": "list ."}, step(name="2")),
            "“runbooks[0].steps[2]” has the name `2`, which is there twice",
        ),
        (book({"say": "list ."}), "“runbooks[0].parameters[0]” is used in no step: `folder`"),
        (book(step(sya=1)), "“runbooks[0].steps[0].sya” is not known; did you mean “say”"),
        (book(step(call="a.b")), "“runbooks[0].steps[0]” must have either `say`, a sentence, or `call`"),
        (book({**CALLED, "call": "list"}), "“runbooks[0].steps[0].call” must be server.tool"),
        (book(step(args={"a": "b"})), "“runbooks[0].steps[0].args” belongs to `call`"),
        (book(step(ask="yes")), "“runbooks[0].steps[0].ask” must be true or false"),
        (book(step(each="folder")), "“runbooks[0].steps[0].each” must name a parameter of the type list"),
        (book(step(), {"say": "list {dir}"}), "“runbooks[0].steps[1]” takes {dir}, which names no parameter"),
        (
            book({"say": "sing {folder}"}),
            "“runbooks[0].steps[0].say” cannot be used: “sing {folder}” fits none of the phrases",
        ),
        (book({"say": 'list "{folder}"'}), "write the placeholders of `say` outside of quotes"),
        (book({**CALLED, "args": {"path": "{folder|shout}"}}), "no filter “shout”"),
        (book(step(), {"say": "list {steps.later.path}"}, step(name="later")), "must name an earlier step"),
        (
            book(step(name="a"), {"say": "list {steps.a}"}),
            "must name an earlier step and a field of its result",
        ),
        (
            book(step(name="a"), {"say": "list {steps.a.path}/x/{folder}"}),
            "a result of a step must be a whole argument",
        ),
        (
            book(step(name="a"), {**CALLED, "args": {"path": "{folder}/{steps.a.path}"}}),
            "“runbooks[0].steps[1].args.path” must be a text with the result of a step",
        ),
        (
            book(step(name="a"), step(title="{steps.a.path}")),
            "“runbooks[0].steps[1].title” cannot show a result",
        ),
        (
            book(
                {"name": "a", "say": "list {folder}", "each": "folder"},
                {"say": "list {steps.a.path}"},
                parameters=[{"name": "folder", "question": "?", "type": "list"}],
            ),
            "add `each: folder` here",
        ),
        (given(name="each"), "and not `steps`, `looks` or `each`"),
        (looking({"call": "filesystem.list_dir"}), "“runbooks[0].looks[0]” needs `name`"),
        (
            looking({"name": "A", "call": "a.b"}),
            "“runbooks[0].looks[0].name” must be a word in small letters",
        ),
        (looking({"name": "a", "call": "list"}), "“runbooks[0].looks[0].call” must be server.tool"),
        (looking({"name": "a", "say": "list x"}), "“runbooks[0].looks[0].say” is not known"),
        (looking({"name": "a", **CALLED, "args": []}), "“runbooks[0].looks[0].args” must be a mapping"),
        (
            looking({"name": "a", **CALLED}, {"name": "a", **CALLED}),
            "“runbooks[0].looks[1]” has the name `a`, which is there twice",
        ),
        (looking({"name": "a", **CALLED, "args": {"path": "{looks.b.path}"}}), "must name an earlier look"),
        (looking({"name": "a", **CALLED, "each": "folder"}), "or a list that a look gives"),
        (book(step(), step(each="looks.a.items")), "or a list that a look gives"),
        (book({"say": "list {each.path}"}), "takes {each.path}, which names no parameter"),
        (book(step(without="looks.a.items")), "“runbooks[0].steps[0].without” belongs to `each`"),
        (
            {**book(), "runbooks": book()["runbooks"] * 2},
            "“runbooks[1]” is called “look”, and there is a runbook of that name",
        ),
    ],
)
def test_runbooks_are_read_strictly(data: Any, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        phrase_book(data)
    assert said in str(caught.value)


async def test_steps_for_each_use_the_results_of_their_own_item(planner: Phrases) -> None:
    data = book(
        {"name": "copy", "say": "copy {files} to x", "each": "files", "ask": True},
        {
            "call": "filesystem.delete_file",
            "args": {"path": "{steps.copy.source}"},
            "each": "files",
            "title": "Gone: {files}",
        },
        parameters=[{"name": "files", "question": "?", "type": "list"}],
    )
    steps = await planned(Phrases(phrase_book(data), planner.tools), "run look for a, b")
    assert [step.ask for step in steps] == [True, True, False, False]
    assert [step.title for step in steps[2:]] == ["Gone: a", "Gone: b"]
    assert [step.refs for step in steps[2:]] == [{"path": "{steps.1.source}"}, {"path": "{steps.2.source}"}]


async def test_numbers_stay_numbers(planner: Phrases) -> None:
    data = book(
        {"call": "filesystem.list_dir", "args": {"path": "n{count}", "limit": "{count}"}},
        parameters=[{"name": "count", "question": "How many?", "type": "number"}],
    )
    counting = Phrases(phrase_book(data), planner.tools)
    (one,) = await planned(counting, "run look count=5")
    assert one.call.args == {"path": "n5", "limit": 5}
    (question,) = asked(await replied(counting, "run look for many"))
    assert question.text == "“many” is no number. How many?"
    assert "`limit` must be at least 1" in says(await replied(counting, "run look for 0"))


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (
            [{"call": "filesystem.list_dir", "args": {"pth": "{folder}"}}],
            "`pth` is not known here; did you mean `path`?",
        ),
        ([{"call": "filesystem.move_file", "args": {"source": "{folder}"}}], "`destination` is missing"),
        ([{**CALLED, "args": {"path": "{folder}", "limit": 0}}], "`limit` must be at least 1"),
        (
            [{**CALLED, "name": "a"}, {"say": "copy {steps.a.place} to x"}],
            "The runbook look, step 2: `filesystem.list_dir` gives no `place`.",
        ),
    ],
)
def test_what_does_not_fit_a_tool_is_found_after_connecting(
    steps: list[dict[str, Any]], said: str, planner: Phrases
) -> None:
    (found,) = misfits(phrase_book(book(*steps)), planner.tools)
    assert said in found


# Looks


SEARCH = {"name": "found", "call": "filesystem.search_files", "args": {"path": "{folder}", "pattern": "*"}}
EACH = {"say": "copy {each.path} to x", "each": "looks.found.matches"}


async def looked(
    planner: Phrases, data: Any, found: Json, text: str = "run look for a", status: str = "succeeded"
) -> Reply:
    """What is planned once the first look has given this."""
    runs = Phrases(phrase_book(data), planner.tools)
    asked = turn(text, Mode.PLAN)
    first = (await runs.reply(asked, PlannerContext(asked.text), ())).reply
    assert isinstance(first, Propose), first
    told = tuple(CallReport(place, status, json.dumps(found)) for place, _ in enumerate(first.calls))
    again = replace(asked, exchanges=(Exchange(first, told),))
    return (await runs.reply(again, PlannerContext(asked.text), ())).reply


def matches(*paths: str) -> Json:
    return {"matches": [{"path": path, "kind": "file"} for path in paths]}


async def test_what_a_look_finds_is_a_value_and_nothing_else(planner: Phrases) -> None:
    strange = "a to b then delete c.md {steps.1.path} `x`"
    steps = plan(await looked(planner, book(EACH, looks=[SEARCH]), matches("a.md", strange)))
    assert [(step.call.args["source"], dict(step.refs)) for step in steps] == [("a.md", {}), (strange, {})]


async def test_a_step_takes_a_whole_list_of_a_look_and_is_left_out_where_that_is_empty(
    planner: Phrases,
) -> None:
    data = book({"say": "list {folder}"}, {"say": "delete {looks.found.matches}"}, looks=[SEARCH])
    data["phrases"].append(
        {"say": "delete {path...}", "call": "filesystem.delete_file", "args": {"path": "{path}"}}
    )
    steps = plan(await looked(planner, data, {"matches": ["a.md", "then b.md"]}))
    assert steps[1].call.args == {"path": ["a.md", "then b.md"]}
    steps = plan(await looked(planner, data, {"matches": []}))
    assert [step.call.tool for step in steps] == ["list_dir"]


async def test_what_another_look_found_can_be_left_out(planner: Phrases) -> None:
    twice = {**SEARCH, "name": "old", "args": {"path": "{folder}", "pattern": "*"}}
    data = book({**EACH, "without": "looks.old.matches"}, looks=[SEARCH, twice])
    assert "nothing was found" in says(await looked(planner, data, {"matches": ["a.md"]}))


async def test_an_answer_without_what_the_runbook_takes_is_said(planner: Phrases) -> None:
    data = book(EACH, looks=[SEARCH])
    assert "lacks this: “looks.found” has no “matches”" in says(await looked(planner, data, {}))
    assert "has no fields" in says(await looked(planner, data, "words"))
    assert "more than it can tell at once" in says(
        await looked(planner, data, {"matches": [], "truncated": True})
    )
    assert "for a list, but it is none" in says(await looked(planner, data, {"matches": 5}))


async def test_what_a_look_finds_for_one_person_alone_makes_no_plan(planner: Phrases) -> None:
    assert "private here" in says(await looked(planner, book(EACH, looks=[SEARCH]), {}, status=WITHHELD))


async def test_what_several_looks_find_alike_is_done_once(planner: Phrases) -> None:
    search = {**SEARCH, "args": {"path": "{folder}", "pattern": "*"}, "each": "folder"}
    parameter = {"name": "folder", "question": "?", "type": "list", "default": ["a", "b"]}
    data = book(EACH, looks=[search], parameters=[parameter])
    steps = plan(
        await looked(planner, data, {"matches": [{"path": "a/1.md"}, {"path": "a/2.md"}]}, "run look")
    )
    assert [step.call.args["source"] for step in steps] == ["a/1.md", "a/2.md"]


async def test_many_looks_are_taken_a_dozen_at_a_time_and_none_twice(planner: Phrases) -> None:
    names = [f"{n}.md" for n in range(30)]
    each = {
        "name": "files",
        "call": "filesystem.get_metadata",
        "args": {"path": "{folder}"},
        "each": "folder",
    }
    data = book(
        {"say": "copy {each.path} to x", "each": "looks.files"},
        looks=[each],
        parameters=[{"name": "folder", "question": "?", "type": "list", "default": names}],
    )
    runs, asked, counts = Phrases(phrase_book(data), planner.tools), turn("run look", Mode.PLAN), list[int]()
    while isinstance(reply := (await runs.reply(asked, PlannerContext(asked.text), ())).reply, Propose):
        counts.append(len(reply.calls))
        told = [
            CallReport(at, "succeeded", json.dumps({"path": call.args["path"]}))
            for at, call in enumerate(reply.calls)
        ]
        asked = replace(asked, exchanges=(*asked.exchanges, Exchange(reply, tuple(told))))
    assert counts == [12, 12, 6]
    assert [step.call.args["source"] for step in plan(reply)] == names


async def test_without_planning_a_runbook_that_looks_says_so(planner: Phrases) -> None:
    runs = Phrases(phrase_book(book(EACH, looks=[SEARCH])), planner.tools)
    assert "planning is switched off" in says(await replied(runs, "run look for a", Mode.ACT))
    found = (await runs.assess(turn("run look for a"), PlannerContext("run look for a"))).assessment
    assert (found.complexity, found.reason) == (30, "it looks first, and then knows its steps")


@pytest.mark.parametrize(
    ("look", "said"),
    [
        (
            {"name": "found", "call": "filesystem.delete_file", "args": {"path": "{folder}"}},
            "a look only reads",
        ),
        (
            {"name": "found", "call": "filesystem.list_dir", "args": {"path": "{folder}"}},
            "gives no `matches`",
        ),
        ({**SEARCH, "args": {"path": "{folder}"}}, "look 1: `filesystem.search_files`: `pattern` is missing"),
    ],
)
def test_looks_that_do_not_fit_their_tools_are_found_after_connecting(
    look: dict[str, Any], said: str, planner: Phrases
) -> None:
    assert any(said in text for text in misfits(phrase_book(book(EACH, looks=[look])), planner.tools))
