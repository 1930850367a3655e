"""Webhooks over the API: each belongs to the token that made it, and is told of what that token may see."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from typing import Any, Literal

from gate.derive import derived
from gate.flows import webhooks as flow
from gate.webhook import SECRET_BYTES, Webhook, manages, secret_of
from handlers.api import hook_models as models
from handlers.api.problems import missing, unless
from handlers.api.route import Answer, Call

State = Literal["ok", "failing", "disabled", "token_over"]


async def add(call: Call[models.AddWebhook]) -> Answer:
    """POST /webhooks"""
    office, given, token = call.office, call.given, call.token
    made = Webhook(
        id=derived("webhook", call.once) if call.key else office.world.ids.new(),
        url=given.url,
        secret=secret_of(secrets.token_bytes(SECRET_BYTES)),
        former="",
        team=token.team,
        channels=tuple(given.channels),
        kinds=tuple(given.kinds),
        seq=0,
        created_at=await office.tokens.now(),
        token=token.id,
    )
    unless(await flow.add(office.world, token, made, office.bounds.webhooks))
    return Answer(_shape(made, {token.id}, made.secret), 201)


async def listing(call: Call[Any]) -> Answer:
    """GET /webhooks: those that this token may end, the oldest first."""
    office = call.office
    mine = [one for one in await office.hooks.of_team(call.token.team) if await _manages(call, one)]
    counting = await office.tokens.counting({one.token for one in mine if one.token})
    return Answer(models.WebhookList(webhooks=[_shape(one, counting) for one in mine]))


async def remove(call: Call[Any]) -> Answer:
    """DELETE /webhooks/{id}"""
    found = await visible(call)
    unless(await flow.remove(call.office.world, call.token, found))
    return Answer(_shape(found, {found.token}))


async def rotate(call: Call[Any]) -> Answer:
    """POST /webhooks/{id}/rotate"""
    found, secret = await visible(call), secret_of(secrets.token_bytes(SECRET_BYTES))
    unless(await flow.rotate(call.office.world, call.token, found, secret))
    return Answer(_shape(found, {found.token}, secret))


async def visible(call: Call[Any]) -> Webhook:
    """The webhook, where this token may know of it. Raises Problem."""
    found = await call.office.hooks.get(call.id)
    if found is None or not await _manages(call, found):
        raise missing("webhook")
    return found


async def _manages(call: Call[Any], hook: Webhook) -> bool:
    owner = await call.office.tokens.get(hook.token) if hook.token else None
    return manages(call.office.world.policy, call.token, call.person, hook, owner).allowed


def _shape(one: Webhook, counting: Collection[str], secret: str | None = None) -> models.Webhook:
    return models.Webhook(
        id=one.id,
        url=one.url,
        channels=list(one.channels),
        kinds=list(one.kinds),
        token_id=one.token or None,
        created_at=one.created_at,
        state=_state(one, counting),
        problem=one.problem,
        secret=secret,
    )


def _state(one: Webhook, counting: Collection[str]) -> State:
    if one.disabled_at is not None:
        return "disabled"
    if one.token and one.token not in counting:
        return "token_over"
    return "failing" if one.problem else "ok"
