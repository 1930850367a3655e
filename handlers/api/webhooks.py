"""The endpoints of webhooks. A webhook belongs to a token and gets the events that the token may see."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from typing import Any, Literal

from gate.actions import webhook_registration as webhook_registration
from gate.rules.ids import derive_id
from gate.rules.webhooks import SECRET_BYTES, Webhook, may_manage, secret_of
from handlers.api import models
from handlers.api.route import ApiRequest, ApiResponse, not_found, require_ok

State = Literal["ok", "failing", "disabled", "token_over"]


async def add(request: ApiRequest[models.AddWebhook]) -> ApiResponse:
    """POST /webhooks"""
    services, params, token = request.services, request.params, request.token
    webhook = Webhook(
        id=derive_id("webhook", request.idempotency_id)
        if request.idempotency_key
        else services.world.ids.new(),
        url=params.url,
        secret=secret_of(secrets.token_bytes(SECRET_BYTES)),
        former="",
        team=token.team,
        channels=tuple(params.channels),
        kinds=tuple(params.kinds),
        seq=0,
        created_at=await services.tokens.now(),
        token=token.id,
    )
    require_ok(await webhook_registration.add(services.world, token, webhook, services.bounds.webhooks))
    return ApiResponse(_webhook_model(webhook, {token.id}, webhook.secret), 201)


async def listing(request: ApiRequest[Any]) -> ApiResponse:
    """GET /webhooks: those that this token may remove, oldest first."""
    services = request.services
    mine = [one for one in await services.hooks.of_team(request.token.team) if await _manages(request, one)]
    counting = await services.tokens.counting({one.token for one in mine if one.token})
    return ApiResponse(models.WebhookList(webhooks=[_webhook_model(one, counting) for one in mine]))


async def remove(request: ApiRequest[Any]) -> ApiResponse:
    """DELETE /webhooks/{id}"""
    found = await load_visible(request)
    require_ok(await webhook_registration.remove(request.world, request.token, found))
    return ApiResponse(_webhook_model(found, {found.token}))


async def rotate(request: ApiRequest[Any]) -> ApiResponse:
    """POST /webhooks/{id}/rotate"""
    found, secret = await load_visible(request), secret_of(secrets.token_bytes(SECRET_BYTES))
    require_ok(await webhook_registration.rotate(request.world, request.token, found, secret))
    return ApiResponse(_webhook_model(found, {found.token}, secret))


async def load_visible(request: ApiRequest[Any]) -> Webhook:
    """The webhook. Raises Problem 404 if it does not exist or the token may not manage it."""
    found = await request.services.hooks.get(request.id)
    if found is None or not await _manages(request, found):
        raise not_found("webhook")
    return found


async def _manages(request: ApiRequest[Any], hook: Webhook) -> bool:
    owner = await request.services.tokens.get(hook.token) if hook.token else None
    return may_manage(request.world.policy, request.token, request.person, hook, owner).allowed


def _webhook_model(one: Webhook, counting: Collection[str], secret: str | None = None) -> models.Webhook:
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
