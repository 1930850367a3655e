"""The command line: what each command shows, and every error as a sentence with what to do."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from bot.cli.main import main
from bot.cli.tools import _definition
from bot.settings import Settings
from gate.rules.audit import Entry
from gate.rules.tool import ToolSpec
from storage.audit_log import Chain, append
from storage.database import open_engine
from tests.forks import bot

ROOT = Path(__file__).parents[2]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place to work in, with the bundled server configured and nothing else set."""
    for name in (
        "DATABASE_URL",
        "REDIS_URL",
        "COUNTERSIGN_AUDIT_KEY",
        "COUNTERSIGN_CONFIG",
        "COUNTERSIGN_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET", "SLACK_API_URL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "shared").mkdir()
    server = {"inproc": "servers.filesystem:server", "args": [str(tmp_path / "shared")], "trust": "declared"}
    (tmp_path / "countersign.yaml").write_text(json.dumps({"mcpServers": {"files": server}}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Carry out a command: its exit code, what it said, and what it complained of."""

    def carried_out(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        said = capsys.readouterr()
        return code, said.out, said.err

    return carried_out


def written(home: Path, *reasons: str) -> None:
    """Entries at the end of the audit log, as the service writes them."""

    async def write() -> None:
        settings = Settings.load({}, home)
        engine = open_engine(settings.database_url)
        async with engine.begin() as connection:
            entries = [
                Entry(event="confirmed", session="T1:C1:1.1", actor="U1", reason=reason) for reason in reasons
            ]
            await append(connection, Chain(settings.audit_key()), entries, timedelta())
        await engine.dispose()

    asyncio.run(write())


def tampered(home: Path, *statements: str) -> None:
    """Statements by somebody who owns the database, and so can take off its guards."""
    with sqlite3.connect(home / "var/countersign.db") as connection:
        guards = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in guards:
            connection.execute(f'DROP TRIGGER "{name}"')
        for statement in statements:
            assert connection.execute(statement).rowcount > 0
    connection.close()


def shell(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bot", *arguments]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_help_names_every_command_and_loads_nothing_heavy() -> None:
    heavy = "{'sqlalchemy', 'mcp', 'slack_bolt', 'dbos', 'aiohttp', 'yaml'}"
    code = f"import sys; from bot.cli.main import parser; print(parser().format_help()); print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("set()")
    for command in "serve web worker demo migrate doctor policy tools audit".split():
        assert f"\n    {command} " in done.stdout


@pytest.mark.slow
def test_serving_without_secrets_says_what_to_set_and_shows_no_traceback(tmp_path: Path) -> None:
    for arguments in ((), ("serve",), ("web",), ("worker",)):
        done = bot(*arguments, cwd=tmp_path, env={"PATH": "/usr/bin:/bin"})
        assert done.returncode == 1
        assert done.stdout == ""
        assert [line.split(" ")[0] for line in done.stderr.splitlines()] == ["SLACK_BOT_TOKEN", "Neither"]


def test_an_unknown_command_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    done = shell("serv", cwd=tmp_path)
    assert done.returncode == 2
    assert "invalid choice: 'serv'" in done.stderr


def test_web_and_worker_apart_need_postgresql(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1")
    monkeypatch.setenv("SLACK_APP_TOKEN", "xapp-1")
    for role in ("web", "worker"):
        code, _, complaint = run(role)
        assert (code, "set DATABASE_URL to PostgreSQL" in complaint) == (1, True)


def test_a_mistake_in_the_configuration_stops_every_command(run: Run, home: Path) -> None:
    (home / "countersign.yaml").write_text("mcpServer: {}")
    for arguments in (["migrate"], ["audit", "head"], ["tools", "list"], ["doctor"]):
        code, said, complaint = run(*arguments)
        assert (code, said) == (1, "")
        assert complaint == "countersign.yaml, line 1: “mcpServer” is not known; did you mean “mcpServers”.\n"


def test_migrating_twice_changes_nothing(run: Run, home: Path) -> None:
    code, first, complaint = run("migrate")
    assert (code, complaint) == (0, "")
    assert first.endswith("countersign.db has the tables of this version now.\n")
    code, second, complaint = run("migrate")
    assert (code, complaint) == (0, "")
    assert second.endswith("countersign.db is up to date: nothing was changed.\n")
    assert (home / "var/countersign.db").exists()


def test_the_log_is_proved_whole(run: Run, home: Path) -> None:
    run("migrate")
    written(home, "one", "two", "three")
    code, said, _ = run("audit", "verify")
    assert (code, said.splitlines()[0]) == (0, "ok: 3 entries")
    _, end, _ = run("audit", "head")
    assert said.splitlines()[1] == end.strip()
    assert run("audit", "verify", *end.split())[0] == 0


def test_a_changed_entry_is_found_and_named(run: Run, home: Path) -> None:
    run("migrate")
    written(home, "one", "two", "three")
    tampered(home, "UPDATE audit_log SET reason = 'other' WHERE seq = 2")
    code, said, _ = run("audit", "verify")
    assert code == 1
    assert said.startswith("BROKEN: entry 2 is not as it was written")


def test_a_tail_cut_off_with_its_head_is_found_by_an_earlier_head(run: Run, home: Path) -> None:
    run("migrate")
    written(home, "one", "two")
    earlier = run("audit", "head")[1].split()
    written(home, "three")
    later = run("audit", "head")[1].split()
    hexadecimal, count = earlier[1], earlier[3]
    tampered(
        home,
        "DELETE FROM audit_log WHERE seq = 3",
        f"UPDATE audit_head SET seq = {count}, mac = '{hexadecimal}'",
    )
    assert run("audit", "verify")[0] == 0
    assert run("audit", "verify", *earlier)[0] == 0
    code, said, _ = run("audit", "verify", *later)
    assert code == 1
    assert said.startswith("BROKEN: entry 3")


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("anchor", [["--head", "ab"], ["--count", "3"], ["--head", "z" * 64, "--count", "1"]])
def test_half_a_head_is_no_head(run: Run, anchor: list[str]) -> None:
    run("migrate")
    code, _, complaint = run("audit", "verify", *anchor)
    assert (code, complaint.startswith("Give both --head")) == (1, True)


def test_the_log_without_its_key_is_not_called_broken(run: Run, home: Path) -> None:
    run("migrate")
    written(home, "one")
    (home / "var/audit.key").unlink()
    code, said, complaint = run("audit", "verify")
    assert (code, said) == (1, "")
    assert complaint.startswith("There is no audit key")
    assert not (home / "var/audit.key").exists()


def test_the_log_is_exported_as_lines_of_json(run: Run, home: Path) -> None:
    run("migrate")
    written(home, "one", "zwei \u202e“x”")
    lines = [json.loads(line) for line in run("audit", "export")[1].splitlines()]
    assert [(line["seq"], line["reason"]) for line in lines] == [(1, "one"), (2, "zwei \u202e“x”")]
    assert lines[1]["prev"] == lines[0]["mac"]


def test_asking_for_a_log_makes_no_database(run: Run, home: Path) -> None:
    for what in ("head", "verify", "export"):
        code, _, complaint = run("audit", what)
        assert (code, "run `python -m bot migrate`" in complaint) == (1, True)
    assert not (home / "var").exists()


def test_a_database_without_tables_is_told_apart(run: Run, home: Path) -> None:
    (home / "var").mkdir()
    sqlite3.connect(home / "var/countersign.db").close()
    (home / "var/countersign.db").touch()
    code, _, complaint = run("audit", "head")
    assert (code, "run `python -m bot migrate`" in complaint) == (1, True)


def explained(said: str) -> dict[str, str]:
    return {line[:10].strip(): line[11:] for line in said.splitlines()}


def test_a_call_is_explained_with_reason_rule_and_who_decides(run: Run) -> None:
    code, said, _ = run("policy", "explain", "files.delete_file", "--args", '{"path": "a"}', "--user", "U1")
    told = explained(said)
    assert code == 0
    assert told["verdict"].startswith("typed:")
    assert (told["class"], told["risk"]) == ("destructive", "high")
    assert told["rule"] == "deleting files (on the always-gate list)"
    assert told["approvers"] == "U1, alone"


def test_the_arguments_and_the_channel_count(run: Run, home: Path) -> None:
    (home / "policy.yaml").write_text(
        "servers: {files: {tools: {write_file: {channels: [C1], approvers: {groups: [S1], count: 2}}}}}"
    )
    config = json.loads((home / "countersign.yaml").read_text())
    (home / "countersign.yaml").write_text(json.dumps({**config, "policy": "policy.yaml"}))
    call = ["policy", "explain", "files.write_file", "--args", '{"path": ".env", "content": "x"}']
    told = explained(run(*call, "--channel", "C1")[1])
    assert told["rule"] == "secret files (on the always-gate list)"
    assert told["approvers"] == "2 of S1; never who asks"
    assert explained(run(*call, "--channel", "C2")[1])["verdict"] == "deny: never"


def test_a_path_is_explained_in_the_form_that_the_gate_judges(run: Run, home: Path) -> None:
    (home / "policy.yaml").write_text(
        "rules: [{name: hr, tools: [files.*], deny: true, schema: {properties: {path: {pattern: ^hr/}}}}]"
    )
    config = json.loads((home / "countersign.yaml").read_text())
    config["mcpServers"]["files"]["trust"] = "bundled"
    (home / "countersign.yaml").write_text(json.dumps({**config, "policy": "policy.yaml"}))
    for path in ("hr/pay.md", "./hr//pay.md", str(home / "shared" / "hr" / "pay.md")):
        told = explained(run("policy", "explain", "files.read_file", "--args", json.dumps({"path": path}))[1])
        assert (told["verdict"], told["rule"]) == ("deny: never", "hr")


def test_arguments_that_the_tool_would_not_take_are_told(run: Run) -> None:
    code, said, _ = run("policy", "explain", "files.write_file")
    assert code == 1
    assert "missing" in said


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["files"], "write SERVER.TOOL"),
        (["elsewhere.x"], "There is no server “elsewhere” in the configuration; there are: files."),
        (["files.nope"], "files has no tool “nope”; it has: copy_file,"),
        (["files.read_file", "--args", "{x"], "--args is not usable: That is not valid JSON"),
        (["files.read_file", "--args", '{"a": 1, "a": 2}'], "--args is not usable"),
    ],
)
def test_a_question_that_makes_no_sense_is_answered_with_what_would(
    run: Run, arguments: list[str], complaint: str
) -> None:
    code, said, told = run("policy", "explain", *arguments)
    assert (code, said) == (1, "")
    assert complaint in told


def test_a_server_that_does_not_come_up_is_said_with_its_reason(run: Run, home: Path) -> None:
    (home / "countersign.yaml").write_text("mcpServers: {gone: {command: ./no-such-program}}")
    code, said, _ = run("tools", "list")
    assert (code, "gone: backoff" in said) == (1, True)
    code, _, complaint = run("policy", "explain", "gone.x")
    assert (code, "gone is not ready" in complaint) == (1, True)


def test_recipes_that_are_not_there_are_said_with_those_that_are(run: Run, home: Path) -> None:
    config = json.loads((home / "countersign.yaml").read_text())
    config["mcpServers"]["files"]["recipes"] = "mine"
    (home / "countersign.yaml").write_text(json.dumps(config))
    code, said, _ = run("tools", "list")
    assert (
        code,
        "there are no recipes “mine” among the manifests; there are github-mcp-server," in said,
    ) == (1, True)


@pytest.mark.slow
def test_a_changed_tool_is_shown_until_somebody_has_read_it(run: Run, home: Path) -> None:
    run("migrate")
    code, said, _ = run("tools", "review", "files", "--yes", "--by", "ann")
    assert code == 0
    assert "== files.write_file (new)" in said
    assert "once read: write, confirm" in said
    assert "noted as read by ann" in said
    entries = [json.loads(line) for line in run("audit", "export")[1].splitlines()]
    assert ("tool_reviewed", "ann", "files.write_file") in {
        (e["event"], e["actor"], e["tool"]) for e in entries
    }
    assert "Nothing of files is new" in run("tools", "review", "files")[1]
    tampered(home, "UPDATE tool_pins SET definition = 'other' WHERE tool = 'write_file'")
    assert [line for line in run("tools", "list")[1].splitlines() if line.endswith("CHANGED")] != []
    assert "CHANGED since it was read" in run("policy", "explain", "files.write_file")[1]
    said = run("tools", "review", "files", "--yes")[1]
    assert "== files.write_file (CHANGED)" in said
    assert "== files.read_file" not in said
    assert "CHANGED" not in run("tools", "list")[1]


def test_the_tools_of_a_reviewed_server_are_listed_as_unread_until_they_are(run: Run, home: Path) -> None:
    config = (home / "countersign.yaml").read_text()
    (home / "countersign.yaml").write_text(config.replace("declared", "reviewed"))
    run("migrate")
    unread = [line for line in run("tools", "list")[1].splitlines() if line.endswith("NOT READ")]
    assert any("files.read_file" in line and "unknown" in line for line in unread)
    assert run("tools", "review", "files", "--yes", "--by", "ann")[0] == 0
    said = run("tools", "list")[1]
    assert "NOT READ" not in said
    assert "files.read_file" in said


def test_no_description_looks_like_the_next_tool_of_a_review() -> None:
    text = "Gets a.\n0123abc\nonce read: read, runs at once\n\n== srv.get_b (new)\nGets b"
    shown = _definition(ToolSpec("srv", "get_a", "Get a", text, {"type": "object"}, "d"), {})
    assert [line for line in shown.splitlines() if line.startswith(("==", "once"))] == ["== srv.get_a (new)"]


def test_nothing_is_noted_as_read_without_a_yes(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("migrate")
    monkeypatch.setattr("sys.stdin", (home / "countersign.yaml").open())
    code, _, complaint = run("tools", "review", "files")
    assert (code, "run it again with --yes" in complaint) == (1, True)
    assert "(new)" in run("tools", "review", "files", "--yes")[1]
    sys.stdin.close()


def test_the_doctor_names_what_to_mend(run: Run) -> None:
    code, said, _ = run("doctor")
    findings = {line[5:].split(":")[0]: line[:4].strip() for line in said.splitlines()[:-1]}
    assert code == 1
    assert {what for what, state in findings.items() if state == "MEND"} == {"Slack"}
    assert {
        "settings",
        "policy",
        "phrases",
        "recipes",
        "audit key",
        "planner",
        "Redis",
        "MCP server files",
    } <= findings.keys()
    assert said.splitlines()[-1] == "To mend: 1."


def test_an_error_nobody_foresaw_is_one_line_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.cli.serve.migrate", lambda _: {}["surprise"])
    code, said, complaint = run("migrate")
    assert (code, said) == (1, "")
    assert complaint == "KeyError: 'surprise' (where it happened: the same command with --traceback first)\n"
    assert "Traceback" in run("--traceback", "migrate")[2]


def test_an_error_spells_out_what_a_file_has_for_the_terminal(run: Run, home: Path) -> None:
    (home / "countersign.yaml").write_text('"\\e[31mred\\u202e": 1\n')
    code, _, told = run("doctor")
    assert code
    assert "red" in told
    assert not {"\x1b", "\u202e"} & {*told}
