"""The receipt: a hash over all that was shown and decided on, so that nothing of it can change unseen."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import Any

from gate.rules.action import Action, Json

# Whoever changes it takes the MACs of what waits in a migration, so that it is asked anew, as r013 does for formats 1
# and 2, which did not cover all of the proposal.
FORMAT = 3


def receipt(action: Action) -> str:
    """SHA-256 (hex) over the whole proposal, and over which version of which action of whom it is; the action's own
    `receipt` is not read. That nobody has made a new one is shown by the MAC over the whole row, which the ledger
    checks as it reads (`Action.flaw`)."""
    return digest(
        {
            "format": FORMAT,
            "action": action.id,
            "version": action.version,
            "session": action.session.key,
            "requester": action.requester,
            "proposal": action.proposal,
        }
    )


def intact(action: Action) -> bool:
    """Whether the stored action is the one that the receipt was made for, in a row as the ledger wrote it."""
    return not action.flaw and hmac.compare_digest(receipt(action), action.receipt)


def digest(value: Any) -> str:
    """SHA-256 (hex) over the one JSON spelling of a value: dataclasses by their fields, sets sorted, moments in UTC. A
    field that has its default value is left out, so that one that is added later changes no digest.

    Raises TypeError for what is none of these."""
    data = json.dumps(value, default=_plain, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(data.encode("ascii")).hexdigest()


def _plain(value: Any) -> Json:
    if is_dataclass(value):
        found = {field: getattr(value, field.name) for field in fields(value)}
        return {field.name: one for field, one in found.items() if one != field.default}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    raise TypeError(f"no spelling of {type(value).__name__} is covered by a receipt")
