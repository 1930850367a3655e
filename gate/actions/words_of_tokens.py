"""What comes through an API token: its words are an agent's, whoever it speaks for."""

from __future__ import annotations

from gate.rules import advisers
from gate.rules.action import Session
from gate.rules.grant_ports import WORDS_OF_OTHERS
from gate.rules.ports import Tx, World


async def told_to_token(world: World, team: str, requester: str) -> frozenset[str]:
    """Who but the requester has said something that the client of the API token behind this was told; nobody without a
    token. What the client changes may be what they asked for. Raises Unavailable."""
    if not world.ledger.token or not advisers.are_counted(world.policy):
        return frozenset()
    return await world.ledger.grants.said_to_token(world.ledger.token, team, requester) - {requester}


async def count_words_of_token(tx: Tx, session: Session, *words: object) -> None:
    """Count what is stored in this thread through an API token as words of others: a planner may be told of it later.
    Does nothing without a token, and where none of the words says anything."""
    if tx.token and any(words):
        await tx.grants.taint(session, WORDS_OF_OTHERS, False)
