"""What is always gated is searched for in so much of a call; a call with more is always gated."""

from __future__ import annotations

from gate.arguments.pattern_search import MOST_SEARCHED
from gate.rules.action import CallClass, Decision, Json, Verdict
from gate.rules.always_gated import ALWAYS
from gate.rules.policy import Policy, Rule, decide
from gate.rules.tool import Hints, ToolSpec, Trust

SCRIPT = "\n".join(f"say 'line {number}: 100%25 done' || true" for number in range(1_000))


def judged(command: Json, *rules: Rule, tool: str = "run_command", argument: str = "command") -> Decision:
    spec = ToolSpec("s", tool, "Run", "", {}, "d", Hints(), Trust.DECLARED)
    return decide(Policy("p", rules=(*ALWAYS, *rules)), spec, {argument: command}, "C", lambda *_: False)


def test_a_short_script_that_destroys_nothing_is_not_on_the_always_gate_list() -> None:
    found = judged(SCRIPT[:2_000])
    assert (found.verdict, found.rule, found.always_gated) == (Verdict.TYPED, "commands", False)


def test_a_script_with_more_forms_than_are_searched_is_always_gated() -> None:
    assert len(SCRIPT) < MOST_SEARCHED < 4 * len(SCRIPT)
    found = judged(SCRIPT)
    assert (found.verdict, found.rule, found.always_gated) == (Verdict.TYPED, "long commands", True)


def test_what_is_found_in_a_long_script_is_named() -> None:
    assert judged(SCRIPT + "\nrm -r x").rule == "destructive shell commands"


def test_a_rule_of_an_operator_is_held_against_all_of_a_long_script() -> None:
    for text in (SCRIPT, SCRIPT + "\nhalt%61ll"):
        denied = judged(text, Rule("halts", ("*",), deny=True, texts=("haltall",)))
        assert (denied.verdict is Verdict.DENY) is text.endswith("%61ll")


def test_an_argument_that_is_a_command_makes_a_shell_of_any_tool() -> None:
    assert judged(SCRIPT, tool="create_x").rule == "long commands"


def test_a_long_text_for_another_tool_is_judged_as_ever() -> None:
    found = judged(SCRIPT, tool="create_x", argument="text")
    assert found.cls is not CallClass.READ
    assert found.rule != "long commands"
