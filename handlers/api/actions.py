"""Actions over the API: each request calls the flow that the button in Slack calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gate import access, withheld
from gate.access import Kind
from gate.action import Action, Ref, Risk, Session
from gate.derive import derived
from gate.flows import decide, edit, renew, settle, undo
from gate.flows.prepare import Answered, Asked, Prepared, prepare
from gate.flows.press import OLD, Press
from gate.people import Ruling
from gate.states import SETTLED, State
from gate.talk import Call as Proposal
from handlers.api import models, shapes
from handlers.api.ports import Office
from handlers.api.problems import Problem, Wrong, missing, unless
from handlers.api.route import Answer, Call

POLL = 0.05  # seconds
NOT_ITS_OWN = "A person has asked for this undo, so an agent cannot withdraw it: a person has to."
WITHDRAWN = "withdrawn by the agent “{name}”"


async def visible(office: Office, call: Call[Any], action_id: str) -> Action:
    """The action, where this token may know of it. Raises Problem: what is not theirs does not exist."""
    found = await office.world.ledger.action(action_id)
    if found is None:
        raise missing("action")
    subject = await office.subject(action=found)
    if not access.sees(office.world.policy, call.token, call.person, subject).allowed:
        raise missing("action")
    return found


async def shown(call: Call[Any], action_id: str, status: int = 200) -> Answer:
    """The action as it stands now."""
    found = await call.office.world.ledger.action(action_id)
    if found is None:
        raise missing("action")
    (told,) = await known(call, [found])
    return Answer(shapes.action(call.token, told), status)


async def known(call: Call[Any], found: Sequence[Action]) -> list[Action]:
    """The actions as the token may know them: an agent is not told what nobody has let out of what a step gave, nor
    what an undo quotes of it."""
    if call.token.kind is not Kind.AGENT:
        return list(found)
    ledger = call.office.world.ledger
    originals = {key: await ledger.action(key) for key in {one.undoes for one in found if one.undoes}}
    steps = [one for one in (*found, *originals.values()) if one is not None and one.step]
    tasks = {key: await ledger.task(key) for key in {one.task for one in steps}}

    def told(one: Action) -> Action:
        original = originals.get(one.undoes)
        if original is None:
            return withheld.told_action(tasks.get(one.task), one)
        return withheld.told_undo(withheld.told_action(tasks.get(original.task), original), one)

    return [told(one) for one in found]


def press(call: Call[Any], action: Action, seen: models.Seen | None = None, **more: Any) -> Press:
    """A press by the token's person: on what they say they saw, or on what stands there."""
    ref = Ref(action.id, action.version, action.receipt[:16])
    if seen is not None:
        if not action.receipt.startswith(seen.receipt) and seen.version == action.version:
            raise Problem(409, "stale", OLD)
        ref = Ref(action.id, seen.version, seen.receipt[:16])
    return Press(ref, call.token.team, call.token.user, **more)


async def place(office: Office, call: Call[Any], given: Any, key: str, text: str) -> Session:
    """The thread in which people are asked. Raises Problem, NoThread, Unavailable."""
    placed = access.place(call.token, given.session_id or "", given.channel or "")
    if isinstance(placed, Ruling):
        raise Problem(403, "place", placed.reason)
    if placed.thread:
        return placed
    thread = await office.threads.open(key, placed.channel, call.token, text)
    return Session(placed.team, placed.channel, thread)


async def propose(call: Call[models.Propose]) -> Answer:
    """POST /actions. What one token proposes without naming a thread shares one thread in each channel."""
    office, given, token = call.office, call.given, call.token
    session = await place(office, call, given, f"api:{token.id}", "")
    action_id = derived("api action", call.once) if call.key else office.world.ids.new()
    await office.tokens.made(token, action_id)
    server, _, tool = given.tool.partition(".")
    proposal = Proposal(server, tool, given.arguments, Risk(given.risk_level), prose=given.why)
    made = await prepare(office.world, Asked(action_id, session, token.user, proposal))
    if isinstance(made, Prepared):
        return Answer(models.Proposed(action=shapes.action(token, made.action)), 201)
    if isinstance(made, Answered):
        return Answer(models.Proposed(answer=shapes.answered(made)), 201)
    raise Problem(422, "refused", " ".join(made.reasons))


async def get(call: Call[Any]) -> Answer:
    """GET /actions/{id}, as JSON or as text."""
    (found,) = await known(call, [await visible(call.office, call, call.id)])
    if call.wants_text:
        return Answer(shapes.as_text(access.shown(call.token, found)))
    return Answer(shapes.action(call.token, found))


async def listing(call: Call[models.ListActions]) -> Answer:
    """GET /actions: newest first; what waits for this person's decision is among what is pending."""
    office, given, token = call.office, call.given, call.token
    session = Session.of(given.session_id) if given.session_id else None
    pending = given.state == "pending"
    if pending and token.kind is Kind.PERSON:
        found = await _waiting(call, session)
    else:
        most = given.limit + 1
        found = list(
            await office.pages.actions(
                token, pending=pending, session=session, after=given.after or "", limit=most
            )
        )
    page, rest = found[: given.limit], found[given.limit :]
    actions = [shapes.action(token, one) for one in await known(call, page)]
    return Answer(models.Page(actions=actions, next=page[-1].id if rest else None))


async def _waiting(call: Call[models.ListActions], session: Session | None) -> list[Action]:
    """What waits and concerns this person, from behind the last page."""
    office = call.office
    waiting = await office.world.ledger.pending(call.token.team, session=session)
    mine = [
        one
        for one in sorted(waiting, key=lambda a: (a.created_at, a.id), reverse=True)
        if access.sees(office.world.policy, call.token, call.person, access.Subject(one)).allowed
    ]
    ids = [one.id for one in mine]
    start = ids.index(call.given.after) + 1 if call.given.after in ids else 0
    return mine[start : start + call.given.limit + 1]


async def confirm(call: Call[models.Confirm]) -> Answer:
    """POST /actions/{id}/confirm: the yes of the token's person to exactly what they saw."""
    action = await visible(call.office, call, call.id)
    unless(await decide.confirm(call.office.world, press(call, action, call.given, typed=call.given.phrase)))
    await _ended(call, call.given.wait)
    return await shown(call, call.id)


async def _ended(call: Call[Any], seconds: float) -> None:
    world, waited = call.office.world, 0.0
    while waited < seconds:
        now = await world.ledger.action(call.id)
        if now is None or now.state in SETTLED or now.state in (State.UNKNOWN, State.PREPARED):
            return
        await world.clock.sleep(POLL)
        waited += POLL


async def cancel(call: Call[models.Cancel]) -> Answer:
    """POST /actions/{id}/cancel, by its requester, an admin, or the agent that proposed it."""
    action = await visible(call.office, call, call.id)
    reason = call.given.reason
    if call.token.kind is Kind.AGENT:
        if action.undoes:
            raise Problem(403, "agents_do_not_decide", NOT_ITS_OWN)
        reason = ": ".join(filter(None, [WITHDRAWN.format(name=call.token.name), reason]))
    unless(await decide.cancel(call.office.world, press(call, action, reason=reason)))
    return await shown(call, call.id)


async def reject(call: Call[models.Reject]) -> Answer:
    """POST /actions/{id}/reject: a no by somebody who may decide."""
    action = await visible(call.office, call, call.id)
    seen = press(call, action, call.given, reason=call.given.reason)
    if not seen.ref.fits(action):
        raise Problem(409, "stale", OLD)
    unless(await decide.reject(call.office.world, seen))
    return await shown(call, call.id)


async def change(call: Call[models.Edit]) -> Answer:
    """POST /actions/{id}/edit: another version, by its requester."""
    action = await visible(call.office, call, call.id)
    said = await edit.submit(call.office.world, press(call, action, call.given), call.given.arguments)
    if isinstance(said, edit.Unfit):
        errors = [
            Wrong(pointer="/arguments" + "".join(f"/{part}" for part in one.path), detail=one.text)
            for one in said.problems
        ]
        raise Problem(
            422, "unfit", "The arguments do not fit the tool: see errors. Nothing changed.", errors=errors
        )
    unless(said)
    return await shown(call, call.id)


async def again(call: Call[Any]) -> Answer:
    """POST /actions/{id}/renew: a fresh preview of what expired. It gets an id of its own, `renewed` says which."""
    action = await visible(call.office, call, call.id)
    unless(await renew.ask_again(call.office.world, press(call, action)))
    return await shown(call, call.id, 202)


async def settled(call: Call[models.Settle]) -> Answer:
    """POST /actions/{id}/settle: a person says whether it happened."""
    action = await visible(call.office, call, call.id)
    unless(await settle.settle(call.office.world, press(call, action), call.given.happened))
    return await shown(call, call.id)


async def take_back(call: Call[Any]) -> Answer:
    """POST /actions/{id}/undo: the click on Undo."""
    action = await visible(call.office, call, call.id)
    unless(await undo.ask(call.office.world, press(call, action)))
    return await shown(call, call.id, 202)
