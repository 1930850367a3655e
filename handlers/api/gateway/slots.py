"""Identical calls share one action: as long as the first waits, its repeats join it."""

from __future__ import annotations

from gate.action import Action
from gate.derive import derived
from gate.world import Ledger

# UNKNOWN counts, too: what may have happened is not asked again before somebody has settled it. So does a result that
# waits for its review.


async def standing(ledger: Ledger, action: Action) -> Action:
    """The action; where a person asked it anew after it expired or its target had changed, the newest of these."""
    while (renewed := await ledger.action(derived("renew", action.id))) is not None:
        action = renewed
    return action


async def slot(ledger: Ledger, token: str, tool: str, args: bytes) -> str:
    """The id of the pending action for this call of this token; where none waits, that of the next one.

    The ids of identical calls are numbered without a gap, since the next is used only when the last is over: so
    two replicas that are called at once find the same id, and the ledger's insert-or-return makes it one action.
    Looking for the last number takes a look for each of its bits.
    """

    async def at(number: int) -> Action | None:
        return await ledger.action(_id(token, tool, args, number))

    last = await at(0)
    if last is None:
        return _id(token, tool, args, 0)
    low, high = 0, 1
    while (found := await at(high)) is not None:
        low, high, last = high, 2 * high, found
    while high - low > 1:
        middle = (low + high) // 2
        found = await at(middle)
        if found is None:
            high = middle
        else:
            low, last = middle, found
    last = await standing(ledger, last)
    return last.id if not last.over else _id(token, tool, args, high)


def _id(token: str, tool: str, args: bytes, number: int) -> str:
    return derived("gateway call", token, tool, args.decode(), number)
