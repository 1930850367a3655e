"""Several calls of one reply on one card: one press may be a yes to each of them, and each is decided by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.job_routes import jobs
from gate.actions import batch, claim_click, edit, undo
from gate.actions.batch import GroupPress
from gate.arguments.declared_targets import Targets
from gate.rules import batch_receipt
from gate.rules import jobs as runs
from gate.rules.action import OWN_CARD, Action, Ref
from gate.rules.action_states import State
from gate.rules.approvers import Approvers
from gate.rules.messages import PART
from gate.rules.planner_port import Call, Mode, Propose, Turn
from gate.rules.policy import Rule
from gate.rules.ports import Posted, Unavailable
from gate.rules.tool import Recipe
from gate.tasks import planner_turn
from tests.gate.gate_setup import ANN, BEN, CHANNEL, GIL, TEAM, Scene, nothing_ran

NAMES = ("a.md", "b.md", "c.md")


def write(path: str, content: str = "hello") -> Call:
    return Call("desk", "write", {"path": path, "content": content})


async def proposed(stage: Scene, *calls: Call) -> list[Action]:
    """The actions that the planner's reply with these calls made, in the order of the calls."""
    stage.planner.script = [Propose(calls or tuple(map(write, NAMES)))]
    await stage.say("do it")
    waiting = await stage.ledger.pending(TEAM, session=stage.session)
    return sorted(waiting, key=lambda action: action.call)


def pressed(stage: Scene, actions: Sequence[Action], user: str = ANN, **changes: Any) -> GroupPress:
    """*Confirm all* as the card shows it that covers these."""
    group = actions[0].group
    ref = Ref.parse(batch_receipt.batch_button(group, actions))
    assert ref is not None
    return replace(GroupPress(ref, TEAM, user, stage.wall.places[group]), **changes)


async def events(stage: Scene, event: str) -> list[tuple[str, str]]:
    lines = await stage.ledger.audit_tail(team=TEAM, limit=100)
    return sorted((line.entry.action, line.entry.actor) for line in lines if line.entry.event == event)


async def states(stage: Scene, actions: Sequence[Action]) -> list[State]:
    return [(await stage.now(action.id)).state for action in actions]


async def test_calls_of_one_reply_that_wait_share_a_card_and_others_do_not(stage: Scene):
    stage.rule(Rule("in private", ("desk.poke",), private=True))
    look, poke = Call("desk", "look", {"path": "x"}), Call("desk", "poke", {"at": "x"})
    bad = Call("desk", "write", {"path": 5})
    actions = await proposed(stage, look, write("a.md"), poke, bad, Call("desk", "shred", {"path": "b.md"}))
    assert [action.tool for action in actions] == ["write", "poke", "shred"]
    first, private, last = actions
    assert first.group == last.group != ""
    assert private.group == ""
    assert [a.id for a in await stage.ledger.actions_of_group(first.group)] == [first.id, last.id]
    assert stage.wall.cards.keys() == {first.id, private.id, last.id}


@pytest.mark.parametrize("calls", [(write("a.md"),), (write("a.md"), Call("desk", "look", {"path": "b.md"}))])
async def test_a_call_that_waits_alone_has_a_card_of_its_own(stage: Scene, calls: tuple[Call, ...]):
    (action,) = await proposed(stage, *calls)
    assert action.group == ""


async def test_more_calls_than_a_card_holds_take_another_one(stage: Scene):
    world = replace(stage.world, limits=replace(stage.world.limits, calls_per_turn=100))
    one = Turn("t1", stage.session, ANN, "do it", datetime.now(UTC))
    cards = batch.card_groups(world, one, 0, [write(f"{number}.md") for number in range(25)], ())
    shared = [cards.get(place, "") for place in range(25)]
    assert shared[:12] == [shared[0]] * 12
    assert shared[12:24] == [shared[12]] * 12
    assert shared[24] == ""  # nobody shares a card with it
    planning = replace(one, mode=Mode.PLAN)
    assert batch.card_groups(world, planning, 0, [write("a"), write("b")], ()) == {}


async def test_long_calls_of_a_tool_that_declares_nothing_have_cards_of_their_own(
    stage: Scene, monkeypatch: pytest.MonkeyPatch
):
    """All rules are held against all of their arguments: twelve in one go took a second and more."""
    desk = stage.desk.specs_now["write"]
    stage.desk.specs_now["scribble"] = replace(desk, name="scribble", recipe=Recipe())
    stage.desk.specs_now["write"] = replace(
        desk, recipe=replace(desk.recipe, targets=Targets(paths=("path",)))
    )
    one = Turn("t1", stage.session, ANN, "do it", datetime.now(UTC))

    def scribble(characters: int) -> Call:
        return Call("desk", "scribble", {"path": "a.md", "content": "x" * characters})

    def cards(*calls: Call) -> dict[int, str]:
        return batch.card_groups(stage.world, one, 0, calls, ())

    assert len(cards(scribble(9_000), scribble(9_000))) == 2
    assert len(cards(*[write("a.md", "x" * 20_000)] * 3)) == 3
    assert len(cards(*[write("a?.md"), write("b*.md")])) == 2
    judged = list[int]()
    monkeypatch.setattr(batch, "policy_decision", lambda *_, **__: judged.append(1))
    assert cards(*[scribble(9_000)] * 3) == {}
    patterns = ", ".join(f"{number}*x?.b*" for number in range(100))
    assert cards(*[write(patterns)] * 2) == cards(*[write("a.md", "x" * 60_000)] * 3) == {}
    assert not judged


async def test_one_press_is_a_yes_to_each_with_a_vote_and_a_record_of_its_own(stage: Scene):
    actions = await proposed(stage)
    said = await batch.confirm_all(stage.world, pressed(stage, actions))
    assert (said.ok, said.text) == (True, "")
    assert (
        await states(stage, actions) == [State.PREPARED] * 3
    )  # a run confirms them, once the press is acknowledged
    await stage.play()
    assert await states(stage, actions) == [State.SUCCEEDED] * 3
    assert sorted(stage.desk.notes) == list(NAMES)
    assert await events(stage, "confirmed") == sorted((action.id, ANN) for action in actions)
    votes = [await stage.ledger.votes(action.id, action.version) for action in actions]
    assert [[vote.person for vote in each] for each in votes] == [[ANN]] * 3


async def test_the_planner_is_told_when_all_of_them_are_settled_and_not_before(stage: Scene):
    first, second, third = await proposed(stage)
    asked = len(stage.planner.seen)
    await stage.confirm(first)
    await stage.play()
    assert stage.desk.notes == {"a.md": "hello"}
    await claim_click.reject(stage.world, stage.press(second, reason="not now"))
    await stage.play()
    assert len(stage.planner.seen) == asked
    await stage.confirm(third)
    await stage.play()
    told = stage.planner.seen[-1].exchanges[0].reports
    assert [(one.status, one.text) for one in told][1] == ("rejected", "not now")
    assert [one.status for one in told] == ["succeeded", "rejected", "succeeded"]


async def test_nobody_but_the_requester_confirms_all(stage: Scene):
    actions = await proposed(stage)
    with nothing_ran(stage):
        for user in (BEN, GIL, "U_NOBODY"):
            said = await batch.confirm_all(stage.world, pressed(stage, actions, user))
            assert not said.ok
            assert said.text
        await stage.play()
    assert await states(stage, actions) == [State.PREPARED] * 3


async def test_what_others_decide_is_told_and_the_rest_is_confirmed(stage: Scene):
    stage.rule(Rule("ops decide", ("desk.poke",), approvers=Approvers(groups=frozenset({"S_OPS"}))))
    actions = await proposed(stage, write("a.md"), Call("desk", "poke", {"at": "x"}), write("b.md"))
    assert (await batch.confirm_all(stage.world, pressed(stage, actions))).ok
    await stage.play()
    assert "Confirmed 2 of 3." in stage.texts[-1]
    assert "You asked for this, so <!subteam^S_OPS> must confirm it." in stage.texts[-1]
    assert stage.wall.notes[-1].to == ANN
    assert await states(stage, actions) == [State.SUCCEEDED, State.PREPARED, State.SUCCEEDED]
    assert (await stage.confirm(actions[1], BEN)).code == "confirmed"


async def test_two_people_at_once_are_each_counted_where_two_are_needed(stage: Scene):
    stage.rule(Rule("two", ("desk.write",), approvers=Approvers(groups=frozenset({"S_OPS"}), needed=2)))
    actions = await proposed(stage)
    said = await asyncio.gather(
        *(batch.confirm_all(stage.world, pressed(stage, actions, user)) for user in (BEN, "U_CLEO", BEN))
    )
    await stage.play()
    assert any(one.ok for one in said)
    assert await states(stage, actions) == [State.SUCCEEDED] * 3
    assert len(stage.desk.calls) == 3
    assert len(await events(stage, "confirmed")) == 3


async def test_a_double_click_runs_each_once(both: Scene):
    actions = await proposed(both)
    told = len(both.wall.notes)
    said = await asyncio.gather(*(batch.confirm_all(both.world, pressed(both, actions)) for _ in range(4)))
    await both.play()
    assert all(one.ok for one in said)
    assert len(both.desk.calls) == 3
    assert len(both.wall.notes) == told  # the second press is a yes that stands already
    assert len(await events(both, "confirmed")) == 3
    again = await batch.confirm_all(both.world, pressed(both, actions))
    assert (again.ok, again.text) == (False, batch.ALREADY_DECIDED)


async def edited(stage: Scene, action: Action) -> None:
    await edit.submit(stage.world, stage.press(action), {"path": "b.md", "content": "changed"})


async def cancelled(stage: Scene, action: Action) -> None:
    await claim_click.cancel(stage.world, stage.press(action))


async def confirmed(stage: Scene, action: Action) -> None:
    await stage.confirm(action)


async def taken_off(stage: Scene, action: Action) -> None:
    await batch.move_to_own_card(stage.world, stage.press(action))


CHANGES = [edited, cancelled, confirmed, taken_off]


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("played", [False, True])
@pytest.mark.parametrize("change", CHANGES)
async def test_a_card_on_which_anything_changed_since_confirms_nothing(
    stage: Scene, change: Any, played: bool
):
    actions = await proposed(stage)
    before = pressed(stage, actions)
    await change(stage, actions[1])
    if played:
        await stage.play()
    with nothing_ran(stage):
        said = await batch.confirm_all(stage.world, before)
        assert (said.ok, said.text) == (False, batch.CARD_CHANGED)
        for action in (actions[0], actions[2]):
            assert (await stage.now(action.id)).state is State.PREPARED
    await stage.play()


async def test_what_is_over_in_time_confirms_nothing(stage: Scene):
    actions = await proposed(stage)
    stage.travel(301)
    with nothing_ran(stage):
        assert (await batch.confirm_all(stage.world, pressed(stage, actions))).text == batch.CARD_CHANGED
        await stage.play(timers=True)
    assert await states(stage, actions) == [State.EXPIRED] * 3


async def taken(stage: Scene, actions: Sequence[Action]) -> batch.GroupConfirmation:
    """A press on *Confirm all* that was committed, and whose run has not begun."""
    assert (await batch.confirm_all(stage.world, pressed(stage, actions))).ok
    (run,) = [run for run in stage.runs if run.name == "confirm_all"]
    stage.done.add(run.key)
    proved = stage.ledger.verified_args(run.name, run.args)
    assert proved is not None
    return batch.GroupConfirmation(*proved)


class Counted:
    """The ledger, which counts transactions, or can begin none."""

    def __init__(self, ledger: Any, away: bool = False) -> None:
        self._ledger, self._away, self.begun = ledger, away, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def begin(self, limit: float | None = None) -> Any:
        self.begun += 1
        if self._away:
            raise Unavailable("away")
        return self._ledger.begin(limit)


class Meanwhile:
    """Redis, before whose answer about one action something else happens."""

    def __init__(self, leases: Any, action: str, happens: Any) -> None:
        self._leases, self._action, self._happens = leases, action, happens

    def __getattr__(self, name: str) -> Any:
        return getattr(self._leases, name)

    async def get(self, action_id: str) -> Any:
        if action_id == self._action and self._happens:
            happens, self._happens = self._happens, None
            await happens()
        return await self._leases.get(action_id)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("change", [edited, cancelled, confirmed])
async def test_what_changes_under_way_is_told_and_the_others_are_confirmed(stage: Scene, change: Any):
    actions = await proposed(stage)
    world = stage.world
    leases = Meanwhile(world.leases, actions[1].id, lambda: change(stage, actions[1]))
    assert (await batch.confirm_all(world, pressed(stage, actions))).ok
    stage.world = replace(world, leases=leases)
    await stage.play()
    told = [text for text in stage.texts if text.startswith("Confirmed 2 of 3.")]
    assert ["“Write b.md”" in text for text in told] == ([] if change is confirmed else [True])
    assert [(await states(stage, actions))[place] for place in (0, 2)] == [State.SUCCEEDED] * 2
    assert stage.desk.notes.get("b.md") == ("hello" if change is confirmed else None)


@pytest.mark.parametrize("place", [0, 1])
async def test_a_store_that_fails_half_way_is_asked_again_and_nothing_is_told_twice(stage: Scene, place: int):
    actions = await proposed(stage)
    yes = await taken(stage, actions)

    async def fails() -> None:
        raise Unavailable("away")

    world = replace(stage.world, leases=Meanwhile(stage.world.leases, actions[place].id, fails))
    with pytest.raises(Unavailable), nothing_ran(stage):
        await batch.confirm_each(world, yes)
    waits = [State.PREPARED if at == place else State.APPROVED for at in range(3)]
    assert await states(stage, actions) == waits
    told = len(stage.wall.notes)
    for _ in range(2):
        await batch.confirm_each(world, yes)
    await stage.play()
    assert await states(stage, actions) == [State.SUCCEEDED] * 3
    assert len(await events(stage, "confirmed")) == 3
    assert [note for note in stage.wall.notes[told:] if note.to == ANN] == []


async def test_what_one_press_approved_runs_at_once_after_the_death_of_the_process_that_confirmed(
    both: Scene,
):
    """The runs that carry out followed the press in its process, and were written down nowhere else."""
    actions = await proposed(both)
    yes = await taken(both, actions)
    (about, *_), death = both.runs[-1].args, "died"
    await batch.confirm_each(both.world, yes)
    both.done |= {run.key for run in both.runs if run.name == "carry_out"}
    await both.play()
    assert await states(both, actions) == [State.APPROVED] * 3
    async with both.ledger.begin() as tx:
        tx.enqueue(runs.resume("confirm_all", about, death))
    await both.play()
    assert await states(both, actions) == [State.SUCCEEDED] * 3


async def test_a_press_is_on_record_in_one_commit_before_anything_is_decided(stage: Scene):
    actions = await proposed(stage, *(write(f"{number}.md") for number in range(10)))
    counted = Counted(stage.ledger)
    assert (await batch.confirm_all(replace(stage.world, ledger=counted), pressed(stage, actions))).ok
    assert counted.begun == 1
    assert [run.name for run in stage.runs if run.key not in stage.done and not run.delay] == ["confirm_all"]
    assert await states(stage, actions) == [State.PREPARED] * 10
    await stage.play()
    assert await states(stage, actions) == [State.SUCCEEDED] * 10


async def test_a_press_that_cannot_be_recorded_changes_nothing(stage: Scene):
    actions = await proposed(stage)
    world = replace(stage.world, ledger=Counted(stage.ledger, away=True))
    with pytest.raises(Unavailable), nothing_ran(stage):
        await batch.confirm_all(world, pressed(stage, actions))
    await stage.play()
    assert await states(stage, actions) == [State.PREPARED] * 3


async def test_who_may_confirm_is_asked_again_as_each_is_confirmed(stage: Scene):
    actions = await proposed(stage)
    yes = await taken(stage, actions)
    stage.directory.people[ANN] = replace(stage.directory.people[ANN], is_deleted=True)
    with nothing_ran(stage):
        await batch.confirm_each(stage.world, yes)
        await stage.play()
    assert await states(stage, actions) == [State.PREPARED] * 3
    assert "deactivated" in stage.texts[-1]


async def test_what_expires_between_the_press_and_its_turn_does_not_run_and_is_told(stage: Scene):
    actions = await proposed(stage)
    yes = await taken(stage, actions)
    stage.travel(301)
    with nothing_ran(stage):
        await batch.confirm_each(stage.world, yes)
        await stage.play()
    assert await states(stage, actions) == [State.EXPIRED] * 3
    assert "expired before" in stage.texts[-1]


async def test_a_second_press_after_a_refusal_is_heard_again(stage: Scene):
    stage.rule(Rule("ops decide", ("desk.write",), approvers=Approvers(groups=frozenset({"S_OPS"}))))
    actions = await proposed(stage)
    for _ in range(2):
        assert not (await batch.confirm_all(stage.world, pressed(stage, actions))).ok
    await stage.play()
    assert len(await events(stage, "turned_away")) == 6


async def test_what_has_to_be_typed_is_never_covered(stage: Scene):
    stage.desk.notes["old.md"] = "old"
    actions = await proposed(stage, write("a.md"), Call("desk", "shred", {"path": "old.md"}), write("b.md"))
    with nothing_ran(stage):
        assert not (await batch.confirm_all(stage.world, pressed(stage, actions))).ok
    first, shred, last = actions
    assert (await batch.confirm_all(stage.world, pressed(stage, [first, last]))).ok
    await stage.play()
    assert await states(stage, actions) == [State.SUCCEEDED, State.PREPARED, State.SUCCEEDED]
    assert stage.desk.notes["old.md"] == "old"
    assert shred.phrase


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("changes", [{"message_ts": "1.000000"}, {"message_ts": ""}, {"team": "T2"}])
async def test_a_button_elsewhere_confirms_nothing(stage: Scene, changes: dict[str, str]):
    actions = await proposed(stage)
    with nothing_ran(stage):
        said = await batch.confirm_all(stage.world, pressed(stage, actions, **changes))
        await stage.play()
    assert not said.ok
    assert said.text


async def test_an_altered_button_confirms_nothing(stage: Scene):
    actions = await proposed(stage)
    whole = pressed(stage, actions)
    for ref in (
        replace(whole.ref, version=2),
        replace(whole.ref, receipt="0" * 16),
        replace(whole.ref, id="nobody"),
        pressed(stage, actions[:2]).ref,
        pressed(stage, actions[::-1]).ref,
    ):
        with nothing_ran(stage):
            said = await batch.confirm_all(stage.world, replace(whole, ref=ref))
            assert (said.ok, bool(said.text)) == (False, True)
    assert await states(stage, actions) == [State.PREPARED] * 3


async def in_part(stage: Scene, action: Action) -> None:
    """The card has no room for all of this one."""
    place = stage.wall.places[action.group]
    await stage.ledger.set_posted(action.id, Posted(CHANNEL, place, action.revision, PART))


async def test_what_is_not_shown_whole_is_confirmed_by_no_yes(stage: Scene):
    actions = await proposed(stage)
    await in_part(stage, actions[1])
    place = stage.wall.places[actions[1].group]
    with nothing_ran(stage):
        assert not (await batch.confirm_all(stage.world, pressed(stage, actions))).ok
        assert (await stage.confirm(actions[1], message_ts=place)).text == claim_click.SHORTENED_CARD
        for action in (actions[0], actions[2]):
            await claim_click.cancel(stage.world, stage.press(action))
        await stage.play()
        await in_part(stage, actions[1])  # there is still no room for it
        await stage.say("yes", mentioned=False)
    assert (await stage.now(actions[1].id)).state is State.PREPARED


async def test_what_is_not_shown_whole_can_have_a_card_of_its_own(stage: Scene):
    actions = await proposed(stage)
    await in_part(stage, actions[1])
    press = stage.press(actions[1])
    assert (await batch.move_to_own_card(stage.world, replace(press, user=GIL))).code == "not_allowed"
    assert (await batch.move_to_own_card(stage.world, press)).ok
    assert (await batch.move_to_own_card(stage.world, press)).text == batch.HAS_OWN_CARD
    await stage.play()
    group = actions[0].group
    apart = await stage.now(actions[1].id)
    assert (apart.shares, apart.group) == ("", group + OWN_CARD)
    assert [a.id for a in await stage.ledger.actions_of_group(group)] == [a.id for a in actions]
    own = stage.wall.places[apart.id]
    assert own != stage.wall.places[group]
    assert (await stage.confirm(apart, message_ts=own)).code == "confirmed"
    assert (await batch.confirm_all(stage.world, pressed(stage, [actions[0], actions[2]]))).ok
    await stage.play()
    assert sorted(stage.desk.notes) == list(NAMES)
    assert (await batch.move_to_own_card(stage.world, press)).code == "late"


async def test_the_undo_of_one_of_several_is_no_part_of_their_card(stage: Scene):
    actions = await proposed(stage)
    await batch.confirm_all(stage.world, pressed(stage, actions))
    await stage.play()
    assert (
        await undo.request_undo(stage.world, stage.press(await stage.now(actions[0].id)))
    ).code == "undoing"
    await stage.play()
    assert sorted(stage.desk.notes) == ["b.md", "c.md"]
    members = await stage.ledger.actions_of_group(actions[0].group)
    assert [member.state for member in members] == [State.UNDONE, State.SUCCEEDED, State.SUCCEEDED]


async def test_a_turn_whose_run_died_half_way_makes_the_same_group(stage: Scene):
    actions = await proposed(stage)
    await stage.play()
    for _ in range(2):
        await planner_turn.run_turn(stage.world, actions[0].turn)
    waiting = await stage.ledger.pending(TEAM, session=stage.session)
    assert [a.id for a in await stage.ledger.actions_of_group(actions[0].group)] == [a.id for a in actions]
    assert len(waiting) == 3


async def test_a_press_that_an_earlier_version_has_queued_confirms_nothing_and_its_person_is_told(
    stage: Scene,
):
    actions = await proposed(stage)
    shown = ",".join(action.button for action in actions)
    group = actions[0].group
    press = (group, "cause", TEAM, ANN, stage.wall.places[group], shown)
    before = len(stage.runs)
    for _ in range(2):
        await jobs(stage.world)["confirm_all"].work(*press)
    assert {run.args[1] for run in stage.runs[before:] if run.name == "card"} >= {group}  # it is redrawn
    await stage.play()
    assert await states(stage, actions) == [State.PREPARED] * 3
    assert [note.to for note in stage.wall.notes if note.body.get("text") == batch.OUTDATED_PRESS] == [ANN]
    said = await batch.confirm_all(stage.world, pressed(stage, actions))
    assert said.ok


@pytest.mark.parametrize("changed", [{2: "T2"}, {0: "nothing"}])
async def test_a_press_on_a_card_that_is_not_there_tells_nobody_anything(
    stage: Scene, changed: dict[int, str]
):
    actions = await proposed(stage)
    press = [actions[0].group, "cause", TEAM, ANN, "1.1", actions[0].button]
    for place, value in changed.items():
        press[place] = value
    await jobs(stage.world)["confirm_all"].work(*press)
    await stage.play()
    assert batch.OUTDATED_PRESS not in stage.texts
    assert await states(stage, actions) == [State.PREPARED] * 3
