"""Webhooks: who is told what, signed by the scheme of Standard Webhooks, and when it is tried again."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from gate.rules.access import StreamEvent, Token, TokenKind, sees
from gate.rules.action import Person
from gate.rules.ids import derive_id
from gate.rules.permissions import YES, Ruling, account
from gate.rules.policy import Policy

PREFIX = "whsec_"
SECRET_BYTES = 32
# Seconds before each try after the first; all of it lies within the day for which events are kept.
BACKOFF = (5, 300, 1800, 7200, 18_000, 36_000)
GONE = 410


@dataclass(frozen=True, slots=True)
class Webhook:
    """One receiver. Without `channels` or `kinds`: of all. `seq`: of the last event that it is sent, or not."""

    id: str
    url: str
    secret: str
    former: str  # the secret before the last rotation: both sign; "" without one
    team: str
    channels: tuple[str, ...]
    kinds: tuple[str, ...]
    seq: int
    created_at: datetime
    disabled_at: datetime | None = None
    problem: str = ""
    token: str = ""  # id of the API token that it was made with over HTTP; "" for the operator's own

    @property
    def owner(self) -> str:
        """Whose work its deliveries are: all webhooks of a token are one's, each of the operator's is for itself."""
        return self.token or self.id


class HooksTx(Protocol):
    """Webhooks in one transaction of the ledger."""

    async def of_token(self, token: str, besides: str) -> int:
        """How many were made with this token, without the one that may be asked for again; whoever else asks for the
        same waits for this transaction."""
        ...

    async def add(self, hook: Webhook) -> None:
        """It is told of what happens from now on. One with this id that is there already gets its secret: whoever
        asked for it has not been given the other."""

    async def remove(self, hook_id: str) -> bool: ...
    async def rotate(self, hook: Webhook, secret: str) -> bool:
        """Sign with a new secret, and with the one before it until the next rotation."""
        ...


def secret_of(key: bytes) -> str:
    """A secret as both sides write it."""
    return PREFIX + base64.b64encode(key).decode("ascii")


def key_of(secret: str) -> bytes:
    """The bytes of a secret. Raises ValueError when it is none."""
    if not secret.startswith(PREFIX):
        raise ValueError("a secret begins with whsec_")
    try:
        return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error as error:
        raise ValueError("a secret is base64") from error


def is_subscribed(hook: Webhook, one: StreamEvent) -> bool:
    """Whether this receiver is told of this event. What is private to a person is not told to anybody else."""
    if hook.disabled_at is not None or hook.team != one.session.team:
        return False
    if one.subject.action is not None and one.subject.action.private:
        return False
    in_place = not hook.channels or one.session.channel in hook.channels
    return in_place and (not hook.kinds or one.kind in hook.kinds)


def may_receive(policy: Policy, hook: Webhook, token: Token, person: Person | None, one: StreamEvent) -> bool:
    """Whether a webhook that was made with this token is told of this event: of what the token may see."""
    return (
        hook.token == token.id
        and is_subscribed(hook, one)
        and sees(policy, token, person, one.subject).allowed
    )


def may_manage(
    policy: Policy, token: Token, person: Person | None, hook: Webhook, owner: Token | None
) -> Ruling:
    """Whether the token may see and end this webhook. `owner`: the token that it was made with, if any.

    That token may, every token of a person whom that token speaks for, and an admin; of others it is not known.
    """
    if hook.team != token.team:
        return Ruling(False)
    if hook.token and hook.token == token.id:
        return YES
    if token.kind is not TokenKind.PERSON or not account(person).allowed or person is None:
        return Ruling(False)
    mine = owner is not None and owner.team == token.team and owner.user == person.id
    return Ruling(mine or person.id in policy.admins)


def message_id(hook: Webhook, seq: int) -> str:
    """The same for every try: by it a receiver knows what it has had already."""
    return f"msg_{derive_id('webhook', hook.id, seq)}"


def headers(hook: Webhook, seq: int, at: datetime, body: bytes) -> dict[str, str]:
    """What Standard Webhooks puts beside the body. `at`: of this try."""
    message, stamp = message_id(hook, seq), str(int(at.timestamp()))
    signed = [signature(secret, message, stamp, body) for secret in (hook.secret, hook.former) if secret]
    return {
        "webhook-id": message,
        "webhook-timestamp": stamp,
        "webhook-signature": " ".join(signed),
        "content-type": "application/json",
        "user-agent": "Countersign/1 (+webhooks)",
    }


def signature(secret: str, message: str, stamp: str, body: bytes) -> str:
    """HMAC-SHA-256 over id, timestamp and body."""
    signed = f"{message}.{stamp}.".encode() + body
    made = hmac.new(key_of(secret), signed, hashlib.sha256).digest()
    return "v1," + base64.b64encode(made).decode("ascii")


def retry_delay(attempt: int) -> float | None:
    """Seconds until the next try, after the try with this number (from 0) failed; None when it was the last."""
    return float(BACKOFF[attempt]) if attempt < len(BACKOFF) else None
