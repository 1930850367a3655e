"""Reviews over the API: what waits, decided by the flows of the cards, and what was decided."""

from __future__ import annotations

from typing import Any

from gate import access
from gate.access import Kind
from gate.flows import pending, review
from gate.flows.edit import Unfit
from gate.flows.review import Conflict
from gate.reviews import Phase, ReviewDecision, ReviewRecord, Waiting
from handlers.api import review_models as models
from handlers.api.problems import Problem, Wrong, missing, unless
from handlers.api.route import Answer, Call

NOT_YET = "An agent is told what a call gave once a person has released it."


async def listing(call: Call[Any]) -> Answer:
    """GET /pending-review: what the token may know of, from Redis."""
    token = call.token
    found = await pending.listed(call.office.world, token.team, token.user)
    mine = [one for one in found if await _sees(call, one.execution)]
    return Answer(models.PendingList(reviews=[models.Pending(**_shape(one)) for one in mine]))


async def detail(call: Call[Any]) -> Answer:
    """GET /pending-review-detail/{id}: the inputs or outputs that are under review, whole."""
    if not await _sees(call, call.id):
        raise missing("review")
    found = await pending.detail(call.office.world, call.token.team, call.token.user, call.id)
    if found is None:
        raise missing("review")
    waiting, data = found
    if waiting.phase is Phase.AFTER and call.token.kind is Kind.AGENT:
        raise Problem(403, "not_yet", NOT_YET)
    return Answer(models.Detail(**_shape(waiting), data=data))


async def resume(call: Call[models.Resume]) -> Answer:
    """POST /resume: the decision of the token's person. Who is second gets 409."""
    given = call.given
    if not await _sees(call, given.execution_id):
        raise missing("review")
    asked = review.Resume(
        given.execution_id, given.node_id, given.version, ReviewDecision(given.decision),
        call.token.team, call.token.user, given.edited, given.comment, given.phrase,
    )  # fmt: skip
    said = await review.resume(call.office.world, asked)
    if isinstance(said, Conflict):
        raise Problem(409, "conflict", said.text)
    if isinstance(said, Unfit):
        errors = [
            Wrong(pointer="/edited" + "".join(f"/{part}" for part in one.path), detail=one.text)
            for one in said.problems
        ]
        raise Problem(
            422, "unfit", "What was edited does not fit: see errors. Nothing changed.", errors=errors
        )
    return Answer(models.Resumed(code=unless(said).code, execution_id=given.execution_id))


async def history(call: Call[models.ListReviews]) -> Answer:
    """GET /history: what was decided, from SQL."""
    world, token, execution = call.office.world, call.token, call.given.execution_id
    if execution is not None:
        found = await pending.history(world, token.team, execution) if await _sees(call, execution) else ()
    elif token.kind is Kind.PERSON:
        found = await pending.history_of(world, token.team, token.user, call.given.before or 0)
    else:
        found = ()
    records = [_record(call, one) for one in found]
    return Answer(models.History(reviews=records))


def _record(call: Call[Any], one: ReviewRecord) -> models.Record:
    """A decision as the token may know it: an agent is not told what a person kept from it, and of what they wrote
    beside a result only why they rejected it, as their window says."""
    fields = {name: getattr(one, name) for name in one.__slots__}
    kept_back = one.decision is ReviewDecision.REJECT or one.modified_data is not None
    if call.token.kind is Kind.AGENT and one.trigger_phase is Phase.AFTER:
        fields["original_data"] = None if kept_back else one.original_data
        fields["comment"] = one.comment if one.decision is ReviewDecision.REJECT else ""
    return models.Record(**fields)


async def _sees(call: Call[Any], execution: str) -> bool:
    """Whether the token may know of this execution: a task, or an action outside of plans."""
    ledger = call.office.world.ledger
    task = await ledger.task(execution)
    action = None if task else await ledger.action(execution)
    subject = await call.office.subject(action, task)
    return access.sees(call.office.world.policy, call.token, call.person, subject).allowed


def _shape(one: Waiting) -> dict[str, Any]:
    return {
        "execution_id": one.execution,
        "node_id": one.node,
        "trigger_phase": Phase(one.phase).value,
        "version": one.version,
        "session_id": one.session.key,
        "requester": one.requester,
        "tool": one.tool,
        "title": one.tool if one.private else one.title,
    }
