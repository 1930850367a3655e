"""A call over MCP: through the gate as any other, with the ladder of ways to wait for a person."""

from __future__ import annotations

import logging
import re
from typing import Any

from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from gate import access
from gate.access import Token
from gate.action import Action, Json, Session, Verdict
from gate.canonical import BadArguments, canonical
from gate.flows.look import decided
from gate.flows.prepare import Answered, Asked, Prepared, Refused, missing, prepare
from gate.offers import offered
from gate.people import Ruling
from gate.talk import Call
from gate.tool import ToolSpec
from gate.world import Unavailable
from handlers.api.feed import Feed
from handlers.api.front import BROKEN, BUSY
from handlers.api.gateway import outcomes
from handlers.api.gateway.listing import RESULT
from handlers.api.gateway.slots import slot, standing
from handlers.api.gateway.waiting import DECLINED, Caller, Waiting
from handlers.api.models import ID
from handlers.api.ports import NoThread, Office
from handlers.api.problems import Problem

log = logging.getLogger(__name__)

CALLER = "countersign.caller"  # in the scope of each request
ASKED = "approval"  # the name of our question in an InputRequiredResult
NO_TICKET = "There is no such ticket for this token. Give it exactly as the call was answered."
Context = ServerRequestContext[Any, Any]
Given = CallToolResult | InputRequiredResult


class Calls:
    """Carries out calls for one office."""

    def __init__(self, office: Office, feed: Feed) -> None:
        self._office = office
        self._waiting = Waiting(office, feed)

    async def call(self, ctx: Context, params: CallToolRequestParams) -> Given:
        """The answer to one call. Whatever goes wrong is said in a sentence."""
        caller: Caller = ctx.request.scope[CALLER]
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
            return CallToolResult(content=outcomes.text(BROKEN.format(id=incident)), is_error=True)

    async def _called(self, ctx: Context, caller: Caller, params: CallToolRequestParams) -> Given:
        world, args = self._office.world, params.arguments or {}
        known = offered(world.tools.specs(), world.policy, channel_of(caller.token))
        if params.name not in known:
            return outcomes.failed(missing(world, params.name.replace("__", ".", 1)), "refused")
        made = await self._proposed(caller.token, known[params.name].spec, args)
        if isinstance(made, Answered):
            return outcomes.answered(made)
        if isinstance(made, Refused):
            return outcomes.refused(made)
        link = await self._link(ctx, made.action)
        if link and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            # Not sealed: the ticket says nothing, and what it stands for is asked of the ledger for this token.
            return InputRequiredResult(
                input_requests={ASKED: question(made.action, link)}, request_state=made.action.id
            )
        return await self._held(ctx, caller, made.action, link)

    async def _proposed(
        self, token: Token, spec: ToolSpec, args: dict[str, Json]
    ) -> Prepared | Answered | Refused:
        office = self._office
        session = await self._place(token)
        decision = decided(office.world, spec, args, session.channel)
        try:
            same = b"" if decision.verdict is Verdict.RUN else canonical(args)
        except BadArguments:
            same = b""  # it is refused in a moment
        ledger, ids = office.world.ledger, office.world.ids
        action_id = await slot(ledger, token.id, spec.full_name, same) if same else ids.new()
        await office.tokens.made(token, action_id)
        call = Call(spec.server, spec.name, args)
        return await prepare(office.world, Asked(action_id, session, token.user, call))

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
            return await self._declined(caller, action)
        return await self._held(ctx, caller, action, "")

    async def _held(self, ctx: Context, caller: Caller, action: Action, link: str) -> CallToolResult:
        """Hold the call until it is decided, then say what came of it; after a while, that it waits."""

        async def work() -> Action:
            if link and not await elicited(ctx, action, link):
                await self._waiting.withdraw(caller.token, action.id, DECLINED)
            found = await self._waiting.settled(action, teller(ctx))
            if link:
                await ctx.session.send_elicit_complete(action.id, ctx.request_id)  # type: ignore[arg-type]
            return found

        found = await self._waiting.guarded(caller, action, work)
        return outcomes.told(found or action)

    async def _declined(self, caller: Caller, action: Action) -> CallToolResult:
        await self._waiting.withdraw(caller.token, action.id, DECLINED)
        return outcomes.told(await self._standing(action))

    async def _result(self, ctx: Context, caller: Caller, args: dict[str, Json]) -> CallToolResult:
        """gate_result: a look, which may wait a while. Who leaves it withdraws nothing."""
        ticket = args.get("ticket")
        action = await self._visible(caller.token, ticket if isinstance(ticket, str) else "")
        return outcomes.told(await self._waiting.settled(action, teller(ctx)))

    async def _visible(self, token: Token, ticket: str) -> Action:
        """The action of a ticket, as it stands, where this token has proposed it."""
        found = await self._office.world.ledger.action(ticket) if re.fullmatch(ID, ticket) else None
        made = await self._office.tokens.makers([ticket]) if found else {}
        if found is None or made.get(ticket) != token.id:
            raise Problem(404, "no_ticket", NO_TICKET)
        return await self._standing(found)

    async def _standing(self, action: Action) -> Action:
        ledger = self._office.world.ledger
        return await standing(ledger, await ledger.action(action.id) or action)


def channel_of(token: Token) -> str:
    """Where its calls are asked."""
    return token.channels[0] if token.channels else ""


def question(action: Action, link: str) -> ElicitRequest:
    """What the client shows to its person."""
    return ElicitRequest(params=ElicitRequestURLParams(message=outcomes.asks(action), url=link))


async def elicited(ctx: Context, action: Action, link: str) -> bool:
    """Ask a client of the handshake era to show the address; False when its person does not want that.

    A client that cannot after all, or whose person only closed the window, is held like any other.
    """
    try:
        answer = await ctx.session.elicit_url(outcomes.asks(action), link, action.id, ctx.request_id)
    except MCPError as error:
        log.info("a client did not show an address: %s", error)
        return True
    return answer.action != "decline"


def teller(ctx: Context) -> Any:
    """Reports progress to a client that asked for it."""

    async def tell(action: Action, waited: float) -> None:
        await ctx.session.report_progress(waited, None, outcomes.progress(action))

    return tell
