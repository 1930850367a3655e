"""What a rule closes is not told by a tool that is asked for the folder above: neither content, masked or not, nor names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.wiring import SystemClock
from gate.actions.gated_results import MadeCall, without_gated_files
from gate.actions.preview import make_preview, policy_decision
from gate.rules.action import CallClass, Verdict
from gate.rules.always_gated import ALWAYS
from gate.rules.canonical_json import canonical
from gate.rules.judging_turns import JudgingTurns
from gate.rules.policy import Policy, Rule
from gate.rules.tool import ToolSpec
from servers.filesystem import server
from servers.knowledge import server as knowledge
from tests.servers.all_servers import OVER_FILES
from tests.servers.gate_around_server import Gate, gated
from tests.servers.test_closed_calendars import Asker

CLOSED = Rule("hr is closed", ("*",), deny=True, texts=(r"(?i)(^|/)hr(/|$)",))
PAY = (
    "Ann Canary, ann.canary@corp.example, born 12.03.1984, IBAN DE89370400440532013000, card 4111 1111 1111 1111\n"
    "password=hunter2hunter2\n"
)
TOLD = ("canary", "corp.example", "3000", "1111", "14 characters", "hr/", "hidden")
OF_FOLDERS = ("path", "paths", "source", "call", "query", "question")
WORDS: Mapping[str, Any] = {
    "query": "born password", "question": "When was Ann born?", "contains": "born", "pattern": "*",
    "destination": "elsewhere", "recursive": True, "whole_folders": True,
}  # fmt: skip


def filled(folder: Path) -> None:
    (folder / "hr").mkdir(parents=True)
    (folder / "hr" / "hidden-canary.md").write_text(PAY)
    (folder / "hr" / "hidden-copy.md").write_text(PAY)
    (folder / "hr" / "hidden.bin").write_bytes(b"\x00\xff" * 50)
    (folder / "notes.md").write_text("nothing\n")


def readers(gate: Gate) -> Iterator[ToolSpec]:
    for spec in gate.host.specs():
        if spec.recipe.cls is CallClass.READ:
            yield spec


def arguments(spec: ToolSpec, where: str) -> dict[str, Any] | None:
    """Arguments that ask for a folder, with all below it; None where the tool takes none."""
    takes = spec.schema.get("properties", {})
    if not any(name in takes for name in OF_FOLDERS):
        return None
    given = {name: value for name, value in WORDS.items() if name in takes}
    given |= {name: where for name in ("path", "source") if name in takes}
    given |= {"paths": [where]} if "paths" in takes else {}
    return given | ({"call": {"path": where}} if "call" in takes else {})


async def told(gate: Gate, spec: ToolSpec, args: dict[str, Any], policy: Policy) -> str:
    """What somebody is told who asks for this read."""
    gate.world = SimpleNamespace(tools=gate.host, policy=policy, clock=SystemClock(), judging=JudgingTurns())  # type: ignore[assignment]
    if policy_decision(gate.world, spec, args, "C").verdict is not Verdict.RUN:
        return "not told"
    answer = await gate.host.call(spec.server, spec.name, canonical(args), 30)
    kept = await without_gated_files(gate.world, MadeCall(spec, args, "C"), answer)
    return f"{kept.text} {kept.structured}"


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("server", sorted(OVER_FILES))
async def test_no_tool_that_takes_a_folder_tells_what_a_rule_closes(server: str, tmp_path: Path):
    folder = tmp_path / "files"
    folder.mkdir()
    filled(folder)
    async with gated(tmp_path, server, OVER_FILES[server]([folder])) as gate:
        if server == "knowledge":
            await gate("index_folder", path=".", recursive=True)
        asked = [(spec, args) for spec in readers(gate) if (args := arguments(spec, "."))]
        leaks, open_ = [], []
        for spec, args in asked:
            said = await told(gate, spec, args, Policy("v", (*ALWAYS, CLOSED)))
            leaks += [(spec.full_name, word) for word in TOLD if word in said.lower()]
            without = await told(gate, spec, args, Policy("v", ALWAYS))
            open_ += [spec.full_name] if any(word in without.lower() for word in TOLD) else []
        assert leaks == []
        assert open_ or server in ("data", "document", "meeting", "ocr"), "nothing was tried"


@pytest.mark.parametrize("server", sorted(OVER_FILES))
async def test_no_tool_names_a_closed_file_that_it_could_not_look_into(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Nothing of a closed folder is found, but a note told of a file without text, and of a folder without right."""
    folder, really = tmp_path / "files", os.open
    (folder / "hr" / "hidden-shut").mkdir(parents=True)
    (folder / "hr" / "hidden.bin").write_bytes(b"\x00\xff" * 50)
    (folder / "notes.md").write_text("born\n")

    def refusing(name: str, *args: int, **more: int) -> int:  # root, as which tests may run, may enter any
        if name == "hidden-shut" and "dir_fd" in more:
            raise PermissionError(13, "Permission denied", name)
        return really(name, *args, **more)

    async with gated(tmp_path, server, OVER_FILES[server]([folder])) as gate:
        monkeypatch.setattr(os, "open", refusing)
        leaks = []
        for spec in readers(gate):
            args = arguments(spec, ".")
            said = await told(gate, spec, args, Policy("v", (*ALWAYS, CLOSED))) if args else ""
            leaks += [spec.full_name] if "hidden" in said else []
        monkeypatch.undo()
    assert leaks == []


@pytest.mark.parametrize("text", [r"^hr/", r"(^|/)hr/"])
async def test_a_rule_on_what_is_in_a_folder_closes_its_list(text: str, tmp_path: Path):
    folder = tmp_path / "files"
    folder.mkdir()
    filled(folder)
    policy = Policy("v", (*ALWAYS, Rule("closed", ("*",), deny=True, texts=(text,))))
    async with gated(tmp_path, "filesystem", OVER_FILES["filesystem"]([folder])) as gate:
        asked = [
            ("list_dir", {"path": "hr"}),
            ("list_dir", {"path": "hr/"}),
            ("list_dir", {"path": ".", "recursive": True}),
            ("search_files", {"path": "hr", "pattern": "*"}),
            ("search_files", {"path": ".", "pattern": "hidden*"}),
        ]
        said = [await told(gate, gate.spec(tool), args, policy) for tool, args in asked]
        beside = await told(gate, gate.spec("list_dir"), {"path": "."}, policy)
    assert not any("hidden-canary" in one for one in said)
    assert "notes.md" in beside


@pytest.mark.parametrize("many", [False, True])
async def test_what_is_in_a_closed_folder_is_indexed_by_no_click(many: bool, tmp_path: Path):
    folder = tmp_path / "files"
    folder.mkdir()
    filled(folder)
    for number in range(600 if many else 0):
        (folder / f"{number}.md").write_text(f"note {number}\n")
    async with gated(tmp_path, "knowledge", OVER_FILES["knowledge"]([folder])) as gate:
        for rule, verdict in (
            (replace(CLOSED, deny=True), Verdict.DENY),
            (replace(CLOSED, deny=False, at_least=CallClass.DESTRUCTIVE), Verdict.TYPED),
            (Rule("beside", ("*",), deny=True, texts=("(^|/)sales(/|$)",)), Verdict.CONFIRM),
        ):
            policy = Policy("v", (*ALWAYS, rule))
            gate.world = SimpleNamespace(
                tools=gate.host, policy=policy, clock=SystemClock(), judging=JudgingTurns()
            )  # type: ignore[assignment]
            seen = await make_preview(gate.world, gate.spec("index_folder"), {"path": "."}, "C")
            assert seen.decision is not None, seen
            assert seen.decision.verdict is verdict


async def test_what_lies_beside_a_closed_folder_is_told(tmp_path: Path):
    folder = tmp_path / "files"
    folder.mkdir()
    filled(folder)
    async with gated(tmp_path, "filesystem", OVER_FILES["filesystem"]([folder])) as gate:
        policy = Policy("v", (*ALWAYS, CLOSED))
        said = await told(gate, gate.spec("list_dir"), {"path": "."}, policy)
        assert "notes.md" in said
        assert "hr" in said


@pytest.mark.parametrize("tool", ["scan_for_secrets", "propose_cleanup"])
async def test_a_secret_file_is_still_found_by_a_scan(tool: str, tmp_path: Path):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / ".env").write_text("DB_PASSWORD=tops3cretpass\n")
    async with gated(tmp_path, "security", OVER_FILES["security"]([folder])) as gate:
        said = await told(gate, gate.spec(tool), {"path": "."}, Policy("v", (*ALWAYS, CLOSED)))
        assert ".env" in said
        assert "tops3cret" not in said


async def test_a_rule_about_reading_a_file_holds_for_what_a_scan_tells_of_it(tmp_path: Path):
    folder = tmp_path / "files"
    folder.mkdir()
    filled(folder)
    reads = Rule("pay", ("security.*",), deny=True, texts=(r"hidden-canary\.md$",))
    async with gated(tmp_path, "security", OVER_FILES["security"]([folder])) as gate:
        for tool in ("scan_for_pii", "scan_for_secrets", "find_duplicates", "propose_cleanup"):
            said = await told(gate, gate.spec(tool), {"path": "."}, Policy("v", (*ALWAYS, reads)))
            assert "hidden" not in said


async def test_what_was_asked_under_a_rule_is_not_held_by_it_again(tmp_path: Path):
    folder = tmp_path / "files"
    folder.mkdir()
    filled(folder)
    (folder / "hr" / "inner").mkdir()
    (folder / "hr" / "inner" / "hidden.md").write_text("x")
    alone = Rule("hr is private", ("*",), private=True, texts=CLOSED.texts)
    async with gated(tmp_path, "filesystem", OVER_FILES["filesystem"]([folder])) as gate:
        policy = Policy("v", (*ALWAYS, alone))
        assert "inner/hidden.md" in await told(
            gate, gate.spec("list_dir"), {"path": "hr", "recursive": True}, policy
        )
        assert "hidden" not in await told(
            gate, gate.spec("list_dir"), {"path": ".", "recursive": True}, policy
        )


HR = Rule("hr is typed for", ("*",), at_least=CallClass.DESTRUCTIVE, texts=(r"(^|/)hr(/|$)",))
SALARIES = Rule("nobody reads salaries", ("*",), deny=True, texts=(r"salaries",))
HERE = Rule("salaries are for the office", ("*",), channels=("C_OFFICE",), texts=(r"salaries",))


@pytest.mark.parametrize("rule", [SALARIES, HERE])
async def test_a_phrase_for_a_folder_is_none_for_what_another_rule_keeps_in_it(
    tmp_path: Path, rule: Rule
) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "files" / "hr").mkdir(parents=True)
    (tmp_path / "files" / "hr" / "salaries.txt").write_text("ANN gets 300k\n")
    (tmp_path / "files" / "hr" / "lunch.txt").write_text("soup for 300k\n")
    looks = {"path": "hr", "pattern": "*", "contains": "300k"}
    async with gated(tmp_path / "logs", "filesystem", server([tmp_path / "files"])) as gate:
        assert "soup" in await Asker(gate, (HR,))("search_files", **looks)
        said = await Asker(gate, (HR, rule))("search_files", **looks)
    assert "ANN" not in said
    assert rule.name in said


@pytest.mark.parametrize("pattern", [r"^hr/pay\.md$", "^hr/"])
async def test_a_rule_about_a_path_closes_what_a_tool_finds_that_calls_its_own_argument_otherwise(
    pattern: str, tmp_path: Path
):
    root = tmp_path / "files"
    (root / "hr").mkdir(parents=True)
    (root / "hr" / "pay.md").write_text("# Pay\n\nThe zanzibar bonus of Bob is a canary.\n")
    (root / "open.md").write_text("# Trip\n\nA trip to zanzibar with a bonus day.\n")
    schema = {"required": ["path"], "properties": {"path": {"pattern": pattern}}}
    async with gated(tmp_path / "logs", "knowledge", knowledge([root])) as gate:
        await gate.do("index_folder", path=".", recursive=True)
        assert "canary" in await Asker(gate)("get_related_chunks", chunk="open.md#1")
        closed = Asker(gate, (Rule("hr is closed", ("knowledge.*",), deny=True, schema=schema),))
        said = await closed("get_related_chunks", chunk="open.md#1")
        assert "canary" not in said
        assert "“hr is closed”" in said
        other = Rule("plans", ("knowledge.*",), deny=True, schema={"required": ["query"]})
        assert "canary" in await Asker(gate, (other,))("get_related_chunks", chunk="open.md#1")


@pytest.mark.parametrize("schema", [None, {"const": "hr/pay.md"}, {"pattern": "^hr/"}])
async def test_a_yes_to_a_search_is_none_to_a_rule_that_is_not_about_the_search(
    schema: dict[str, str] | None, tmp_path: Path
):
    """Somebody has confirmed it because of another rule, which asks less."""
    root = tmp_path / "files"
    (root / "hr").mkdir(parents=True)
    (root / "hr" / "pay.md").write_text("a canary\n")
    closed = Rule("hr is closed", ("filesystem.read_file",), deny=True, texts=("^hr/",) if not schema else ())
    closed = replace(closed, schema=schema and {"required": ["path"], "properties": {"path": schema}})
    asks = Rule("searches ask", ("filesystem.search_files",), at_least=CallClass.WRITE)
    async with gated(tmp_path / "logs", "filesystem", server([root])) as gate:
        for pattern in ("hr/pay.md", "hr/*", "**/pay.md"):
            args = {"path": ".", "pattern": pattern, "contains": "canary"}
            assert "a canary" in await Asker(gate, (asks,))("search_files", **args)
            said = await Asker(gate, (closed, asks))("search_files", **args)
            assert "a canary" not in said
            assert "“hr is closed”" in said


@pytest.mark.parametrize("goal", ["public", "public/", "public/hr"])
@pytest.mark.parametrize("tool", ["copy_file", "move_file"])
async def test_a_rule_of_words_and_of_an_argument_holds_for_a_whole_folder(
    tmp_path: Path, tool: str, goal: str
) -> None:
    """Its words are in what lies below one argument, and its schema is about what lies below the other."""
    (tmp_path / "sample").mkdir()
    filled(tmp_path / "sample")
    (tmp_path / "sample" / "public").mkdir()
    rules = [
        Rule("closed", ("filesystem.*",), deny=True, texts=(text,), schema=only(name, pattern))
        for text, name, pattern in (("^hr/", "destination", "^public/"), ("^public/", "source", "^hr/"))
    ]
    async with gated(tmp_path / "logs", "filesystem", server([tmp_path / "sample"])) as gate:
        for rule in rules:
            seen = await Asker(gate, (rule,)).look(tool, source="hr", destination=goal)
            assert seen.decision is not None
            assert seen.decision.verdict is Verdict.DENY
        other = await Asker(gate, tuple(rules)).look(tool, source="notes.md", destination="public")
        assert other.decision is not None
        assert other.decision.verdict is Verdict.CONFIRM


def only(name: str, pattern: str) -> dict[str, Any]:
    return {"required": [name], "properties": {name: {"pattern": pattern}}}


@pytest.mark.parametrize("tool", ["list_trash", "preview_restore", "preview_purge"])
async def test_a_look_at_the_trash_names_nothing_that_a_rule_on_an_absolute_path_closes(
    tool: str, tmp_path: Path
):
    folder = tmp_path / "files"
    folder.mkdir()
    filled(folder)
    said = {"required": ["path"], "properties": {"path": {"pattern": f"^{folder}/hr/"}}}
    closed = Rule("closed", ("*",), deny=True, schema=said)
    async with gated(tmp_path, "filesystem", OVER_FILES["filesystem"]([folder])) as gate:
        trash_id = (await gate("delete_file", path=["hr/hidden-canary.md"]))["trash_id"]
        args = {} if tool == "list_trash" else {"trash_id": trash_id}
        assert "hidden-canary" in await Asker(gate)(tool, **args)
        assert "hidden-canary" not in await Asker(gate, (closed,))(tool, **args)


@pytest.mark.parametrize("text", ["^équipe/", "(^|/)équipe/"])
async def test_a_rule_in_composed_letters_closes_the_list_of_a_folder_in_decomposed_ones(
    text: str, tmp_path: Path
):
    """As macOS writes the names of files."""
    folder = tmp_path / "files"
    filled(folder / "e\u0301quipe")
    policy = Policy("v", (*ALWAYS, Rule("closed", ("*",), deny=True, texts=(text,))))
    async with gated(tmp_path, "filesystem", OVER_FILES["filesystem"]([folder])) as gate:
        asked = [
            ("list_dir", {"path": "e\u0301quipe"}),
            ("list_dir", {"path": ".", "recursive": True}),
            ("search_files", {"path": ".", "pattern": "*"}),
        ]
        said = [await told(gate, gate.spec(tool), args, policy) for tool, args in asked]
    assert not any("notes.md" in one or "hidden" in one for one in said)


@pytest.mark.parametrize("beside", [False, True])
async def test_a_rule_on_an_absolute_path_holds_below_a_served_folder_in_decomposed_letters(
    beside: bool, tmp_path: Path
):
    folder, other = tmp_path / "e\u0301quipe", tmp_path / "other"
    other.mkdir()
    filled(folder)
    rule = Rule("closed", ("*",), deny=True, texts=(f"^{tmp_path}/équipe/hr/",))
    async with gated(
        tmp_path, "filesystem", OVER_FILES["filesystem"]([other, folder] if beside else [folder])
    ) as gate:
        for path in ("e\u0301quipe/hr" if beside else "hr", f"{folder}/hr"):
            args = {"path": f"{path}/hidden-canary.md"}
            assert "300k" not in await told(gate, gate.spec("read_file"), args, Policy("v", (*ALWAYS, rule)))
            assert "not told" not in await told(gate, gate.spec("read_file"), args, Policy("v", ALWAYS))


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85"])
async def test_a_rule_holds_for_a_folder_whose_name_is_told_with_an_escape(sign: str, tmp_path: Path):
    folder = tmp_path / "files"
    filled(folder / f"hr{sign}x")
    policy = Policy("v", (*ALWAYS, Rule("closed", ("*",), deny=True, texts=(f"^hr{sign}x/",))))
    async with gated(tmp_path, "filesystem", OVER_FILES["filesystem"]([folder])) as gate:
        found = gate.spec("search_files"), {"path": ".", "pattern": "notes*", "contains": "thing"}
        assert "notes.md" not in await told(gate, *found, policy)
        assert "notes.md" in await told(gate, *found, Policy("v", ALWAYS))


async def test_an_allowed_folder_has_no_empty_name_that_a_rule_on_it_does_not_see(tmp_path: Path):
    files = tmp_path / "files"
    filled(files)
    whole: dict[str, Any] = {"required": ["path"], "properties": {"path": {"const": "."}}}
    async with gated(tmp_path / "state", "filesystem", server([files])) as gate:
        ask = Asker(gate, (Rule("not all of it", ("*",), deny=True, schema=whole),))
        for named in (".", "./", str(files)):
            assert await ask("list_dir", path=named, recursive=True) == "denied"
        said = await gate.refused("list_dir", path="", recursive=True)
        assert said == "That path is empty. Give one like reports/q3.md, or “.” for all in the folder."
        for tool, more in (("search_files", {"pattern": "*", "contains": "born"}), ("watch_folder", {})):
            assert "That path is empty." in await gate.refused(tool, path="", **more)
