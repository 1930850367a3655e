"""Confirm, cancel and reject: one winner, the truth for the rest, and nothing without a person."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from gate.actions import claim_click, edit
from gate.actions.action_versions import lease_record
from gate.actions.button_press import Press, PressResult
from gate.actions.prepare import CallRequest, Prepared, prepare
from gate.rules.action import Action, CallClass, Risk
from gate.rules.action_states import State
from gate.rules.approvers import Approvers
from gate.rules.jobs import for_owner
from gate.rules.planner_port import Call, Propose
from gate.rules.policy import Rule
from gate.rules.ports import OpenedModal, Unavailable, World
from gate.rules.receipt import intact
from gate.tasks.pending import waiting_for
from tests.gate.gate_setup import ANN, BEN, BOT, CLEO, DORA, GIL, SAM, TEAM, Scene, nothing_ran


# promise: ACT-03
async def test_a_write_waits_and_runs_once_when_its_requester_confirms(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    assert action.state is State.PREPARED
    assert stage.desk.calls == []
    assert (await stage.confirm(action)).code == "confirmed"
    await stage.play()
    after = await stage.now(action.id)
    assert after.state is State.SUCCEEDED
    assert stage.desk.notes == {"a.md": "hello"}
    assert len(stage.desk.calls) == 1
    assert stage.desk.calls[0][1] == {"path": "a.md", "content": "hello", "expected": "absent"}


@pytest.mark.parametrize("user", [BEN, GIL, SAM, DORA, BOT, "U_NOBODY"])
@pytest.mark.parametrize("verb", ["confirm", "cancel", "reject"])
async def test_nobody_else_decides(stage: Scene, user: str, verb: str):
    action = await stage.prepare(path="a.md", content="hello")
    with nothing_ran(stage):
        said = await getattr(claim_click, verb)(stage.world, stage.press(action, user))
        await stage.play()
    assert (said.ok, said.code) == (False, "not_allowed")
    assert said.text
    assert (await stage.now(action.id)).state is State.PREPARED


async def test_twelve_clicks_at_once_run_it_once(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    said = await asyncio.gather(*(stage.confirm(action) for _ in range(12)))
    await stage.play()
    assert sorted(s.code for s in said) == ["confirmed"] + ["late"] * 11 or {s.code for s in said} <= {
        "confirmed",
        "late",
        "already_voted",
    }
    assert [s.code for s in said].count("confirmed") == 1
    assert len(stage.desk.calls) == 1


async def test_a_run_that_was_second_leaves_the_lease_of_what_the_first_has_stored(stage: Scene):
    asked = CallRequest("a1", stage.session, ANN, Call("desk", "write", {"path": "a.md", "content": "x"}))

    async def overtaken(world: World, action: Action) -> Action | None:
        made = await prepare(stage.world, asked)
        assert isinstance(made, Prepared)
        await world.leases.put(
            lease_record(action), 300
        )  # the second run put its lease before it was overtaken
        raise Unavailable("overtaken")

    with pytest.raises(Unavailable):
        await prepare(stage.world, asked, overtaken)
    await stage.play()
    assert (await stage.confirm(await stage.now("a1"))).code == "confirmed"


async def test_who_is_overtaken_between_two_looks_is_told_who_was_first(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    leases = stage.world.leases

    class Overtaken:
        """Redis, as it is when somebody confirms after the action was read and before its lease is."""

        def __getattr__(self, name: str) -> object:
            return getattr(leases, name)

        async def get(self, action_id: str) -> object:
            assert (await claim_click.confirm(stage.world, stage.press(action))).ok
            return await leases.get(action_id)

    said = await claim_click.confirm(replace(stage.world, leases=Overtaken()), stage.press(action))
    assert said.text.startswith(f"This was already confirmed by <@{ANN}>")


async def test_an_old_card_cannot_confirm_what_was_edited(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    said = await edit.submit(stage.world, stage.press(action), {"path": "a.md", "content": "goodbye"})
    assert said.code == "edited"
    with nothing_ran(stage):
        assert (await stage.confirm(action)).code == "stale"
        await stage.play()
        assert (await stage.confirm(action)).code == "stale"
    fresh = await stage.now(action.id)
    assert fresh.version == 3
    assert {f.label: (f.old, f.value) for f in fresh.preview.facts}["content"] == ("hello", "goodbye")
    assert (await stage.confirm(fresh)).code == "confirmed"
    await stage.play()
    assert stage.desk.notes == {"a.md": "goodbye"}


async def test_an_edit_to_what_the_policy_does_not_allow_is_refused_and_the_card_stays(stage: Scene):
    stage.rule(Rule("never", ("desk.write",), deny=True, texts=("^hr/",)))
    action = await stage.prepare(path="a.md", content="hello")
    said = await edit.submit(stage.world, stage.press(action), {"path": "hr/pay.md", "content": "hello"})
    assert (said.ok, said.code) == (False, "denied")
    await stage.play()
    assert await stage.now(action.id) == action
    assert (await stage.confirm(action)).code == "confirmed"


async def test_an_edit_and_a_voided_version_have_receipts_of_their_own(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    await edit.submit(stage.world, stage.press(action), {"path": "a.md", "content": "goodbye"})
    edited = await stage.now(action.id)
    await stage.play()
    fresh = await stage.now(action.id)
    stage.desk.redefine("write")
    assert (await stage.confirm(fresh)).code == "changed"
    voided = await stage.now(action.id)
    assert all(intact(version) for version in (action, edited, fresh, voided))
    assert len({version.receipt for version in (action, edited, fresh, voided)}) == 4


async def test_while_the_new_preview_is_made_nothing_can_be_confirmed(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    await edit.submit(stage.world, stage.press(action), {"path": "a.md", "content": "goodbye"})
    between = await stage.now(action.id)
    assert between.preview.problem
    with nothing_ran(stage):
        assert not (await stage.confirm(between)).ok
        await stage.play()


# promise: VERB-07
async def test_it_expires_and_says_so(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    stage.travel(301)
    with nothing_ran(stage):
        assert (await stage.confirm(action)).code == "expired"
        await stage.play()
    assert (await stage.now(action.id)).state is State.EXPIRED


# promise: GATE-24
async def test_the_timer_expires_it_when_nobody_comes(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    stage.travel(301)
    await stage.play(timers=True)
    assert (await stage.now(action.id)).state is State.EXPIRED
    assert stage.wall.cards[action.id].state is State.EXPIRED


async def test_without_its_lease_it_counts_as_expired(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    await stage.world.leases.drop(action.id)
    with nothing_ran(stage):
        assert (await stage.confirm(action)).code == "expired"
        await stage.play()
    assert (await stage.now(action.id)).state is State.EXPIRED


async def test_a_lease_of_another_version_fails_closed_and_is_mended(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    lease = await stage.world.leases.get(action.id)
    assert lease is not None
    await stage.world.leases.drop(action.id)
    await stage.world.leases.put(replace(lease, receipt="0" * 64), 100)
    assert (await stage.confirm(action)).code == "stale"
    assert (await stage.confirm(action)).code == "confirmed"


async def test_a_destructive_one_needs_its_exact_phrase(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    action = await stage.prepare("shred", path="a.md")
    assert action.phrase.startswith("shred a.md ")
    assert (await stage.confirm(action)).code == "needs_phrase"
    with nothing_ran(stage):
        for wrong in (action.phrase.upper(), action.phrase.replace("s", "ѕ", 1)):
            assert (await stage.confirm(await stage.now(action.id), typed=wrong)).code == "wrong_phrase"
    said = await stage.confirm(await stage.now(action.id), typed=f"  {action.phrase}\n")
    assert said.code == "confirmed"
    await stage.play()
    assert stage.desk.notes == {}


async def test_three_wrong_phrases_end_it(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    action = await stage.prepare("shred", path="a.md")
    codes = [(await stage.confirm(await stage.now(action.id), typed="shred")).code for _ in range(4)]
    assert codes == ["wrong_phrase", "wrong_phrase", "cancelled", "late"]
    assert stage.desk.calls == []


async def test_a_modal_that_was_never_opened_confirms_nothing(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    action = await stage.prepare("shred", path="a.md")
    forged = await stage.confirm(action, typed=action.phrase, view="V_FORGED")
    assert forged.code == "stale"
    async with stage.ledger.begin() as tx:
        await tx.save_modal(OpenedModal("V1", "typed", ANN, action.id, action.version, action.receipt))
    assert (await stage.confirm(action, typed=action.phrase, view="V1")).code == "confirmed"


async def test_a_button_on_a_foreign_message_confirms_nothing(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    assert (await stage.confirm(action, message_ts="1.000000")).code == "not_ours"
    posted = await stage.ledger.posted(action.id)
    assert posted is not None
    assert (await stage.confirm(action, message_ts=posted.ts)).code == "confirmed"


async def test_a_click_faster_than_the_record_of_the_card_waits_for_it(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    posted = await stage.ledger.posted(action.id)
    assert posted is not None
    await stage.ledger.set_posted(action.id, replace(posted, ts=""))
    assert (await stage.confirm(action, message_ts=posted.ts)).code == "early"
    click = asyncio.create_task(stage.confirm(action, message_ts=posted.ts))
    await asyncio.sleep(0)
    await stage.ledger.set_posted(action.id, posted)
    assert (await click).code == "confirmed"


async def test_named_approvers_decide_and_the_requester_does_not(stage: Scene):
    approvers = Approvers(users=frozenset({CLEO}), groups=frozenset({"S_OPS"}), needed=2)
    stage.rule(Rule("two of ops", ("desk.write",), approvers=approvers))
    action = await stage.prepare(path="a.md", content="hello")
    assert (await stage.confirm(action)).code == "not_allowed"
    assert (await stage.confirm(action, BEN)).code == "voted"
    assert (await stage.confirm(action, BEN)).code == "already_voted"
    await stage.play()
    assert stage.desk.calls == []
    assert (await stage.confirm(action, CLEO)).code == "confirmed"
    await stage.play()
    assert len(stage.desk.calls) == 1


async def test_whom_only_one_of_two_rules_names_may_reject_and_not_confirm(stage: Scene):
    stage.rule(Rule("ops", ("desk.write",), approvers=Approvers(groups=frozenset({"S_OPS"}))))
    stage.rule(Rule("some", ("desk.write",), approvers=Approvers(users=frozenset({CLEO, BEN}))))
    stage.rule(Rule("Ben", ("desk.write",), approvers=Approvers(users=frozenset({BEN}))))
    action = await stage.prepare(path="a.md", content="hello")
    with nothing_ran(stage):
        said = await stage.confirm(action, CLEO)
        assert (said.code, f"<!subteam^S_OPS> who is also one of <@{BEN}>" in said.text) == (
            "not_allowed",
            True,
        )
    assert (await stage.confirm(action, BEN)).code == "confirmed"
    other = await stage.prepare(path="b.md", content="hello")
    assert (await claim_click.reject(stage.world, stage.press(other, CLEO))).ok


async def test_a_vote_for_a_version_does_not_count_for_the_next(stage: Scene):
    stage.rule(Rule("two", ("desk.write",), approvers=Approvers(groups=frozenset({"S_OPS"}), needed=2)))
    action = await stage.prepare(path="a.md", content="hello")
    assert (await stage.confirm(action, BEN)).code == "voted"
    await edit.submit(stage.world, stage.press(action), {"path": "a.md", "content": "goodbye"})
    await stage.play()
    fresh = await stage.now(action.id)
    with nothing_ran(stage):
        assert (await stage.confirm(fresh, CLEO)).code == "voted"
        await stage.play()
    assert (await stage.confirm(fresh, BEN)).code == "confirmed"


async def test_two_votes_at_once_count_each_other(stage: Scene):
    stage.rule(Rule("two", ("desk.write",), approvers=Approvers(groups=frozenset({"S_OPS"}), needed=2)))
    action = await stage.prepare(path="a.md", content="hello")
    said = await asyncio.gather(stage.confirm(action, BEN), stage.confirm(action, CLEO))
    assert sorted(s.code for s in said) == ["confirmed", "voted"]


async def test_one_rejection_ends_it_with_its_reason(stage: Scene):
    stage.rule(Rule("two", ("desk.write",), approvers=Approvers(groups=frozenset({"S_OPS"}), needed=2)))
    action = await stage.prepare(path="a.md", content="hello")
    await stage.confirm(action, BEN)
    said = await claim_click.reject(stage.world, stage.press(action, CLEO, reason="not on a Friday"))
    assert said.code == "rejected"
    after = await stage.now(action.id)
    assert (after.state, after.decision, after.decided_by) == (State.REJECTED, "not on a Friday", CLEO)


async def test_an_approver_who_left_does_not_count_when_it_runs(stage: Scene):
    stage.rule(Rule("ops", ("desk.write",), approvers=Approvers(groups=frozenset({"S_OPS"}))))
    action = await stage.prepare(path="a.md", content="hello")
    await stage.confirm(action, BEN)
    stage.directory.people[BEN] = replace(stage.directory.people[BEN], groups=frozenset())
    await stage.play()
    assert stage.desk.calls == []
    assert (await stage.now(action.id)).state is State.CANCELLED


async def test_a_changed_definition_voids_what_was_shown(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    stage.desk.redefine("write")
    with nothing_ran(stage):
        assert (await stage.confirm(action)).code == "changed"
        await stage.play()
    fresh = await stage.now(action.id)
    assert fresh.definition == "d-write'"
    assert (await stage.confirm(fresh)).code == "confirmed"


async def test_a_policy_that_got_stricter_voids_what_was_shown(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    stage.rule(Rule("frozen", ("desk.write",), deny=True))
    with nothing_ran(stage):
        assert (await stage.confirm(action)).code == "changed"
        await stage.play()
    assert (await stage.now(action.id)).state is State.CANCELLED


TIGHTENED = {
    "private": Rule("letters", ("desk.write",), private=True),
    "private to look at": Rule("letters", ("desk.look",), texts=("^a",), private=True),
    "soon over": Rule("hurry", ("desk.write",), ttl=60.0),
    "riskier": Rule("mind this", ("desk.write",), risk=Risk.CRITICAL),
    "always gated": Rule("gated", ("desk.write",), always=True),
    "secret": Rule("gated", ("desk.write",), texts=("^a",), always=True, reads=True),
    "typed": Rule("typed", ("desk.write",), at_least=CallClass.DESTRUCTIVE),
    "decided by others": Rule("ops", ("desk.write",), approvers=Approvers(groups=frozenset({"S_OPS"}))),
}


@pytest.mark.parametrize("rule", TIGHTENED.values(), ids=TIGHTENED)
async def test_a_rule_that_got_stricter_while_a_card_waits_is_asked_about_anew(stage: Scene, rule: Rule):
    action = await stage.prepare(path="a.md", content="hello")
    stage.rule(rule)
    with nothing_ran(stage):
        assert (await stage.confirm(action)).code == "changed"
        await stage.play()
    fresh, asked = await stage.now(action.id), await stage.prepare(path="a.md", content="hello")
    assert fresh.state is State.PREPARED
    assert fresh.proposal.decision == asked.proposal.decision
    assert claim_click.rules_unchanged(stage.world, fresh)


@pytest.mark.parametrize("rule", TIGHTENED.values(), ids=TIGHTENED)
async def test_a_rule_that_got_stricter_after_the_yes_keeps_the_call_from_running(stage: Scene, rule: Rule):
    action = await stage.prepare(path="a.md", content="hello")
    assert (await stage.confirm(action)).code == "confirmed"
    stage.rule(rule)
    with nothing_ran(stage):
        await stage.play()
    assert (await stage.now(action.id)).state is State.CANCELLED


async def test_a_rule_that_got_milder_asks_nobody_anew(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    stage.rule(Rule("harmless", ("desk.write",), cls=CallClass.READ))
    assert (await stage.confirm(action)).code == "confirmed"


@pytest.mark.parametrize("end", ["cancel", "reject"])
async def test_a_second_decision_is_told_who_was_first(stage: Scene, end: str):
    action = await stage.prepare(path="a.md", content="hello")
    await getattr(claim_click, end)(stage.world, stage.press(action))
    said = await stage.confirm(action)
    assert said.code == "late"
    assert f"<@{ANN}>" in said.text


async def test_the_end_of_its_time_is_decided_once(stage: Scene):
    for seconds in (299.0, 299.9, 300.0, 300.1, 301.0):
        stage.ledger.offset *= 0
        action = await stage.prepare(path="a.md", content="hello")
        stage.travel(seconds)
        races = [stage.confirm(action), claim_click.cancel(stage.world, stage.press(action))]
        said = await asyncio.gather(*races, claim_click.expire(stage.world, action))
        final = (await stage.now(action.id)).state
        confirmed, cancelled = [s is not None and s.ok for s in said[:2]]
        if final is State.CANCELLED:  # before anybody else, or right after the yes, before it ran
            assert cancelled
        else:
            assert not cancelled
            assert final is (State.APPROVED if confirmed else State.EXPIRED)


async def test_an_approver_finds_what_waits_for_them_and_nobody_else_does(stage: Scene):
    stage.rule(Rule("ops", ("desk.write",), approvers=Approvers(groups=frozenset({"S_OPS"}))))
    action = await stage.prepare(path="a.md", content="hello")
    for user, seen in (
        (ANN, [action.id]),
        (BEN, [action.id]),
        (CLEO, [action.id]),
        (GIL, []),
        ("U_NOBODY", []),
    ):
        assert [one.record.id for one in await waiting_for(stage.world, "T1", user)] == seen


@pytest.mark.parametrize("decides", [claim_click.confirm, claim_click.reject])
async def test_what_follows_a_decision_is_work_for_the_requester_whoever_decides(
    stage: Scene, decides: Callable[[World, Press], Awaitable[PressResult]]
):
    stage.rule(Rule("ops", ("desk.write",), approvers=Approvers(groups=frozenset({"S_OPS"}))))
    stage.planner.script = [Propose((Call("desk", "write", {"path": "a.md", "content": "hello"}),))]
    with for_owner(ANN):
        await stage.say("write it")
    (action,) = await stage.ledger.pending(TEAM)
    before = len(stage.runs)
    with for_owner(BEN):
        assert (await decides(stage.world, stage.press(action, BEN))).ok
    assert {(run.name, run.owner) for run in stage.runs[before:] if run.name != "card"} in (
        {("carry_out", ANN)},
        {("turn", ANN)},
    )


async def test_an_edited_version_has_its_time_to_live_from_the_edit_on(stage: Scene):
    small = {"required": ["content"], "properties": {"content": {"const": "big"}}}
    stage.rule(Rule("short", ("desk.write",), schema=small, ttl=30))
    action = await stage.prepare(path="a.md", content="small")
    stage.travel(100)
    said = await edit.submit(stage.world, stage.press(action), {"path": "a.md", "content": "big"})
    assert said.code == "edited"
    await stage.play()
    fresh = await stage.now(action.id)
    assert (fresh.version, fresh.state) == (3, State.PREPARED)
    assert 29 < (fresh.expires_at - await stage.ledger.now()).total_seconds() <= 30
    assert (await stage.confirm(fresh)).code == "confirmed"
