"""Recipes are validated strictly when they are loaded, and a mistake affects only its recipe."""

from __future__ import annotations

import copy
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from gate.rules.action import CallClass, Risk
from gate.rules.tool import Drift, Read, Show, Trust, Undo
from servers.filesystem import server as filesystem
from tests.tools.mcp_hosts import hosting, raw
from tools.mcp.server_config import ServerConfig
from tools.recipes.reader import RecipeFile, load_recipes, read_recipe
from tools.recipes.validation import ToolSchemas, recipe_problems
from tools.strict_config import ConfigError

MANIFESTS = Path(__file__).parents[2] / "manifests" / "tools"
COMPLETE: dict[str, Any] = {
    "class": "write",
    "risk": "medium",
    "confirmationRequired": True,
    "summary": "Write {args.content|size} to {args.path}",
    "verb": "Write",
    "noun": "{args.path|name}",
    "capture": {"before": {"tool": "read", "args": {"path": "{args.path}"}}},
    "bind": {"expected": "{capture.before.sha}"},
    "preview": {
        "kind": "diff",
        "before": "{capture.before.text}",
        "after": "{args.content}",
        "path": "{args.path}",
    },
    "recoverable": "In the trash for 30 days",
    "keeps_days": 30,
    "notifies": "nobody",
    "idempotent": False,
    "undo": [
        {"when": "{result.replaced}", "tool": "restore", "args": {"id": "{result.id}"}},
        {"unless": "{result.replaced}", "tool": "delete", "args": {"path": "{args.path}"}},
    ],
    "drift": {"tool": "read", "args": {"path": "{args.path}"}, "same": {"sha": "{result.sha}"}},
}


def schema_with(*required: str, **more: Any) -> dict[str, Any]:
    text = {"type": "string"}
    return {
        "type": "object",
        "properties": dict.fromkeys((*required, *more), text),
        "required": list(required),
    }


SCHEMAS = {
    "write": ToolSchemas(schema_with("path", "content", expected=1), schema_with("replaced", "id", "sha")),
    "read": ToolSchemas(schema_with("path"), schema_with("sha")),
    "restore": ToolSchemas(schema_with("id"), None),
    "delete": ToolSchemas(schema_with("path"), None),
}


def recipe_with(where: str, value: Any) -> dict[str, Any]:
    """The complete recipe with the value at one place replaced, or removed where `value` is None."""
    recipe = copy.deepcopy(COMPLETE)
    steps = [int(s) if s.isdigit() else s for s in where.split("/")]
    place: Any = recipe
    for step in steps[:-1]:
        place = place[step]
    if value is None:
        del place[steps[-1]]
    else:
        place[steps[-1]] = value
    return recipe


def test_a_complete_recipe_is_read() -> None:
    recipe = read_recipe(COMPLETE)
    assert (recipe.cls, recipe.risk, recipe.verb, recipe.keeps_days) == (
        CallClass.WRITE,
        Risk.MEDIUM,
        "Write",
        30,
    )
    assert recipe.capture == {"before": Read("read", {"path": "{args.path}"})}
    assert recipe.show == Show("diff", "{capture.before.text}", "{args.content}", "{args.path}")
    assert recipe.undo[0] == Undo("restore", {"id": "{result.id}"}, when="{result.replaced}")
    assert recipe.drift == Drift(Read("read", {"path": "{args.path}"}), {"sha": "{result.sha}"})
    assert recipe_problems(recipe, "write", SCHEMAS) == []


@pytest.mark.parametrize(
    ("where", "value", "expected"),
    [
        ("verbs", "x", "“verbs” is not known; did you mean “verb”"),
        ("class", "wirte", "“class” must be one of"),
        ("risk", "huge", "“risk” must be one of"),
        ("confirmationRequired", False, "contradicts the class write"),
        ("class", "read", "contradicts the class read"),
        ("summary", 5, "“summary” must be text"),
        ("idempotent", "no", "“idempotent” must be true or false"),
        ("keeps_days", 0, "“keeps_days” must be a number of days"),
        ("preview/kind", "movie", "“preview.kind” must be one of"),
        ("preview/after", None, "“preview” needs `after`"),
        ("preview/items", "{args.path}", "“preview.items” is not known with the kind diff"),
        ("preview/says", ["path"], "“preview.says” is not known with the kind diff"),
        ("capture/before/tol", "x", "“capture.before.tol” is not known; did you mean “tool”"),
        ("capture/before/tool", None, "“capture.before” needs `tool`"),
        ("undo", {}, "“undo” must be a list"),
        ("undo/0/if", "x", r"“undo\[0\].if” is not known"),
        ("drift/same", None, "“drift” needs `same`"),
        ("bind", ["x"], "“bind” must be a mapping"),
    ],
)
def test_a_mistake_in_the_form_is_reported(where: str, value: Any, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        read_recipe(recipe_with(where, value))


@pytest.mark.parametrize(
    ("where", "value", "expected"),
    [
        ("summary", "Write {args.pth}", "`summary` names {args.pth}, which is no parameter"),
        ("summary", "Write {args.path|shout}", "no filter “shout”"),
        ("summary", "Write { args.path }", "a placeholder that cannot be read"),
        ("summary", "Write {args}", "`summary` names {args}, which is not known there"),
        ("summary", "Write {result.id}", "`summary` names {result.id}, which is not known there"),
        ("summary", "Write {capture.after.text}", "nothing is captured before it"),
        ("noun", "{capture.before.size}", "not in what read gives"),
        ("preview/before", "{capture.befor.text}", "`preview.before`"),
        ("bind", {"expect": "x"}, "`bind.expect` is no parameter"),
        (
            "preview",
            {"kind": "text", "after": "x", "of": "pth"},
            "`preview` names `pth`, which is no parameter",
        ),
        ("capture/before/args", {"path": "{args.expected}"}, "only bound after it"),
        ("capture/before/args", {}, "does not give read the argument `path`"),
        ("capture/before/args", {"path": "x", "size": "1"}, "an argument `size`, which it does not take"),
        ("capture/before/tool", "look", "names the tool look"),
        ("undo/0/tool", "unwrite", "names the tool unwrite"),
        ("undo/0/args", {"id": "{result.idd}"}, "not in what the tool gives"),
        ("undo/1/args", {"path": "{args.where}"}, "which is no parameter"),
        ("drift/same", {"size": "{result.sha}"}, "`drift.same.size` is not in what read gives"),
        ("drift/tool", "look", "names the tool look"),
        (
            "targets",
            {"left_out": ["pth={capture.before.text}"]},
            "`targets` names `pth`, which is no parameter",
        ),
        ("targets", {"left_out": ["path={capture.after.text}"]}, "`targets.left_out`"),
    ],
)
def test_an_unknown_name_is_reported_when_the_recipe_is_loaded(where: str, value: Any, expected: str) -> None:
    problems = recipe_problems(read_recipe(recipe_with(where, value)), "write", SCHEMAS)
    assert any(expected in problem for problem in problems), problems


def test_an_optional_argument_cannot_be_used_in_a_preview() -> None:
    schemas = {
        **SCHEMAS,
        "write": ToolSchemas(schema_with("path", content=1, expected=1), SCHEMAS["write"].output_schema),
    }
    assert any(
        "{args.content}, which may be left out" in p
        for p in recipe_problems(read_recipe(COMPLETE), "write", schemas)
    )


def test_a_read_of_a_preview_may_take_all_arguments_as_one_object() -> None:
    recipe = read_recipe(recipe_with("capture/before/args", {"path": "{args}"}))
    assert recipe_problems(recipe, "write", SCHEMAS) == []


async def test_an_invalid_recipe_is_dropped_and_its_tool_is_kept(tmp_path: Path) -> None:
    files = {"mine": RecipeFile("raw*", {"echo": {"class": "write", "summary": "{args.nope}"}, "gone": {}})}
    files["mine"].tools["echo"]["undo"] = [{"tool": "unecho"}]  # type: ignore[index]
    config = raw(
        only=["echo", "refuse"], more=[{"name": "x", "inputSchema": schema_with("a")}], recipes="mine"
    )
    async with hosting(tmp_path, config, recipes=files) as host:
        echo = host.find("raw", "echo")
        assert echo is not None
        assert echo.recipe.cls is CallClass.UNKNOWN
        problems = "\n".join(host.problems_found)
        assert "raw.echo is used without its recipe: `undo[0]` names the tool unecho" in problems
        assert "raw.gone has a recipe in “mine”, but the server has no such tool" in problems
        assert (await host.call("raw", "echo", b"{}", 5)).text == "{}"


async def test_a_mistake_in_a_recipe_file_is_reported_with_its_line_and_drops_that_recipe(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.yaml").write_text("server: raw*\ntools:\n  echo:\n    class: read\n    vreb: Echo\n")
    files = load_recipes(tmp_path)
    async with hosting(tmp_path / "var", raw(only=["echo"], recipes="mine"), recipes=files) as host:
        echo = host.find("raw", "echo")
        assert echo is not None
        assert echo.recipe.cls is CallClass.UNKNOWN
        assert host.problems_found == [
            "raw.echo is used without its recipe: mine.yaml, line 5: “tools.echo.vreb” is not known; did you mean "
            "“verb”."
        ]


async def test_recipes_for_another_server_are_not_used(tmp_path: Path) -> None:
    files = {"mine": RecipeFile("mcp-git", {"echo": {"class": "read", "summary": "Echo"}})}
    async with hosting(tmp_path, raw(only=["echo"], recipes="mine"), recipes=files) as host:
        echo = host.find("raw", "echo")
        assert echo is not None
        assert echo.recipe.summary == ""
        assert "are for mcp-git, but this server calls itself raw" in host.problems_found[0]


async def test_missing_recipes_are_reported(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(only=["echo"], recipes="mine")) as host:
        assert host.problems_found == ["raw: there are no recipes “mine” among the manifests."]
    others = {name: RecipeFile("mcp-git", {}) for name in ("server-git", "shop")}
    async with hosting(tmp_path / "other", raw(only=["echo"], recipes="mine"), recipes=others) as host:
        (problem,) = host.problems_found
        assert problem.endswith("“mine” among the manifests; there are server-git, shop.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [", "x.yaml, line 1: did not find expected node content."),
        ("tools: {}", "x.yaml, line 1: the file needs `server`."),
        ("server: s\ntools: {}\ntool: {}", "x.yaml, line 3: “tool” is not known; did you mean “tools”."),
        ("{server: 1, tools: {}}", "x.yaml, line 1: “server” must be text"),
        ("server: s\npartial: 1\ntools: []", "line 2: “partial” must be true or false."),
        (
            "server: s\ntools:\n  echo:\n    class: destructive\n    verb: Echo\n    class: read",
            "x.yaml, line 6: “tools.echo.class” stands there twice: remove one.",
        ),
        ("server: s\ntools: {echo: {}, echo: {}}", "“tools.echo” stands there twice"),
        (
            "server: s\ntools: {echo: {undo: [{args: {a: 1, a: 2}}]}}",
            "“tools.echo.undo[0].args.a” stands there twice",
        ),
    ],
)
def test_a_recipe_file_is_validated_strictly(text: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(ConfigError, match=re.escape(expected)):
        load_recipes(tmp_path)


def test_what_raises_the_class_in_a_whole_file_does_so_for_each_of_its_tools(tmp_path: Path) -> None:
    worse = "raise_if: [{class: destructive, text: '^x'}]"
    (tmp_path / "x.yaml").write_text(
        f"server: s\n{worse}\ntools:\n  a: {{class: read}}\n  b: {{class: write, {worse}}}\n"
    )
    file = load_recipes(tmp_path)["x"]
    assert [len(file.recipe(name).raises) for name in "ab"] == [1, 2]


async def test_the_recipes_of_the_bundled_server_fit_its_tools(tmp_path: Path) -> None:
    config = ServerConfig(name="filesystem", inproc="x", trust=Trust.BUNDLED)
    async with hosting(tmp_path, config, inproc={"filesystem": filesystem([tmp_path])}) as host:
        assert host.problems_found == []
        assert all(spec.recipe.cls for spec in host.specs())


async def check_outside(tmp_path: Path, config: ServerConfig, tools: int) -> None:
    files = load_recipes(MANIFESTS)
    async with hosting(tmp_path, config, wait=60, recipes=files) as host:
        assert [text for text in host.problems_found if "no operator has read" not in text] == []
        assert len(host.specs()) == tools
        assert files[config.recipes].tools.keys() == {spec.name for spec in host.specs()}


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed: the reviewed recipes are not checked against it here")
    return found


@pytest.mark.node
@pytest.mark.parametrize(("name", "tools"), [("filesystem", 14), ("memory", 9)])
async def test_the_reviewed_recipes_fit_the_real_node_servers(name: str, tools: int, tmp_path: Path) -> None:
    config = ServerConfig(
        name=name,
        command=program(f"mcp-server-{name}"),
        args=(str(tmp_path),) if name == "filesystem" else (),
        env={"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")},
        trust=Trust.REVIEWED,
        recipes=f"server-{name}",
    )
    await check_outside(tmp_path, config, tools)


async def test_the_reviewed_recipes_fit_the_real_git_server(tmp_path: Path) -> None:
    config = ServerConfig(
        name="git", command=program("mcp-server-git"), trust=Trust.REVIEWED, recipes="server-git"
    )
    await check_outside(tmp_path, config, 12)


EACH = {"text": "{args.content}", "find": "@([a-z]{1,20})", "take": "{read.sha}"}


@pytest.mark.parametrize(
    ("where", "value", "expected"),
    [
        ("raise_if", [{"class": "write"}], "needs `schema`, `text` or `when`"),
        ("raise_if", [{"class": "wirte", "text": "a"}], "class” must be one of"),
        ("raise_if", [{"class": "write", "text": "(a+)+b"}], "no pattern that can be searched"),
        ("raise_if", [{"class": "write", "schema": {"type": "strin"}}], "its schema is not valid"),
        (
            "raise_if",
            [{"class": "write", "schema": {"anyOf": [{"pattern": "(a+)+b"}]}}],
            "no pattern that can be searched",
        ),
        ("raise_if", {}, "“raise_if” must be a list"),
        ("capture/before/absent", "(a+)+b", "no pattern that can be searched"),
        ("capture/before/each", {"text": "x"}, "“capture.before.each” needs `find`"),
        ("undo/0/partly", 5, "partly” must be text"),
    ],
)
def test_a_mistake_in_the_policy_keys_of_a_recipe_is_reported(where: str, value: Any, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        read_recipe(recipe_with(where, value))


def test_a_repeated_read_is_checked_like_any_other() -> None:
    def problems(**more: Any) -> list[str]:
        recipe = recipe_with(
            "capture/who", {"tool": "read", "args": {"path": "p/{each}"}, "each": EACH | more}
        )
        recipe["notifies"] = "{capture.who.items|people}"
        return recipe_problems(read_recipe(recipe), "write", SCHEMAS)

    assert problems() == []
    assert "`capture.who.each.take` names {read.size}, which is not in what read gives" in problems(
        take="{read.size}"
    )
    assert "`capture.who.each.take` names {args.path}" in problems(take="{args.path}")[0]
    assert "which is no parameter" in problems(text="{args.pth}")[0]


def test_each_is_available_only_in_the_arguments_of_its_own_read() -> None:
    recipe = recipe_with("capture/before/args", {"path": "{each}"})
    assert (
        "names {each}, which is not known there" in recipe_problems(read_recipe(recipe), "write", SCHEMAS)[0]
    )


async def test_a_draft_is_not_used(tmp_path: Path) -> None:
    files = {"mine": RecipeFile("raw*", {"echo": {"class": "read", "summary": "Echo"}}, draft=True)}
    async with hosting(tmp_path, raw(only=["echo"], recipes="mine"), recipes=files) as host:
        echo = host.find("raw", "echo")
        assert echo is not None
        assert echo.recipe.cls is None
        assert "are a draft and not used" in host.problems_found[0]


def test_a_recipe_is_unchanged_by_a_round_trip_through_meta() -> None:
    assert read_recipe(json.loads(json.dumps(COMPLETE))) == read_recipe(COMPLETE)
