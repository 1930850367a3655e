"""tools/call over MCP: calls pass the gate, and wait for a person as the client's capabilities allow."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio
from anyio.lowlevel import checkpoint
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

from gate.actions import claim_click
from gate.actions.button_press import Press
from gate.actions.loop_time import in_own_turn
from gate.actions.prepare import Answered, CallRequest, Refused, prepare, unknown_tool_text
from gate.actions.preview import decision_in_turn
from gate.rules import access
from gate.rules.access import Token
from gate.rules.action import Action, Json, Ref, Session, Verdict
from gate.rules.action_states import State
from gate.rules.canonical_json import BadArguments, canonical
from gate.rules.jobs import for_owner
from gate.rules.messages import permalink
from gate.rules.permissions import Ruling
from gate.rules.planner_port import Call
from gate.rules.ports import Unavailable
from gate.rules.reviews import Phase
from gate.rules.tool import ToolSpec
from gate.rules.tool_offers import OfferedTool, ToolOffers
from handlers.api.actions import thread_key, told_by
from handlers.api.endpoint import BROKEN, BUSY, owner_of
from handlers.api.event_stream import Feed
from handlers.api.models import ID
from handlers.api.ports import NoThread, Services
from handlers.api.request import load_person
from handlers.api.route import Problem, a_known_place, require_ok
from handlers.gateway import results
from handlers.gateway.results import LIST, META, RESULT, WITHDRAW
from handlers.gateway.waiting import (
    DECLINED,
    WITHDRAWN,
    Caller,
    Waiter,
    cancel_and_wait,
    latest_renewal,
    pending_or_next_id,
    withdrawer,
)

log = logging.getLogger(__name__)

CALLER = "countersign.caller"  # the key in the ASGI scope
PAGE = 20  # tickets in a list
ASKED_TO = "its MCP client asked for that"
ASKED = "approval"  # the key of the elicitation in an InputRequiredResult
NO_TICKET = "There is no such ticket for this token. Give it exactly as the call was answered."
TOKEN_ENDED = "This token does not count any more, so it is not told what came of the call."
Context = ServerRequestContext[Any, Any]
CallResponse = CallToolResult | InputRequiredResult


class Calls:
    """The handler of tools/call."""

    def __init__(self, services: Services, feed: Feed) -> None:
        self._services = services
        self._waiter = Waiter(services, feed)
        self._offers = ToolOffers()

    def offered(self, token: Token) -> dict[str, OfferedTool]:
        """The tools that this token may name, by the names that its clients know them by."""
        world = self._services.world
        return self._offers.offered(world.tools.specs(), world.policy, channel_of(token))

    async def call(self, ctx: Context, params: CallToolRequestParams) -> CallResponse:
        """The result of one call. Errors are results with a sentence for people."""
        caller = caller_of(ctx)
        with for_owner(owner_of(caller.token)):
            work = partial(self._call_or_error, ctx, caller, params)
            return await in_own_turn(self._services.world, work)

    async def _call_or_error(
        self, ctx: Context, caller: Caller, params: CallToolRequestParams
    ) -> CallResponse:
        try:
            if params.name == RESULT:
                return await self._gate_result(ctx, caller, params.arguments or {})
            if params.name == LIST:
                return await self._gate_list(caller.token, params.arguments or {})
            if params.name == WITHDRAW:
                return await self._gate_withdraw(caller.token, params.arguments or {})
            if params.request_state is not None:
                return await self._answered_elicitation(ctx, caller, params)
            return await self._call_tool(ctx, caller, params)
        except Problem as error:
            return results.failed(error.detail, error.code)
        except NoThread as error:
            return results.failed(str(error), "no_thread")
        except Unavailable as error:
            log.warning("a call over MCP could not be taken in: %s", error)
            return results.failed(BUSY, "unavailable")
        except Exception:
            incident = self._services.world.ids.new()
            log.exception("a call over MCP failed, incident %s", incident)
            return results.failed(BROKEN.format(id=incident), "broken")

    async def _call_tool(self, ctx: Context, caller: Caller, params: CallToolRequestParams) -> CallResponse:
        world, token, args = self._services.world, caller.token, params.arguments or {}
        known = self.offered(token)
        if params.name not in known:
            return results.refused(unknown_tool_text(world, params.name.replace("__", ".", 1)))
        spec, session = known[params.name].spec, await self._session(token)
        action_id = await self._action_id(token, spec, args, session)
        await checkpoint()  # it is decided again when it is proposed: other work may go on between the two
        said = await told_by(self._services, token)
        call = Call(spec.server, spec.name, args)
        asked = CallRequest(action_id, session, token.user, call, instructed=said)
        work = partial(self._propose, ctx, caller, asked)
        return await self._waiter.run_while_connected(caller, action_id, work) or results.disconnected()

    async def _action_id(self, token: Token, spec: ToolSpec, args: dict[str, Json], session: Session) -> str:
        """The id of the action: that of a pending identical call, or a new one."""
        world = self._services.world
        try:
            found = canonical(args)
        except BadArguments:
            return world.ids.new()  # `prepare` refuses it; before that nothing of it is looked at
        decision = await decision_in_turn(world, spec, args, session.channel)
        reviewed = any(world.policy.review(phase, spec.full_name) for phase in Phase)
        if decision.verdict is Verdict.RUN and not reviewed:
            return world.ids.new()
        return await pending_or_next_id(world.ledger, token.id, spec.full_name, found)

    async def _propose(self, ctx: Context, caller: Caller, asked: CallRequest) -> CallResponse:
        """Proposes the call. Shielded from cancellation, so that the action exists and can be withdrawn."""
        services, modern = self._services, ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        with anyio.CancelScope(shield=True):
            made = await prepare(services.for_token(caller.token).world, asked)
        if isinstance(made, Answered):
            return results.answered(made)
        if isinstance(made, Refused):
            return results.refused(*made.reasons)
        link = self._link(ctx, made.action)
        if link and modern:
            # Not signed: the ticket is only an id, which is looked up in the ledger for this token.
            asks: InputRequests = {ASKED: elicitation(made.action, link)}
            return InputRequiredResult(input_requests=asks, request_state=made.action.id)
        return await self._wait(ctx, caller, made.action, link)

    async def _session(self, token: Token) -> Session:
        """The thread of this token's calls, the same as for the HTTP API."""
        placed = access.session_for_token(token, "", "")
        if isinstance(placed, Ruling):
            raise Problem(403, "place", placed.reason)
        thread = await self._services.threads.open(thread_key(token.id), placed.channel, token, "")
        return Session(placed.team, placed.channel, thread)

    def _link(self, ctx: Context, action: Action) -> str:
        """The permalink to show to the person; "" if the client cannot open URLs, or it is not known."""
        capabilities = ctx.session.client_capabilities
        can_open_url = (
            capabilities is not None
            and capabilities.elicitation is not None
            and capabilities.elicitation.url is not None
        )
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        if not can_open_url or not (modern or ctx.session.can_send_request):
            return ""
        return permalink(self._services.world.address, action.session)

    async def _answered_elicitation(
        self, ctx: Context, caller: Caller, params: CallToolRequestParams
    ) -> CallResponse:
        """The second request of an elicitation: the client has shown the link, or the person declined."""
        action = await self._action_of_ticket(caller.token, params.request_state or "")
        answer = (params.input_responses or {}).get(ASKED)
        if isinstance(answer, ElicitResult) and answer.action == "decline":
            await self._waiter.withdraw(caller.token, action.id, DECLINED)
        work = partial(self._wait, ctx, caller, action, "")
        return await self._waiter.run_while_connected(caller, action.id, work) or results.disconnected()

    async def _wait(self, ctx: Context, caller: Caller, action: Action, link: str) -> CallToolResult:
        """Waits until the action is final and returns its result; after the hold time, returns that it waits.

        The person may decide in Slack without answering the elicitation.
        """
        caller.release_slot()
        asking = asyncio.create_task(self._elicit(ctx, caller, action, link)) if link else None
        try:
            found = await self._waiter.wait_until_decided(
                action, self._hold_seconds(ctx), progress_reporter(ctx)
            )
        finally:
            if asking is not None:
                await cancel_and_wait(asking)
        if asking is not None and found.state is not State.PREPARED:
            await ctx.session.send_elicit_complete(action.id, str(ctx.request_id))
        await self._check_token(caller.token)
        return results.action_result(found)

    async def _elicit(self, ctx: Context, caller: Caller, action: Action, link: str) -> None:
        """Sends an elicitation to a client with a session. If the client cannot show it, the call waits without it."""
        try:
            answer = await ctx.session.elicit_url(
                results.elicitation_message(action), link, action.id, ctx.request_id
            )
        except (MCPError, ValueError) as error:
            log.info("a client did not show an address: %s", error)
            return
        if answer.action == "decline":
            await self._waiter.withdraw(caller.token, action.id, DECLINED)

    async def _check_token(self, token: Token) -> None:
        """Raises Problem unless the token, and the account of its person, are still valid after the wait."""
        if token.id not in await self._services.tokens.counting([token.id]):
            raise Problem(401, "token_over", TOKEN_ENDED)
        await load_person(self._services, token)

    async def _gate_result(self, ctx: Context, caller: Caller, args: dict[str, Json]) -> CallToolResult:
        """The tool gate_result: waits for the action of a ticket. A disconnect does not withdraw the action."""
        ticket = args.get("ticket")
        action = await self._action_of_ticket(caller.token, ticket if isinstance(ticket, str) else "")
        caller.release_slot()
        found = await self._waiter.wait_until_decided(action, self._hold_seconds(ctx), progress_reporter(ctx))
        await self._check_token(caller.token)
        return results.action_result(found)

    async def _gate_list(self, token: Token, args: dict[str, Json]) -> CallToolResult:
        """The tool gate_list: what this token proposed; of what it proposed in tasks, those have the record."""
        after, services = args.get("after"), self._services
        with a_known_place():
            found = await services.pages.actions(
                token,
                pending=args.get("all") is not True,
                session=None,
                after=after if isinstance(after, str) and re.fullmatch(ID, after) else "",
                limit=PAGE,
            )
        page = found.items
        made = await services.tokens.makers([one.id for one in page])
        own = [one for one in page if made.get(one.id) == token.id and not one.undoes]
        return results.listed(own, page[-1].id if found.more else "")

    async def _gate_withdraw(self, token: Token, args: dict[str, Json]) -> CallToolResult:
        """The tool gate_withdraw: as POST /actions/{id}/cancel, by ticket."""
        ticket, why = args.get("ticket"), args.get("reason")
        action = await self._action_of_ticket(token, ticket if isinstance(ticket, str) else "")
        reason = WITHDRAWN.format(
            who=withdrawer(token), why=why if isinstance(why, str) and why else ASKED_TO
        )
        world = self._services.for_token(token).world
        ref = Ref(action.id, action.version, action.receipt[:16])
        require_ok(await claim_click.cancel(world, Press(ref, token.team, token.user, reason=reason[:1000])))
        return results.withdrawn(await world.ledger.action(action.id) or action)

    def _hold_seconds(self, ctx: Context) -> float:
        """The seconds to wait for a decision: the operator's limit, or less if the client asks for it."""
        most = self._services.world.limits.hold
        meta: Mapping[str, object] = ctx.meta or {}
        gate = meta.get(META)
        asked = gate.get("hold", most) if isinstance(gate, dict) else most
        return min(most, asked) if isinstance(asked, int | float) and asked >= 0 else most

    async def _action_of_ticket(self, token: Token, ticket: str) -> Action:
        """The current action of a ticket. Raises Problem unless this token proposed it."""
        found = await self._services.world.ledger.action(ticket) if re.fullmatch(ID, ticket) else None
        made = await self._services.tokens.makers([ticket]) if found else {}
        if found is None or made.get(ticket) != token.id:
            raise Problem(404, "no_ticket", NO_TICKET)
        return await latest_renewal(self._services.world.ledger, found)


def caller_of(ctx: Context) -> Caller:
    """The caller of the request."""
    assert ctx.request is not None
    found: Caller = ctx.request.scope[CALLER]
    return found


def channel_of(token: Token) -> str:
    """The channel for the token's calls; "" if it has none."""
    return token.channels[0] if token.channels else ""


def elicitation(action: Action, link: str) -> ElicitRequest:
    """The elicitation that asks the client to show the link."""
    return ElicitRequest(params=ElicitRequestURLParams(message=results.elicitation_message(action), url=link))


def progress_reporter(ctx: Context) -> Any:
    """A function that sends progress notifications to a client that asked for them."""

    async def tell(action: Action, waited: float) -> None:
        await ctx.session.report_progress(waited, None, results.progress(action))

    return tell
