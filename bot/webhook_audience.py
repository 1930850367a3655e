"""What webhooks are told that were made over HTTP: what their token may see, as things stand at that moment."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncEngine

from bot.webhooks import Deliveries, Sender
from gate.rules.access import StreamEvent, Token, is_valid_token, may_be_used
from gate.rules.action import Person
from gate.rules.ports import Unavailable, World
from gate.rules.url_guard import Network
from gate.rules.webhooks import Webhook, may_receive
from storage.ledger import SqlLedger
from storage.tokens import TokenStore
from storage.webhooks import HookStore, wanted_by_operator

NOT_KNOWN = "Slack does not say now whose token it is that a webhook was made with"


class WebhookAudience:
    """Judges events for each webhook, as `GET /events` does for an open stream."""

    def __init__(self, world: World, tokens: TokenStore) -> None:
        self._world, self._tokens = world, tokens

    async def receivable(self, hook: Webhook, found: Sequence[StreamEvent]) -> Sequence[StreamEvent]:
        """Those of the events that it is told of. Raises Unavailable: nobody can say now."""
        if not hook.token:
            return await wanted_by_operator(hook, found)
        token = await self._tokens.get(hook.token)
        if token is None or not is_valid_token(token, await self._tokens.now()).allowed:
            return []
        person = await self._person(token)
        if not may_be_used(self._world.policy, token, person).allowed:
            return []
        return [one for one in found if may_receive(self._world.policy, hook, token, person, one)]

    async def _person(self, token: Token) -> Person:
        person = await self._world.people.fresh(token.team, token.user)
        if person is None:
            raise Unavailable(NOT_KNOWN)
        return person


def deliveries(world: World, ledger: SqlLedger, sql: AsyncEngine, allowed: Sequence[Network]) -> Deliveries:
    """The deliveries of a running service. `allowed`: networks of the operator's own, for the operator's webhooks."""
    audience = WebhookAudience(world, TokenStore(sql, ledger.seals))
    return Deliveries(HookStore(sql, ledger.seals), ledger, Sender(allowed), receivable=audience.receivable)
