"""The windows of a task, and what is read from them."""

import json
from dataclasses import replace

import pytest

from gate.rules.action import Ref
from gate.rules.plan_changes import apply_changes
from gate.rules.task import PauseReason, StepReview, StepState
from gate.rules.task_states import TaskState
from gate.rules.tool import ToolSpec
from tests.cpu_time import seconds
from tests.tasks import having
from tests.views.samples import MOVE, opened, parts, shown
from tests.views.task_samples import WHEN, WHICH, WHY, destroying, huge, long_plan, plan, step, task, unknown
from views import task_modals
from views.buttons import untagged
from views.edit_form import ANOTHER_TOOL, values
from views.edit_form import shown as shown_form
from views.task_form import ARGS, AWAY, KEEP, NOTE, PLACE, VALUE, block_of, changed

S = TaskState
TWO = plan(step(note="softly"), step("b", ask=True))


def as_shown(view):
    """What Slack sends when nothing was touched."""
    state = {}
    for block in parts(view["blocks"], "input"):
        element = block["element"]
        chosen = element.get("initial_option", {}).get("value", "")
        state[block["block_id"]] = {element["action_id"]: element.get("initial_value", chosen)}
    return state


def typed(of, **given):
    """The form of this plan with some inputs changed: `b_place="1"`."""
    state = as_shown(opened(task_modals.modify(task(plan=of), of, {})))
    by_id = {one.id: one for one in of.steps}
    for name, value in given.items():
        key, _, kind = name.partition("_")
        kind, _, argument = kind.partition("-")
        block = block_of(kind, by_id[key])
        state[f"{block}{AWAY}.{argument}" if argument else block] = {VALUE: value}
    return changed(of, state, {})


def test_every_window_is_accepted_and_says_what_it_is_about():
    of = task(questions=(WHICH, WHEN, WHY), asked=4, ends=2, plan=plan(version=7))
    for view, kind, number in (
        (task_modals.answers(of), "task_answer", 4),
        (task_modals.changes(of), "task_changes", 2),
        (task_modals.replan(of, of.plan), "plan_replan", 7),
        (task_modals.modify(of, of.plan, {}), "plan_modify", 7),
    ):
        opened(view)
        assert view["callback_id"] == kind
        tag, value = untagged(view["private_metadata"])
        ref = Ref.parse(value)
        assert (tag, ref.id, ref.version) == (kind, of.id, number)
    assert "submit" not in opened(task_modals.everything(of, of.plan))


def test_a_result_is_shown_to_be_changed_and_what_was_not_touched_is_not_read():
    seen = step("b", state=StepState.DONE, look=StepReview(3), result={"text": "moved", "n": 2})
    of = task(TaskState.PAUSED, why=PauseReason.REVIEW, pauses=3, plan=plan(seen))
    view = opened(task_modals.revise(of))
    assert untagged(view["private_metadata"]) == ("review_revise", f"{of.id}.3.0")
    inputs = {e["block_id"]: e["element"] for e in parts(view["blocks"], "input")}
    assert inputs["result.text"]["initial_value"] == "moved"
    form = task_modals.revised(of)
    assert values(shown_form(form), as_shown(view)).args == seen.result
    changed_to = values(
        shown_form(form), {**as_shown(view), "result.n": {"value": "3"}, "result.text": {"value": ""}}
    )
    assert changed_to.args == {"text": "", "n": 3}
    changed_before = replace(of, plan=plan(having(seen, result={"text": "x" * 4000})))
    assert task_modals.TOO_LONG in shown(opened(task_modals.revise(changed_before))["blocks"])


@pytest.mark.parametrize(
    ("undo", "told"), [("yes", "You can undo it afterwards."), ("no", "nothing to undo")]
)
def test_the_window_of_a_rejection_says_what_it_does(undo, told):
    seen = step("b", replace(MOVE, undo=undo), state=StepState.DONE, look=StepReview(1), action="a1")
    of = task(TaskState.PAUSED, why=PauseReason.REVIEW, pauses=1, plan=plan(seen))
    view = opened(task_modals.refuse(of))
    text = shown(view["blocks"])
    assert "dropped and the step counts as failed" in text
    assert told in text
    assert (
        task_modals.refuse(having(of, why=PauseReason.WISH))
        is task_modals.revise(having(of, pauses=2))
        is None
    )


def test_options_are_a_menu_and_the_rest_is_typed():
    view = opened(task_modals.answers(task(questions=(WHICH, WHEN, WHY))))
    fields = parts(view["blocks"], "input")
    assert [f["element"]["type"] for f in fields] == ["static_select", "plain_text_input", "plain_text_input"]
    assert [f["optional"] for f in fields] == [True, True, False]
    assert "I assume: archive" in shown(view["blocks"])


def test_an_untouched_form_changes_nothing():
    found = typed(TWO)
    assert found.errors == {}
    assert [(c.id, c.place, c.drop, c.ask, c.note, c.args) for c in found.changes] == [
        ("a", 1, False, False, "softly", None),
        ("b", 2, False, True, "", None),
    ]


def test_order_dropping_asking_notes_and_arguments_are_read():
    found = typed(
        TWO,
        **{
            "a_place": "2",
            "a_note": "",
            "b_place": "1",
            "b_keep": "drop",
            "b_note": "x",
            "a_args-source": "z",
        },
    )
    first, second = found.changes
    assert (first.place, first.note, first.args, first.drop) == (
        2,
        "",
        {**TWO.steps[0].args, "source": "z"},
        False,
    )
    assert (second.place, second.drop, second.ask, second.note) == (1, True, False, "x")


@pytest.mark.parametrize(
    ("given", "kind", "told"),
    [
        ({"a_place": "0"}, PLACE, "from 1 to 2"),
        ({"a_place": "3"}, PLACE, "from 1 to 2"),
        ({"a_place": "1.5"}, PLACE, "from 1 to 2"),
        ({"a_place": "²"}, PLACE, "from 1 to 2"),
        ({"a_place": ""}, PLACE, "from 1 to 2"),
        ({"a_keep": "drop", "b_keep": "drop"}, KEEP, "At least one step has to stay."),
    ],
)
def test_what_cannot_be_read_is_said_at_its_field_and_nothing_changes(given, kind, told):
    found = typed(TWO, **given)
    assert found.changes == ()
    assert list(found.errors) == [block_of(kind, TWO.steps[0])]
    assert told in found.errors[block_of(kind, TWO.steps[0])]


@pytest.mark.parametrize(
    ("raw", "told"),
    [("{", "not valid JSON"), ('[{"a": NaN}]', "NaN"), ('[{"a": 1, "a": 2}]', "twice")],
)
def test_an_argument_that_is_no_json_is_told_at_its_field(raw, told):
    of = plan(step(args={"rows": [{"k": 1}], "path": "a"}), step("b"))
    found = typed(of, **{"a_args-rows": raw})
    assert found.changes == ()
    (error,) = found.errors.items()
    assert error[0] == f"{block_of(ARGS, of.steps[0])}{AWAY}.rows"
    assert told in error[1]


def test_what_is_wrong_with_a_dropped_step_is_no_matter():
    assert typed(TWO, a_keep="drop", a_place="99").errors == {}


def test_an_argument_that_the_tool_knows_and_the_step_does_not_give_can_be_given():
    made = plan(step(args={"path": "a"}))
    schema = {
        "properties": {"path": {"type": "string"}, "mode": {"enum": ["fast", "safe"]}},
        "required": ["path"],
    }
    specs = {"a": ToolSpec("filesystem", "move_file", "", "", schema, "d")}
    state = as_shown(opened(task_modals.modify(task(plan=made), made, specs)))
    state[f"{block_of(ARGS, made.steps[0])}d.mode"] = {VALUE: "1"}
    assert changed(made, state, specs).changes[0].args == {"path": "a", "mode": "safe"}


@pytest.mark.parametrize("now", [{}, {"enum": ["safe", "fast"]}], ids=["away", "with other choices"])
def test_what_was_opened_with_another_tool_is_not_read(now):
    """A choice comes back as its place: untouched, “fast” was read as the text 0, or as “safe”."""
    made = plan(step(args={"mode": "fast"}))

    def specs(mode, definition):
        return {"a": ToolSpec("filesystem", "move_file", "", "", {"properties": {"mode": mode}}, definition)}

    state = as_shown(
        opened(task_modals.modify(task(plan=made), made, specs({"enum": ["fast", "safe"]}, "d1")))
    )
    found = changed(made, state, specs(now, "d2") if now else {})
    assert found.changes == ()
    assert found.errors == {f"{block_of(ARGS, made.steps[0])}d1.mode": ANOTHER_TOOL}
    assert ANOTHER_TOOL.endswith("please close this and open it again.")


def test_what_an_earlier_step_gives_can_be_written_instead():
    made = plan(destroying(), unknown())
    found = typed(made, **{"u_args-trash_id": "mine"})
    assert found.changes[1].args == {"deep": True, "trash_id": "mine"}
    assert "step 1 (trash_id) gives this. What you write here takes its place." in shown(
        task_modals.modify(task(plan=made), made, {})["blocks"]
    )


def of_references(kind, count=91):
    """The tool of twelve steps, with so many arguments that are one kind."""
    properties = {f"p{n}": {"$ref": "#/$defs/kind"} for n in range(count)}
    schema = {"properties": properties, "$defs": {"kind": kind}}
    made = plan(*(step(f"s{n}", args={"p0": "x"}) for n in range(12)))
    return made, {s.id: ToolSpec("filesystem", "move_file", "", "", schema, "d") for s in made.steps}


@pytest.mark.parametrize("count", [90, 91])
@pytest.mark.parametrize(
    "kind",
    [
        {"type": ["string", "null"], **{f"k{n}": 1 for n in range(4_000)}},
        {"enum": [["x" * 400] * 2] * 98},
        {"enum": [{"a": n} for n in range(98)]},
        {"anyOf": [{"type": "string"}] * 101},
        {"enum": [f"{'é' * 700}{n}" for n in range(66)]},
        {"type": "array", "items": {"enum": [f"{'é' * 600}{n}" for n in range(70)]}},
    ],
    ids=["keywords", "lists", "objects", "ways", "long texts", "lists of long texts"],
)
def test_the_forms_of_a_window_are_no_more_work_together_than_one_window_is_worth(kind, count):
    """Twelve of them took up to 8 s, to be opened and again to be read."""
    made, specs = of_references(kind, count)
    view = opened(task_modals.modify(task(plan=made), made, specs))
    found = changed(made, as_shown(view), specs)
    assert (found.errors, {one.args for one in found.changes}) == ({}, {None})
    assert seconds(lambda: task_modals.modify(task(plan=made), made, specs), 3, 0.15) < 0.15
    assert seconds(lambda: changed(made, {}, specs), 3, 0.15) < 0.15


def test_twelve_steps_of_an_ordinary_tool_with_many_arguments_keep_a_field_each():
    made, specs = of_references({"anyOf": [{"type": "string"}, {"type": "null"}]})
    view = opened(task_modals.modify(task(plan=made), made, specs))
    assert len(parts(view["blocks"], "input")) == 12 * 4


def test_steps_that_are_over_are_not_in_the_form_and_places_are_among_the_others():
    made = plan(step(state=StepState.DONE), step("b"), step("c"))
    assert [(c.id, c.place) for c in typed(made).changes] == [("b", 1), ("c", 2)]
    assert list(typed(made, c_place="3").errors.values()) == ["This must be a whole number from 1 to 2."]


def test_two_steps_cannot_be_put_at_one_place():
    made = plan(step(), step("b"), step("c"))
    assert typed(made, a_place="2", b_place="1").errors == {}
    found = typed(made, a_place="2", c_place="2")
    assert found.errors == {block_of(PLACE, made.steps[2]): "Another step is put at place 2 already."}


def test_what_was_read_is_what_the_gate_takes():
    made = plan(step(), step("b"), step("c"))
    found = typed(made, **{"c_place": "1", "b_keep": "drop", "a_note": "gently", "a_args-source": "z"})
    after = apply_changes(made, found.changes)
    assert [(s.id, s.note, dict(s.args)) for s in after] == [
        ("c", "", dict(made.steps[2].args)),
        ("a", "gently", {**made.steps[1].args, "source": "z"}),
    ]
    assert apply_changes(made, typed(made).changes) == made.steps


def test_thirty_steps_fit_without_their_arguments_and_that_is_said():
    made = long_plan()
    view = opened(task_modals.modify(task(plan=made), made, {}))
    assert "the arguments stay as they are" in shown(view["blocks"])
    assert [c.id for c in typed(made).changes] == [s.id for s in made.steps]
    most = long_plan(40)
    view = opened(task_modals.modify(task(plan=most), most, {}))
    assert "9 more steps would not fit" in shown(view["blocks"])
    assert len(typed(most).changes) == 31


def test_a_few_steps_fit_with_their_arguments():
    made = long_plan(18)
    found = typed(made, **{"s18_args-source": "x"})
    assert len(found.changes) == 18
    assert found.changes[-1].args == {**made.steps[-1].args, "source": "x"}


def test_arguments_too_long_for_an_input_stay():
    long = step(args={"content": "x" * 5_000})
    made = plan(long, step("b"))
    assert "too long for Slack's input" in shown(
        opened(task_modals.modify(task(plan=made), made, {}))["blocks"]
    )
    assert typed(made).changes[0].args is None


def test_blocks_of_a_step_do_not_move_with_its_place():
    made = plan(step("b"), step())
    assert block_of(NOTE, TWO.steps[0]) == block_of(NOTE, made.steps[1])
    assert block_of(NOTE, replace(TWO.steps[0], id="x" * 5_000)) != block_of(NOTE, TWO.steps[0])


@pytest.mark.parametrize("size", [10, 60_000, 1_000_000])
def test_a_whole_plan_of_any_size_can_be_opened(size):
    made = plan(*(huge(f"h{n}", size) for n in range(6)))
    view = opened(task_modals.everything(task(plan=made), made))
    assert len(json.dumps(view)) < 250_000
    assert ("x" * 2_000 in shown(view["blocks"])) == (size == 60_000)
    assert "6. Write long.md" in shown(view["blocks"])


@pytest.mark.parametrize(
    "args",
    [{"data": [1] * 30_000}, {"content": "a\u0301" * 9_000}, {f"k{i}": [*range(300)] for i in range(40)}],
    ids=["numbers", "marks", "lists"],
)
def test_the_window_of_a_plan_takes_no_time_for_arguments_that_do_not_fit(args):
    """Each of them was written out whole, in the form that an input would hold: 30 steps took 5 s."""
    of = plan(*(step(f"s{n}", args=args) for n in range(30)))
    assert seconds(lambda: task_modals.modify(task(plan=of), of, {}), 3, 0.3) < 0.3
    assert seconds(lambda: changed(of, {}, {}), 3, 0.3) < 0.3


def test_the_window_with_all_of_a_long_plan_is_written_out_once():
    """All steps so far were written out anew for each: 100 of 2 KB took 0.2 s."""
    of = plan(*(step(f"s{n}", replace(MOVE, diff="+x\n" * 700)) for n in range(100)))
    assert seconds(lambda: task_modals.everything(task(plan=of), of), 3, 0.1) < 0.1
