"""Recipes are strict: a name that is not there is found when the recipe is loaded, and costs the recipe alone."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gate.action import Class, Risk
from gate.tool import Drift, Read, Show, Trust, Undo
from servers.filesystem import server as filesystem
from tests.tools.hosts import hosting, raw
from tools.fitting import Shape, misfits
from tools.recipes import BadRecipe, RecipeFile, load_recipes, read_recipe
from tools.servers import ServerConfig

MANIFESTS = Path(__file__).parents[2] / "manifests" / "tools"
WHOLE: dict[str, Any] = {
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


def takes(*required: str, **more: Any) -> dict[str, Any]:
    text = {"type": "string"}
    return {
        "type": "object",
        "properties": dict.fromkeys((*required, *more), text),
        "required": list(required),
    }


SHAPES = {
    "write": Shape(takes("path", "content", expected=1), takes("replaced", "id", "sha")),
    "read": Shape(takes("path"), takes("sha")),
    "restore": Shape(takes("id"), None),
    "delete": Shape(takes("path"), None),
}


def changed(where: str, value: Any) -> dict[str, Any]:
    """The whole recipe with one thing changed; None takes it out."""
    recipe = copy.deepcopy(WHOLE)
    steps = [int(s) if s.isdigit() else s for s in where.split("/")]
    place: Any = recipe
    for step in steps[:-1]:
        place = place[step]
    if value is None:
        del place[steps[-1]]
    else:
        place[steps[-1]] = value
    return recipe


def test_a_whole_recipe_is_read() -> None:
    recipe = read_recipe(WHOLE)
    assert (recipe.cls, recipe.risk, recipe.verb, recipe.keeps_days) == (
        Class.WRITE,
        Risk.MEDIUM,
        "Write",
        30,
    )
    assert recipe.capture == {"before": Read("read", {"path": "{args.path}"})}
    assert recipe.show == Show("diff", "{capture.before.text}", "{args.content}", "{args.path}")
    assert recipe.undo[0] == Undo("restore", {"id": "{result.id}"}, when="{result.replaced}")
    assert recipe.drift == Drift(Read("read", {"path": "{args.path}"}), {"sha": "{result.sha}"})
    assert misfits(recipe, "write", SHAPES) == []


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        ("verbs", "x", "unknown key `verbs`"),
        ("class", "wirte", "`class` must be one of"),
        ("risk", "huge", "`risk` must be one of"),
        ("confirmationRequired", False, "contradicts the class write"),
        ("class", "read", "contradicts the class read"),
        ("summary", 5, "`summary` must be text"),
        ("idempotent", "no", "`idempotent` must be true or false"),
        ("keeps_days", 0, "`keeps_days` must be a number of days"),
        ("preview/kind", "movie", "`preview.kind` must be one of"),
        ("preview/after", None, "lacks the key `after`"),
        ("preview/items", "{args.path}", "unknown key `items`"),
        ("capture/before/tol", "x", "unknown key `tol`"),
        ("capture/before/tool", None, "lacks the key `tool`"),
        ("undo", {}, "`undo` must be a list"),
        ("undo/0/if", "x", "unknown key `if`"),
        ("drift/same", None, "lacks the key `same`"),
        ("bind", ["x"], "`bind` must be a mapping"),
    ],
)
def test_a_mistake_in_the_form_is_named(where: str, value: Any, said: str) -> None:
    with pytest.raises(BadRecipe, match=said):
        read_recipe(changed(where, value))


@pytest.mark.parametrize(
    ("where", "value", "said"),
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
        ("capture/before/args", {"path": "{args.expected}"}, "only bound after it"),
        ("capture/before/args", {}, "does not give read the argument `path`"),
        ("capture/before/args", {"path": "x", "size": "1"}, "an argument `size`, which it does not take"),
        ("capture/before/tool", "look", "names the tool look"),
        ("undo/0/tool", "unwrite", "names the tool unwrite"),
        ("undo/0/args", {"id": "{result.idd}"}, "not in what the tool gives"),
        ("undo/1/args", {"path": "{args.where}"}, "which is no parameter"),
        ("drift/same", {"size": "{result.sha}"}, "`drift.same.size` is not in what read gives"),
        ("drift/tool", "look", "names the tool look"),
    ],
)
def test_a_name_that_is_not_there_is_found_at_the_start(where: str, value: Any, said: str) -> None:
    told = misfits(read_recipe(changed(where, value)), "write", SHAPES)
    assert any(said in problem for problem in told), told


def test_an_argument_that_may_be_left_out_cannot_carry_a_preview() -> None:
    shapes = {**SHAPES, "write": Shape(takes("path", content=1, expected=1), SHAPES["write"].gives)}
    assert any(
        "{args.content}, which may be left out" in p for p in misfits(read_recipe(WHOLE), "write", shapes)
    )


def test_a_read_of_a_preview_may_be_given_the_whole_call() -> None:
    recipe = read_recipe(changed("capture/before/args", {"path": "{args}"}))
    assert misfits(recipe, "write", SHAPES) == []


async def test_a_bad_recipe_costs_the_recipe_and_not_the_tool(tmp_path: Path) -> None:
    files = {"mine": RecipeFile("raw*", {"echo": {"class": "write", "summary": "{args.nope}"}, "gone": {}})}
    files["mine"].tools["echo"]["undo"] = [{"tool": "unecho"}]  # type: ignore[index]
    config = raw(only=["echo", "refuse"], more=[{"name": "x", "inputSchema": takes("a")}], recipes="mine")
    async with hosting(tmp_path, config, recipes=files) as host:
        echo = host.find("raw", "echo")
        assert echo is not None
        assert echo.recipe.cls is Class.UNKNOWN
        told = "\n".join(host.problems_found)
        assert "raw.echo is used without its recipe: `undo[0]` names the tool unecho" in told
        assert "raw.gone has a recipe in “mine”, but the server has no such tool" in told
        assert (await host.call("raw", "echo", b"{}", 5)).text == "{}"


async def test_recipes_for_another_server_are_not_used(tmp_path: Path) -> None:
    files = {"mine": RecipeFile("mcp-git", {"echo": {"class": "read", "summary": "Echo"}})}
    async with hosting(tmp_path, raw(only=["echo"], recipes="mine"), recipes=files) as host:
        echo = host.find("raw", "echo")
        assert echo is not None
        assert echo.recipe.summary == ""
        assert "are for mcp-git, but this server calls itself raw" in host.problems_found[0]


async def test_recipes_that_are_not_there_are_missed_loudly(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(only=["echo"], recipes="mine")) as host:
        assert host.problems_found == ["raw: there are no recipes “mine” among the manifests."]


@pytest.mark.parametrize(
    ("text", "said"),
    [("a: [", "not YAML"), ("tools: {}", "exactly the keys"), ("{server: 1, tools: {}}", "must be text")],
)
def test_a_recipe_file_is_read_strictly(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(BadRecipe, match=said):
        load_recipes(tmp_path)


async def test_the_recipes_of_the_bundled_server_fit_its_tools(tmp_path: Path) -> None:
    config = ServerConfig(name="filesystem", inproc="x", trust=Trust.BUNDLED)
    async with hosting(tmp_path, config, inproc={"filesystem": filesystem([tmp_path])}) as host:
        assert host.problems_found == []
        assert all(spec.recipe.cls for spec in host.specs())


async def check_outside(tmp_path: Path, config: ServerConfig, tools: int) -> None:
    files = load_recipes(MANIFESTS)
    async with hosting(tmp_path, config, wait=60, recipes=files) as host:
        assert host.problems_found == []
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
    ("where", "value", "said"),
    [
        ("raise_if", [{"class": "write"}], "needs `schema` or `text`"),
        ("raise_if", [{"class": "wirte", "text": "a"}], "`class` must be one of"),
        ("raise_if", [{"class": "write", "text": "(a+)+b"}], "no pattern that can be searched"),
        ("raise_if", [{"class": "write", "schema": {"type": "strin"}}], "its schema is not valid"),
        ("raise_if", {}, "`raise_if` must be a list"),
        ("capture/before/absent", "(a+)+b", "no pattern that can be searched"),
        ("capture/before/each", {"text": "x"}, "lacks the key `find`"),
        ("undo/0/partly", 5, "`partly` must be text"),
    ],
)
def test_a_mistake_in_what_a_recipe_adds_to_the_rules_is_named(where: str, value: Any, said: str) -> None:
    with pytest.raises(BadRecipe, match=said):
        read_recipe(changed(where, value))


def test_a_read_for_each_is_checked_like_any_other() -> None:
    def told(**more: Any) -> list[str]:
        recipe = changed("capture/who", {"tool": "read", "args": {"path": "p/{each}"}, "each": EACH | more})
        recipe["notifies"] = "{capture.who.items|people}"
        return misfits(read_recipe(recipe), "write", SHAPES)

    assert told() == []
    assert "`capture.who.each.take` names {read.size}, which is not in what read gives" in told(
        take="{read.size}"
    )
    assert "`capture.who.each.take` names {args.path}" in told(take="{args.path}")[0]
    assert "which is no parameter" in told(text="{args.pth}")[0]


def test_each_is_known_in_the_arguments_of_its_own_read_alone() -> None:
    recipe = changed("capture/before/args", {"path": "{each}"})
    assert "names {each}, which is not known there" in misfits(read_recipe(recipe), "write", SHAPES)[0]


async def test_a_draft_is_not_used(tmp_path: Path) -> None:
    files = {"mine": RecipeFile("raw*", {"echo": {"class": "read", "summary": "Echo"}}, draft=True)}
    async with hosting(tmp_path, raw(only=["echo"], recipes="mine"), recipes=files) as host:
        echo = host.find("raw", "echo")
        assert echo is not None
        assert echo.recipe.cls is None
        assert "are a draft and not used" in host.problems_found[0]


def test_a_recipe_survives_its_way_through_meta() -> None:
    assert read_recipe(json.loads(json.dumps(WHOLE))) == read_recipe(WHOLE)
