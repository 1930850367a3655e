"""A group: the calls of one reply that wait on one card. Which they are, and what one yes to several covers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from gate.rules.action import Action, Verdict
from gate.rules.action_states import State

MAX_CALLS = 12  # actions on one card


def is_coverable(action: Action) -> bool:
    """Whether a yes to several may cover it: it waits on their card, for one click, with a preview."""
    waits = action.state is State.PREPARED and bool(action.shares) and not action.review
    return waits and action.verdict is Verdict.CONFIRM and action.preview.is_complete


def batch_seal(actions: Sequence[Action]) -> str:
    """16 hex digits of a SHA-256 over the ids, versions and receipts of exactly these, in this order."""
    shown = "\n".join(f"{action.id}.{action.version}.{action.receipt}" for action in actions)
    return hashlib.sha256(shown.encode()).hexdigest()[:16]


def batch_button(group: str, actions: Sequence[Action]) -> str:
    """What *Confirm all* carries: the group, how many, and their seal. gate.rules.action.Ref reads it."""
    return f"{group}.{len(actions)}.{batch_seal(actions)}"


def batch_revision(actions: Sequence[Action]) -> int:
    """Counts every change of a group: what its card was drawn from. Nothing leaves a group, so it only grows."""
    return sum(action.revision for action in actions)
