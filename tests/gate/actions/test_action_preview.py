"""What a recipe's reads may do: one for each that a text names, and an absence that is told from a failure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from gate.actions import preview
from gate.actions.prepare import CallRequest, Prepared, prepare
from gate.actions.preview import MAX_EACH, READ_SECONDS, make_preview
from gate.rules.action import CallClass, Decision, Json, Risk
from gate.rules.planner_port import Call
from gate.rules.policy import Policy, decide
from gate.rules.ports import World
from gate.rules.previews import DECEPTIVE_TEXT
from gate.rules.tool import Answer, Each, Problem, Read, Recipe, Show, ToolSpec, Trust
from tests.gate.gate_setup import ANN, FixedClock, Scene
from tools.mcp.schema import problems

PEOPLE = {"a1": "Ann Lee", "b2": "Ben Cho"}
FIND = r"@\[[^\]]{1,90}\]\(id:(\w{1,20})\)|\[~(\w{1,20})\]"
SAYS = {"properties": {"body": {"type": "string"}, "sha": {"type": "string"}}, "required": ["body"]}


def tool(name: str, recipe: Recipe, schema: Mapping[str, Json] = SAYS) -> ToolSpec:
    return ToolSpec("s", name, name, "", schema, "d", trust=Trust.REVIEWED, recipe=recipe, reviewed=True)


SAY = tool(
    "say",
    Recipe(
        cls=CallClass.WRITE,
        capture={
            "who": Read("person", {"id": "u-{each}"}, each=Each("{args.body}", FIND, "{read.text.name}"))
        },
        notifies="{capture.who.items|people}",
    ),
)
PUT = tool(
    "put",
    Recipe(
        cls=CallClass.WRITE,
        capture={"old": Read("text", {}, absent="^Not Found")},
        bind={"sha": "{capture.old.text.sha}"},
        show=Show("diff", "{capture.old.text.content}", "{args.body}", "x"),
    ),
)


@dataclass
class Tools:
    """A server with people and one text."""

    text: Answer = field(default_factory=lambda: Answer("", is_error=True))
    asked: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def find(self, server: str, name: str) -> ToolSpec:
        return tool(name, Recipe(cls=CallClass.READ), {})

    def problems(self, schema: Mapping[str, Json], value: Json) -> tuple[Problem, ...]:
        return problems(schema, value)

    async def call(self, server: str, name: str, args: bytes, seconds: float, definition: str) -> Answer:
        self.seconds.append(seconds)
        if name == "text":
            return self.text
        self.asked.append(json.loads(args)["id"])
        known = PEOPLE.get(self.asked[-1].removeprefix("u-"))
        return Answer(json.dumps({"name": known} if known else {"success": False}))


@dataclass
class Small:
    tools: Tools
    policy: Policy = field(default_factory=lambda: Policy("p"))
    clock: FixedClock = field(default_factory=FixedClock)


async def looked(tools: Tools, spec: ToolSpec, **args: Any) -> Any:
    return await make_preview(cast(World, Small(tools)), spec, args, "C1")


async def test_everyone_who_is_named_is_looked_up_once_under_their_own_name() -> None:
    tools = Tools()
    seen = await looked(tools, SAY, body="[~a1] and @[Boss](id:b2), and [~a1] again")
    assert seen.preview.notifies == "Ann Lee, Ben Cho"
    assert tools.asked == ["u-a1", "u-b2"]


async def test_a_text_that_names_nobody_notifies_nobody() -> None:
    seen = await looked(Tools(), SAY, body="hello")
    assert (seen.preview.notifies, seen.preview.problem) == ("", "")


async def test_somebody_who_cannot_be_found_leaves_nothing_to_confirm() -> None:
    seen = await looked(Tools(), SAY, body="@[Ann Lee](id:c3)")
    assert seen.preview.problem.endswith(": s does not know “c3”")


async def test_a_crowd_is_not_looked_up() -> None:
    tools = Tools()
    seen = await looked(tools, SAY, body="".join(f"[~p{n}]" for n in range(MAX_EACH + 1)))
    assert f"it names {MAX_EACH + 1} things to look up" in seen.preview.problem
    assert tools.asked == []


async def test_a_read_has_the_time_that_its_recipe_gives_it_or_the_usual_one() -> None:
    tools = Tools(Answer('{"sha": "s1", "content": "one"}'))
    await looked(tools, PUT, body="two")
    slow = Read("text", {}, absent="^Not Found", seconds=60)
    await looked(tools, replace(PUT, recipe=replace(PUT.recipe, capture={"old": slow})), body="two")
    assert tools.seconds == [READ_SECONDS, 60]


async def test_what_is_there_is_bound_and_compared() -> None:
    seen = await looked(Tools(Answer('{"sha": "s1", "content": "one"}')), PUT, body="two")
    assert seen.args == {"body": "two", "sha": "s1"}
    assert "-one" in seen.preview.diff


async def test_what_is_not_there_yet_binds_nothing() -> None:
    seen = await looked(Tools(Answer("Not Found: no such file", is_error=True)), PUT, body="two")
    assert (seen.args, seen.preview.problem, seen.preview.diff) == ({"body": "two"}, "", "")


async def test_a_sha_that_the_asker_gave_is_not_believed_where_nothing_is_there() -> None:
    seen = await looked(Tools(Answer("Not Found: no such file", is_error=True)), PUT, body="two", sha="s9")
    assert seen.args == {"body": "two"}


@pytest.mark.parametrize("said", ["Rate limit exceeded", "It was Not Found", ""])
async def test_a_failure_is_not_taken_for_an_absence(said: str) -> None:
    seen = await looked(Tools(Answer(said, is_error=True)), PUT, body="two")
    assert seen.preview.problem.startswith("I could not look at what this would change")


@pytest.mark.parametrize(
    ("summary", "said"),
    [
        ("Put “{args.body}”", "Put “two”"),
        ("Put over {capture.old.text.content}", "Put two"),
        ("", "Put two"),
    ],
)
async def test_what_could_not_be_looked_at_is_named_as_far_as_its_arguments_tell(
    summary: str, said: str
) -> None:
    named = replace(PUT, recipe=replace(PUT.recipe, summary=summary, verb="Store"))
    seen = await looked(Tools(Answer("Rate limit exceeded", is_error=True)), named, body="two")
    assert (seen.preview.summary, seen.preview.verb, seen.preview.is_complete) == (said, "Store", False)


async def test_hidden_characters_are_pointed_out_also_where_nothing_could_be_looked_at() -> None:
    seen = await looked(Tools(Answer("Rate limit exceeded", is_error=True)), PUT, body="t\u200bwo")
    assert seen.preview.notes == (DECEPTIVE_TEXT,)


async def test_a_call_for_which_nothing_is_read_is_judged_once(
    stage: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[Json] = []

    def counted(policy: Policy, spec: ToolSpec, args: Json, *more: Any) -> Decision:
        judged.append(args)
        return decide(policy, spec, args, *more)

    monkeypatch.setattr(preview, "decide", counted)
    stage.desk.specs_now["post"] = ToolSpec("desk", "post", "Post", "", {"type": "object"}, "d-post")
    call = Call("desk", "post", {"id": "x"}, risk=Risk.CRITICAL)
    made = await prepare(stage.world, CallRequest("x1", stage.session, ANN, call))
    assert isinstance(made, Prepared)
    assert made.action.proposal.decision.risk is Risk.CRITICAL
    assert judged == [{"id": "x"}]
