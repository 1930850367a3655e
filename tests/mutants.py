"""Seeded faults of the gate, each with a test that must fail because of it; and the pytest plugin that puts one in.

    python -m pytest -p tests.mutants --mutant no_expiry tests/storage/test_ledger_actions.py

The plugin changes the source as it is imported; no file is written.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Change:
    """One place in a source file. `old` stands there exactly once."""

    path: str
    old: str
    new: str

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").replace("/", ".")

    def applied(self, source: str) -> str:
        assert source.count(self.old) == 1, (
            f"{self.path}: {self.old!r} is there {source.count(self.old)} times"
        )
        return source.replace(self.old, self.new)


@dataclass(frozen=True)
class Mutant:
    """A fault by name, and the test that has to find it."""

    name: str
    killer: str
    changes: tuple[Change, ...]


def one(name: str, killer: str, path: str, old: str, new: str) -> Mutant:
    return Mutant(name, killer, (Change(path, old, new),))


DECIDE, CARRY_OUT, STORED = (
    "tests/gate/actions/test_action_confirm.py::",
    "tests/gate/actions/test_action_execute.py::",
    "tests/storage/test_ledger_actions.py::",
)
OTHERS = "tests/gate/tasks/test_task_told_others.py::"
FEEDBACK, AGENTS = "tests/gate/tasks/test_task_thanks.py::", "tests/api/test_api_agents.py::"
MUTANTS = (
    one(
        "edit_no_bump", DECIDE + "test_an_old_card_cannot_confirm_what_was_edited",
        "storage/transaction.py", "version = action.version + (event is Event.EDIT)", "version = action.version",
    ),
    one(
        "no_version", DECIDE + "test_an_old_card_cannot_confirm_what_was_edited",
        "gate/rules/action.py",
        "return (self.id, self.version, self.receipt) == (action.id, action.version, action.receipt[:16])",
        "return self.id == action.id",
    ),
    one(
        "no_hash", "tests/gate/actions/test_action_audit.py::test_a_stored_action_that_was_tampered_with_never_runs",
        "gate/rules/receipt.py", "return not action.flaw and hmac.compare_digest(receipt(action), action.receipt)", "return True",
    ),
    one(
        "receipt_of_a_part", "tests/gate/rules/test_receipt.py::test_whatever_changes_of_a_proposal_is_another_receipt",
        "gate/rules/receipt.py", '"proposal": action.proposal,', '"proposal": [action.name, action.definition, action.args],',
    ),
    one(
        "any_user", DECIDE + "test_nobody_else_decides",
        "gate/rules/permissions.py", 'return Ruling(False, f"Only {deciders(action)} can confirm this.")', "return YES",
    ),
    one(
        "cancel_anyone", DECIDE + "test_nobody_else_decides",
        "gate/rules/permissions.py", "    if own or admin or (verb is", "    if verb is Verb.CANCEL or own or admin or (verb is",
    ),
    one(
        "cancel_after_run", "tests/gate/rules/test_states.py::test_what_has_begun_cannot_be_cancelled",
        "gate/rules/action_states.py", "    (S.APPROVED, E.CANCEL): S.CANCELLED,",
        "    (S.APPROVED, E.CANCEL): S.CANCELLED,\n    (S.EXECUTING, E.CANCEL): S.CANCELLED,",
    ),
    one(
        "expiry_off_by_one", STORED + "test_half_a_second_after_its_time_is_too_late",
        "storage/transaction.py", "expired = actions.c.expires_at <= self._clock",
        "expired = actions.c.expires_at <= clock(self._offset - timedelta(seconds=1))",
    ),
    one(
        "no_expiry", STORED + "test_the_clock_that_decides_is_the_databases",
        "storage/transaction.py", "        if action.state is not State.PREPARED or event is Event.SUPERSEDE or lost:", "        if True:",
    ),
    one(
        "no_cas", STORED + "test_of_two_moves_at_once_one_is_stale",
        "storage/statements.py", '"actions": ("id", "version", "revision", "state")', '"actions": ("id",)',
    ),
    one(
        "audit_late", CARRY_OUT + "test_what_cannot_be_written_down_does_not_run",
        "storage/transaction.py", "            await append(self._connection, self._chain, self._entries, self._offset, event_rows)",
        "            try:\n                await append(self._connection, self._chain, self._entries, self._offset, event_rows)\n"
        "            except Exception:\n                pass",
    ),
    Mutant(
        "self_approve", DECIDE + "test_named_approvers_decide_and_the_requester_does_not",
        (
            Change("gate/rules/permissions.py", "    if action.approvers.named:\n        if person.id == action.requester:",
                   "    if action.approvers.named:\n        if person.id == action.requester:\n            return YES\n"
                   "        if person.id == action.requester:"),
            Change("gate/rules/permissions.py", "        people.discard(action.requester)", "        pass"),
        ),
    ),
    Mutant(
        "approvals_survive_edit", DECIDE + "test_a_vote_for_a_version_does_not_count_for_the_next",
        (
            Change("storage/statements.py", '.where(votes.c.action == ID, votes.c.version == bindparam("version"))',
                   ".where(votes.c.action == ID)"),
            Change("gate/rules/permissions.py", "if v.yes and v.version == action.version}", "if v.yes}"),
        ),
    ),
    one(
        "undo_no_precondition", "tests/gate/actions/test_action_undo.py::test_when_the_target_changed_since_a_person_is_asked_first",
        "gate/actions/undo.py", "    drift = await look_for_drift(world, undo, original)", "    drift = None",
    ),
    one(
        "grant_covers_feedback", FEEDBACK + "test_what_starts_from_feedback_asks_although_a_grant_stands",
        "storage/grants.py", "where(asking, tasks.c.asks)", "where(asking, tasks.c.asks, tasks.c.id != tasks.c.id)",
    ),
    one(
        "grant_covers_what_others_told_a_model", OTHERS + "test_a_grant_covers_nothing_that_a_model_may_have_been_told_by_others",
        "gate/tasks/planner_turn.py", "        if said.foreign:", "        if False:",
    ),
    one(
        "assessment_tells_nothing", OTHERS + "test_what_a_model_was_told_when_it_asked_counts_for_what_it_makes_of_the_answer",
        "gate/tasks/clarify.py", "        if found.foreign:", "        if False:",
    ),
    Mutant(
        "agent_uses_grant", AGENTS + "test_nothing_that_comes_through_a_token_uses_the_grants_of_its_person",
        (
            Change("storage/grants.py", "select(made.c.id).where(about)", "select(made.c.id).where(made.c.id != made.c.id)"),
            Change("storage/grants.py", "return not self._tx.token and found", "return found"),
        ),
    ),
    one(
        "thanks_are_feedback", FEEDBACK + "test_thanks_settle_the_task_and_propose_nothing",
        "gate/sentences/feedback.py", "        return FeedbackKind.THANKS", "        return FeedbackKind.CHANGE",
    ),
    one(
        "any_phrase", DECIDE + "test_a_destructive_one_needs_its_exact_phrase",
        "gate/rules/typed_phrase.py", 'return bool(action.phrase) and typed.strip(" \\t\\r\\n") == action.phrase',
        "return bool(action.phrase and typed)",
    ),
    one(
        "no_drift", CARRY_OUT + "test_a_drifted_target_is_shown_again_and_not_run",
        "gate/actions/execute.py", "    same = canonical_json(now.found) == canonical_json(captured)", "    same = True",
    ),
    one(
        "half_a_result", "tests/gate/rules/test_reviews.py::test_a_result_that_was_changed_in_one_form_has_no_other",
        "gate/rules/reviews.py", '    return {"text": json.dumps(fields, ensure_ascii=False), **fields}', "    return given",
    ),
    one(
        "receipt_for_agents", AGENTS + "test_of_its_own_it_is_told_no_receipt_no_phrase_and_no_seal",
        "gate/rules/access.py", 'resolution=said, receipt="")', 'resolution=said)',
    ),
    one(
        "no_end", "tests/gate/tasks/test_task_waits.py::test_a_run_that_comes_back_much_later_does_not_call",
        "gate/actions/execution_claim.py", "            if (now - confirmed).total_seconds() > world.limits.begin:", "            if False:",
    ),
    one(
        "sent_after_lapse",
        "tests/gate/actions/test_held_claim.py::test_a_process_whose_clocks_all_stood_still_does_not_send_what_others_settled",
        "gate/actions/execution_claim.py", "        if self._has_lapsed:", "        if False:",
    ),
)  # fmt: skip


class _Loader(SourceFileLoader):
    """Loads one module with its changes, past the cache of compiled ones."""

    changes: Sequence[Change] = ()

    def get_code(self, fullname: str) -> CodeType:
        source = Path(self.path).read_text("utf-8")
        for change in self.changes:
            source = change.applied(source)
        return compile(source, self.path, "exec")


class _Finder(MetaPathFinder):
    def __init__(self, changes: Sequence[Change]) -> None:
        self._changes = changes

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        mine = [change for change in self._changes if change.module == fullname]
        spec = PathFinder.find_spec(fullname, path) if mine else None
        if spec is None or spec.origin is None:
            return None
        loader = _Loader(fullname, spec.origin)
        loader.changes = mine
        spec.loader = loader
        return spec


def pytest_addoption(parser: Any) -> None:
    """`--mutant NAME`."""
    parser.addoption("--mutant", choices=[mutant.name for mutant in MUTANTS])


def pytest_load_initial_conftests(early_config: Any) -> None:
    """Put the fault in before anything of ours is imported."""
    name = early_config.known_args_namespace.mutant
    for mutant in MUTANTS:
        if mutant.name == name:
            modules = {change.module for change in mutant.changes}
            assert not modules & set(sys.modules), "it is imported already"
            sys.meta_path.insert(0, _Finder(mutant.changes))
