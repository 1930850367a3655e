"""Whether rules that have changed while a card waits want another yes than the one to what it shows."""

from __future__ import annotations

import math

from gate.rules.action import Decision, Verdict
from gate.rules.policy import RISK_ORDER


def needs_new_yes(shown: Decision, now: Decision) -> bool:
    """Whether a yes to what was shown under one decision is none to the same call under another: it may not run any
    more, others decide on it or in another way, or anything else of it has become stricter."""
    stricter = (
        now.verdict is Verdict.DENY
        or (now.private and not shown.private)
        or (now.secret and not shown.secret)
        or RISK_ORDER.index(now.risk) > RISK_ORDER.index(shown.risk)
        or (now.ttl or math.inf) < (shown.ttl or math.inf)
    )
    if stricter or now.verdict is Verdict.RUN:  # then nobody need be asked any more
        return stricter
    return (now.cls, now.approvers, now.always_gated) != (shown.cls, shown.approvers, shown.always_gated)
