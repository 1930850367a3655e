"""The endpoints of reviews: pending ones, decisions, and the history."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from gate.rules import access
from gate.rules.access import TokenKind
from gate.rules.reviews import PendingReview, Phase, ReviewDecision, ReviewRecord
from gate.rules.tool import InvalidAnswer
from gate.rules.unreleased_results import public_nodes
from gate.tasks import review_queue, step_review
from gate.tasks.step_review import ReviewConflict
from handlers.api import models
from handlers.api.route import ApiRequest, ApiResponse, Problem, Wrong, not_found, require_ok


async def listing(request: ApiRequest[Any]) -> ApiResponse:
    """GET /pending-review: those that the token may see, from Redis."""
    token = request.token
    found = await review_queue.pending_reviews(request.world, token.team, token.user)
    ids = {one.execution for one in found}
    known = await request.services.pages.subjects(ids, ids)
    visible = [one for one in found if one.execution in known and _sees(request, known[one.execution])]
    return ApiResponse(models.PendingList(reviews=[models.Pending(**_fields(one)) for one in visible]))


async def detail(request: ApiRequest[Any]) -> ApiResponse:
    """GET /pending-review-detail/{id}: the complete inputs or outputs under review."""
    if not await _may_see(request, request.id):
        raise not_found("review")
    found = await review_queue.detail(request.world, request.token.team, request.token.user, request.id)
    if found is None:
        raise not_found("review")
    waiting, data = found
    reads = access.may_read_held(request.world.policy, request.token, waiting.requester)
    if waiting.private and not reads.allowed:
        raise not_found("review")
    if waiting.phase is Phase.AFTER and not reads.allowed:
        raise Problem(403, "not_yet", reads.reason)
    return ApiResponse(partial(models.Detail, **_fields(waiting), data=data))


async def resume(request: ApiRequest[models.Resume]) -> ApiResponse:
    """POST /resume: the decision of the token's person. A second decision gets 409."""
    params = request.params
    if not await _may_see(request, params.execution_id):
        raise not_found("review")
    asked = step_review.ReviewRequest(
        params.execution_id, params.node_id, params.version, ReviewDecision(params.decision),
        request.token.team, request.token.user, params.edited, params.comment, params.phrase,
    )  # fmt: skip
    said = await step_review.decide_review(request.world, asked)
    if isinstance(said, ReviewConflict):
        raise Problem(409, "conflict", said.text)
    if isinstance(said, InvalidAnswer):
        errors = [
            Wrong(pointer="/edited" + "".join(f"/{part}" for part in one.path), detail=one.text)
            for one in said.problems
        ]
        raise Problem(
            422, "unfit", "What was edited does not fit: see errors. Nothing changed.", errors=errors
        )
    return ApiResponse(models.Resumed(code=require_ok(said).code, execution_id=params.execution_id))


async def history(request: ApiRequest[models.ListReviews]) -> ApiResponse:
    """GET /history: the decisions, from SQL."""
    world, token, execution = request.world, request.token, request.params.execution_id
    found: Sequence[ReviewRecord] = ()
    whole = True  # their own decisions were made with all of it before them
    public: frozenset[str] | None = None
    rest: int | None = None  # the id behind which there are more
    if execution is not None:
        subject = await _subject(request, execution)
        about = subject.task or subject.action
        if about is not None and _sees(request, subject):
            found = await review_queue.history(world, token.team, execution, request.params.after or 0)
            if found and await review_queue.history(world, token.team, execution, found[-1].id, limit=1):
                rest = found[-1].id
            whole = access.may_read_held(world.policy, token, about.requester).allowed
            public = None if whole else public_nodes(about)
    elif token.kind is TokenKind.PERSON:
        found = await review_queue.history_of(world, token.team, token.user, request.params.before or 0)
    return ApiResponse(
        lambda: models.History(reviews=[_record(one, whole, public) for one in found], next=rest)
    )


def _record(one: ReviewRecord, whole: bool, public: frozenset[str] | None) -> models.Record:
    """A decision. Not `whole`: without the outputs that a person withheld, and of the comments on results only the
    reason of a rejection. `public`: the only nodes whose data and comments are told; None: those of all."""
    fields = {name: getattr(one, name) for name in one.__slots__}
    if public is not None and one.node_id not in public:
        return models.Record(**fields | {"original_data": None, "modified_data": None, "comment": ""})
    kept_back = one.decision is ReviewDecision.REJECT or one.modified_data is not None
    if not whole and one.trigger_phase is Phase.AFTER:
        fields["original_data"] = None if kept_back else one.original_data
        fields["comment"] = one.comment if one.decision is ReviewDecision.REJECT else ""
    return models.Record(**fields)


async def _may_see(request: ApiRequest[Any], execution: str) -> bool:
    """Whether the token may see this execution: a task, or an action without a task."""
    return _sees(request, await _subject(request, execution))


async def _subject(request: ApiRequest[Any], execution: str) -> access.Subject:
    ledger = request.world.ledger
    task = await ledger.task(execution)
    action = None if task else await ledger.action(execution)
    return await request.services.subject(action, task)


def _sees(request: ApiRequest[Any], subject: access.Subject) -> bool:
    return access.sees(request.world.policy, request.token, request.person, subject).allowed


def _fields(one: PendingReview) -> dict[str, Any]:
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
