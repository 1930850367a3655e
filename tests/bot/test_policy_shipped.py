"""manifests/policy.yaml as it comes along: one line for each name and argument that it knows, and what they lead to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.policy_file import load_policy
from gate.rules.action import CallClass, Decision, Json, Risk
from gate.rules.policy import Rule, decide
from gate.rules.tool import Hints, Recipe, ToolSpec, Trust
from servers.filesystem import server as filesystem
from tests.tools.mcp_hosts import hosting
from tools.mcp.schema import problems
from tools.mcp.server_config import ServerConfig

SHIPPED = load_policy(Path(__file__).parents[2] / "manifests" / "policy.yaml")
READ, WRITE, UNKNOWN, DESTRUCTIVE = CallClass.READ, CallClass.WRITE, CallClass.UNKNOWN, CallClass.DESTRUCTIVE
# The two lists of docs/promises.md GATE-27 and GATE-28.
NEVER_PROMPTED = (
    "read_file search_files list_directory glob_find ripgrep_search analyze_code ask_user web_search web_fetch "
    "task_tracker"
).split()
NEEDS_APPROVAL = "write_file edit_file delete_file move_file shell_execute git_command".split()
SPEC_PATTERNS = [
    "rm ",
    "drop ",
    "delete ",
    "truncate ",
]  # docs/promises.md GATE-02, looked for in the command of shell_execute


def decided(name: str, args: Json = None, **more: Any) -> Decision:
    reviewed = more.get("trust") is Trust.REVIEWED
    spec = ToolSpec("loom", name, name, "", {}, "d", reviewed=reviewed, **more)
    return decide(SHIPPED, spec, args or {}, "C1", lambda schema, value: not problems(schema, value))


# promise: GATE-12, GATE-27
@pytest.mark.parametrize("name", NEVER_PROMPTED)
def test_what_the_spec_never_prompts_for_runs_at_once(name: str) -> None:
    assert decided(name).cls is READ
    assert decided(name, hints=Hints(read_only=True)).cls is READ
    assert decided(name, trust=Trust.UNTRUSTED).cls is UNKNOWN
    assert decided(name, hints=Hints(False, False)).cls is WRITE


# promise: GATE-28
@pytest.mark.parametrize("name", NEEDS_APPROVAL)
def test_what_the_spec_wants_approved_is_asked_about_whatever_its_server_says(name: str) -> None:
    wanted = DESTRUCTIVE if name in ("delete_file", "shell_execute", "git_command") else WRITE
    assert decided(name).cls is wanted
    assert decided(name, hints=Hints(read_only=True)).cls in (wanted, UNKNOWN)
    assert decided(name, trust=Trust.REVIEWED, hints=Hints(read_only=True)).cls is wanted
    assert decided(name, trust=Trust.UNTRUSTED).cls in (UNKNOWN, DESTRUCTIVE)


# promise: GATE-02
@pytest.mark.parametrize("pattern", SPEC_PATTERNS)
@pytest.mark.parametrize("command", ["{}x", "cd a && {}x", "psql -c '{}table x'", "{}", "SUDO {}x"])
def test_the_destructive_patterns_of_the_spec_are_typed_for(pattern: str, command: str) -> None:
    for text in (command.format(pattern), command.format(pattern.upper())):
        assert decided("shell_execute", {"command": text}).cls is DESTRUCTIVE


@pytest.mark.parametrize(
    ("name", "args", "cls"),
    [
        ("shell_execute", {"command": "ls -la reports"}, WRITE),
        ("shell_execute", {"command": "cat confirm.md droplet.txt"}, WRITE),
        ("shell_execute", {"command": "npm run format-check"}, DESTRUCTIVE),
        ("shell_execute", {"command": "dropdb app"}, DESTRUCTIVE),
        ("shell_execute", {"command": "mysql -e 'DELETE from a'"}, DESTRUCTIVE),
        ("shell_execute", {"command": "terraform destroy"}, DESTRUCTIVE),
        ("shell_execute", {"argv": ["/bin/rm", "x"]}, DESTRUCTIVE),
        ("shell_execute", {"command": "pip install x"}, DESTRUCTIVE),
        ("shell_execute", {"command": "true\nrm x"}, DESTRUCTIVE),
        ("git_command", {"args": ["status"]}, WRITE),
        ("git_command", {"args": ["commit", "-m", "Say it"]}, WRITE),
        ("git_command", {"command": "git push origin main"}, WRITE),
        ("git_command", {"command": "git push --force origin main"}, DESTRUCTIVE),
        ("git_command", {"command": "git push -f"}, DESTRUCTIVE),
        ("git_command", {"args": ["push", "--force-with-lease=main"]}, DESTRUCTIVE),
        ("git_command", {"args": ["push", "origin", "--delete", "main"]}, DESTRUCTIVE),
        ("git_command", {"args": ["reset", "--hard"]}, DESTRUCTIVE),
        ("git_command", {"args": ["branch", "-D", "main"]}, DESTRUCTIVE),
        ("git_command", {"args": ["clean", "-xdf"]}, DESTRUCTIVE),
        ("git_command", {"args": ["checkout", "--", "a.md"]}, DESTRUCTIVE),
        ("git_command", {"args": ["stash", "drop"]}, DESTRUCTIVE),
        ("git_command", {"command": "rebase main"}, DESTRUCTIVE),
        ("git_command", {"args": ["-c", "alias.x=!sh", "x"]}, DESTRUCTIVE),
        ("git_command", {"args": ["fetch", "--upload-pack=touch x", "."]}, DESTRUCTIVE),
        ("web_fetch", {"url": "https://example.com/docs/a"}, READ),
        ("web_fetch", {"url": "https://example.com/?q=secret"}, UNKNOWN),
        ("web_fetch", {"url": "https://example.com/" + "a" * 200}, UNKNOWN),
        ("web_fetch", {"url": "file:///etc/passwd"}, UNKNOWN),
        ("web_fetch", {"url": " file:///etc/passwd"}, UNKNOWN),
        ("web_fetch", {"url": "\u2003file:///etc/passwd"}, UNKNOWN),
        ("web_fetch", {"url": "\x85\u00a0file:/etc/passwd"}, UNKNOWN),
        ("web_fetch", {"url": "\x01\tfi\nle:/etc/passwd"}, UNKNOWN),
        ("web_fetch", {"url": " https://example.com/docs/a"}, READ),
        ("web_fetch", {"url": "https://example.com#token"}, UNKNOWN),
        ("web_fetch", {"url": "https://example.com", "method": "POST", "body": "secret"}, UNKNOWN),
        ("web_fetch", {"url": "https://a.io/a", "max_length": 5, "raw": True, "format": "text"}, READ),
        *(
            ("web_fetch", {"url": "https://a.io/a", name: value}, UNKNOWN)
            for name in "json_body http_method verb payload json form data options request Method body".split()
            for value in ("POST", {"method": "DELETE"}, {}, "")
        ),
        ("web_fetch", {"url": {"method": "DELETE"}}, UNKNOWN),
        ("web_search", {"query": "aiohttp timeouts"}, READ),
        ("web_search", {"query": "a " * 150}, UNKNOWN),
        ("edit_file", {"path": "a.md"}, WRITE),
        ("edit_file", {"path": ".env"}, DESTRUCTIVE),
        ("write_file", {"path": "deploy/prod.yaml"}, DESTRUCTIVE),
        ("move_file", {"source": "a", "destination": "b"}, WRITE),
    ],
)
def test_what_the_arguments_make_of_a_name_of_the_spec(name: str, args: Json, cls: CallClass) -> None:
    assert decided(name, args).cls is cls


SAYS_IT_READS = Hints(read_only=True)


@pytest.mark.parametrize(
    ("name", "args", "cls"),
    [
        ("aggregate", {"pipeline": [{"$match": {"a": 1}}]}, READ),
        ("aggregate", {"pipeline": [{"$match": {}}, {"$out": "b"}]}, DESTRUCTIVE),
        ("aggregate", {"pipeline": [{"$merge": {"into": "b"}}]}, DESTRUCTIVE),
        ("aggregate", {"pipeline": [{"$facet": {"x": [{"$out": "b"}]}}]}, DESTRUCTIVE),
        ("aggregate-db", {"pipeline": '[{"$merge": "b"}]'}, DESTRUCTIVE),
        ("aggregate", {"pipeline": [{"$project": {"$output": 1}}]}, READ),
        ("mongodb_aggregate", {"pipeline": [{"$out": "b"}]}, DESTRUCTIVE),
        ("mongo-aggregate", {"stages": [{"$merge": "b"}]}, DESTRUCTIVE),
        ("export", {}, UNKNOWN),
        ("connect", {"connectionString": "mongodb://x"}, UNKNOWN),
        ("switch-connection", {}, UNKNOWN),
        ("get-env", {}, UNKNOWN),
        ("jira_download_attachments", {"issue_key": "A-1"}, UNKNOWN),
        ("confluence_download_content_attachments", {"content_id": "1"}, UNKNOWN),
        ("confluence_download_attachment", {"attachment_id": "1"}, UNKNOWN),
        ("fetch", {"url": "https://example.com"}, UNKNOWN),
        ("query", {"sql": "SELECT * FROM a WHERE updated_at > 1"}, READ),
        ("query", {"sql": "SELECT 1;"}, READ),
        ("query", {"sql": "SELECT indexname FROM pg_indexes WHERE tablename = 'a'"}, READ),
        ("query", {"sql": "SELECT * FROM pg_stat_user_tables, pg_catalog.pg_stat_activity"}, READ),
        ("query", {"sql": "SELECT conname FROM pg_constraint JOIN pg_locks USING (oid)"}, READ),
        ("query", {"sql": "SELECT 1 FROM t WHERE table_schema NOT IN ('pg_catalog', 'a')"}, READ),
        ("query", {"sql": "SELECT pg_size_pretty(pg_total_relation_size('a'))"}, READ),
        ("query", {"sql": "SELECT a FROM t WHERE event_type IN ('create','update')"}, READ),
        ("query", {"sql": "SELECT a FROM t WHERE note LIKE '%delete%'"}, READ),
        ("read_query", {"query": "SHOW CREATE TABLE users"}, READ),
        ("read_query", {"query": "SHOW CREATE TABLE shop.users"}, READ),
        ("read_query", {"query": "SHOW CREATE TABLE users CREATE"}, WRITE),
        ("query", {"query": "SHOW CREATE exec sp_a"}, WRITE),
        ("mongodb_query", {"query": "db.users.find({status: 'update'})"}, READ),
        ("mongodb_query", {"query": "db.users.find(db.a['update']({}))"}, DESTRUCTIVE),
        ("query", {"query": "db.users['update']({}, {})"}, WRITE),
        ("query", {"query": "db.users[('update')]({}, {})"}, WRITE),
        ("query", {"query": "db.users.find(db.b[('update')]({}))"}, WRITE),
        ("query", {"query": "ANALYZE pg_class"}, WRITE),
        ("query", {"sql": "SELECT * FROM pg_shadow"}, WRITE),
        ("query", {"sql": "SELECT * FROM pg_authid, pg_class"}, WRITE),
        ("query", {"sql": "SELECT pg_catalog.pg_sleep(9)"}, WRITE),
        ("query", {"sql": "SELECT pg_stat_statements_reset()"}, WRITE),
        ("query", {"sql": "SELECT pg_stat_reset() FROM pg_stat_activity"}, WRITE),
        ("query", {"sql": "SELECT pg_get_expr(a, b), pg_terminate_backend(1)"}, DESTRUCTIVE),
        ("query", {"query": "how is 'create' done, and delete"}, WRITE),
        ("query", {"sql": "SELECT 'create' INTO b FROM a"}, DESTRUCTIVE),
        ("query", {"sql": "COMMIT; DELETE FROM a"}, DESTRUCTIVE),
        ("query", {"sql": "WITH x AS (DELETE FROM a RETURNING *) SELECT * FROM x"}, DESTRUCTIVE),
        ("query", {"sql": "EXPLAIN ANALYZE UPDATE a SET b = 1"}, DESTRUCTIVE),
        ("query", {"sql": "SELECT pg_sleep(9)"}, WRITE),
        ("query", {"sql": "COPY a TO PROGRAM 'sh'"}, DESTRUCTIVE),
        ("read_query", {"query": "PRAGMA writable_schema = 1"}, DESTRUCTIVE),
        ("read_query", {"query": "ATTACH 'x' AS y"}, DESTRUCTIVE),
    ],
)
def test_reads_that_are_more_than_reads_are_raised(name: str, args: Json, cls: CallClass) -> None:
    assert decided(name, args, hints=SAYS_IT_READS).cls is cls
    assert decided(name, args, trust=Trust.REVIEWED, hints=SAYS_IT_READS).cls in (cls, WRITE)


@pytest.mark.parametrize("before", ["", " ", "/* a */ ", "-- a\n", "(", "/**//* b */\n"])
def test_a_query_that_does_more_than_look_is_asked_about_whatever_stands_before_it(before: str) -> None:
    policy = replace(SHIPPED, rules=(*SHIPPED.rules, Rule("mine", ("s.query",), cls=READ)))
    spec = ToolSpec("s", "query", "query", "", {}, "d", hints=SAYS_IT_READS)
    args: dict[str, Json] = {"sql": before + "SET ROLE admin"}
    assert decide(policy, spec, args, "C1", lambda s, v: not problems(s, v)).cls is WRITE
    assert (
        decide(policy, spec, {"sql": before + "SELECT 1"}, "C1", lambda s, v: not problems(s, v)).cls is READ
    )


@pytest.mark.parametrize(
    "text",
    [
        "SELECT pg_class.oid, pg_sleep(9) FROM pg_class",
        "SELECT pg_read_file('a')",
        "SELECT * FROM pg_shadow",
        "SELECT 'create' AS a INTO b",
        "EXPLAIN ANALYZE DELETE FROM a",
        'WITH a AS (UPDATE"b"SET c = 1) SELECT 1',
    ],
)
def test_a_query_that_does_more_asks_though_an_operator_has_said_that_its_tool_reads(text: str) -> None:
    policy = replace(SHIPPED, rules=(*SHIPPED.rules, Rule("mine", ("s.query",), cls=READ)))
    spec = ToolSpec("s", "query", "query", "", {}, "d", hints=SAYS_IT_READS)
    found = decide(policy, spec, {"sql": text}, "C1", lambda schema, value: not problems(schema, value))
    assert found.cls is WRITE


def test_a_shell_and_git_are_of_high_risk() -> None:
    assert {decided(name).risk for name in ("shell_execute", "git_command")} == {Risk.HIGH}


def test_a_recipe_of_a_reviewed_server_is_not_lowered_by_the_names_in_the_policy() -> None:
    for name in (*NEVER_PROMPTED, *NEEDS_APPROVAL):
        spec = {"trust": Trust.REVIEWED, "recipe": Recipe(cls=DESTRUCTIVE)}
        assert decided(name, **spec).cls is DESTRUCTIVE


async def test_the_names_in_the_policy_change_nothing_for_the_bundled_servers(tmp_path: Path) -> None:
    config = ServerConfig(name="filesystem", inproc="x", trust=Trust.BUNDLED)
    async with hosting(tmp_path, config, inproc={"filesystem": filesystem([tmp_path])}) as host:
        for spec in host.specs():
            found = decide(SHIPPED, spec, {}, "C1", lambda schema, value: not problems(schema, value))
            assert (spec.name, found.cls) == (spec.name, spec.recipe.cls)
