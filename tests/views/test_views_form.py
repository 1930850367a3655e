"""The edit form: what was shown comes back exactly, what was changed is read strictly."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.rules.action import Preview
from gate.rules.canonical_json import canonical
from gate.rules.previews import facts
from gate.rules.tool import Problem
from tests.cpu_time import seconds
from tests.views.samples import action, opened, parts
from views import modals
from views.edit_form import blocks, field_errors, shown, values
from views.form_fields import MOST_FIELDS, Form, Kind, same
from views.form_fields import block_of as block_of_path
from views.form_schemas import MOST_WORK, SchemaReader

TYPES = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "maxLength": 5000},
        {"type": "integer"},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "array", "items": {"type": "string"}},
        {"type": "array", "items": {"type": "object"}},
        {"type": "array", "items": {"enum": ["x", "y", 1, True]}},
        {"type": "object"},
        {"type": ["string", "null"]},
        {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        {"enum": ["a", "b", None, 1, 1.0, True]},
        {"oneOf": [{"const": "x"}, {"const": "y"}]},
        {"$ref": "#/$defs/mode"},
        {"allOf": [{"$ref": "#/$defs/mode"}], "description": "how"},
        {"$ref": "#/$defs/loop"},
        {"$ref": "https://elsewhere.example/schema"},
        {},
        True,
    ]
)
DEFS = {"mode": {"enum": ["fast", "safe"]}, "loop": {"$ref": "#/$defs/loop"}}
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=150)
    | st.sampled_from(
        [
            "",
            "a",
            "fast",
            "x",
            1,
            1.0,
            True,
            [],
            [""],
            ["a\nb"],
            ["x", "y"],
            ["y", "x"],
            ["x", "x"],
            [1, True],
            "a\r\nb",
            "tab\t",
            " ",
            "y" * 4000,
        ]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def state_of(made, **changes):
    """What stands in a form: each input as it was shown, but for the named changes; `a__b` is inside of `a`."""
    state = {}
    for block in made:
        if block["type"] != "input":
            continue
        element = block["element"]
        if element["type"] == "multi_static_select":
            answer = ",".join(option["value"] for option in element.get("initial_options", ()))
        elif "options" in element:
            answer = element.get("initial_option", {}).get("value", "")
        else:
            answer = element.get("initial_value", "")
        state[block["block_id"]] = {"value": answer}
    for name, value in changes.items():
        state[block_of(*name.split("__"))] = {"value": value}
    return state


def block_of(*path):
    return block_of_path(path)


def submitted(schema, args, bound=(), **changes):
    form = Form(schema, args, frozenset(bound))
    asked = shown(form)
    return values(asked, state_of(asked.blocks, **changes))


def fields_of(schema, args=None):
    return Form(schema, args or {}).fields(SchemaReader(schema))


def inputs(schema, args, bound=()):
    """Kind of input by block, as a reader of the modal meets them."""
    made = blocks(Form(schema, args, frozenset(bound)))
    return {b["block_id"]: b["element"]["type"] for b in made if b["type"] == "input"}


def one(schema, required=True):
    defs = {"size": {"type": "number"}}
    return {
        "type": "object",
        "properties": {"a": schema},
        "required": ["a"] if required else [],
        "$defs": defs,
    }


@pytest.mark.slow
@given(
    st.dictionaries(st.text(max_size=12), TYPES, max_size=8),
    st.dictionaries(st.text(max_size=12), VALUES, max_size=8),
    st.data(),
)
@settings(max_examples=150)
def test_a_form_submitted_unchanged_gives_the_arguments_back_byte_for_byte(properties, args, data):
    names = sorted({*properties, *args})
    args |= data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(properties, VALUES)))
    required = data.draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    bound = data.draw(st.sets(st.sampled_from(names))) if names else set()
    schema = {"properties": properties, "required": required, "$defs": DEFS}
    filled = submitted(schema, args, bound)
    assert filled.errors == {}
    assert canonical(filled.args) == canonical(args)
    asked = action(Preview("s", "v", facts(args)), args=canonical(args))
    opened(modals.edit(asked, Form(schema, args, frozenset(bound))))


@pytest.mark.parametrize(
    ("schema", "value", "element"),
    [
        ({"type": "string"}, "x", "plain_text_input"),
        ({"type": "string", "enum": ["x", "y"]}, "x", "radio_buttons"),
        ({"enum": [str(n) for n in range(90)]}, "7", "static_select"),
        ({"enum": [str(n) for n in range(200)], "type": "string"}, "7", "plain_text_input"),
        ({"type": "boolean"}, True, "radio_buttons"),
        ({"type": "integer"}, 3, "number_input"),
        ({"type": "number"}, 0.5, "number_input"),
        ({"type": "number"}, 1e-30, "plain_text_input"),
        ({"type": "array", "items": {"type": "string"}}, ["a", "b"], "plain_text_input"),
        ({"type": "object"}, {}, "plain_text_input"),
        ({"type": "array", "items": {"type": "object"}}, [{"k": 1}], "plain_text_input"),
        ({}, True, "radio_buttons"),
    ],
)
def test_each_type_has_its_input(schema, value, element):
    assert inputs(one(schema), {"a": value}) == {"arg.a": element}


@pytest.mark.parametrize(
    ("name", "schema", "value", "multiline"),
    [
        ("path", {"type": "string"}, "a.md", False),
        ("path", {"type": "string"}, "a\nb", True),
        ("path", {"type": "string"}, "x" * 101, True),
        ("path", {"type": "string", "maxLength": 201}, "a", True),
        ("content", {"type": "string"}, "a", True),
        ("paths", {"type": "array", "items": {"type": "string"}}, ["a"], True),
        ("any", {}, [{"k": 1}], True),
    ],
)
def test_long_text_has_room(name, schema, value, multiline):
    made = blocks(Form({"properties": {name: schema}}, {name: value}))
    assert parts(made, "plain_text_input")[0]["multiline"] is multiline


@pytest.mark.parametrize(
    ("schema", "old", "typed", "new"),
    [
        ({"type": "string"}, "a", "b", "b"),
        ({"type": "string"}, "a", " b ", " b "),
        ({"type": "string"}, "a", "", ""),
        ({"type": "integer"}, 1, "12", 12),
        ({"type": "number"}, 1, "0.5", 0.5),
        ({"type": "number"}, 1.5, "2", 2),
        ({"type": "array", "items": {"type": "string"}}, ["a"], "a\n\nb c\n", ["a", "b c"]),
        ({"type": "array", "items": {"type": "string"}}, ["a"], "", []),
        ({"type": "object"}, {}, '{"k": [2, null]}', {"k": [2, None]}),
        ({"type": ["string", "null"]}, "a", "", None),
        ({"type": ["string", "null"]}, None, "a", "a"),
        ({"type": "string"}, "a\u200b", '"b"', "b"),
        ({}, None, '"text"', "text"),
        ({}, 1, "2.5", 2.5),
        ({}, "a", "5", "5"),
        ({"type": "array", "items": {"type": "integer"}}, [1, 2], "3\n\n 4 ", [3, 4]),
        ({"type": "array", "items": {"$ref": "#/$defs/size"}}, [1, 2], "0.5", [0.5]),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "a", "b", "b"),
    ],
)
def test_what_is_typed_becomes_a_value_of_the_right_type(schema, old, typed, new):
    filled = submitted(one(schema), {"a": old}, a=typed)
    assert filled.errors == {}
    assert same(filled.args["a"], new)


@pytest.mark.parametrize(
    ("schema", "old", "typed", "words"),
    [
        ({"type": "integer"}, 1, "1.5", "whole number"),
        ({"type": "integer"}, 1, "12 apples", "must be a number"),
        ({"type": "number"}, 1, "１２", "must be a number"),
        ({"type": "number"}, 1, "1e5", "must be a number"),
        ({"type": "integer"}, 1, "", "needs a value"),
        ({"type": "array", "items": {"type": "integer"}}, [1], "1\n1.5", "whole number"),
        ({"type": "array", "items": {"type": "number"}}, [1], "one", "must be a number"),
        ({"type": "object"}, {}, '{"a": 1, "a": 2}', "twice"),
        ({"type": "object"}, {}, "{", "not valid JSON"),
        ({"type": "object"}, {}, "NaN", "not a JSON number"),
        ({"type": "object"}, {}, "[" * 2000, "nested more than"),
        ({"type": "object"}, {}, '1, "other": 2', "one JSON value"),
        ({"type": "object"}, {}, '1, "value": 2', "twice"),
        ({"type": "object"}, {}, '{"a": "\\ud800"}', "half of a character"),
        ({"type": "object"}, {}, "9" * 2000, "64 bits"),
        ({"enum": ["a", "b"]}, "a", "7", "one of the options"),
        ({"enum": ["a", "b"]}, "a", "²", "one of the options"),
        ({"enum": ["a", "b"]}, "a", "", "one of the options"),
    ],
)
def test_what_cannot_be_read_is_told_at_its_field(schema, old, typed, words):
    filled = submitted(one(schema), {"a": old}, a=typed)
    assert list(filled.errors) == ["arg.a"]
    assert words in filled.errors["arg.a"]


def test_an_empty_optional_field_stays_absent_and_an_empty_text_stays_empty():
    schema = one({"type": "string"}, required=False)
    assert submitted(schema, {}).args == {}
    assert submitted(schema, {"a": ""}).args == {"a": ""}
    assert submitted(schema, {"a": "x"}, a="").args == {}


def test_an_optional_choice_can_be_left_out_again():
    schema = one({"type": "boolean"}, required=False)
    made = parts(blocks(Form(schema, {"a": True})), "radio_buttons")[0]
    labels = [o["text"]["text"] for o in made["options"]]
    assert labels == ["Yes", "No", "(leave out)"]
    assert submitted(schema, {"a": True}, a="2").args == {}
    assert submitted(schema, {"a": True}, a="1").args == {"a": False}


SIZES = {"type": "array", "items": {"type": "string", "enum": ["s", "m", "l"]}}


def test_some_of_named_values_are_chosen_in_a_menu():
    schema = {"properties": {"sizes": SIZES}, "required": ["sizes"]}
    (block,) = blocks(Form(schema, {"sizes": ["s", "l"]}))
    assert block["element"]["type"] == "multi_static_select"
    assert [option["text"]["text"] for option in block["element"]["initial_options"]] == ["s", "l"]
    assert submitted(schema, {"sizes": ["s", "l"]}, sizes="2,1").args == {"sizes": ["m", "l"]}
    assert submitted(schema, {"sizes": ["s", "l"]}, sizes="").args == {"sizes": []}
    assert submitted(schema, {"sizes": ["s"]}, sizes="0,3").errors == {
        block_of("sizes"): "Please choose one of the options."
    }


@pytest.mark.parametrize("given", [["l", "s"], ["s", "s"], ["xl"]])
def test_a_list_that_a_menu_cannot_hold_exactly_has_lines(given):
    (block,) = blocks(Form({"properties": {"sizes": SIZES}}, {"sizes": given}))
    assert block["element"]["initial_value"] == "\n".join(given)


def test_a_titled_form_shows_titles_for_names_and_choices():
    size = {"title": "Size of it", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l"}]}
    (block,) = blocks(Form({"properties": {"size": size}, "required": ["size"]}, {}, titled=True))
    assert block["label"]["text"] == "Size of it"
    assert [option["text"]["text"] for option in block["element"]["options"]] == ["Small", "l"]


def test_values_longer_than_an_option_can_be_are_chosen_by_index():
    long = "v" * 3000
    schema = one({"enum": [long, "short"]})
    assert len(parts(blocks(Form(schema, {"a": "short"})), "radio_buttons")[0]["options"]) == 2
    assert submitted(schema, {"a": "short"}, a="0").args == {"a": long}


def test_a_value_too_long_for_slack_is_shown_as_such_and_kept():
    args = {"content": "x" * 3001, "path": "a"}
    schema = {"properties": {"path": {"type": "string"}, "content": {"type": "string"}}}
    assert list(inputs(schema, args)) == ["arg.path"]
    assert "too long for Slack's input" in json.dumps(blocks(Form(schema, args)))
    assert submitted(schema, args, path="b").args == {"content": "x" * 3001, "path": "b"}


def test_bound_parameters_are_neither_asked_for_nor_changed():
    schema = {"properties": {"path": {"type": "string"}, "expected_hash": {"type": "string"}}}
    args = {"path": "a", "expected_hash": "h"}
    assert list(inputs(schema, args, {"expected_hash"})) == ["arg.path"]
    assert submitted(schema, args, {"expected_hash"}, path="b").args == {"path": "b", "expected_hash": "h"}


def test_arguments_that_the_schema_does_not_name_can_be_edited_too():
    assert submitted({"properties": {}}, {"extra": 1}, extra="2").args == {"extra": 2}


EVENT = {
    "properties": {
        "title": {"type": "string"},
        "place": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "room": {"type": "integer"}},
            "required": ["city"],
        },
        "alarm": {"anyOf": [{"$ref": "#/$defs/alarm"}, {"type": "null"}]},
    },
    "required": ["title", "place"],
    "$defs": {"alarm": {"type": "object", "properties": {"minutes": {"type": "integer"}}}},
}


def test_an_object_is_asked_for_by_its_fields_and_not_as_json():
    args = {"title": "Lunch", "place": {"city": "Köln", "room": 7, "floor": "2nd"}}
    made = blocks(Form(EVENT, args))
    assert "JSON" not in json.dumps(made)
    assert [(b["label"]["text"], b["optional"]) for b in made] == [
        ("title", False),
        ("place.city", False),
        ("place.room", True),
        ("place.floor", True),
        ("alarm.minutes", True),
    ]
    filled = submitted(EVENT, args, place__city="Bonn", place__room="", alarm__minutes="15")
    assert filled.errors == {}
    assert filled.args == {
        "title": "Lunch",
        "place": {"city": "Bonn", "floor": "2nd"},
        "alarm": {"minutes": 15},
    }
    wrong = submitted(EVENT, args, place__room="seven")
    assert list(wrong.errors) == [block_of("place", "room")]


def test_an_object_of_which_nothing_is_left_goes_where_it_need_not_be():
    args = {"title": "Lunch", "place": {"city": "Köln"}, "alarm": {"minutes": 5}}
    assert submitted(EVENT, args, alarm__minutes="").args == {"title": "Lunch", "place": {"city": "Köln"}}


def test_an_object_of_which_nothing_is_left_stays_where_it_has_to_be():
    labels = {"type": "object", "properties": {"env": {"type": "string"}}}
    inner = {"type": "object", "properties": {"labels": labels}, "required": ["labels"]}
    schema = {"properties": {"name": {"type": "string"}, "spec": inner}, "required": ["name", "spec"]}
    args = {"name": "x", "spec": {"labels": {"env": "prod"}}}
    assert submitted(schema, args, spec__labels__env="").args == {"name": "x", "spec": {"labels": {}}}
    optional = {**schema, "required": ["name"]}
    kept = submitted(optional, args, spec__labels__env="").args
    assert kept == {"name": "x", "spec": {"labels": {}}}, "its own object asks for it"


def test_a_broken_rule_inside_of_an_object_comes_back_at_its_field():
    problems = [Problem(("place", "room"), "too high"), Problem(("alarm",), "no alarm here")]
    found = field_errors(shown(Form(EVENT, {"title": "Lunch"})), problems)
    assert found == {block_of("place", "room"): "too high", block_of("alarm", "minutes"): "no alarm here"}


def test_a_name_with_a_dot_and_a_name_inside_of_an_object_have_fields_of_their_own():
    args = {"a.b": "outside", "a": {"b": "inside"}}
    assert submitted({}, args, a__b="changed").args == {"a.b": "outside", "a": {"b": "changed"}}
    assert submitted({}, args, **{"a.b": "changed"}).args == {"a.b": "changed", "a": {"b": "inside"}}


def test_a_small_schema_that_stands_for_millions_of_fields_costs_no_time():
    deep = {"type": "object", "properties": {f"p{n}": {"$ref": "#/$defs/deep"} for n in range(80)}}
    schema = {"properties": {"a": {"$ref": "#/$defs/deep"}}, "$defs": {"deep": deep}}
    (block,) = blocks(Form(schema, {}))
    assert block["block_id"] == "arg.a"
    assert len(fields_of(schema)) == MOST_FIELDS + 1


@pytest.mark.parametrize(
    "odd", [{"properties": 7}, {"required": 7}, {"type": [{}]}, {"items": 7}, {"anyOf": [7]}]
)
def test_what_is_no_schema_behind_a_reference_is_asked_for_in_some_way(odd):
    schema = {**one({"$ref": "#/odd"}), "odd": {"type": "object", **odd}}
    for args in ({}, {"a": {"k": 1}}, {"a": ["x"]}, {"a": None}):
        assert submitted(schema, args).args == args


@pytest.mark.parametrize("reference", ["#/$defs/%79", "#y", "$defs/y"])
def test_a_form_asks_for_no_choice_that_the_validator_does_not_know(reference):
    hidden = {"type": "array", "items": {"enum": list(range(100))}}
    schema = {**one({"$ref": reference}), "$defs": {"y": True, "%79": hidden}, **hidden}
    (field,) = fields_of(schema, {"a": [99]})
    assert (field.kind, field.choices) == (Kind.NUMBERS, ())


NUMBERS_AND_A_LIST = [[0] * 9_000, 1]


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ({"type": "array", "items": {"enum": list(range(100))}}, [99] * 9_990),
        ({"enum": list(range(9_000))}, ["abc"] * 9_000),
        ({"type": "array", "items": {"enum": NUMBERS_AND_A_LIST}}, [1]),
        ({"anyOf": [{"$ref": "#/$defs/c0"}] * 200}, "x"),
        ({"enum": [[n] for n in range(98)]}, [1] * 29_000),
    ],
    ids=["many items", "many choices", "a list in a list", "many ways", "a list among lists"],
)
def test_what_many_fields_may_be_is_compared_in_bounded_time(part, value):
    steps = {f"c{n}": {"$ref": f"#/$defs/c{n + 1}"} for n in range(14)}
    properties = {f"p{n}": {"$ref": "#/$defs/part"} for n in range(85)}
    schema = {"properties": properties, "$defs": {"part": part, **steps, "c14": {}}}
    args = {f"p{n}": value for n in range(1 if len(str(value)) > 1_000 else 85)}
    assert seconds(lambda: shown(Form(schema, args)), 2, 0.1) < 0.1


LARGE_BY_REFERENCES = {
    "choices": {"u": {"anyOf": [{"$ref": "#/$defs/e"}] * 100}, "e": {"enum": [1] * 4_400}},
    "lists to choose": {"u": {"enum": [["x" * 400] * 2] * 98}},
    "long texts": {"u": {"enum": [f"{'é' * 700}{n}" for n in range(66)]}},
    "ways": {"u": {"anyOf": [{"type": "string"}] * 4_500}},
    "references that lead nowhere": {"u": {"anyOf": [{"$ref": "#/" + "x/" * 149}] * 101}},
    "a long name": {"u": {"type": "object", "properties": {"n" * 80_000: {"type": "string"}}}},
    "required names": {"u": {"type": "string"}, "n": [f"{n:05d}" for n in range(4_500)]},
}


@pytest.mark.parametrize("defs", LARGE_BY_REFERENCES.values(), ids=LARGE_BY_REFERENCES)
def test_a_form_looks_at_no_more_than_it_may_however_much_its_references_stand_for(defs):
    schema = {"properties": {f"p{n}": {"$ref": "#/$defs/u"} for n in range(90)}, "$defs": defs}
    schema["required"] = defs.get("n", [])
    form = shown(Form(schema, {"p0": 1}))
    assert form.work <= MOST_WORK
    assert values(form, state_of(form.blocks)).args == {"p0": 1}
    assert seconds(lambda: shown(Form(schema, {"p0": 1})), 3, 0.1) < 0.1


def test_an_ordinary_form_is_far_from_the_work_that_it_may_be():
    kinds = {"mode": {"enum": ["a", "b"]}, "to": {"anyOf": [{"type": "string"}, {"type": "null"}]}}
    schema = {"properties": {f"p{n}": {"$ref": f"#/$defs/{'mode' if n % 2 else 'to'}"} for n in range(90)}}
    form = shown(Form({**schema, "$defs": kinds}, {}))
    assert len(form.fields) == 90
    assert form.work < MOST_WORK / 10


def test_too_many_fields_become_one_of_json():
    schema = {"properties": {f"p{n}": {"type": "string"} for n in range(120)}}
    args = {"p1": "a", "hash": "h"}
    form = Form(schema, args, frozenset({"hash"}))
    made = blocks(form)
    assert len(made) == 1
    state = state_of(made)
    assert values(shown(form), state).args == args
    state["args"] = {"value": '{"p2": "b"}'}
    assert values(shown(form), state).args == {"p2": "b", "hash": "h"}
    state["args"] = {"value": "[1]"}
    assert "one JSON object" in values(shown(form), state).errors["args"]


def test_a_schema_too_large_for_a_modal_becomes_one_field_of_json():
    words = {"enum": [f"{n} {'é' * 60}" for n in range(90)]}
    schema = {"properties": {f"p{n}": words for n in range(80)}}
    args = {"p1": words["enum"][1]}
    view = opened(modals.edit(action(args=canonical(args)), Form(schema, args)))
    assert [b["block_id"] for b in parts(view, "input")] == ["args"]
    assert submitted(schema, args).args == args


def test_names_of_any_kind_have_a_short_block_of_their_own():
    names = ["a", "a b", "é", "\ud800", "x" * 300, "x" * 301, "", "arg#"]
    ids = [block_of(name) for name in names]
    assert len(set(ids)) == len(names)
    assert max(map(len, ids)) <= 255


def test_the_description_is_a_hint_and_the_name_is_the_label():
    schema = one({"type": "string", "title": "Harmless", "description": "Where to write"})
    block = blocks(Form(schema, {"a": "x"}))[0]
    assert block["label"]["text"] == "a"
    assert block["hint"]["text"] == "Where to write"


def test_an_input_that_nobody_sent_keeps_its_value():
    assert values(shown(Form(one({"type": "string"}), {"a": "x"})), {}).args == {"a": "x"}


def test_broken_rules_of_the_schema_come_back_at_their_fields():
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "string"}}}}
    problems = [Problem(("b", 0), "must not be empty"), Problem(("b",), "second"), Problem((), "too few")]
    assert field_errors(shown(Form(schema, {})), problems) == {
        "arg.b": "must not be empty",
        "arg.a": "too few",
    }
    assert field_errors(shown(Form({"properties": {}}, {})), problems) == {}


def test_a_form_without_any_input_has_no_submit():
    args = {"content": "x" * 4000}
    view = opened(modals.edit(action(args=canonical(args)), Form(one({"type": "string"}), args)))
    assert "submit" in view
    alone = {"properties": {"content": {"type": "string"}}}
    assert "submit" not in opened(modals.edit(action(args=canonical(args)), Form(alone, args)))


@pytest.mark.parametrize(
    ("name", "schema", "old", "optional"),
    [
        ("path", {"type": "string"}, "a.md", False),
        ("path", {"type": "string"}, "", True),
        ("content", {"type": "string"}, "a", True),
        ("paths", {"type": "array", "items": {"type": "string"}}, ["a"], True),
        ("owner", {"type": ["string", "null"]}, "a", True),
        ("count", {"type": "integer"}, 1, False),
        ("mode", {"enum": ["a", "b"]}, "a", False),
    ],
)
def test_slack_insists_on_an_answer_only_where_an_empty_one_would_be_none(name, schema, old, optional):
    made = blocks(Form({"properties": {name: schema}, "required": [name]}, {name: old}))
    assert made[0]["optional"] is optional


def test_fields_know_what_is_required():
    schema = {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a"]}
    assert [f.required for f in fields_of(schema)] == [True, False]
    assert [b["optional"] for b in blocks(Form(schema, {}))] == [False, True]
