"""The policy file: strict about its form, true to what it says, and never shorter than the always-gate list."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from bot import policy_file
from bot.policy_file import load_policy, trusted
from gate.arguments.declared_targets import Targets
from gate.rules.action import CallClass, Decision, Json, Verdict
from gate.rules.always_gated import ALWAYS
from gate.rules.approvers import Approvers
from gate.rules.policy import Policy, decide
from gate.rules.reviews import Phase, Review
from gate.rules.tool import Recipe, ToolSpec, Trust
from tools.mcp.schema import problems
from tools.mcp.server_config import ServerConfig
from tools.strict_config import ConfigError, Section

ROOT = Path(__file__).parents[2]
SPEC_004 = "{name: a, enabled: false, triggerPhase: AFTER_EXECUTION, steps: [s2, 'Send *']}"
REVIEWS, *EXAMPLES = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/policy.md").read_text("utf-8"), re.DOTALL)


def policy(tmp_path: Path, text: str) -> Policy:
    (tmp_path / "policy.yaml").write_text(text, "utf-8")
    return load_policy(tmp_path / "policy.yaml")


def wrong(tmp_path: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        policy(tmp_path, text)
    return str(caught.value)


def fits(schema: Mapping[str, Json], value: Json) -> bool:
    return not problems(schema, value)


def decided(made: Policy, name: str, args: Json = None, channel: str = "C0") -> Decision:
    server, tool = name.split(".")
    spec = ToolSpec(server, tool, tool, "", {}, "d", trust=made.trust.get(server, Trust.DECLARED))
    return decide(made, spec, args or {}, channel, fits)


def test_the_policy_that_comes_along_lowers_nothing_and_trusts_nobody_more() -> None:
    made = load_policy(ROOT / "manifests/policy.yaml")
    assert made.rules[: len(ALWAYS)] == ALWAYS
    assert [rule.name for rule in made.rules if rule.cls] == []
    assert (made.admins, made.channels, dict(made.trust)) == (frozenset(), (), {})


def test_what_is_commented_out_in_it_can_be_used(tmp_path: Path) -> None:
    lines = (ROOT / "manifests/policy.yaml").read_text("utf-8").splitlines()
    top = re.compile(r"# ?(  .*|(admins|listed_bots|channels|always_gate):.*)")
    inner = re.compile(r"  # ?(  .*|github:|- name:.*)")
    used = [
        re.sub(r"^# ", "", line) if top.fullmatch(line) else re.sub(r"^  # ", "  ", line)
        if inner.fullmatch(line) else line
        for line in lines
    ]  # fmt: skip
    made = policy(tmp_path, "\n".join(used))
    assert made.admins
    assert made.listed_bots
    assert made.channels
    assert made.trust == {"github": Trust.REVIEWED}
    shipped = {rule.name for rule in load_policy(ROOT / "manifests/policy.yaml").rules}
    told = ["closing accounts", "github.merge_pull_request", "github.delete_*", "mail to other companies"]
    assert [rule.name for rule in made.rules if rule.name not in shipped] == told


def test_the_version_is_a_hash_over_the_bytes(tmp_path: Path) -> None:
    text = "version: 1\n# a word\n"
    assert policy(tmp_path, text).version == f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    assert policy(tmp_path, "version: 1\n").version != policy(tmp_path, text).version


@pytest.mark.parametrize("text", ["", "# nothing\n", "version: 1", "always_gate: []\nservers: {}\nrules: []"])
def test_the_always_gate_list_is_there_whatever_the_file_says(text: str, tmp_path: Path) -> None:
    assert policy(tmp_path, text).rules == ALWAYS


def test_what_lowers_a_class_does_not_reach_the_always_gate_list(tmp_path: Path) -> None:
    made = policy(tmp_path, 'servers: {s: {tools: {"*": {class: read}}}}')
    assert decided(made, "s.delete_file").verdict is Verdict.TYPED
    assert decided(made, "s.run_command", {"command": "rm -rf x"}).verdict is Verdict.TYPED
    assert decided(made, "s.get_file", {"path": ".env"}).verdict is Verdict.TYPED
    assert decided(made, "s.get_file", {"path": "prod.yaml"}).verdict is Verdict.RUN


@pytest.mark.parametrize("text", EXAMPLES)
def test_each_example_of_the_documentation_loads(text: str, tmp_path: Path) -> None:
    assert len(policy(tmp_path, text).rules) > len(ALWAYS)


def test_the_examples_do_what_the_documentation_says(tmp_path: Path) -> None:
    merging, mailing, deploying = (policy(tmp_path, text) for text in EXAMPLES)
    assert decided(merging, "github.merge_pull_request").approvers == Approvers(
        groups=frozenset({"S0RELEASE"}), needed=2
    )
    assert decided(merging, "github.delete_repository").verdict is Verdict.DENY
    assert (
        decided(mailing, "mail.send_mail", {"to": ["a@example.com"]}, "C0SALES01").verdict is Verdict.CONFIRM
    )
    assert (
        decided(mailing, "mail.send_mail", {"to": ["a@example.com", "b@x.org"]}, "C0SALES01").verdict
        is Verdict.TYPED
    )
    assert decided(mailing, "mail.send_mail", {"to": "b@x.org"}, "C0OTHER").verdict is Verdict.DENY
    assert not decided(mailing, "pay.refund", {"amount": 499}).approvers.named
    large = decided(mailing, "pay.refund", {"amount": 500})
    assert (large.approvers.groups, large.ttl) == (frozenset({"S0FINANCE"}), 900)
    assert decided(deploying, "deploys.get_state").verdict is Verdict.RUN
    assert decided(deploying, "deploys.restart", {"force": False}).cls is CallClass.WRITE
    assert decided(deploying, "deploys.restart", {"force": True}).cls is CallClass.DESTRUCTIVE
    assert decided(deploying, "deploys.restart", {"where": "eu-1"}).cls is CallClass.DESTRUCTIVE
    assert decided(deploying, "deploys.show_secret").private
    assert decided(deploying, "bank.close_account").always_gated


def test_the_reviews_of_the_documentation_hold_where_it_says(tmp_path: Path) -> None:
    made = policy(tmp_path, REVIEWS)
    assert made.review(Phase.BEFORE, "email.send") == "what leaves the house"
    assert made.review(Phase.AFTER, "email.send") == made.review(Phase.BEFORE, "data.query") == ""
    assert made.review(Phase.AFTER, "data.query", ("s1", "Count them")) == "what the database answers"


# promise: REVIEW-03
def test_a_review_is_read_as_spec_004_spells_it_and_can_be_switched_off(tmp_path: Path) -> None:
    (made,) = policy(tmp_path, f"reviews: [{SPEC_004}]").reviews
    assert made == Review("a", Phase.AFTER, False, steps=("s2", "Send *"))


def sections(of: type[Section]) -> list[type[Section]]:
    return [one for one in vars(policy_file).values() if isinstance(one, type) and issubclass(one, of)]


@pytest.mark.parametrize("section", sections(Section)[1:])
def test_every_key_is_in_the_documentation(section: type[Section]) -> None:
    told = (ROOT / "docs/policy.md").read_text("utf-8")
    keys = [field.alias or name for name, field in section.model_fields.items()]
    assert [key for key in keys if not re.search(rf"`([a-zA-Z.]*\.)?{key}[`.]", told)] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("version: 2", "line 1: “version” must be 1"),
        ("version: '1'", "line 1: “version” must be 1"),
        ("\nadmin: [U1]", "line 2: “admin” is not known; did you mean “admins”."),
        ("admins: [ann]", "“admins[0]” must be a member ID (U…), not a name."),
        ("admins: U1", "“admins” must be a list."),
        ("channels: ['#ops']", "must be a channel ID (C…), not a name."),
        ("servers: {s: {trsut: reviewed}}", "“servers.s.trsut” is not known; did you mean “trust”."),
        ("servers: {'*': {trust: reviewed}}", "cannot be given to every server at once: name each server."),
        ("servers: {s: {trust: bundeld}}", "must be one of bundled, reviewed, declared, untrusted."),
        ("servers: {s: {tools: {t: {class: wirte}}}}", "must be one of read, write, destructive, unknown."),
        ("servers: {s: {tools: {t: {schema: {}}}}}", "“servers.s.tools.t.schema” is not known"),
        ("servers: {s: {tools: {t: {deny: 1}}}}", "must be true or false."),
        ("servers: {s: {tools: {t: {ttl: 0}}}}", "must be a number from 1 to 86400."),
        (
            "servers: {s: {tools: {t: {channels: []}}}}",
            "is empty: to forbid it everywhere write `deny: true`.",
        ),
        ("servers: {s: {tools: {t: {class: read}, t: {deny: true}}}}", "stands there twice: remove one."),
        (
            "servers: {s: {tools: {t: {private: true, approvers: {users: [U1]}}}}}",
            "seen by the requester alone",
        ),
        ("servers: {s: {tools: {t: {raise_if: [{class: write}]}}}}", "needs `schema` or `text`"),
        ("servers: {s: {tools: {t: {raise_if: [{text: a}]}}}}", "needs `class`."),
        (
            "servers: {s: {tools: {t: {approvers: {}}}}}",
            "name nobody: give users, groups, or a count of 2 or more",
        ),
        ("servers: {s: {tools: {t: {approvers: {count: 1}}}}}", "name nobody"),
        ("servers: {s: {tools: {t: {approvers: {users: [U1], count: 2}}}}}", "can never be enough"),
        ("servers: {s: {tools: {t: {approvers: {groups: [ops]}}}}}", "must be the ID of a user group (S…)"),
        ("rules: [{tools: ['*']}]", "“rules[0]” needs `name`."),
        ("rules: [{name: a}]", "“rules[0]” needs `tools`."),
        ("rules: [{name: a, tools: []}]", "names no tools"),
        ("rules: [{name: a, tools: [delete]}]", "write “*.delete” for every server."),
        ("rules: [{name: a, tools: ['*'], class: read}]", "“rules[0].class” is not known"),
        ("rules: [{name: a, tools: ['*'], schema: []}]", "must be a JSON Schema."),
        (
            "rules: [{name: a, tools: ['*'], schema: {type: strin}}]",
            "cannot be used: its schema is not valid at type",
        ),
        (
            "rules: [{name: a, tools: ['*'], schema: {$ref: 'http://x/y'}}]",
            "only local references are followed",
        ),
        ("rules: [{name: a, tools: ['*'], schema: {pattern: '('}}]", "holds the pattern"),
        (
            "rules: [{name: a, tools: ['*'], schema: {patternProperties: {'(a+)+b': {}}}}]",
            "may take too long",
        ),
        ("rules: [{name: a, tools: ['*'], schema: {allOf: [{pattern: '.*x.*y'}]}}]", "may take too long"),
        ("rules: [{name: a, tools: ['*'], text: '(a|b)*c'}]", "may take too long"),
        ("always_gate: [{name: a, tools: ['*'], deny: true}]", "“always_gate[0].deny” is not known"),
        ("always_gate: {a: b}", "“always_gate” must be a list."),
        ("reviews: [{trigger_phase: BEFORE_EXECUTION, tools: ['*']}]", "“reviews[0]” needs `name`."),
        ("reviews: [{name: a, tools: ['*']}]", "“reviews[0]” needs `trigger_phase`."),
        (
            "reviews: [{name: a, trigger_phase: BEFORE, tools: ['*']}]",
            "one of BEFORE_EXECUTION, AFTER_EXECUTION.",
        ),
        ("reviews: [{name: a, trigger_phase: AFTER_EXECUTION}]", "needs `tools` or `steps`"),
        ("reviews: [{name: a, trigger_phase: AFTER_EXECUTION, tools: []}]", "names no tools"),
        ("reviews: [{name: a, trigger_phase: AFTER_EXECUTION, steps: []}]", "names no steps"),
        ("reviews: [{name: a, trigger_phase: AFTER_EXECUTION, tools: [send]}]", "write “*.send”"),
        (
            "reviews: [{name: a, triggerPhase: AFTER_EXECUTION, trigger_phase: AFTER_EXECUTION, tools: ['*']}]",
            "“reviews[0].triggerPhase” is the same as trigger_phase: write one of them.",
        ),
        (
            "reviews: [{name: a, enabled: 1, triggerPhase: AFTER_EXECUTION, tools: ['*']}]",
            "must be true or false.",
        ),
        ("reviews: [{name: a, phase: AFTER_EXECUTION, tools: ['*']}]", "“reviews[0].phase” is not known"),
        ("- a", "the file must be a mapping"),
    ],
)
def test_a_mistake_stops_the_start_with_its_line(text: str, said: str, tmp_path: Path) -> None:
    told = wrong(tmp_path, text)
    assert said in told
    assert told.startswith("policy.yaml, line ")


@pytest.mark.parametrize("what", ["text: '{}'", "schema: {{properties: {{a: {{pattern: '{}'}}}}}}"])
def test_patterns_that_take_too_long_together_stop_the_start(what: str, tmp_path: Path) -> None:
    """Each was bounded by itself: 20 of them held the event loop for a second."""

    def rules(count: int, tools: str = "*", repeats: int = 90) -> str:
        held = [what.format(f"(?i)[a-z]{{0,{repeats}}}!{number}") for number in range(count)]
        named = [
            (f"{{name: r{n}, tools: ['{tools.format(n)}'], deny: true, ", one) for n, one in enumerate(held)
        ]
        return f"rules: [{', '.join(before + one + '}' for before, one in named)}]"

    told = wrong(tmp_path, rules(20))
    assert (
        "the patterns of all rules about any server may take too long together: bound their repeats" in told
    )
    assert "about “crm” may" in wrong(tmp_path, rules(20, "crm.*"))
    for few in (rules(20, repeats=10), rules(20, "s{}.*"), rules(10)):
        (tmp_path / "policy.yaml").write_text(few)
        assert load_policy(tmp_path / "policy.yaml").rules
    words = ", ".join(
        f"{{name: w{n}, tools: ['*'], deny: true, text: '(?i)\\b(word|other)_{n}\\b'}}" for n in range(200)
    )
    (tmp_path / "policy.yaml").write_text(f"rules: [{words}]")
    assert load_policy(tmp_path / "policy.yaml").rules


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    assert len(wrong(tmp_path, "version: 2\nadmins: [ann]\nrules: [{nam: x}]").splitlines()) == 5


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file or directory"):
        load_policy(tmp_path / "policy.yaml")


def test_the_trust_of_the_policy_goes_before_that_of_the_configuration() -> None:
    servers = [ServerConfig(name="a", trust=Trust.REVIEWED), ServerConfig(name="b", trust=Trust.REVIEWED)]
    made = Policy("p", trust={"a": Trust.UNTRUSTED, "c": Trust.BUNDLED})
    assert [server.trust for server in trusted(servers, made)] == [Trust.UNTRUSTED, Trust.REVIEWED]


FOLDER = "/srv/Käse/Gehälter № 1"
IN_MARKS = unicodedata.normalize("NFD", FOLDER)
PASTED = f"/srv/Käse/{IN_MARKS[-13:]}"  # typed in part
RULES = [
    'text: "^{}/"',
    "schema: {{required: [path], properties: {{path: {{const: '{}/a.md'}}}}}}",
    "schema: {{required: [path], properties: {{path: {{enum: [x, '{}/a.md']}}}}}}",
    "schema: {{anyOf: [{{required: [path], properties: {{path: {{pattern: '^{}/'}}}}}}]}}",
]


@pytest.mark.parametrize("called", [FOLDER, IN_MARKS, PASTED])
@pytest.mark.parametrize("written", [FOLDER, IN_MARKS, PASTED])
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_holds_for_a_name_in_composed_and_in_decomposed_letters(
    rule: str, written: str, called: str, tmp_path: Path
) -> None:
    made = policy(tmp_path, f'rules: [{{name: pay, tools: ["*"], deny: true, {rule.format(written)}}}]')
    args: Json = {"path": f"{called}/a.md", "content": "x"}
    declared = Targets(paths=("path",)), Targets(paths=("other",)), None
    for targets in declared:
        spec = ToolSpec("s", "look", "look", "", {}, "d", recipe=Recipe(targets=targets))
        assert decide(made, spec, args, "C0", fits).rule == "pay"
        found = decide(made, spec, {**args, "path": f"{called} b/a.md"}, "C0", fits)
        assert found.verdict is Verdict.CONFIRM


def test_a_rule_holds_for_a_name_that_a_read_finds_in_decomposed_letters(tmp_path: Path) -> None:
    made = policy(tmp_path, f'rules: [{{name: pay, tools: ["*"], deny: true, text: "^{FOLDER}/"}}]')
    spec = ToolSpec("s", "list", "list", "", {}, "d", recipe=Recipe(targets=Targets(paths=("path",))))
    found = Targets(paths=("path",), resolved_to=(f"{IN_MARKS}/a.md",))
    found_there = replace(spec, recipe=replace(spec.recipe, targets=found))
    assert decide(made, found_there, {"path": "x"}, "C0", fits).rule == "pay"


@pytest.mark.parametrize(
    ("written", "composed"),
    [
        ("[a-o\u0308]", ["[a-\u00f6]"]),
        ("gro\u0308\u00dfe?", ["gr\u00f6\u00dfe?"]),
        ("(?i)A\u0308RZTE", ["(?i)\u00c4RZTE"]),
        ("[\uf900-\ufa6d]", []),  # would end before it begins
        ("gr\u00f6\u00dfe", []),
    ],
)
def test_a_rule_in_decomposed_letters_is_held_as_it_is_written_and_in_composed_ones(
    written: str, composed: list[str], tmp_path: Path
) -> None:
    made = policy(tmp_path, f"rules: [{{name: pay, tools: ['*'], deny: true, text: '{written}'}}]")
    assert [rule.texts for rule in made.rules[len(ALWAYS) :]] == [(one,) for one in (written, *composed)]
