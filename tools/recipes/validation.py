"""Checks recipes against the schemas of the tools that they name, and results by the rules of a recipe."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gate.arguments.declared_targets import Targets
from gate.arguments.unicode_safety import quoted
from gate.rules.action import Action, CallClass, Json
from gate.rules.canonical_json import parse
from gate.rules.confidence import Judgement, judgement
from gate.rules.ports import Tools
from gate.rules.task import Step, Task
from gate.rules.templates import PLACEHOLDER, TemplateError, expand, names
from gate.rules.tool import Expect, Read, Recipe
from tools.mcp.schema_fast_path import matches

READ_FIELDS = {"text", "error"}  # of every result, beside its structured fields
JUDGE_NAME = "the recipe's rule"
CERTAIN = 1.0  # confidence of a rule that holds
MAX_SHOWN = 60  # characters of a value
FAILURE_WORDS = {
    "equals": "not",
    "contains": "without",
    "matches": "not of the form",
    "least": "below",
    "most": "above",
}


@dataclass(frozen=True, slots=True)
class ToolSchemas:
    """The input schema of a tool, and its output schema where it declares one."""

    input_schema: Mapping[str, Json]
    output_schema: Mapping[str, Json] | None


def recipe_problems(recipe: Recipe, tool: str, schemas: Mapping[str, ToolSchemas]) -> list[str]:
    """Everything in the recipe that would fail when it is used; `schemas` are the tools of the same server."""
    return [*_Validator(recipe, schemas[tool], schemas).problems()]


@dataclass(frozen=True, slots=True)
class _Validator:
    recipe: Recipe
    tool_schemas: ToolSchemas
    schemas: Mapping[str, ToolSchemas]

    def problems(self) -> Iterator[str]:
        recipe, show = self.recipe, self.recipe.show
        captured: list[str] = []
        for name, read in recipe.capture.items():
            yield from self._call_problems(f"capture.{name}", read.tool, read.args)
            yield from self._template_problems(f"capture.{name}.args", read.args, captured, with_bound=False)
            yield from self._each_problems(f"capture.{name}.each", read, captured)
            captured.append(name)
        for key, template in recipe.bind.items():
            if key not in _properties(self.tool_schemas.input_schema):
                yield f"`bind.{key}` is no parameter of the tool"
            yield from self._template_problems(f"bind.{key}", template, captured, with_bound=False)
        templates = {
            "summary": recipe.summary,
            "noun": recipe.noun,
            "recoverable": recipe.recoverable,
            "notifies": recipe.notifies,
            "preview.items": show.items,
            "preview.after": show.after,
            "preview.path": show.path,
            "preview.before": show.before,
        }
        for place, one in enumerate(recipe.summaries):
            key = f"summaries[{place}]"
            templates |= {f"{key}.when": one.when, f"{key}.unless": one.unless, f"{key}.summary": one.summary}
        for key, template in templates.items():
            yield from self._template_problems(key, template, captured)
        for name in (*show.says, *show.of):
            if name not in _properties(self.tool_schemas.input_schema):
                yield f"`preview` names `{name}`, which is no parameter of the tool"
        yield from self._target_problems(captured)
        yield from self._result_problems(captured)

    def _target_problems(self, captured: list[str]) -> Iterator[str]:
        """Every target has to be an argument of the tool, and every report a template."""
        targets = self.recipe.targets or Targets()
        properties = _properties(self.tool_schemas.input_schema)
        left_out = [one.partition("=") for one in targets.left_out]
        names = (*targets.paths, *targets.looks, *targets.addresses, *targets.ids, *targets.nested)
        for name in (*names, *(name for name, _, _ in left_out)):
            if name.partition(".")[0].removesuffix("[]") not in properties:
                yield f"`targets` names `{name}`, which is no parameter of the tool"
        for template in (one for one in targets.found if "{" in one):
            yield from self._template_problems("targets.found", template, [], with_result=True)
        for template in targets.below:
            yield from self._template_problems("targets.below", template, [], always_present=False)
        told = tuple(template for _, _, template in left_out)
        for key, templates in (
            ("reported", targets.reported),
            ("reported_in", targets.reported_in),
            ("left_out", told),
        ):
            for template in templates:
                yield from self._template_problems(f"targets.{key}", template, captured)
        for place, one in enumerate(self.recipe.raises):
            yield from self._template_problems(f"raise_if[{place}]", one.when, captured, always_present=False)
        for name, template in self.recipe.reported_as.items():
            yield from self._template_problems(f"reported_as.{name}", template, captured)

    def _each_templates(self) -> set[str]:
        """The templates that may name `{each}`."""
        return {f"capture.{name}.args" for name, read in self.recipe.capture.items() if read.each}

    def _each_problems(self, key: str, read: Read, captured: list[str]) -> Iterator[str]:
        if read.each is None:
            return
        yield from self._template_problems(f"{key}.text", read.each.text, captured, with_bound=False)
        output_schema = self._output_schema(read.tool)
        for path in sorted(_paths(read.each.take)):
            placeholder = "{" + ".".join(path) + "}"
            if path[0] != "read":
                yield f"`{key}.take` names {placeholder}: there is only {{read…}}, the answer"
            yield from _field_problems(f"{key}.take", placeholder, path[1:2], output_schema, read.tool)

    def _result_problems(self, captured: list[str]) -> Iterator[str]:
        """Problems of undo, drift, follow and expectations, whose templates may also name the result."""
        for index, undo in enumerate(self.recipe.undo):
            yield from self._call_problems(f"undo[{index}]", undo.tool, undo.args)
            yield from self._template_problems(f"undo[{index}].args", undo.args, captured, with_result=True)
            for condition in (undo.when, undo.unless):  # may name an absent argument: then it is false
                yield from self._template_problems(
                    f"undo[{index}]", condition, captured, with_result=True, always_present=False
                )
        if follow := self.recipe.follow:
            yield from self._call_problems("follow", follow.read.tool, follow.read.args)
            yield from self._template_problems("follow.args", follow.read.args, captured, with_result=True)
            yield from self._template_problems("follow.title", follow.title, captured, with_result=True)
        drift = self.recipe.drift
        if drift:
            yield from self._call_problems("drift", drift.read.tool, drift.read.args)
            yield from self._template_problems("drift.args", drift.read.args, captured, with_result=True)
            output_schema = self._output_schema(drift.read.tool)
            for field, template in drift.same.items():
                if output_schema is not None and field.split(".")[0] not in {
                    *_properties(output_schema),
                    *READ_FIELDS,
                }:
                    yield f"`drift.same.{field}` is not in what {drift.read.tool} gives"
                yield from self._template_problems(
                    f"drift.same.{field}", template, captured, with_result=True
                )

        for index, expect in enumerate(self.recipe.expect):
            for key, template in (("that", expect.that), *expect.tests.items()):
                if key != "matches":
                    yield from self._template_problems(
                        f"expect[{index}].{key}", template, captured, with_result=True
                    )

    def _output_schema(self, tool: str) -> Mapping[str, Json] | None:
        return self.schemas[tool].output_schema if tool in self.schemas else None

    def _call_problems(self, key: str, tool: str, args: Mapping[str, Json]) -> Iterator[str]:
        """Problems of a call of another tool: it has to exist, and to get exactly the arguments that it needs."""
        if tool not in self.schemas:
            yield f"`{key}` names the tool {tool}, which this server does not have"
            return
        input_schema = self.schemas[tool].input_schema
        for name in args.keys() - _properties(input_schema) if _properties(input_schema) else ():
            yield f"`{key}` gives {tool} an argument `{name}`, which it does not take"
        for name in _required(input_schema) - args.keys():
            yield f"`{key}` does not give {tool} the argument `{name}`, which it needs"

    def _template_problems(
        self,
        key: str,
        template: Json,
        captured: list[str],
        *,
        with_result: bool = False,
        with_bound: bool = True,
        always_present: bool = True,
    ) -> Iterator[str]:
        try:
            paths = sorted(names(template))
        except TemplateError as error:
            yield f"`{key}`: {error}"
            return
        for text in _template_strings(template):
            if set("{}") & set(PLACEHOLDER.sub("", text)):
                yield f"`{key}` has a placeholder that cannot be read: {text}"
        for path in paths:
            placeholder = "{" + ".".join(path) + "}"
            if path == ("each",) and key in self._each_templates():
                continue
            if path == ("args",) and not (with_bound and self.recipe.bind):
                continue  # all arguments as one object, where none is bound yet: a read may preview the whole call
            if path[0] == "args" and len(path) > 1:
                yield from self._argument_problems(key, placeholder, path[1], with_bound, always_present)
            elif path[0] == "capture" and len(path) > 1:
                yield from self._capture_problems(key, placeholder, path, captured)
            elif path[0] == "result" and with_result:
                yield from _field_problems(
                    key, placeholder, path[1:2], self.tool_schemas.output_schema, "the tool"
                )
            else:
                yield f"`{key}` names {placeholder}, which is not known there"

    def _argument_problems(
        self, key: str, placeholder: str, name: str, with_bound: bool, always_present: bool
    ) -> Iterator[str]:
        input_schema = self.tool_schemas.input_schema
        if _properties(input_schema) and name not in _properties(input_schema):
            yield f"`{key}` names {placeholder}, which is no parameter of the tool"
        elif name in self.recipe.bind:
            if not with_bound:
                yield f"`{key}` names {placeholder}, which is only bound after it"
        elif always_present and self.recipe.cls is not CallClass.READ and name not in _required(input_schema):
            yield f"`{key}` names {placeholder}, which may be left out of a call"

    def _capture_problems(
        self, key: str, placeholder: str, path: tuple[str, ...], captured: list[str]
    ) -> Iterator[str]:
        if path[1] not in captured:
            yield f"`{key}` names {placeholder}, but nothing is captured before it under that name"
            return
        tool = self.recipe.capture[path[1]].tool
        output_schema = self._output_schema(tool)
        if self.recipe.capture[path[1]].each:
            output_schema = {"properties": {"items": {}}}
        yield from _field_problems(key, placeholder, path[2:3], output_schema, tool)


def _field_problems(
    key: str, placeholder: str, field: tuple[str, ...], output_schema: Mapping[str, Json] | None, tool: str
) -> Iterator[str]:
    if output_schema is None or not field or field[0] in READ_FIELDS or not _properties(output_schema):
        return
    if field[0] not in _properties(output_schema):
        yield f"`{key}` names {placeholder}, which is not in what {tool} gives"


def _properties(schema: Mapping[str, Json]) -> set[str]:
    return set(schema.get("properties") or ())


def _required(schema: Mapping[str, Json]) -> set[str]:
    return set(schema.get("required") or ())


def _paths(template: Json) -> set[tuple[str, ...]]:
    try:
        return names(template)
    except TemplateError:
        return set()


def _template_strings(template: Json) -> Iterator[str]:
    if isinstance(template, str):
        yield template
    elif isinstance(template, Mapping):
        for value in template.values():
            yield from _template_strings(value)
    elif isinstance(template, list | tuple):
        for value in template:
            yield from _template_strings(value)


class RuleJudge:
    """Implements gate.rules.ports.Judge: reads nothing but the action and the recipe."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def judge(self, task: Task, step: Step, action: Action) -> Judgement | None:
        """The judgement by the recipe's rules; None where it has none, or none applies."""
        spec = self._tools.find(action.server, action.tool)
        return judge_by_rules(spec.recipe.expect, action) if spec is not None else None


def judge_by_rules(rules: Sequence[Expect], action: Action) -> Judgement | None:
    """The worst verdict of all rules that apply; None where none does."""
    scope = _scope(action)
    verdicts = [one for one in (_verdict(rule, scope) for rule in rules) if one is not None]
    for verdict in ("failed", "doubtful"):
        failures = [why for verdict_of_rule, why in verdicts if verdict_of_rule == verdict]
        if failures:
            return judgement(verdict, "; ".join(failures), JUDGE_NAME)
    return judgement("passed", "", JUDGE_NAME, CERTAIN) if verdicts else None


def _scope(action: Action) -> dict[str, Json]:
    """The values that templates may name, as for undo and drift."""
    outcome = action.outcome
    fields = outcome.structured if outcome and isinstance(outcome.structured, dict) else {}
    result = {"text": outcome.text if outcome else "", **fields}
    return {"args": parse(action.args), "capture": action.capture, "result": result}


def _verdict(rule: Expect, scope: Mapping[str, Json]) -> tuple[str, str] | None:
    """The verdict of one rule, and why. None where it compares with a value that this call does not have."""
    try:
        value = expand(rule.that, scope)
    except TemplateError:
        return rule.verdict, rule.why or f"there is no {rule.that}"
    failures: list[str] = []
    for test, template in rule.tests.items():
        try:
            expected = template if test == "matches" else expand(template, scope)
        except TemplateError:
            return None
        if not TESTS[test](value, expected):
            failures.append(f"{rule.that} is {_shown(value)}, {FAILURE_WORDS[test]} {_shown(expected)}")
    return (rule.verdict, rule.why or "; ".join(failures)) if failures else ("passed", "")


def _shown(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"“{quoted(text, MAX_SHOWN)}”"


def _equal(value: Json, expected: Json) -> bool:
    """Equality as in JSON: 1 and 1.0 are one number, 1 and true are not equal."""
    return isinstance(value, bool) == isinstance(expected, bool) and bool(value == expected)


def _contains(value: Json, expected: Json) -> bool:
    if isinstance(value, str):
        return isinstance(expected, str) and expected in value
    return isinstance(value, list) and any(_equal(one, expected) for one in value)


def _matches(value: Json, pattern: Json) -> bool:
    return isinstance(value, str) and bool(matches(str(pattern), value))


def _number(value: Json) -> float:
    """The number, or NaN, which is neither above nor below anything."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


TESTS: Mapping[str, Callable[[Json, Json], bool]] = {
    "equals": _equal,
    "contains": _contains,
    "matches": _matches,
    "least": lambda value, minimum: _number(value) >= _number(minimum),
    "most": lambda value, maximum: _number(value) <= _number(maximum),
}
