"""May it run, and who decides: a table of decisions, and what no rule, hint or argument can ever loosen."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.rules.action import CallClass, Decision, Json, Person, Risk, Verdict
from gate.rules.always_gated import ALWAYS
from gate.rules.approvers import Approvers
from gate.rules.permissions import is_approver, is_named
from gate.rules.policy import CLASS_ORDER, RISK_ORDER, Policy, Rule, decide, words
from gate.rules.rule_changes import needs_new_yes
from gate.rules.tool import Hints, Recipe, ToolSpec, Trust
from tests.patterns import Used, grows
from tools.mcp.schema_fast_path import always_checkable

READS, DESTROYS, CHANGES = Hints(read_only=True), Hints(False, True), Hints(False, False)
SAYS_NOTHING = Hints()
B, R, D, U = Trust.BUNDLED, Trust.REVIEWED, Trust.DECLARED, Trust.UNTRUSTED


def tool(name: str = "frobnicate", **more: Any) -> ToolSpec:
    more.setdefault("reviewed", more.get("trust") is Trust.REVIEWED)
    return ToolSpec("s", name, name, "", {}, "d", **more)


def matches(schema: Json, args: Json) -> bool:
    """The schemas of these tests: {"has": key}, or {} for everything."""
    return all(key in args for key in schema.values())


def decided(
    spec: ToolSpec,
    *rules: Rule,
    args: Json = None,
    channel: str = "C1",
    asked: Risk | None = None,
    **policy: Any,
) -> Decision:
    return decide(Policy("p", rules, **policy), spec, args or {}, channel, matches, asked)


def on_s(name: str = "mine", tools: tuple[str, ...] = ("s.*",), **more: Any) -> Rule:
    return Rule(name, tools, **more)


@pytest.mark.parametrize(
    ("trust", "name", "hints", "cls"),
    [
        (B, "frobnicate", READS, CallClass.READ),
        (B, "frobnicate", CHANGES, CallClass.WRITE),
        (B, "frobnicate", DESTROYS, CallClass.DESTRUCTIVE),
        (B, "frobnicate", Hints(read_only=False), CallClass.DESTRUCTIVE),  # MCP: destructive unless denied
        (B, "frobnicate", SAYS_NOTHING, CallClass.UNKNOWN),
        (R, "delete_views", READS, CallClass.DESTRUCTIVE),  # its own words do not lower what its name says
        (R, "send_mail", READS, CallClass.WRITE),
        (R, "frobnicate", READS, CallClass.READ),  # an operator has read it
        (R, "frobnicate", SAYS_NOTHING, CallClass.UNKNOWN),
        (D, "frobnicate", READS, CallClass.UNKNOWN),  # no verb that is known to read
        (D, "get_file", READS, CallClass.READ),
        (D, "send_mail", READS, CallClass.UNKNOWN),  # its name does not agree
        (D, "sendMail", READS, CallClass.UNKNOWN),
        (D, "MERGE_pull", READS, CallClass.UNKNOWN),
        (D, "get_page", Hints(read_only=True, open_world=True), CallClass.UNKNOWN),
        (D, "delete_file", READS, CallClass.DESTRUCTIVE),
        (D, "fileDelete", SAYS_NOTHING, CallClass.DESTRUCTIVE),
        (D, "frobnicate", CHANGES, CallClass.WRITE),
        (D, "frobnicate", DESTROYS, CallClass.DESTRUCTIVE),
        (D, "frobnicate", Hints(read_only=False), CallClass.UNKNOWN),
        (D, "frobnicate", SAYS_NOTHING, CallClass.UNKNOWN),
        (U, "get_file", READS, CallClass.UNKNOWN),
        (U, "frobnicate", CHANGES, CallClass.UNKNOWN),
        (U, "frobnicate", DESTROYS, CallClass.DESTRUCTIVE),
        (U, "drop_table", READS, CallClass.DESTRUCTIVE),
    ],
)
def test_a_server_is_believed_as_far_as_it_is_trusted(
    trust: Trust, name: str, hints: Hints, cls: CallClass
) -> None:
    assert decided(tool(name, trust=trust, hints=hints)).cls is cls


@pytest.mark.parametrize(
    ("cls", "verdict", "risk"),
    [
        (CallClass.READ, Verdict.RUN, Risk.LOW),
        (CallClass.WRITE, Verdict.CONFIRM, Risk.MEDIUM),
        (CallClass.UNKNOWN, Verdict.CONFIRM, Risk.HIGH),
        (CallClass.DESTRUCTIVE, Verdict.TYPED, Risk.HIGH),
    ],
)
def test_the_class_decides_the_gate(cls: CallClass, verdict: Verdict, risk: Risk) -> None:
    found = decided(tool(), on_s(cls=cls))
    assert (found.cls, found.verdict, found.risk, found.rule) == (cls, verdict, risk, "mine")


def test_a_believed_servers_recipe_counts_before_its_hints() -> None:
    spec = tool(trust=B, hints=READS, recipe=Recipe(cls=CallClass.DESTRUCTIVE, risk=Risk.CRITICAL))
    assert (decided(spec).cls, decided(spec).risk) == (CallClass.DESTRUCTIVE, Risk.CRITICAL)
    unread = replace(spec, name="get_file", trust=D)
    assert decided(unread).cls is CallClass.DESTRUCTIVE  # then it is the operator's, and raises
    assert decided(replace(unread, recipe=Recipe(cls=CallClass.READ), hints=CHANGES)).cls is CallClass.WRITE


def test_the_most_exact_word_of_the_operator_counts() -> None:
    wide, exact = (
        on_s("wide", cls=CallClass.DESTRUCTIVE),
        on_s("exact", ("s.frobnicate",), cls=CallClass.WRITE),
    )
    assert decided(tool(), wide, exact).rule == "exact"
    assert (
        decided(tool(), exact, on_s("other", ("s.frobnicate",), cls=CallClass.UNKNOWN)).cls
        is CallClass.UNKNOWN
    )


@pytest.mark.parametrize(
    ("known", "more", "cls"),
    [
        (CallClass.READ, {}, CallClass.READ),
        (CallClass.WRITE, {}, CallClass.WRITE),
        (CallClass.READ, {"trust": R}, CallClass.READ),
        (CallClass.READ, {"trust": U}, CallClass.UNKNOWN),  # it chose the name itself
        (CallClass.READ, {"hints": CHANGES}, CallClass.WRITE),
        (CallClass.READ, {"hints": Hints(open_world=True)}, CallClass.UNKNOWN),
        (CallClass.READ, {"changed": True}, CallClass.UNKNOWN),
        (CallClass.READ, {"trust": R, "recipe": Recipe(cls=CallClass.UNKNOWN)}, CallClass.UNKNOWN),
        (CallClass.READ, {"trust": B, "recipe": Recipe(cls=CallClass.WRITE)}, CallClass.WRITE),
        (CallClass.READ, {"hints": READS}, CallClass.READ),  # both say so
        (CallClass.WRITE, {"hints": READS}, CallClass.UNKNOWN),
        (CallClass.DESTRUCTIVE, {"trust": B, "hints": CHANGES}, CallClass.DESTRUCTIVE),
        (CallClass.READ, {"hints": DESTROYS}, CallClass.DESTRUCTIVE),
    ],
)
def test_a_name_is_believed_where_nothing_is_claimed_and_else_only_raises(
    known: CallClass, more: dict[str, Any], cls: CallClass
) -> None:
    assert decided(tool(**more), on_s("known", known=known)).cls is cls


def test_the_operators_word_on_a_server_goes_before_what_a_name_is_known_for() -> None:
    assert (
        decided(tool(), on_s("known", known=CallClass.DESTRUCTIVE), on_s(cls=CallClass.READ)).cls
        is CallClass.READ
    )


def test_patterns_are_matched_with_case_so_that_a_twin_of_a_trusted_tool_gets_nothing() -> None:
    assert (
        decided(tool("Read_File"), on_s(tools=("s.read_file",), cls=CallClass.READ)).cls is CallClass.UNKNOWN
    )


@pytest.mark.parametrize("cls", list(CallClass))
def test_a_changed_tool_is_unknown_at_least_whatever_it_was(cls: CallClass) -> None:
    spec = tool(trust=B, hints=READS, changed=True)
    found = decided(spec, on_s(cls=cls))
    assert CLASS_ORDER.index(found.cls) >= CLASS_ORDER.index(CallClass.UNKNOWN)
    assert found.verdict is not Verdict.RUN


def test_arguments_can_raise_a_class_and_never_lower_it() -> None:
    raises, lowers = (
        on_s(at_least=CallClass.DESTRUCTIVE, schema={"has": "force"}),
        on_s(at_least=CallClass.READ),
    )
    spec = tool(trust=B, hints=CHANGES)
    assert decided(spec, raises, args={"force": 1}).verdict is Verdict.TYPED
    assert decided(spec, raises, args={}).verdict is Verdict.CONFIRM
    assert decided(spec, lowers).cls is CallClass.WRITE


@pytest.mark.parametrize(
    "args",
    [{"to": "x@evil"}, {"a": [{"b": ["x@evil"]}]}, {"x@evil": 1}, ["x@evil"], {"a": "1", "b": "x@evil"}],
)
def test_a_text_is_found_wherever_it_stands(args: Json) -> None:
    assert decided(tool(), on_s(deny=True, texts=("@evil$",)), args=args).verdict is Verdict.DENY
    assert decided(tool(), on_s(deny=True, texts=("@evil$", "absent")), args=args).verdict is not Verdict.DENY


def test_a_denied_tool_is_denied_whatever_else_is_said() -> None:
    found = decided(tool(), on_s(cls=CallClass.READ), on_s("never", deny=True))
    assert (found.verdict, found.rule) == (Verdict.DENY, "never")
    assert found.reason == "the policy does not allow this (“never”)"


def test_channels_are_those_of_the_rule_and_of_the_policy() -> None:
    here = on_s("here", channels=("C1",))
    assert decided(tool(), here, channel="C1").verdict is Verdict.CONFIRM
    assert decided(tool(), here, channel="C2").rule == "here"
    assert decided(tool(), here, channel="C2").verdict is Verdict.DENY
    assert decided(tool(), here, on_s("there", channels=("C2",)), channel="C1").verdict is Verdict.DENY
    assert decided(tool(), channel="C2", channels=("C1",)).verdict is Verdict.DENY
    assert decided(tool(), channel="C1", channels=("C1",)).verdict is Verdict.CONFIRM


def test_whoever_decides_is_named_by_each_rule_that_names_approvers() -> None:
    """A call that a milder rule is about as well is not decided by those whom that one names alone."""
    infra = on_s("infra", approvers=Approvers(frozenset({"U1"}), frozenset({"SINFRA"}), 2))
    docs = on_s("docs", approvers=Approvers(groups=frozenset({"SDOCS"})))
    found = decided(tool(), infra, docs).approvers
    assert found.needed == 2
    assert decided(tool(), docs, infra).approvers.needed == 2
    for groups, may in (("SINFRA", False), ("SDOCS", False), ("SINFRA SDOCS", True)):
        person = Person("T1", "U9", groups=frozenset(groups.split()))
        assert is_approver(found, person) == may
        assert is_named(found, person)
    assert not is_named(found, Person("T1", "U9"))


def test_a_list_of_approvers_that_holds_another_adds_nothing() -> None:
    anybody = on_s("all", approvers=Approvers(frozenset({"U1", "U2"}), frozenset({"S1"})))
    some = on_s("some", approvers=Approvers(groups=frozenset({"S1"}), needed=2))
    four = on_s("four eyes", approvers=Approvers(needed=3))
    assert decided(tool(), anybody, some, four).approvers == Approvers(groups=frozenset({"S1"}), needed=3)


def test_a_change_is_refused_where_rules_name_nobody_in_common() -> None:
    one, two = (on_s(user, approvers=Approvers(frozenset({user, "U3"}))) for user in ("U1", "U2"))
    assert decided(tool(), one, two).verdict is Verdict.CONFIRM
    three = on_s("three", approvers=Approvers(frozenset({"U4"})))
    assert (decided(tool(), one, three).verdict, decided(tool(), one, three).rule) == (
        Verdict.DENY,
        "approvers",
    )


@pytest.mark.parametrize("approvers", [Approvers(frozenset({"U1"})), Approvers(needed=2)])
def test_a_private_card_with_approvers_is_refused_rather_than_hidden_from_them(approvers: Approvers) -> None:
    found = decided(tool(), on_s("quiet", private=True), on_s("four eyes", approvers=approvers))
    assert (found.verdict, found.rule) == (Verdict.DENY, "quiet")


def test_the_shortest_time_and_the_highest_risk_count() -> None:
    found = decided(tool(), on_s(ttl=60, risk=Risk.CRITICAL), on_s(ttl=30, risk=Risk.LOW), asked=Risk.MEDIUM)
    assert (found.ttl, found.risk) == (30, Risk.CRITICAL)
    assert decided(tool(), asked=Risk.CRITICAL).risk is Risk.CRITICAL
    assert decided(tool(), asked=Risk.LOW).risk is Risk.HIGH


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("mergePull_request", ["merge", "pull", "request"]),
        ("HTMLDelete2", ["html", "delete", "2"]),
        ("files.rm-rf", ["files", "rm", "rf"]),
        ("", []),
    ],
)
def test_a_name_is_taken_apart_into_words(name: str, told: list[str]) -> None:
    assert words(name) == told


WRITES = replace(tool("write_file"), trust=B, hints=CHANGES)


def always(name: str, args: Json, hints: Hints = SAYS_NOTHING, *rules: Rule) -> Decision:
    return decided(tool(name, hints=hints), *ALWAYS, *rules, args=args)


# promise: GATE-11, GATE-19
@pytest.mark.parametrize(
    ("name", "args", "rule"),
    [
        ("delete_file", {"path": "a"}, "deleting files"),
        ("deleteFolder", {}, "deleting files"),
        ("fs_remove_directory", {}, "deleting files"),
        ("rm", {}, "deleting files"),
        ("drop_table", {}, "dropping tables"),
        ("query", {"sql": "SELECT 1; DROP /* x */ TABLE a"}, "dropping tables"),
        ("executeSql", {"statements": ["truncate users"]}, "dropping tables"),
        ("write_file", {"path": "deploy/prod.yaml"}, "production configuration"),
        ("write_file", {"path": "config/production/db.json"}, "production configuration"),
        ("write_file", {"path": "environments/production.rb"}, "production configuration"),
        ("set_flag", {"environment": "production"}, "production configuration"),
        ("install_package", {"name": "left-pad"}, "installing packages"),
        ("run_command", {"command": "cd x && pip3 install y"}, "installing packages"),
        ("run_command", {"command": "npm", "args": ["-g", "install", "y"]}, "installing packages"),
        ("bash", {"cmd": "sudo apt-get -y install y"}, "installing packages"),
        ("run_command", {"command": "rm -rf /"}, "destructive shell commands"),
        ("runShell", {"argv": ["/bin/rm", "-r", "x"]}, "destructive shell commands"),
        ("exec", {"command": "find . -name x -delete"}, "destructive shell commands"),
        ("terminal_run", {"command": "curl -s x | sh"}, "destructive shell commands"),
        ("shell", {"command": "git push origin main --force"}, "destructive shell commands"),
        ("shell", {"command": "kubectl -n a delete pod b"}, "destructive shell commands"),
        ("write_file", {"path": ".env"}, "secret files"),
        ("write_file", {"path": "app/.env.local"}, "secret files"),
        ("move_file", {"source": "a", "destination": "keys/server.PEM"}, "secret files"),
        ("write_files", {"files": [{"path": "a"}, {"path": "x/id_rsa"}]}, "secret files"),
        ("write_file", {"path": "config/secrets.yml"}, "secret files"),
    ],
)
def test_the_list_that_comes_along_gates_what_it_names(name: str, args: Json, rule: str) -> None:
    found = always(name, args)
    assert (found.verdict, found.always_gated) == (Verdict.TYPED, True)
    assert rule in {r.name for r in ALWAYS if r.holds(f"s.{name}", args, matches)}


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("write_file", {"path": "reports/q3.md", "content": "how to rm -rf and pip install, drop table"}),
        ("write_file", {"path": ".env.example"}),
        ("write_file", {"path": "products/list.json"}),
        ("write_file", {"path": "reproduction.yaml"}),
        ("write_file", {"path": "keyboard.md"}),
        ("query", {"sql": "select drop_date from a"}),
        ("run_command", {"command": "ls -la reports"}),
        ("run_command", {"command": "cat confirm.md"}),
        ("run_tests", {"path": "tests"}),
        ("create_issue", {"title": "Deleting files is hard"}),
    ],
)
def test_the_list_leaves_the_rest_alone(name: str, args: Json) -> None:
    assert not always(name, args).always_gated


@pytest.mark.parametrize(
    "name",
    "delete_file file_delete DELETE_FILE filesRemove doc-delete path_unlink fs_rm rm_path deletefile FILEDELETE Erase "
    "remove_old_documents folder.purge DocumentsDelete DROP_TABLE tables_drop table-truncate dropTables INSTALL_APP "
    "PackageAdd dependencies_update".split(),
)
def test_an_operators_class_takes_no_name_off_the_list_in_whatever_order_and_case(name: str) -> None:
    found = always(name, {"path": "a.md"}, SAYS_NOTHING, on_s(tools=(f"s.{name}",), cls=CallClass.WRITE))
    assert (found.verdict, found.always_gated) == (Verdict.TYPED, True)


@pytest.mark.parametrize("name", "restore_file_from_trash delete_event remove_label remove_user".split())
def test_a_name_that_deletes_no_file_is_not_on_the_list(name: str) -> None:
    found = always(name, {"id": "a"}, SAYS_NOTHING, on_s(tools=(f"s.{name}",), cls=CallClass.WRITE))
    assert (found.verdict, found.always_gated) == (Verdict.CONFIRM, False)


@pytest.mark.parametrize("command", ["rm -rf victim", "pip install x"])
@pytest.mark.parametrize(
    "name", "run_command ssh zsh kubectl RUN_COMMAND RunCommand evaluate psql deploy TERMINAL do-it".split()
)
def test_what_a_shell_is_called_changes_nothing(name: str, command: str) -> None:
    lowered = on_s(tools=(f"s.{name}",), cls=CallClass.WRITE)
    for args in ({"command": command}, {"options": {"shellCommand": command}}):
        found = always(name, args, SAYS_NOTHING, lowered)
        assert (found.verdict, found.always_gated) == (Verdict.TYPED, True)


@pytest.mark.parametrize("name", ["QUERY", "Read-Query", "mongodb_find", "PSQL", "get_rows"])
def test_what_a_database_is_called_changes_nothing(name: str) -> None:
    lowered = on_s(tools=(f"s.{name}",), cls=CallClass.READ)
    assert always(name, {"request": {"sql": "drop table a"}}, READS, lowered).verdict is Verdict.TYPED


def test_plain_reading_is_spared_but_for_secret_files() -> None:
    for args in ({"path": "notes.md"}, {"path": "deploy/prod.yaml"}, {"query": "what is in .env"}):
        found = always("get_file", args, READS)
        assert (found.verdict, found.always_gated) == (Verdict.RUN, False)
    for args in ({"path": ".env"}, {"path": "a/../id_rsa/."}, {"files": ["a", "x/secrets.yml"]}):
        found = always("get_file", args, READS)
        assert (found.verdict, found.always_gated) == (Verdict.TYPED, True)


def test_a_shell_is_not_spared_for_being_called_a_read() -> None:
    lowered = on_s(cls=CallClass.READ)
    assert always("run_command", {"command": "rm -rf x"}, READS, lowered).verdict is Verdict.TYPED
    assert always("query", {"sql": "drop table a"}, READS, lowered).verdict is Verdict.TYPED
    assert always("query", {"sql": "select 1"}, READS, lowered).verdict is Verdict.RUN


def test_the_operators_word_alone_does_not_take_deleting_off_the_list() -> None:
    for cls in CallClass:
        found = always("delete_file", {}, SAYS_NOTHING, on_s(tools=("s.delete_file",), cls=cls))
        assert (found.verdict, found.always_gated) == (Verdict.TYPED, True)


@pytest.mark.slow
def test_every_pattern_of_the_list_can_be_searched_in_the_longest_arguments() -> None:
    """By its syntax, or by measure: the bound of the syntax is far above what these four cost."""
    patterns = [pattern for rule in ALWAYS for pattern in rule.texts]
    unsure = [pattern for pattern in patterns if not always_checkable(pattern, 64 * 1024)]
    assert len(unsure) <= 4
    assert [one for one in unsure if grows(Used("", re.compile(one), frozenset({"search"})))] == []


LEAVES = st.none() | st.booleans() | st.sampled_from(["", "a", ".env", "rm -rf /", "drop table x"])
ARGS = st.dictionaries(st.sampled_from(["path", "force", "command"]), LEAVES, max_size=3)
NAMES = st.sampled_from("get_file delete_file write_file query run_command frobnicate sendMail".split())
MAYBE = st.none() | st.booleans()
HINTS = st.builds(Hints, MAYBE, MAYBE, MAYBE, MAYBE)
CLASSES = st.none() | st.sampled_from(CallClass)
SPECS = st.builds(
    tool,
    NAMES,
    hints=HINTS,
    trust=st.sampled_from(Trust),
    changed=st.booleans(),
    reviewed=st.booleans(),
    own_recipe=st.booleans(),
    recipe=st.builds(Recipe, cls=CLASSES, risk=st.none() | st.sampled_from(Risk)),
)
APPROVERS = st.builds(
    Approvers, st.frozensets(st.sampled_from(["U1", "U2"])), st.frozensets(st.just("S1")), st.integers(1, 3)
)
STRICT = st.builds(
    Rule,
    st.just("strict"),
    st.sampled_from([("*",), ("s.*",), ("s.delete_*", "s.query")]),
    at_least=CLASSES,
    schema=st.none() | st.just({"has": "force"}),
    texts=st.sampled_from([(), ("env$",)]),
    risk=st.none() | st.sampled_from(Risk),
    deny=st.booleans(),
    always=st.booleans(),
    approvers=st.none() | APPROVERS,
    channels=st.sampled_from([(), ("C1",), ("C2",)]),
    ttl=st.none() | st.floats(1, 600),
    private=st.booleans(),
)
STATED = st.builds(
    Rule,
    st.just("stated"),
    st.sampled_from([("s.*",), ("s.delete_file",)]),
    cls=CLASSES,
    known=CLASSES,
)
RULES = st.lists(STRICT | STATED, max_size=3)


def looser(now: Decision, before: Decision) -> list[str]:
    """In which ways an answer asks for less than another."""
    if now.verdict is Verdict.DENY:
        return []
    order = [Verdict.RUN, Verdict.CONFIRM, Verdict.TYPED, Verdict.DENY]
    found = {
        "verdict": order.index(now.verdict) < order.index(before.verdict),
        "class": CLASS_ORDER.index(now.cls) < CLASS_ORDER.index(before.cls),
        "risk": RISK_ORDER.index(now.risk) < RISK_ORDER.index(before.risk),
        "always": before.always_gated and not now.always_gated,
        "ttl": (now.ttl or 1e9) > (before.ttl or 1e9),
        "needed": now.approvers.needed < before.approvers.needed,
        "named": before.approvers.named and not now.approvers.named,
        "private": before.private and not now.private,
    }
    return [name for name, is_looser in found.items() if is_looser]


@given(SPECS, RULES, STRICT, ARGS)
def test_no_rule_but_the_operators_class_makes_an_answer_looser(
    spec: ToolSpec, rules: list[Rule], more: Rule, args: Json
) -> None:
    base = [*ALWAYS, *rules]
    assert looser(decided(spec, *base, more, args=args), decided(spec, *base, args=args)) == []


@given(SPECS, RULES, ARGS, HINTS)
def test_an_untrusted_server_can_say_nothing_that_loosens(
    spec: ToolSpec, rules: list[Rule], args: Json, said: Hints
) -> None:
    silent = replace(spec, trust=U, hints=SAYS_NOTHING)
    now, before = decided(replace(silent, hints=said), *rules, args=args), decided(silent, *rules, args=args)
    assert looser(now, before) == []


@given(SPECS, RULES, ARGS, HINTS)
def test_nothing_a_server_says_lowers_the_class_that_the_operator_set(
    spec: ToolSpec, rules: list[Rule], args: Json, said: Hints
) -> None:
    stated = Rule("set", (spec.full_name,), cls=CallClass.WRITE)
    now = decided(replace(spec, hints=said), stated, *rules, args=args)
    assert CLASS_ORDER.index(now.cls) >= CLASS_ORDER.index(CallClass.WRITE)


@given(SPECS, RULES, ARGS)
def test_less_trust_and_a_changed_definition_never_loosen(
    spec: ToolSpec, rules: list[Rule], args: Json
) -> None:
    trusted = replace(spec, trust=D, changed=False)
    before = decided(trusted, *rules, args=args)
    for less in (replace(trusted, changed=True), replace(trusted, trust=U)):
        assert looser(decided(less, *rules, args=args), before) == []


@given(SPECS, RULES, ARGS, st.none() | st.sampled_from(Risk))
def test_every_answer_says_why_and_fits_its_class(
    spec: ToolSpec, rules: list[Rule], args: Json, asked: Risk | None
) -> None:
    found = decided(spec, *ALWAYS, *rules, args=args, asked=asked)
    assert found.reason
    assert found.rule
    assert found.verdict is not Verdict.RUN or found.cls is CallClass.READ
    assert not found.always_gated or found.verdict in (Verdict.TYPED, Verdict.DENY)
    assert asked is None or RISK_ORDER.index(found.risk) >= RISK_ORDER.index(asked)


SHOWN = Decision(
    Verdict.CONFIRM, CallClass.WRITE, Risk.MEDIUM, "its server says so", "annotations", ttl=300.0
)
STRICTER: dict[str, object] = {
    "verdict": Verdict.DENY,
    "cls": CallClass.DESTRUCTIVE,
    "risk": Risk.HIGH,
    "approvers": Approvers(needed=2),
    "always_gated": True,
    "ttl": 60.0,
    "private": True,
    "secret": True,
}
TOLD_ONLY = {"reason", "rule", "reads"}  # what a decision says besides, which nobody's yes depends on


def test_a_yes_is_asked_for_anew_by_whatever_of_a_decision_gets_stricter():
    assert {one.name for one in fields(Decision)} == STRICTER.keys() | TOLD_ONLY
    for name, value in STRICTER.items():
        assert needs_new_yes(SHOWN, replace(SHOWN, **{name: value})), name  # type: ignore[arg-type]


def test_a_yes_holds_where_a_decision_stays_as_strict_or_nobody_need_be_asked_any_more():
    runs = replace(SHOWN, verdict=Verdict.RUN, cls=CallClass.READ, risk=Risk.LOW)
    longer = replace(SHOWN, ttl=600.0)
    unlimited = replace(SHOWN, ttl=None)
    worded = replace(SHOWN, reason="another", rule="another", reads=True)
    for milder in (SHOWN, runs, longer, unlimited, worded):
        assert not needs_new_yes(SHOWN, milder)
    assert needs_new_yes(SHOWN, replace(runs, private=True))
