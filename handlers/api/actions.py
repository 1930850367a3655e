"""The endpoints of actions. Each calls the same function of `gate/` as the button in Slack."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from gate.actions import claim_click, edit, reissue, resolve_unknown, undo
from gate.actions.button_press import OUTDATED, Press
from gate.actions.prepare import Answered, CallRequest, Prepared, prepare
from gate.rules import access, advisers
from gate.rules.access import Listed, Token, TokenKind, may_read_held
from gate.rules.action import Action, Ref, Risk, Session
from gate.rules.action_states import SETTLED, State
from gate.rules.ids import derive_id
from gate.rules.permissions import Ruling
from gate.rules.planner_port import Call as Proposal
from gate.rules.tool import InvalidAnswer
from gate.rules.unreleased_results import redacted_action, redacted_undo
from handlers.api import action_responses, models
from handlers.api.ports import Services
from handlers.api.request_turns import release_slot
from handlers.api.route import ApiRequest, ApiResponse, Problem, Wrong, a_known_place, not_found, require_ok

FIRST_LOOK, LONGEST_GAP = 0.05, 1.0  # seconds
NOT_ITS_OWN = "A person has asked for this undo, so an agent cannot withdraw it: a person has to."
WITHDRAWN = "withdrawn by the agent “{name}”"


async def load_visible(request: ApiRequest[Any]) -> Action:
    """The action. Raises Problem 404 if it does not exist or the token may not see it."""
    found = await request.world.ledger.action(request.id)
    if found is None:
        raise not_found("action")
    subject = await request.services.subject(action=found)
    if not access.sees(request.world.policy, request.token, request.person, subject).allowed:
        raise not_found("action")
    return found


async def current_response(request: ApiRequest[Any], action_id: str, status: int = 200) -> ApiResponse:
    """The current state of the action, as the response."""
    found = await request.world.ledger.action(action_id)
    if found is None:
        raise not_found("action")
    (redact,) = await redacted(request, [found])
    return ApiResponse(partial(action_responses.action, request.token, redact), status)


async def redacted(request: ApiRequest[Any], found: Sequence[Action]) -> list[Action]:
    """The actions as the token may see them: for whoever may not release them without step results that nobody has
    released, also where an undo quotes them."""
    policy, token = request.world.policy, request.token
    if all(may_read_held(policy, token, one.requester).allowed for one in found):
        return list(found)
    ledger = request.world.ledger
    originals = {key: await ledger.action(key) for key in {one.undoes for one in found if one.undoes}}
    steps = [one for one in (*found, *originals.values()) if one is not None and one.step]
    tasks = {key: await ledger.task(key) for key in {one.task for one in steps}}

    def redact(one: Action) -> Action:
        if may_read_held(policy, token, one.requester).allowed:
            return one
        original = originals.get(one.undoes)
        if original is None:
            return redacted_action(tasks.get(one.task), one)
        return redacted_undo(redacted_action(tasks.get(original.task), original), one)

    return [redact(one) for one in found]


def press(request: ApiRequest[Any], action: Action, seen: models.Seen | None = None, **more: Any) -> Press:
    """A press by the token's person, on the version and receipt in `seen`, or on the current ones. Raises Problem."""
    ref = Ref(action.id, action.version, action.receipt[:16])
    if seen is not None:
        if not action.receipt.startswith(seen.receipt) and seen.version == action.version:
            raise Problem(409, "stale", OUTDATED)
        ref = Ref(action.id, seen.version, seen.receipt[:16])
    return Press(ref, request.token.team, request.token.user, **more)


async def place(request: ApiRequest[Any]) -> Session:
    """Where people are asked, without a thread if none is named. Raises Problem, Unavailable."""
    placed = access.session_for_token(
        request.token, request.params.session_id or "", request.params.channel or ""
    )
    if isinstance(placed, Ruling):
        raise Problem(403, "place", placed.reason)
    if placed.thread:
        joins = access.may_join(request.token, await _is_opener(request, placed))
        if not joins.allowed:
            raise Problem(403, "place", joins.reason)
    return placed


async def _is_opener(request: ApiRequest[Any], session: Session) -> bool:
    """Whether the thread was opened for the calls of this token, or for a task of it."""
    services, token = request.services, request.token
    first = await services.world.ledger.first_task(session)
    made = await services.tokens.makers([first])
    keys = {thread_key(token.id), *(thread_key(task) for task, by in made.items() if by == token.id)}
    return await services.threads.is_of(session, keys)


def thread_key(of: str) -> str:
    """The key of the thread that is opened for the calls of a token, or for a task."""
    return f"api:{of}"


async def open_session(request: ApiRequest[Any], placed: Session, key: str, text: str) -> Session:
    """The thread in which people are asked, opened if need be. Raises NoThread, Unavailable."""
    if placed.thread:
        return placed
    thread = await request.services.threads.open(key, placed.channel, request.token, text)
    return Session(placed.team, placed.channel, thread)


async def told_by(services: Services, token: Token) -> frozenset[str]:
    """Who else has said something about one of the latest calls or in one of the latest tasks of a token, as its client
    is told: what it proposes after that may be what they asked for."""
    if not advisers.are_counted(services.world.policy):
        return frozenset()
    said = await services.world.ledger.grants.said_to_token(token.id, token.team, token.user)
    return said - {token.user}


async def propose(request: ApiRequest[models.Propose]) -> ApiResponse:
    """POST /actions. Without a session_id, a token has one thread per channel."""
    services, params, token = request.services, request.params, request.token
    session = await open_session(request, await place(request), thread_key(token.id), "")
    action_id = (
        derive_id("api action", request.idempotency_id)
        if request.idempotency_key
        else services.world.ids.new()
    )
    server, _, tool = params.tool.partition(".")
    proposal = Proposal(server, tool, params.arguments, Risk(params.risk_level), prose=params.why)
    said = await told_by(services, token)
    asked = CallRequest(action_id, session, token.user, proposal, instructed=said)
    made = await prepare(services.world, asked)
    if isinstance(made, Prepared):
        # It may be that of an earlier request with this key, which its person has edited since.
        (shown,) = await redacted(request, [made.action])
        return ApiResponse(partial(action_responses.proposed, token, shown), 201)
    if isinstance(made, Answered):
        return ApiResponse(models.Proposed(answer=action_responses.answered(made)), 201)
    raise Problem(422, "refused", " ".join(made.reasons))


async def get(request: ApiRequest[Any]) -> ApiResponse:
    """GET /actions/{id}, as JSON or as text."""
    (found,) = await redacted(request, [await load_visible(request)])
    if request.wants_text:
        return ApiResponse(partial(action_responses.as_text, access.visible_action(request.token, found)))
    return ApiResponse(partial(action_responses.action, request.token, found))


async def listing(request: ApiRequest[models.ListActions]) -> ApiResponse:
    """GET /actions: newest first. A person's pending actions include those of others that they may decide."""
    services, params, token = request.services, request.params, request.token
    session = Session.of(params.session_id) if params.session_id else None
    pending = params.state == "pending"
    if pending and token.kind is TokenKind.PERSON:
        found = await _waiting(request, session)
    else:
        with a_known_place():
            found = await services.pages.actions(
                token, pending=pending, session=session, after=params.after or "", limit=params.limit
            )
    shown, after = await redacted(request, found.items), found.items[-1].id if found.more else None
    return ApiResponse(partial(action_responses.page, token, shown, after))


async def _waiting(request: ApiRequest[models.ListActions], session: Session | None) -> Listed[Action]:
    """The pending actions that this person may see, from the cursor on."""
    services, params = request.services, request.params
    waiting = await services.pages.waiting(request.token.team, session)
    visible = [
        one
        for one, subject in waiting.items()
        if access.sees(services.world.policy, request.token, request.person, subject).allowed
    ]
    start = visible.index(params.after) + 1 if params.after in visible else 0
    return await services.pages.load(visible[start:], params.limit)


async def confirm(request: ApiRequest[models.Confirm]) -> ApiResponse:
    """POST /actions/{id}/confirm: the token's person confirms the version that they saw."""
    action = await load_visible(request)
    require_ok(
        await claim_click.confirm(
            request.world, press(request, action, request.params, typed=request.params.phrase)
        )
    )
    await _wait_for_end(request, request.params.wait)
    return await current_response(request, request.id)


async def _wait_for_end(request: ApiRequest[Any], seconds: float) -> None:
    """Until it is over, as people wait: the longer it takes, the less often it is read, as each time costs others."""
    world, waited = request.world, 0.0
    release_slot()
    while waited < seconds:
        now = await world.ledger.action(request.id)
        if now is None or now.state in SETTLED or now.state in (State.UNKNOWN, State.PREPARED):
            return
        gap = min(max(FIRST_LOOK, waited / 4), LONGEST_GAP, seconds - waited)
        await world.clock.sleep(gap)
        waited += gap


async def cancel(request: ApiRequest[models.Cancel]) -> ApiResponse:
    """POST /actions/{id}/cancel: by the requester, an admin, or the agent that proposed the action."""
    action = await load_visible(request)
    reason = request.params.reason
    if request.token.kind is TokenKind.AGENT:
        if action.undoes:
            raise Problem(403, "agents_do_not_decide", NOT_ITS_OWN)
        reason = ": ".join(filter(None, [WITHDRAWN.format(name=request.token.name), reason]))
    require_ok(await claim_click.cancel(request.world, press(request, action, reason=reason)))
    return await current_response(request, request.id)


async def reject(request: ApiRequest[models.Reject]) -> ApiResponse:
    """POST /actions/{id}/reject: by a person who may decide."""
    action = await load_visible(request)
    seen = press(request, action, request.params, reason=request.params.reason)
    if not seen.ref.fits(action):
        raise Problem(409, "stale", OUTDATED)
    require_ok(await claim_click.reject(request.world, seen))
    return await current_response(request, request.id)


async def change(request: ApiRequest[models.Edit]) -> ApiResponse:
    """POST /actions/{id}/edit: a new version, by the requester."""
    action = await load_visible(request)
    said = await edit.submit(request.world, press(request, action, request.params), request.params.arguments)
    if isinstance(said, InvalidAnswer):
        errors = [
            Wrong(pointer="/arguments" + "".join(f"/{part}" for part in one.path), detail=one.text)
            for one in said.problems
        ]
        raise Problem(
            422, "unfit", "The arguments do not fit the tool: see errors. Nothing changed.", errors=errors
        )
    require_ok(said)
    return await current_response(request, request.id)


async def renew(request: ApiRequest[Any]) -> ApiResponse:
    """POST /actions/{id}/renew: proposes an expired action again, as a new action."""
    action = await load_visible(request)
    require_ok(await reissue.reissue_by_press(request.world, press(request, action)))
    return await current_response(request, request.id, 202)


async def settle(request: ApiRequest[models.Settle]) -> ApiResponse:
    """POST /actions/{id}/settle: a person settles an unknown outcome."""
    action = await load_visible(request)
    require_ok(await resolve_unknown.resolve(request.world, press(request, action), request.params.happened))
    return await current_response(request, request.id)


async def request_undo(request: ApiRequest[Any]) -> ApiResponse:
    """POST /actions/{id}/undo."""
    action = await load_visible(request)
    require_ok(await undo.request_undo(request.world, press(request, action)))
    return await current_response(request, request.id, 202)
