"""Plans as values: seals that hold, references that are filled, results that fit, words that count."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.rules import plans
from gate.rules.action import Action, CallClass, Json, Preview, Risk, Session, Verdict
from gate.rules.action_states import State
from gate.rules.approvers import Approvers
from gate.rules.confidence import Confidence
from gate.rules.plan_changes import BadChange, StepChange, apply_changes, rebuilt_plan
from gate.rules.planner_port import Call, ProposedStep
from gate.rules.settings import Switches
from gate.rules.steps import Privacy, StepRun, Try
from gate.rules.task import TEXT, Origin, Plan, Step, StepCall, StepState, Task
from gate.rules.task_states import TaskState
from storage.codec import dumps
from tests.actions import action_of, but
from tests.cpu_time import seconds
from tests.tasks import having, step_of, task_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SESSION = Session("T", "C", "1.0")
PREVIEW = Preview("Write a.md", "Write", ())


def step(step_id: str, **more) -> Step:
    return step_of(step_id, step_id, "desk", "write", {"path": f"{step_id}.md"}, **more)


def plan(*steps: Step, **more) -> Plan:
    return plans.with_seal("t", Plan(1, steps, **more))


def action(**more) -> Action:
    made = action_of(
        id="a", version=1, revision=1, state=State.PREPARED, session=SESSION, requester="U", server="desk",
        tool="write", args=b"{}", cls=CallClass.WRITE, risk=Risk.MEDIUM, verdict=Verdict.CONFIRM, reason="", rule="",
        policy="p", definition="d", approvers=Approvers(), always_gated=False, preview=PREVIEW, capture={},
        receipt="", phrase="", created_at=NOW, expires_at=NOW, task="t", step="s1",
    )  # fmt: skip
    return but(made, **more)


def task(the_plan: Plan, **more) -> Task:
    made = task_of(
        id="t", revision=1, state=TaskState.RUNNING, session=SESSION, requester="U", text="", switches=Switches(),
        created_at=NOW, since=NOW, plan=the_plan,
    )  # fmt: skip
    return having(made, **more)


# Seals and consent


SEALED = {
    "task": "u", "step": "s2", "session": Session("T", "C", "2.0"), "requester": "V", "server": "chair",
    "tool": "read", "definition": "e", "args": b'{"a":1}', "capture": {"x": 1}, "cls": CallClass.DESTRUCTIVE,
    "policy": "q",
}  # fmt: skip


@pytest.mark.parametrize("name", SEALED)
def test_whatever_changes_of_a_call_breaks_its_seal(name: str):
    assert plans.step_seal(but(action(), **{name: SEALED[name]})) != plans.step_seal(action())


def test_a_seal_holds_when_only_the_time_is_another():
    later = but(action(), id="b", version=4, revision=7, created_at=NOW.replace(year=2027), receipt="r")
    assert plans.step_seal(later) == plans.step_seal(action())


CHANGES = [
    ("title", "x"), ("server", "x"), ("tool", "x"), ("args", {"path": "x"}), ("refs", {"path": "{steps.s1.x}"}),
    ("ask", True), ("note", "x"), ("cls", CallClass.READ), ("verdict", Verdict.TYPED), ("seal", "x"), ("rules", "x"),
    ("problem", "x"), ("id", "s9"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), CHANGES)
def test_whatever_changes_of_a_step_breaks_the_seal_of_the_plan(name: str, value):
    one, two = step("s1"), step("s2")
    assert plan(one, having(two, **{name: value})).seal != plan(one, two).seal


def test_order_version_and_task_are_part_of_the_seal():
    one, two = step("s1"), step("s2")
    seals = {
        plan(one, two).seal,
        plan(two, one).seal,
        plans.with_seal("t", Plan(2, (one, two))).seal,
        plans.with_seal("u", Plan(1, (one, two))).seal,
    }
    assert len(seals) == 4


def test_how_a_step_went_does_not_break_the_seal_that_buttons_carry():
    done = having(step("s1"), state=StepState.DONE, text="ok", result={}, action="a", consent="c", attempt=3)
    assert plan(done).seal == plan(step("s1")).seal


NEVER = [
    {"verdict": Verdict.TYPED}, {"cls": CallClass.UNKNOWN}, {"cls": CallClass.DESTRUCTIVE}, {"always_gated": True},
    {"private": True}, {"approvers": Approvers(users=frozenset({"V"}))}, {"approvers": Approvers(needed=2)},
    {"preview": replace(PREVIEW, problem="not seen")}, {"undoes": "b"},
]  # fmt: skip


@pytest.mark.parametrize("changes", NEVER)
def test_an_approval_never_covers_what_needs_more_than_a_yes(changes):
    assert plans.is_coverable(action())
    assert not plans.is_coverable(but(action(), **changes))


def approved(**more) -> Task:
    seal = plans.step_seal(action())
    return task(plan(step("s1", seal=seal, consent=seal), approved_by="U", approved=1), **more)


def covers(of: Task, what: Action | None = None) -> bool:
    assert of.plan
    return plans.covers(of, of.plan.steps[0], what or action())


def test_an_approval_covers_exactly_what_was_sealed():
    assert covers(approved())
    assert not covers(approved(), action(args=b'{"path":"b"}'))
    assert not covers(approved(), action(requester="V"))


@pytest.mark.parametrize("review", ["before_step", "both"])
def test_a_switch_that_wants_every_step_asked_takes_the_consent_away(review: str):
    assert not covers(approved(switches=Switches(review=review)))


def test_without_an_approval_nothing_is_covered():
    of = approved()
    assert of.plan
    for changed in (
        replace(of.plan, approved_by=""),
        replace(of.plan, approved_by="V"),
        replace(of.plan, stepwise=True),
    ):
        assert not covers(replace(of, plan=changed))
    assert not covers(replace(of, plan=plans.without_consent(of.plan)))
    empty = replace(of.plan, steps=(having(of.plan.steps[0], consent="", seal=""),))
    assert not covers(replace(of, plan=empty))
    again = replace(of.plan, steps=(having(of.plan.steps[0], attempt=2),))
    assert not covers(replace(of, plan=again))


def test_consent_is_given_to_what_was_shown_alone():
    sealed = [step(f"s{n}", seal=f"seal{n}") for n in (1, 2, 3)]
    others = step("s4", seal="x", ask=True), step("s5", seal="y", attempt=2)
    made = plans.with_consent(task(plan()), plan(*sealed, *others), frozenset({"s1", "s3", "s4", "s5"}))
    assert [one.consent for one in made.steps] == ["seal1", "", "seal3", "", ""]


def test_no_consent_covers_a_step_for_which_an_earlier_one_changes_something():
    first = step("s1", seal="1", touches=("new",), rests_on=("new",), cls=CallClass.WRITE)
    later = step("s2", seal="2", touches=("b.md", "new"), rests_on=("a.md", "new"), cls=CallClass.WRITE)
    apart = step("s3", seal="3", touches=("new", "b.md"), rests_on=("c.md",), cls=CallClass.WRITE)

    def consents(*steps: Step) -> list[str]:
        shown = frozenset(one.id for one in steps)
        return [one.consent for one in plans.with_consent(task(plan()), plan(*steps), shown).steps]

    assert consents(first, later, apart) == ["1", "", "3"]
    assert consents(later, first, apart) == ["2", "", "3"]
    assert consents(having(first, state=StepState.DONE), later) == ["", "2"]
    assert consents(having(first, cls=CallClass.READ), later) == ["1", "2"]
    assert (
        plans.awaited(plan(first, having(later, verdict=Verdict.RUN)), having(later, verdict=Verdict.RUN))
        is None
    )


def test_another_try_has_no_consent():
    again = plans.new_attempt(step("s1", consent="c", state=StepState.FAILED, action="a", text="no"))
    assert (again.consent, again.action, again.attempt, again.state) == ("", "", 2, StepState.WAITING)


# Results


def done(step_id: str, **result) -> Step:
    return having(step(step_id), state=StepState.DONE, result=result)


def test_results_fill_later_arguments_with_their_types():
    uses = having(
        step("s2"), refs={"count": "{steps.s1.n}", "title": "No. {steps.s1.n}: {steps.s1.items[1].id}"}
    )
    made = plans.fill_arguments(plan(done("s1", n=3, items=[{"id": "a"}, {"id": "b"}]), uses), uses)
    assert made == {"path": "s2.md", "count": 3, "title": "No. 3: b"}


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (done("s1", other=1), "from the result of step 1, and there is no “n” in it."),
        (replace(step("s1"), state=StepState.SKIPPED), "from the result of step 1, which was skipped."),
        (step("s1"), "from the result of step 1, which is not done."),
        (step("s7"), "from a step that is not part of the plan any more."),
    ],
)
def test_what_is_lacking_is_told(source: Step, why: str):
    uses = having(step("s2"), refs={"count": "{steps.s1.n}"})
    with pytest.raises(plans.MissingResult) as caught:
        plans.fill_arguments(plan(source, uses), uses)
    assert str(caught.value) == f"Step 2 takes its `count` {why}"


@pytest.mark.parametrize(
    ("privacy", "told"), [(Privacy.PUBLIC, "{steps.s1.text|lines}"), (Privacy.PRIVATE, "an earlier step")]
)
def test_a_result_is_filled_in_as_it_is_and_in_no_other_form(privacy: Privacy, told: str):
    """A plan of an earlier version may have such a step. A filter took up to 25 ms, and a step may name fifty."""
    uses = having(step("s2"), refs={"count": "{steps.s1.text|lines}"}, privacy=privacy)
    with pytest.raises(plans.MissingResult) as caught:
        plans.fill_arguments(plan(done("s1", text="a"), uses), uses)
    assert str(caught.value) == f"Step 2 takes its `count` from {told}, which cannot be filled in."


def test_a_result_named_very_often_is_not_filled_in():
    """A plan of 34 KB became 744 million characters."""
    uses = having(step("s2"), refs={"count": "{steps.s1.n}" * 51})
    with pytest.raises(plans.MissingResult, match="more than 50 times"):
        plans.fill_arguments(plan(done("s1", n=3), uses), uses)
    some = having(step("s2"), refs={"count": "{steps.s1.n}" * 50})
    assert plans.fill_arguments(plan(done("s1", n=3), some), some)["count"] == "3" * 50


@pytest.mark.parametrize(
    "template",
    [
        "{args.x}",
        "plain",
        "{steps}",
        "{steps.s1.x|fly}",
        "{steps.s1.x} {env.y}",
        "{",
        "{steps.s1.text|excerpted}",
    ],
)
def test_a_reference_names_results_of_steps_and_nothing_else(template: str):
    assert plans.bad_template(template)
    assert list(plans.out_of_order((done("s1"), having(step("s2"), refs={"x": template}))))


def test_a_result_must_come_from_a_step_before():
    uses = having(step("s1"), refs={"x": "{steps.s2.n}"})
    assert [(s.id, name) for s, name in plans.out_of_order((uses, step("s2")))] == [("s1", "x")]
    assert not list(plans.out_of_order((step("s2"), uses)))
    own = having(step("s1"), refs={"x": "{steps.s1.n}"})
    assert list(plans.out_of_order((own,)))


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=20_000), max_size=4), st.text(max_size=10_000))
def test_what_is_kept_of_a_result_is_bounded(structured, text):
    kept = plans.with_result(plan(step("s1")), step("s1"), text, structured)
    assert kept.state is StepState.DONE
    assert len(kept.text) <= TEXT
    assert sum(map(len, map(str, kept.result.values()))) <= 2 * plans.SMALL
    assert (
        kept.result.items()
        >= {k: v for k, v in structured.items() if k in kept.result and k != "text"}.items()
    )


@pytest.mark.parametrize(
    ("text", "structured"),
    [
        ('{"id": 5, "to": {"name": "ops"}}', None),
        ("", {"result": '{"id": 5, "to": {"name": "ops"}}'}),
        ('{"id": 5, "to": {"name": "ops"}}', {"id": 5, "to": {"name": "ops"}}),
        ("created", {"id": 5, "to": {"name": "ops"}}),
    ],
    ids=["JSON as text", "JSON as the result of a function", "both", "structured content"],
)
def test_a_later_step_takes_a_field_of_a_result_however_its_server_wrote_it(text: str, structured: Json):
    done = plans.with_result(plan(step("s1")), step("s1"), text, structured)
    uses = having(step("s2"), refs={"id": "{steps.s1.id}", "to": "{steps.s1.to.name}"})
    assert plans.fill_arguments(plan(done, uses), uses) == {**uses.args, "id": 5, "to": "ops"}


@pytest.mark.parametrize(
    "text", ["[1, 2]", "{", '{"a": 1, "a": 2}', "{" * 50_000, '{"a": NaN}', "plain words"]
)
def test_a_text_that_is_no_object_gives_no_fields(text: str):
    kept = plans.with_result(plan(step("s1")), step("s1"), text, {"result": text})
    assert set(kept.result) <= {"text", "result"}


@pytest.mark.parametrize("fields", [400, 5_000])
def test_a_result_of_many_fields_is_cut_down_in_one_pass(fields: int) -> None:
    structured: dict[str, Json] = {f"field{number}": "y" * 40 for number in range(fields)}
    kept: list[Step] = []
    assert (
        seconds(lambda: kept.append(plans.with_result(plan(step("s1")), step("s1"), "", structured)), 3, 0.1)
        < 0.1
    )
    result = kept[-1].output.result or {}
    assert [*result] == ["text", *[*structured][1 - len(result) :]]  # of equal size the first goes first
    assert len(json.dumps(result)) <= plans.SMALL + 12


# What the strangest results take as they are stored: characters of control, many small values, letters of other scripts
WIDE = {
    "text of control": ("\x01" * plans.LARGE, {"a": [[]] * 15_900}),
    "text": ("x" * plans.LARGE, {"a": "y" * 60_000}),
    "Chinese": ("\u4e2d" * plans.LARGE, {"a": "\u4e2d" * 60_000}),
    "half of a pair": ("\ud800" * plans.LARGE, {"\ud800" * 60_000: 1}),
    "many fields": ("", {f"field{number}": "\x01" * 40 for number in range(400)}),
}


def run_through(the_plan: Plan, text: str, structured: Json) -> Plan:
    """The plan once each of its steps has given the same."""
    for one in the_plan.steps:
        given = plans.with_result(the_plan, one, text, structured)
        steps = tuple(given if other.id == one.id else other for other in the_plan.steps)
        the_plan = replace(the_plan, steps=steps)
    return the_plan


def all_taken(most: int) -> Plan:
    """A plan whose last step takes something of each before it."""
    steps = [step(f"s{number}") for number in range(most)]
    refs = {"all": "".join(f"{{steps.{one.id}.a}}" for one in steps)}
    return plan(*steps, having(step("last"), refs=refs))


@pytest.mark.parametrize("kind", WIDE)
@pytest.mark.parametrize("count", [30, 90])
def test_what_all_results_of_a_plan_take_as_stored_is_bounded(kind: str, count: int):
    """30 steps made a row of 13 MB, which each of them wrote anew and each list read whole."""
    full = run_through(all_taken(count), *WIDE[kind])
    results = [one.result for one in full.steps]
    stored = dumps(Json, results).encode()
    assert len(stored) <= plans.TOGETHER + 4 * count


@pytest.mark.parametrize("count", [30, 60])
def test_results_of_the_usual_size_are_kept_whole_however_many_there_are(count: int):
    given = {"a": "y" * 1_500, "id": 7}
    full = run_through(all_taken(count), "x" * 2_000, given)
    assert [one.result for one in full.steps] == [{"text": "x" * 2_000, **given}] * (count + 1)


def test_a_result_of_the_usual_size_is_kept_whole_after_large_ones():
    full = run_through(all_taken(29), *WIDE["text"])
    small = plans.with_result(full, full.steps[-1], "made a.md", {"id": 7})
    assert small.result == {"text": "made a.md", "id": 7}


def test_a_step_that_takes_what_was_not_kept_is_refused():
    full = run_through(all_taken(29), *WIDE["text"])
    assert "a" in full.steps[0].result
    assert full.steps[28].result == {}
    assert full.steps[28].text == plans.clipped("x" * plans.LARGE)  # people are still told how it begins
    with pytest.raises(plans.MissingResult, match=r"result of step \d+, and there is no “a” in it"):
        plans.fill_arguments(full, full.steps[-1])
    of_text = having(step("last"), refs={"content": "{steps.s28.text}"})
    with pytest.raises(plans.MissingResult, match="there is no “text” in it"):
        plans.fill_arguments(replace(full, steps=(*full.steps[:-1], of_text)), of_text)


def test_what_a_step_gave_before_counts_for_nothing_when_it_runs_again():
    full = run_through(all_taken(4), *WIDE["text"])
    first = full.steps[0]
    assert plans.with_result(full, first, *WIDE["text"]).result == first.result


def test_words_that_were_not_all_kept_are_known_as_such():
    full = run_through(all_taken(29), *WIDE["text"])
    assert {plans.is_shortened(one) for one in full.steps} == {True}
    assert not plans.is_shortened(plans.with_result(full, full.steps[-1], "made a.md", {"id": 7}))
    assert not plans.is_shortened(step("s1"))


# Plans from proposals


def planned(path: str, **more) -> ProposedStep:
    return ProposedStep(Call("desk", "write", {"path": path}), **more)


def test_places_become_ids():
    uses = planned("c", refs={"content": "{steps.1.x} and {steps.2.y[0]}"})
    steps, last = rebuilt_plan(plan(step("s4"), last=4), (planned("a"), planned("b"), uses))
    assert [one.id for one in steps] == ["s5", "s6", "s7"]
    assert steps[2].refs == {"content": "{steps.s5.x} and {steps.s6.y[0]}"}
    assert last == 7


def test_results_of_what_is_done_are_named_by_id_and_never_taken_for_a_place():
    before = plan(done("s1"), step("s2"), last=2)
    steps, _ = rebuilt_plan(before, (planned("a"), planned("b", refs={"content": "{steps.s1.x}"})))
    assert [one.id for one in steps] == ["s1", "s3", "s4"]
    assert steps[2].refs == {"content": "{steps.s1.x}"}


def test_a_step_that_is_kept_keeps_its_id_and_what_somebody_wanted_of_it():
    uses = having(step("s2", ask=True, note="slowly"), refs={"content": "{steps.s1.x}"})
    steps, last = rebuilt_plan(plan(done("s1"), uses, last=2), (planned("s2.md", step="s2"),))
    assert steps[1].id == "s2"
    assert (steps[1].ask, steps[1].note, steps[1].refs) == (True, "slowly", {"content": "{steps.s1.x}"})
    assert (steps[1].rules, last) == ("", 2)


def consents(before: Plan, *proposed: ProposedStep) -> dict[str, str]:
    """By the id of each step that is left, the consent to it."""
    steps, _ = rebuilt_plan(before, proposed)
    return {one.id: one.consent for one in steps if not one.is_finished}


def test_a_step_stays_approved_only_behind_all_that_stood_before_it():
    one, two, three = (having(step(name), consent="c", args={"path": name}) for name in ("s1", "s2", "s3"))
    before = plan(one, two, three, last=3)
    first, second, third = (planned(name, step=name) for name in ("s1", "s2", "s3"))
    assert consents(before, first, second, third) == dict.fromkeys(("s1", "s2", "s3"), "c")
    assert consents(before, first, planned("new"), second) == {"s1": "c", "s4": "", "s2": "c"}
    assert consents(before, third, second, first) == {"s3": "", "s2": "", "s1": "c"}
    assert consents(before, second, third) == {"s2": "", "s3": ""}
    assert consents(before, first, third) == {"s1": "c", "s3": ""}
    other = ProposedStep(Call("desk", "look", {"path": "s1"}), step="s1")
    assert consents(before, other, second)["s2"] == ""


def test_what_is_done_need_not_stand_before_a_step_that_is_approved_and_what_failed_has_to_as_it_was():
    left, second = having(step("s2"), consent="c", args={"path": "s2"}), planned("s2", step="s2")
    failed = having(step("s1"), state=StepState.FAILED, action="a", args={"path": "s1"})
    assert consents(plan(done("s1"), left, last=2), second) == {"s2": "c"}
    assert consents(plan(failed, left, last=2), second)["s2"] == ""
    assert consents(plan(failed, left, last=2), planned("s1", step="s1"), second)["s2"] == "c"
    assert consents(plan(failed, left, last=2), planned("other", step="s1"), second)["s2"] == ""


def test_naming_what_is_done_does_not_do_it_again():
    steps, _ = rebuilt_plan(
        plan(done("s1"), last=1), (planned("s1.md", step="s1"), planned("b", refs={"x": "{steps.1.y}"}))
    )
    assert [one.id for one in steps] == ["s1", "s2"]
    assert steps[1].refs == {"x": "{steps.s1.y}"}


def test_a_step_that_was_begun_is_another_try():
    failed = having(step("s1"), state=StepState.FAILED, action="a", consent="c")
    steps, _ = rebuilt_plan(plan(failed, last=1), (planned("s1.md", step="s1"),))
    assert (steps[0].attempt, steps[0].action, steps[0].consent) == (2, "", "")


def test_a_step_that_was_tried_is_found_again_by_its_call_where_a_planner_names_none():
    failed = having(step("s1"), state=StepState.FAILED, action="a", args={"path": "a"})
    before = plan(failed, having(step("s2"), args={"path": "b"}), last=2)
    steps, last = rebuilt_plan(before, (planned("b"), planned("a"), planned("a")))
    assert [(one.id, one.attempt) for one in steps] == [("s3", 1), ("s1", 2), ("s4", 1)]
    assert last == 4
    steps, _ = rebuilt_plan(before, (planned("a"), planned("a", step="s1")))
    assert [(one.id, one.attempt) for one in steps] == [("s3", 1), ("s1", 2)]


def test_one_step_cannot_be_kept_twice():
    steps, last = rebuilt_plan(plan(step("s1"), last=1), (planned("a", step="s1"), planned("b", step="s1")))
    assert ([one.id for one in steps], last) == (["s1", "s2"], 2)


# Plans changed by people


@given(st.permutations(range(5)))
def test_any_order_can_be_asked_for(order):
    left = [step(f"s{n}") for n in range(5)]
    changes = [StepChange(f"s{n}", place) for place, n in enumerate(order, 1)]
    assert [one.id for one in apply_changes(plan(*left), changes)] == [f"s{n}" for n in order]


@given(st.integers(0, 4), st.integers(1, 5))
def test_one_step_is_moved_and_the_others_close_up(which: int, place: int):
    left = [step(f"s{n}") for n in range(5)]
    found = [one.id for one in apply_changes(plan(*left), [StepChange(f"s{which}", place)])]
    assert found.index(f"s{which}") == place - 1
    assert [one for one in found if one != f"s{which}"] == [f"s{n}" for n in range(5) if n != which]


def test_what_is_over_stays_where_it_is():
    before = plan(done("s1"), step("s2"), step("s3"))
    assert [one.id for one in apply_changes(before, [StepChange("s3", 1)])] == ["s1", "s3", "s2"]
    with pytest.raises(BadChange, match="Step 1 is over"):
        apply_changes(before, [StepChange("s1", 1)])


def test_places_count_what_is_left_and_dropped_steps_leave_no_hole():
    left = [step(f"s{n}") for n in (1, 2, 3, 4)]
    changes = [StepChange("s2", 2, drop=True), StepChange("s1", 4)]
    assert [one.id for one in apply_changes(plan(*left), changes)] == ["s3", "s4", "s1"]


def test_the_arguments_of_a_plan_grow_no_further_together_than_is_written_at_each_change():
    """What is longer already, as of an earlier version, may become shorter."""

    def filled(length: int) -> Plan:
        calls = (StepCall("desk", "write", {"data": [1] * length}) for _ in range(6))
        return plan(*(replace(step(f"s{n}"), call=call) for n, call in enumerate(calls)))

    before, large = filled(20_000), filled(60_000)
    longer = StepChange("s5", 6, args={"data": [1] * 40_000})
    with pytest.raises(BadChange, match="longer than 400,000 characters together") as refused:
        apply_changes(before, [longer])
    assert refused.value.step == "s5"
    fits = apply_changes(before, [replace(longer, args={"data": [1] * 30_000})])
    assert len(fits[5].args["data"]) == 30_000
    assert apply_changes(large, [longer])
    assert apply_changes(large, [StepChange("s1", 1, note="with care")])


def test_a_step_that_ran_stays_in_its_plan_once_nobody_wants_it_any_more():
    ran = replace(step("s1"), run=StepRun(attempt=2, tries=(Try("a"),)))
    failed = having(step("s2"), state=StepState.FAILED, action="b", text="It failed.")
    may_have = replace(failed, id="s3", run=StepRun(action="c", tries=(Try("c"),)))
    before = plan(ran, failed, may_have, step("s4"), last=4)
    steps, _ = rebuilt_plan(before, (planned("s4.md", step="s4"),))
    assert [one.id for one in steps] == ["s1", "s3", "s4"]
    assert [one.text for one in steps] == ["It ran before, or may have.", "It failed.", ""]
    dropped = apply_changes(before, [StepChange("s1", 1, drop=True), StepChange("s2", 2, drop=True)])
    assert [(one.id, one.is_finished) for one in dropped] == [("s1", True), ("s3", False), ("s4", False)]
    assert plans.new_attempt(may_have).run == StepRun(attempt=2, tries=(Try("c"),))


def test_a_step_that_has_begun_takes_no_other_arguments():
    begun = having(step("s1"), state=StepState.ASKED, action="a")
    with pytest.raises(BadChange, match="has begun already") as refused:
        apply_changes(plan(begun), [StepChange("s1", 1, args={"path": "b"})])
    assert refused.value.step == "s1"
    (asks,) = apply_changes(plan(begun), [StepChange("s1", 1, ask=True, args=dict(begun.args))])
    assert asks.ask


# Words


def test_a_plan_is_counted_by_code():
    mixed = (done("s1"), replace(step("s2"), state=StepState.SKIPPED), step("s3"))
    assert plans.summary(plan(*mixed)) == "1 of 3 steps done, 1 skipped, 1 not begun: s1."
    assert plans.summary(plan(done("s1"))) == "1 of 1 step done: s1."
    tried = [replace(one, run=StepRun(attempt=2, tries=(Try("a"),))) for one in mixed]
    told = "1 of 3 steps done, 1 skipped, steps 2, 3 ran before, or may have: s1."
    assert plans.summary(plan(*tried)) == told
    many = plans.summary(plan(*[done(f"s{n}") for n in range(9)]))
    assert many.endswith("s4; 4 more.")


def test_where_an_instruction_is_taken_in():
    assert plans.applies_when(replace(task(plan()), plan=None)) == "for the plan"
    assert plans.applies_when(task(plan(done("s1"), step("s2")))) == "before step 2"
    assert plans.applies_when(task(plan(done("s1")))) == "after the last step"


# Which steps can begin


def test_a_step_begins_after_the_one_before_it_unless_it_names_others():
    chain = Plan(1, (step("s1"), step("s2"), step("s3")))
    assert [one.id for one in chain.ready] == ["s1"]
    begun = Plan(1, (step("s1", state=StepState.ASKED), step("s2"), step("s3", after=())))
    assert ([one.id for one in begun.ready], [one.id for one in begun.begun]) == (["s3"], ["s1"])
    joined = Plan(1, (step("s1", state=StepState.DONE), step("s2"), step("s3", after=("s1", "s2"))))
    assert [one.id for one in joined.ready] == ["s2"]
    over = tuple(replace(one, state=StepState.SKIPPED) for one in joined.steps[:2])
    assert [one.id for one in replace(joined, steps=(*over, joined.steps[2])).ready] == ["s3"]


def test_a_step_that_is_not_part_of_the_plan_any_more_keeps_nothing_waiting():
    assert [one.id for one in Plan(1, (step("s2", after=("s1",)),)).ready] == ["s2"]


def test_the_step_that_did_not_go_through_is_the_one_to_decide_on():
    doubted = step(
        "s2", origin=Origin("t", 0, 1), after=(), state=StepState.FAILED, confidence=Confidence(0.1)
    )
    current = Plan(0, (step("s1", state=StepState.ASKED), doubted)).current
    assert current is doubted
    refused = having(doubted, confidence=None)  # its planner deals with it
    assert (refused.is_finished, Plan(0, (refused,)).current) == (True, None)
