"""A call over MCP: through the gate as any other, with the ladder of ways to wait for a person."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequests,
    InputRequiredResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from gate import access
from gate.access import Token
from gate.action import Action, Json, Session, Verdict
from gate.canonical import BadArguments, canonical
from gate.flows.look import decided
from gate.flows.prepare import Answered, Asked, Refused, missing, prepare
from gate.offers import offered
from gate.people import Ruling
from gate.reviews import Phase
from gate.states import State
from gate.talk import Call
from gate.tool import ToolSpec
from gate.world import Unavailable
from handlers.api.feed import Feed
from handlers.api.front import BROKEN, BUSY
from handlers.api.gateway import outcomes
from handlers.api.gateway.bridge import ended
from handlers.api.gateway.listing import META, RESULT
from handlers.api.gateway.slots import slot, standing
from handlers.api.gateway.waiting import DECLINED, Caller, Waiting
from handlers.api.models import ID
from handlers.api.ports import NoThread, Office
from handlers.api.problems import Problem

log = logging.getLogger(__name__)

CALLER = "countersign.caller"  # in the scope of each request
ASKED = "approval"  # the name of our question in an InputRequiredResult
NO_TICKET = "There is no such ticket for this token. Give it exactly as the call was answered."
OVER = "This token does not count any more, so it is not told what came of the call."
Context = ServerRequestContext[Any, Any]
Given = CallToolResult | InputRequiredResult


class Calls:
    """Carries out calls for one office."""

    def __init__(self, office: Office, feed: Feed) -> None:
        self._office = office
        self._waiting = Waiting(office, feed)

    async def call(self, ctx: Context, params: CallToolRequestParams) -> Given:
        """The answer to one call. Whatever goes wrong is said in a sentence."""
        caller = caller_of(ctx)
        try:
            if params.name == RESULT:
                return await self._result(ctx, caller, params.arguments or {})
            if params.request_state is not None:
                return await self._asked(ctx, caller, params)
            return await self._called(ctx, caller, params)
        except Problem as error:
            return outcomes.failed(error.detail, error.code)
        except NoThread as error:
            return outcomes.failed(str(error), "no_thread")
        except Unavailable as error:
            log.warning("a call over MCP could not be taken in: %s", error)
            return outcomes.failed(BUSY, "unavailable")
        except Exception:
            incident = self._office.world.ids.new()
            log.exception("a call over MCP failed, incident %s", incident)
            return outcomes.failed(BROKEN.format(id=incident), "broken")

    async def _called(self, ctx: Context, caller: Caller, params: CallToolRequestParams) -> Given:
        world, token, args = self._office.world, caller.token, params.arguments or {}
        known = offered(world.tools.specs(), world.policy, channel_of(token))
        if params.name not in known:
            return outcomes.refused(missing(world, params.name.replace("__", ".", 1)))
        spec, session = known[params.name].spec, await self._place(token)
        action_id = await self._slot(token, spec, args, session)
        asked = Asked(action_id, session, token.user, Call(spec.server, spec.name, args))
        work = partial(self._proposed, ctx, caller, asked)
        return await self._waiting.guarded(caller, action_id, work) or outcomes.left()

    async def _slot(self, token: Token, spec: ToolSpec, args: dict[str, Json], session: Session) -> str:
        """The id of this call: that of an identical one which waits, where there is one."""
        world = self._office.world
        decision = decided(world, spec, args, session.channel)
        if decision.verdict is Verdict.RUN and not world.policy.review(Phase.AFTER, spec.full_name):
            return world.ids.new()
        try:
            return await slot(world.ledger, token.id, spec.full_name, canonical(args))
        except BadArguments:
            return world.ids.new()  # it is refused in a moment

    async def _proposed(self, ctx: Context, caller: Caller, asked: Asked) -> Given:
        """Through the gate. A client that leaves meanwhile finds it done, so that it can be withdrawn."""
        office, modern = self._office, ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        with anyio.CancelScope(shield=True):
            await office.tokens.made(caller.token, asked.id)
            made = await prepare(office.through(caller.token).world, asked)
        if isinstance(made, Answered):
            return outcomes.answered(made)
        if isinstance(made, Refused):
            return outcomes.refused(*made.reasons)
        link = await self._link(ctx, made.action)
        if link and modern:
            # Not sealed: the ticket says nothing, and what it stands for is asked of the ledger for this token.
            asks: InputRequests = {ASKED: question(made.action, link)}
            return InputRequiredResult(input_requests=asks, request_state=made.action.id)
        return await self._held(ctx, caller, made.action, link)

    async def _place(self, token: Token) -> Session:
        """The thread of this token's calls, the same as over the API."""
        placed = access.place(token, "", "")
        if isinstance(placed, Ruling):
            raise Problem(403, "place", placed.reason)
        thread = await self._office.threads.open(f"api:{token.id}", placed.channel, token, "")
        return Session(placed.team, placed.channel, thread)

    async def _link(self, ctx: Context, action: Action) -> str:
        """Where the person in front of the client can decide; "" where it cannot open an address."""
        told = ctx.session.client_capabilities
        able = told is not None and told.elicitation is not None and told.elicitation.url is not None
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        if not able or not (modern or ctx.session.can_send_request):
            return ""
        return await self._office.threads.link(action.session.channel, action.session.thread)

    async def _asked(self, ctx: Context, caller: Caller, params: CallToolRequestParams) -> Given:
        """The second leg: the client has shown our address to its person, or did not want to."""
        action = await self._visible(caller.token, params.request_state or "")
        answer = (params.input_responses or {}).get(ASKED)
        if isinstance(answer, ElicitResult) and answer.action == "decline":
            await self._waiting.withdraw(caller.token, action.id, DECLINED)
        work = partial(self._held, ctx, caller, action, "")
        return await self._waiting.guarded(caller, action.id, work) or outcomes.left()

    async def _held(self, ctx: Context, caller: Caller, action: Action, link: str) -> CallToolResult:
        """Hold the call until it is decided, then say what came of it; after a while, that it waits.

        Its person may decide in Slack without ever answering what a client of the handshake era shows them.
        """
        asking = asyncio.create_task(self._ask(ctx, caller, action, link)) if link else None
        try:
            found = await self._waiting.settled(action, self._hold(ctx), teller(ctx))
        finally:
            if asking is not None:
                await ended(asking)
        if asking is not None and found.state is not State.PREPARED:
            await ctx.session.send_elicit_complete(action.id, str(ctx.request_id))
        await self._still(caller.token)
        return outcomes.told(found)

    async def _ask(self, ctx: Context, caller: Caller, action: Action, link: str) -> None:
        """Let a client of the handshake era show the address. If it cannot after all, it is held like any other."""
        try:
            answer = await ctx.session.elicit_url(outcomes.asks(action), link, action.id, ctx.request_id)
        except (MCPError, ValueError) as error:
            log.info("a client did not show an address: %s", error)
            return
        if answer.action == "decline":
            await self._waiting.withdraw(caller.token, action.id, DECLINED)

    async def _still(self, token: Token) -> None:
        """Raise Problem unless the token counts after all this time."""
        if token.id not in await self._office.tokens.counting([token.id]):
            raise Problem(401, "token_over", OVER)

    async def _result(self, ctx: Context, caller: Caller, args: dict[str, Json]) -> CallToolResult:
        """gate_result: a look, which may wait a while. Who leaves it withdraws nothing."""
        ticket = args.get("ticket")
        action = await self._visible(caller.token, ticket if isinstance(ticket, str) else "")
        found = await self._waiting.settled(action, self._hold(ctx), teller(ctx))
        await self._still(caller.token)
        return outcomes.told(found)

    def _hold(self, ctx: Context) -> float:
        """For how many seconds this call is held: as long as the operator says, or less where the client asks."""
        most = self._office.world.limits.hold
        meta: Mapping[str, object] = ctx.meta or {}
        gate = meta.get(META)
        asked = gate.get("hold", most) if isinstance(gate, dict) else most
        return min(most, asked) if isinstance(asked, int | float) and asked >= 0 else most

    async def _visible(self, token: Token, ticket: str) -> Action:
        """The action of a ticket, as it stands, where this token has proposed it."""
        found = await self._office.world.ledger.action(ticket) if re.fullmatch(ID, ticket) else None
        made = await self._office.tokens.makers([ticket]) if found else {}
        if found is None or made.get(ticket) != token.id:
            raise Problem(404, "no_ticket", NO_TICKET)
        return await standing(self._office.world.ledger, found)


def caller_of(ctx: Context) -> Caller:
    """Who is on the line of this request."""
    assert ctx.request is not None
    found: Caller = ctx.request.scope[CALLER]
    return found


def channel_of(token: Token) -> str:
    """Where its calls are asked."""
    return token.channels[0] if token.channels else ""


def question(action: Action, link: str) -> ElicitRequest:
    """What the client shows to its person."""
    return ElicitRequest(params=ElicitRequestURLParams(message=outcomes.asks(action), url=link))


def teller(ctx: Context) -> Any:
    """Reports progress to a client that asked for it."""

    async def tell(action: Action, waited: float) -> None:
        await ctx.session.report_progress(waited, None, outcomes.progress(action))

    return tell
