"""A secret file by any spelling: no plan, grant or read passes its phrase, and no card shows what is in it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from gate.actions import resolve_unknown, undo
from gate.actions.gated_results import TOO_MANY_FILES, UNCHECKED, MadeCall, without_gated_files
from gate.actions.prepare import Answered, CallRequest, Prepared, Refused, prepare
from gate.actions.preview import NOT_QUOTED
from gate.actions.sampling_records import UNCHECKED_SOURCE, SamplingSubject, sampling_for
from gate.arguments.declared_targets import Targets
from gate.rules.access import Token, TokenKind
from gate.rules.action import Action, CallClass, Json, Verdict
from gate.rules.action_states import State
from gate.rules.always_gated import ALWAYS
from gate.rules.canonical_json import parse
from gate.rules.planner_port import Call
from gate.rules.policy import Rule
from gate.rules.previews import COVERED, COVERED_BY_RULE, NOTIFIES_UNSEEN
from gate.rules.receipt import intact
from gate.rules.result_targets import MOST_FILES
from gate.rules.sampling import RECORD
from gate.rules.task import StepState
from gate.rules.tool import Answer, ClassRaise, Drift, Read, Recipe, ServerUnavailable, Show, Undo
from gate.rules.undo_privacy import HELD as UNDO_HELD
from gate.rules.unreleased_results import redacted_undo
from gate.tasks import plan as flow
from handlers.api import action_responses
from tests.gate.actions.test_action_grants import ANY, give
from tests.gate.gate_setup import ANN, TEAM, Scene
from tests.gate.plan_setup import on_plan, only, planned, pressed, states, waiting, write, wrote
from views import modals
from views.card import card

SPELLED = [
    ".env/.",
    "./.env",
    "a/../.env",
    ".env//",
    ".ENV",
    ".env ",
    "%2eenv",
    "．env",
    ".e\u200bnv",
    "/srv/desk/.env",
]
ODD_NAMES = [f"a{number}:%41,{{b,c}}#é<i>" for number in range(900)]  # of more forms than are looked at


@pytest.fixture
def desk(stage: Scene) -> Scene:
    """A desk whose recipes declare their targets, under the always-gate list."""
    for rule in ALWAYS:
        stage.rule(rule)
    for tool in ("write", "look"):
        recipe = stage.desk.specs_now[tool].recipe
        declared = replace(recipe, targets=Targets(paths=("path",)))
        stage.desk.specs_now[tool] = replace(stage.desk.specs_now[tool], recipe=declared)
    return stage


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("path", SPELLED)
async def test_approve_all_does_not_cover_a_secret_file(desk: Scene, path: str) -> None:
    task = await planned(desk, write("a.md"), write(path), write("b.md"))
    await pressed(desk, flow.approve_all, on_plan(task))
    assert wrote(desk) == ["a.md"]
    assert states(await only(desk)) == [StepState.DONE, StepState.ASKED, StepState.WAITING]
    assert (await waiting(desk)).verdict is Verdict.TYPED


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("path", SPELLED)
async def test_a_grant_for_any_arguments_does_not_cover_a_secret_file(desk: Scene, path: str) -> None:
    assert (await give(desk, await desk.prepare(path="drafts/a.md", content="one"), ANY)).ok
    action = await desk.prepare(path=path, content="two")
    assert (action.state, action.always_gated) == (State.PREPARED, True)
    assert wrote(desk) == ["drafts/a.md"]


async def test_what_is_shown_sealed_and_sent_is_the_canonical_path(desk: Scene) -> None:
    action = await desk.prepare(path="./drafts//a.md", content="one")
    assert parse(action.args)["path"] == "drafts/a.md"
    assert [fact.value for fact in action.preview.facts if fact.label == "path"] == ["drafts/a.md"]
    assert "drafts/a.md" in action.preview.summary
    await desk.confirm(action)
    await desk.play()
    assert wrote(desk) == ["drafts/a.md"]


async def test_the_card_of_a_write_does_not_show_what_is_in_a_secret_file(desk: Scene) -> None:
    desk.desk.notes[".env"] = "TOKEN=hush"
    action = await desk.prepare(path=".env/.", content="TOKEN=new")
    assert not action.preview.problem
    assert COVERED in action.preview.notes
    shown = replace(action.preview, facts=())
    assert "hush" not in json.dumps([str(shown), [f.value for f in action.preview.facts]])


@pytest.mark.parametrize("path", SPELLED)
async def test_a_read_of_a_secret_file_waits_for_its_phrase(desk: Scene, path: str) -> None:
    desk.desk.notes[".env"] = "TOKEN=hush"
    asked = CallRequest(f"r-{SPELLED.index(path)}", desk.session, ANN, Call("desk", "look", {"path": path}))
    found = await prepare(desk.world, asked)
    assert isinstance(found, Prepared)
    assert found.action.phrase
    assert "hush" not in str(found.action)


async def test_where_a_server_reports_that_a_link_leads_to_a_secret_file_it_is_typed_for(desk: Scene) -> None:
    write_spec = desk.desk.specs_now["write"]
    recipe: Recipe = replace(
        write_spec.recipe,
        targets=Targets(paths=("path",), reported=("{capture.before.content}",), links=True),
    )
    desk.desk.specs_now["write"] = replace(write_spec, recipe=recipe)
    desk.desk.notes["link"] = "/srv/desk/.env"  # what the read says of where it leads
    assert (await desk.prepare(path="link", content="x")).always_gated
    desk.desk.notes["other"] = "/srv/desk/notes.md"
    action = await desk.prepare(path="other", content="x")
    assert (action.verdict, action.always_gated) == (Verdict.CONFIRM, False)
    desk.desk.notes["other"] = "/srv/desk/.env"  # and it is exchanged before the claim
    await desk.confirm(action)
    await desk.play()
    assert wrote(desk) == []


@pytest.mark.parametrize("tells", ["reported", "reported_as", "raises", "nothing"])
async def test_where_the_look_that_tells_what_a_call_touches_fails_nothing_can_be_confirmed(
    desk: Scene, tells: str
) -> None:
    """A pull request that GitHub locks down: the rule on its branch was off, and the card had a button."""
    spec, told = desk.desk.specs_now["write"], "{capture.before.text}"
    declared: dict[str, Any] = {
        "reported": {"targets": Targets(paths=("path",), reported=(told,))},
        "reported_as": {"reported_as": {"branch": told}},
        "raises": {"raises": (ClassRaise(CallClass.DESTRUCTIVE, when=told),)},
        "nothing": {},
    }
    read = {"before": replace(spec.recipe.capture["before"], absent="")}
    recipe = Recipe(cls=CallClass.WRITE, summary="Write {args.path}", capture=read, **declared[tells])
    desk.desk.specs_now["write"] = replace(spec, recipe=recipe)
    real = desk.desk.call

    async def call(server: str, tool: str, args: bytes, *more: Any) -> Answer:
        locked = Answer("access is restricted by lockdown mode", is_error=True)
        return locked if tool == "look" else await real(server, tool, args, *more)

    desk.desk.call = call  # type: ignore[method-assign]
    asked = CallRequest("r", desk.session, ANN, Call("desk", "write", {"path": "a.md", "content": "x"}))
    made = await prepare(desk.world, asked)
    if tells == "nothing":
        assert isinstance(made, Prepared)
        assert made.action.preview.is_complete
    else:
        assert isinstance(made, Refused)
        assert "lockdown mode" in made.reasons[0]


BY_PATH = Rule("production", ("desk.look",), at_least=CallClass.WRITE, texts=(r"(^|/)config/prod",))
BY_SCHEMA = replace(
    BY_PATH, texts=(), schema={"properties": {"path": {"pattern": "prod"}}, "required": ["path"]}
)


def searching(stage: Scene, *paths: str) -> None:
    """The desk has a tool that finds what is in these files, below a folder."""
    spec = stage.desk.specs_now["look"]
    declared = replace(spec.recipe, targets=Targets(looks=("path",), found=("hits[excerpt].path",)))
    stage.desk.specs_now["search"] = replace(spec, name="search", recipe=declared)
    hits = [{"path": path, "excerpt": "PASSWORD=hush"} for path in paths]
    found = {"hits": [*hits, {"path": "config/prod.yaml", "excerpt": None}]}

    async def call(server: str, tool: str, args: bytes, *more: object) -> Answer:
        return Answer(json.dumps(found), found) if tool == "search" else await looked(server, tool, args)

    looked = stage.desk.call
    stage.desk.call = call  # type: ignore[method-assign,assignment]


async def searched(stage: Scene, path: str = ".") -> Answer:
    asked = CallRequest("search", stage.session, ANN, Call("desk", "search", {"path": path}))
    found = await prepare(stage.world, asked)
    assert isinstance(found, Answered)
    return found.answer


@pytest.mark.parametrize("path", ["config/prod.yaml", "a/../config/prod.env", "deep/config/prod/x.ini"])
@pytest.mark.parametrize(
    "rule",
    [
        BY_PATH,
        BY_SCHEMA,
        replace(BY_PATH, at_least=None, deny=True),
        replace(BY_PATH, tools=("*",)),
        replace(BY_PATH, at_least=None, channels=("C_OTHER",)),
    ],
    ids=["text", "schema", "deny", "every tool", "channels"],
)
async def test_a_rule_about_reading_a_file_also_holds_where_a_search_finds_what_is_in_it(
    desk: Scene, rule: Rule, path: str
) -> None:
    desk.rule(rule)
    searching(desk, "notes.md", path)
    answer = await searched(desk)
    assert answer.is_error
    assert "hush" not in f"{answer}"
    assert path in answer.text
    assert "Ask for that file by its name" in answer.text
    assert "hush" not in str(await desk.world.ledger.audit_tail(team=desk.session.team))


async def test_a_search_below_a_folder_keeps_the_content_of_a_secret_file_to_itself(desk: Scene) -> None:
    searching(desk, "deep/.env")
    assert (await searched(desk)).is_error


async def confirmed_search(stage: Scene, path: str) -> Action:
    """A search below this path that a person has confirmed, and that has run."""
    spec = stage.desk.specs_now["search"]
    targets = Targets(paths=("path",), found=("hits[excerpt].path",))
    stage.desk.specs_now["search"] = replace(spec, recipe=replace(spec.recipe, targets=targets))
    action = await stage.prepare("search", path=path)
    assert (await stage.confirm(action, typed=action.phrase)).ok
    await stage.play()
    return await stage.now(action.id)


async def test_a_search_that_was_confirmed_keeps_secret_files_that_it_does_not_name(desk: Scene) -> None:
    desk.rule(Rule("ask", ("desk.search",), at_least=CallClass.WRITE))
    searching(desk, "notes.md", "deep/.env")
    action = await confirmed_search(desk, "deep")
    assert action.outcome
    assert action.outcome.kind == "error"
    assert "deep/.env" in action.outcome.text
    assert "hush" not in f"{action}{await desk.world.ledger.audit_tail(team=desk.session.team)}"


@pytest.mark.parametrize("path", [".en*", "deep/.env", "**/.env", "./deep//.env"])
async def test_a_search_that_was_confirmed_gives_the_secret_files_that_it_names(
    desk: Scene, path: str
) -> None:
    searching(desk, "notes.md", "deep/.env")
    action = await confirmed_search(desk, path)
    assert action.always_gated
    assert action.outcome
    assert "hush" in action.outcome.text


@pytest.mark.parametrize("name", ["contains", "query", "where"])
async def test_words_that_a_confirmed_search_looks_for_name_no_file(desk: Scene, name: str) -> None:
    desk.rule(BY_PATH)
    searching(desk, "config/prod.yaml")
    spec = desk.desk.specs_now["search"]
    targets = Targets(looks=("path",), found=("hits[excerpt].path",))
    spec = replace(spec, recipe=replace(spec.recipe, targets=targets))
    hit = {"path": "config/prod.yaml", "excerpt": "PASSWORD=hush"}
    found = Answer("PASSWORD=hush", structured={"hits": [hit]})
    for words in ("config/prod.yaml", "*prod*", "where is config/prod.yaml"):
        made = MadeCall(spec, {"path": ".", name: words}, "C_OPS", is_confirmed=True)
        assert "hush" not in str(await without_gated_files(desk.world, made, found))
    searches = replace(BY_PATH, tools=("desk.*",))
    desk.world = replace(desk.world, policy=replace(desk.world.policy, rules=(searches,)))
    named = MadeCall(spec, {"path": ".", "pattern": "config/prod.yaml"}, "C_OPS", is_confirmed=True)
    assert "hush" in str(await without_gated_files(desk.world, named, found))


async def test_a_change_whose_answer_is_kept_was_made_all_the_same(desk: Scene) -> None:
    searching(desk, "deep/.env")
    search = desk.desk.specs_now["search"]
    desk.desk.specs_now["search"] = replace(search, recipe=replace(search.recipe, cls=CallClass.WRITE))
    action = await confirmed_search(desk, ".")
    assert action.outcome
    assert action.outcome.kind == "success"
    assert "deep/.env" in action.outcome.text
    assert "hush" not in action.outcome.text


async def test_a_search_for_one_secret_file_does_not_give_another(desk: Scene) -> None:
    searching(desk, "deep/.env", "keys/id_rsa")
    action = await confirmed_search(desk, ".en*")
    assert action.outcome
    assert action.outcome.kind == "error"
    assert "keys/id_rsa" in action.outcome.text
    assert "hush" not in action.outcome.text


def failing(stage: Scene, how: str) -> None:
    """Reads on the desk go wrong, and quote what they read."""
    write_spec = stage.desk.specs_now["write"]
    look = replace(write_spec.recipe.capture["before"], absent="^Not Found")
    if how == "a failure that is not absence":
        recipe = replace(write_spec.recipe, capture={"before": look})
        stage.desk.specs_now["write"] = replace(write_spec, recipe=recipe)

    async def call(*asked: object) -> Answer:
        if how == "no answer":
            raise ServerUnavailable("line 3: TOKEN=hush")
        return Answer("line 3: TOKEN=hush is no assignment", is_error=True)

    stage.desk.call = call  # type: ignore[method-assign,assignment]


@pytest.mark.parametrize("how", ["no answer", "an error", "a failure that is not absence"])
async def test_what_went_wrong_when_a_secret_file_was_looked_at_is_not_quoted(desk: Scene, how: str) -> None:
    failing(desk, how)
    args: dict[str, Json] = {"path": ".env", "content": "x"}
    asked = CallRequest("w", desk.session, ANN, Call("desk", "write", args))
    found = await prepare(desk.world, asked)
    assert NOT_QUOTED[1:] in str(found)
    assert "hush" not in f"{found}{await desk.world.ledger.audit_tail(team=desk.session.team)}"


@pytest.mark.parametrize("how", ["no answer", "an error", "a failure that is not absence"])
async def test_what_went_wrong_when_another_file_was_looked_at_is_told(desk: Scene, how: str) -> None:
    failing(desk, how)
    args: dict[str, Json] = {"path": "notes.md", "content": "x"}
    asked = CallRequest("w", desk.session, ANN, Call("desk", "write", args))
    assert "TOKEN=hush" in str(await prepare(desk.world, asked))


async def test_a_difference_of_git_keeps_the_content_of_a_secret_file_to_itself(desk: Scene) -> None:
    spec = desk.desk.specs_now["look"]
    declared = replace(spec.recipe, targets=Targets(looks=("path",), found=("{result.text|differing}",)))
    desk.desk.specs_now["search"] = replace(spec, name="search", recipe=declared)
    told = "diff --git a/{0} b/{0}\n+++ b/{0}\n@@ -0,0 +1 @@\n+TOKEN=hush\n"
    for path, is_kept in ((".env", True), ("notes.md", False)):
        desk.desk.call = AsyncMock(return_value=Answer(told.format(path)))  # type: ignore[method-assign]
        answer = await searched(desk)
        assert answer.is_error is is_kept
        assert ("hush" in answer.text) is not is_kept


async def test_a_difference_in_a_folder_is_about_the_files_below_that_folder(desk: Scene) -> None:
    spec = desk.desk.specs_now["look"]
    found = Targets(looks=("path",), found=("{result.text|differing}",), below=("{args.path|folder}",))
    desk.desk.specs_now["search"] = replace(spec, name="search", recipe=replace(spec.recipe, targets=found))
    told = Answer("diff --git a/config b/config\n+++ b/config\n@@ -0,0 +1 @@\n+TOKEN=hush\n")
    desk.desk.call = AsyncMock(return_value=told)  # type: ignore[method-assign]
    for folder, is_kept in (("/home/ann/.kube", True), ("/home/ann/app", False)):
        answer = await searched(desk, folder)
        assert answer.is_error is is_kept
        assert ("hush" in answer.text) is not is_kept


async def test_an_answer_that_does_not_say_of_all_its_files_is_not_given(desk: Scene) -> None:
    spec = desk.desk.specs_now["look"]
    declared = replace(spec.recipe, targets=Targets(found=("{result.text|excerpted}",)))
    desk.desk.specs_now["search"] = replace(spec, name="search", recipe=declared)
    told = json.dumps([{"diff_hunk": "+TOKEN=hush", "path": "notes.md"}])
    for text, is_kept in ((told, False), (told[:-9], True)):
        desk.desk.call = AsyncMock(return_value=Answer(text))  # type: ignore[method-assign]
        assert ((await searched(desk)).text == UNCHECKED) is is_kept


async def test_a_result_about_more_files_than_can_be_checked_is_not_given(desk: Scene) -> None:
    """Each name is held against all rules on the event loop: 8,001 odd ones took 3 s."""
    desk.rule(BY_PATH)
    searching(desk, *(f"plain{number}.md" for number in range(MOST_FILES + 1)))
    assert (await searched(desk)).text == TOO_MANY_FILES
    searching(desk, *ODD_NAMES)
    assert (await searched(desk)).text == TOO_MANY_FILES
    searching(desk, *(f"plain{number}.md" for number in range(1_000)))
    assert "hush" in (await searched(desk)).text


def looking_into(stage: Scene, *found: str) -> None:
    """The look of the desk's `write` names in these fields the files whose content it gives."""
    spec = stage.desk.specs_now["look"]
    targets = Targets(looks=("path",), found=found)
    stage.desk.specs_now["look"] = replace(spec, recipe=replace(spec.recipe, targets=targets))
    stage.desk.notes |= {"a": "config/prod.yaml", "b": "notes.md"}


async def test_a_card_does_not_show_what_its_look_finds_in_a_file_that_a_rule_keeps(desk: Scene) -> None:
    desk.rule(replace(BY_PATH, tools=("other.read", "desk.look")))
    looking_into(desk, "content")
    kept, other = [await desk.prepare(path=path, content="x") for path in ("a", "b")]
    assert COVERED_BY_RULE in kept.preview.notes
    assert "config/prod" not in str(kept.preview)
    assert "notes.md" in other.preview.diff
    assert not other.preview.notes


async def test_a_card_and_its_phrase_quote_nothing_of_a_look_that_a_rule_keeps(desk: Scene) -> None:
    desk.rule(replace(BY_PATH, tools=("other.read", "desk.look")))
    looking_into(desk, "content")
    shred = desk.desk.specs_now["shred"]
    found = "{capture.before.content}"
    recipe = replace(shred.recipe, noun=found, notifies=found, recoverable=f"from {found}")
    desk.desk.specs_now["shred"] = replace(shred, recipe=recipe)
    kept, other = [await desk.prepare("shred", path=path) for path in ("a", "b")]
    assert kept.preview.notifies == NOTIFIES_UNSEEN
    assert "config/prod" not in f"{kept.preview} {kept.phrase}"
    assert "notes.md" in other.phrase
    assert (other.preview.notifies, other.preview.recoverable) == ("notes.md", "from notes.md")


@pytest.mark.parametrize("shows", ["diff", "fields"])
async def test_an_undo_does_not_show_what_its_original_found_in_a_file_that_a_rule_keeps(
    desk: Scene, shows: str
) -> None:
    """Also where the card of its original shows nothing of what is there in any case."""
    desk.rule(replace(BY_PATH, tools=("other.read", "desk.look")))
    looking_into(desk, "content")
    write = desk.desk.specs_now["write"]
    show = write.recipe.show if shows == "diff" else Show()
    desk.desk.specs_now["write"] = replace(write, recipe=replace(write.recipe, show=show))
    action = await desk.prepare(path="a", content="x")
    assert COVERED_BY_RULE in action.preview.notes
    assert (await desk.confirm(action)).ok
    await desk.play()
    desk.desk.notes["a"] = "notes.md"  # so that the undo asks on a card of its own
    assert (await undo.request_undo(desk.world, desk.press(await desk.now(action.id)))).ok
    await desk.play()
    (asked,) = await desk.ledger.pending(TEAM, user=ANN)
    assert "config/prod" in str(asked.args)
    assert UNDO_HELD in asked.preview.notes
    assert "config/prod" not in str(asked.preview)
    log = await desk.ledger.audit_tail(team=TEAM, limit=100)
    assert "config/prod" not in str(log)
    assert redacted_undo(await desk.now(action.id), asked).args == b"{}"


async def test_a_card_is_private_where_a_rule_makes_the_look_at_what_it_finds_private(desk: Scene) -> None:
    desk.rule(replace(BY_PATH, at_least=None, private=True))
    looking_into(desk, "content")
    kept, other = [await desk.prepare(path=path, content="x") for path in ("a", "b")]
    assert (kept.private, other.private) == (True, False)
    assert "config/prod" in kept.preview.diff


async def test_a_card_does_not_show_what_its_look_finds_where_that_does_not_tell_the_files(
    desk: Scene,
) -> None:
    looking_into(desk, "{result.nothing|differing}")
    kept = await desk.prepare(path="b", content="x")
    assert COVERED_BY_RULE in kept.preview.notes
    assert "notes.md" not in str(kept.preview)


async def test_a_search_that_gives_only_the_name_of_a_gated_file_is_answered(desk: Scene) -> None:
    desk.rule(BY_PATH)
    searching(desk, "notes.md")
    assert "hush" in (await searched(desk)).text


@pytest.mark.parametrize(
    "rule",
    [replace(BY_PATH, tools=("other.*",)), replace(BY_PATH, at_least=CallClass.READ)],
    ids=["other", "read"],
)
async def test_a_rule_about_something_else_holds_no_search_up(desk: Scene, rule: Rule) -> None:
    desk.rule(rule)
    searching(desk, "config/prod.yaml")
    assert "hush" in (await searched(desk)).text


@pytest.mark.parametrize("path", ["config/prod.yaml", "a/../config/prod.env", "deep/.env"])
async def test_no_model_is_given_what_a_rule_keeps_from_being_read_at_once(desk: Scene, path: str) -> None:
    desk.rule(BY_PATH)
    searching(desk, path)
    with sampling_for(desk.world, SamplingSubject(desk.session, "search", ANN)):
        record = RECORD.get()
    assert record
    assert record.refusal
    assert path in await record.refusal("desk", "search", ["notes.md", path])
    assert await record.refusal("desk", "search", ["notes.md"]) == ""
    assert await record.refusal("desk", "search", []) == ""
    assert await record.refusal("desk", "search", ODD_NAMES) == UNCHECKED_SOURCE


# What is taken back


NEW, FORMER, NEWER = "TOKEN=new", "TOKEN=hush", "TOKEN=hush-hush"


@pytest.fixture(params=["put_back", "write"])
def undoing(desk: Scene, request: pytest.FixtureRequest) -> Scene:
    """A desk whose writes are taken back by a tool that says nothing of its targets, or by the same one, as those of
    files are; and that looks for drift by what is in the file."""
    recipe, path = desk.desk.specs_now["write"].recipe, {"path": "{args.path}"}
    back = Undo(
        request.param, {**path, "content": "{capture.before.content}"}, when="{capture.before.exists}"
    )
    looks = Drift(Read("look", path), {"content": "{args.content}"})
    desk.desk.specs_now["write"] = replace(
        desk.desk.specs_now["write"], recipe=replace(recipe, undo=[back], drift=looks)
    )
    if request.param == "put_back":  # by its name alone nothing tells that what it writes is secret
        desk.world = replace(
            desk.world,
            policy=replace(
                desk.world.policy,
                rules=tuple(
                    replace(rule, tools=("desk.write", "desk.look")) if rule.reads else rule
                    for rule in desk.world.policy.rules
                ),
            ),
        )
    return desk


async def written(desk: Scene) -> Action:
    desk.desk.notes[".env"] = FORMER
    action = await desk.prepare(path=".env", content=NEW)
    assert (await desk.confirm(action, typed=action.phrase)).code == "confirmed"
    await desk.play()
    return await desk.now(action.id)


async def everything_told(desk: Scene) -> str:
    """All that anybody is shown of the undo in Slack, over the API and in the log."""
    (undo,) = [one for one in desk.wall.cards.values() if one.undoes]
    token = Token("1", TokenKind.PERSON, "t", "T1", ANN, ("C_OPS",), undo.created_at, undo.created_at)
    told = [card(undo).blocks, modals.full(undo), action_responses.action(token, undo)]
    return str([*told, action_responses.as_text(undo), await desk.ledger.audit_tail(team="T1", limit=99)])


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("how", ["asked", "confirmed", "fails", "voided by new rules"])
async def test_an_undo_tells_nobody_what_was_or_is_in_a_secret_file(undoing: Scene, how: str) -> None:
    action = await written(undoing)
    if how == "fails":
        undoing.desk.behave, undoing.desk.refusal = "says no", f"expected {NEW}, there was {FORMER}"
    else:
        undoing.desk.notes[".env"] = NEWER
    await undo.request_undo(undoing.world, undoing.press(action))
    await undoing.play()
    if how in ("confirmed", "voided by new rules"):
        (asked,) = await undoing.ledger.pending("T1", user=ANN)
        if how == "voided by new rules":
            undoing.desk.redefine(asked.tool)
        said = await undoing.confirm(asked, typed=asked.phrase or None)
        assert said.code == ("confirmed" if how == "confirmed" else "changed")
        await undoing.play()
    told = await everything_told(undoing)
    assert "hush" not in told
    assert f"{len(FORMER)} characters, SHA-256" in told
    assert ".env" in told
    assert (undoing.desk.notes[".env"] == FORMER) == (how == "confirmed")


async def test_the_card_of_an_undo_of_a_secret_file_says_what_changed_since(undoing: Scene) -> None:
    action = await written(undoing)
    undoing.desk.notes[".env"] = NEWER
    await undo.request_undo(undoing.world, undoing.press(action))
    await undoing.play()
    (asked,) = await undoing.ledger.pending("T1", user=ANN)
    assert asked.preview.notes == ("Changed since: content.", COVERED)
    assert intact(asked)


async def test_a_click_puts_a_secret_file_back_and_the_log_does_not_say_what(undoing: Scene) -> None:
    action = await written(undoing)
    assert (await undo.request_undo(undoing.world, undoing.press(action))).code == "undoing"
    await undoing.play()
    assert undoing.desk.notes[".env"] == FORMER
    log = await undoing.ledger.audit_tail(team="T1", limit=99)
    assert "hush" not in str(log)


@pytest.mark.parametrize("way", ["now", "gone"])
async def test_a_check_of_a_secret_file_tells_whether_it_changed(desk: Scene, way: str) -> None:
    desk.desk.notes[".env"] = FORMER
    spec = desk.desk.specs_now["write"]
    looks = {"before": replace(spec.recipe.capture["before"], absent="is not there")}
    desk.desk.specs_now["write"] = replace(spec, recipe=replace(spec.recipe, capture=looks))
    action = await desk.prepare(path=".env", content=NEW)
    desk.desk.behave = "breaks the line"
    await desk.confirm(action, typed=action.phrase)
    await desk.play()
    for now, told in ((FORMER, "(unchanged)"), (NEWER, "now: ")):
        desk.desk.notes[".env"] = now
        if way == "gone":
            desk.desk.call = refusing  # type: ignore[method-assign]
        assert (await resolve_unknown.check_by_press(desk.world, desk.press(action))).code == "checking"
        await desk.play()
        text = str(desk.wall.notes[-1].body)
        assert "hush" not in text
        assert ("I could not read it." if way == "gone" else told) in text


async def refusing(server: str, tool: str, args: bytes, *more: object) -> Answer:
    return Answer(f"{FORMER} cannot be read", is_error=True)
