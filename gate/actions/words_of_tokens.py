"""What comes through an API token: its words are an agent's, whoever it speaks for."""

from __future__ import annotations

from gate.rules.action import Session
from gate.rules.grant_ports import WORDS_OF_OTHERS
from gate.rules.ports import Tx


async def count_words_of_token(tx: Tx, session: Session, *words: object) -> None:
    """Count what is stored in this thread through an API token as words of others: a planner may be told of it later.
    Does nothing without a token, and where none of the words says anything."""
    if tx.token and any(words):
        await tx.grants.taint(session, WORDS_OF_OTHERS, False)
