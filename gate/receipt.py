"""The receipt: a hash over all that was shown and decided on, so that nothing of it can change unseen."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import UTC

from gate.action import Action


def receipt(action: Action) -> str:
    """SHA-256 (hex) over the fields named in design.md section 2; the action's own `receipt` is not read."""
    fields = {
        "action": action.id,
        "version": action.version,
        "session": action.session.key,
        "requester": action.requester,
        "server": action.server,
        "tool": action.tool,
        "definition": action.definition,
        "args": hashlib.sha256(action.args).hexdigest(),
        "preconditions": action.capture,
        "class": action.cls,
        "policy": action.policy,
        "expires_at": action.expires_at.astimezone(UTC).isoformat(timespec="microseconds"),
    }
    data = json.dumps(fields, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(data.encode("ascii")).hexdigest()


def intact(action: Action) -> bool:
    """Whether the stored action is still the one that the receipt was made for."""
    return hmac.compare_digest(receipt(action), action.receipt)
