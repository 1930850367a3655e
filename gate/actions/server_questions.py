"""A server asks in the middle of a call: the question goes to the person in the thread, and their answer back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

from gate.actions.button_press import Press, PressResult
from gate.actions.review_log import withholds_words
from gate.rules.action import Action, Json, Session
from gate.rules.audit import READ_ALONE, Entry
from gate.rules.jobs import for_owner
from gate.rules.messages import CardKey, CardKind
from gate.rules.permissions import Ruling
from gate.rules.ports import Note, Tx, Unavailable, World
from gate.rules.previews import measured
from gate.rules.question_ports import StaleQuestion
from gate.rules.server_questions import (
    ASK_PERSON,
    MOST_MESSAGE,
    FormReply,
    FormRequest,
    NoForm,
    QuestionEvent,
    QuestionState,
    ServerQuestion,
    form_of,
    may_answer,
    problems,
)
from gate.rules.task import StopRequest
from gate.rules.tool import InvalidAnswer

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0  # seconds between two looks for the answer
CHECK_POLLS = 3  # looks between two checks whether the time is over or the task was stopped
HEARTBEAT_POLLS = 10  # looks between two signs that the call still waits
FORM_KIND = "server_question"  # the kind of the form, as an opened modal
PATIENCE = 60.0  # seconds after its time that a question may need to be closed
CLOSE_SECONDS = 5.0  # seconds to close a question whose call has ended
NO_SUCH_QUESTION = "I do not know this question (any more)."
CALL_IS_OVER = "Nobody waits for the answer any more."
CLOSED_TEXTS = {
    QuestionState.ANSWERED: "It is answered already.",
    QuestionState.DECLINED: "It is declined already.",
    QuestionState.EXPIRED: CALL_IS_OVER,
}
NOT_OPENED = "Please press Answer… again: this form was not opened by me, for you."
TOO_LATE = "Nobody answered in time."
STOPPED = "The task was stopped."
ENDED = "The call ended before anybody answered."
NO_ANSWER = "The answer could not be read."
NO_THREAD = "nobody can be asked: this call has no thread in Slack in which a person waits for it"
TOO_MANY = "{most} questions are all that one call may ask"
BY_URL = "asks to open an address, which this client does not do"
BY_SEVERAL = (
    "asks one person in a call on which several people decide together; where its tool takes what it needs as an "
    "argument, ask for the call anew with that"
)
REFUSED = "The server {server} asked something in the middle of a call that I declined: it {why}."
NOT_NOW = "the question could not be recorded just now"


@dataclass(frozen=True, slots=True)
class QuestionSubject:
    """What call may ask, and about what. `action`: the id of the action, or of the read."""

    session: Session
    requester: str
    server: str
    tool: str
    action: str
    about: str
    task: str = ""
    is_read: bool = False
    private: bool = False
    withheld: bool = False  # the log keeps of its words their length and hash
    by_several: bool = False  # several people decide on it, so that none of them answers alone


def subject_of_action(action: Action, withheld: bool) -> QuestionSubject:
    """The call of an action."""
    return QuestionSubject(
        session=action.session,
        requester=action.requester,
        server=action.server,
        tool=action.tool,
        action=action.id,
        about=action.preview.summary,
        task=action.task,
        private=action.private,
        withheld=withheld,
        by_several=action.approvers.needed > 1,
    )


@contextmanager
def answered_in_thread(world: World, subject: QuestionSubject) -> Iterator[None]:
    """Within it, what the server of this call asks goes to the person in its thread."""
    left = world.limits.server_questions

    async def ask_person(request: FormRequest) -> FormReply:
        nonlocal left
        left -= 1
        if left < 0:  # the first that is too many is on the record
            why = TOO_MANY.format(most=world.limits.server_questions)
            return (
                await _refuse(world, subject, why, False) if left == -1 else FormReply("decline", reason=why)
            )
        with for_owner(subject.requester):
            return await ask(world, subject, request)

    token = ASK_PERSON.set(ask_person)
    try:
        yield
    finally:
        ASK_PERSON.reset(token)


async def ask(world: World, subject: QuestionSubject, request: FormRequest) -> FormReply:
    """Put a question to the person and wait for the answer, for its time at most. Cancelled, it closes the question."""
    if subject.by_several:
        return await _refuse(world, subject, BY_SEVERAL, True)
    try:
        if request.url:
            raise NoForm(BY_URL)
        request = replace(request, schema=form_of(request.schema))
    except NoForm as why:
        return await _refuse(world, subject, str(why), True)
    try:
        question = await _open(world, subject, request)
    except Unavailable:
        log.warning("a question of %s could not be recorded", subject.server)
        return FormReply("decline", reason=NOT_NOW)
    if question is None:
        return FormReply("decline", reason=NO_THREAD)
    try:
        return await _wait(world, question)
    except BaseException:  # the call has ended, or this process stops: no live buttons are left
        await asyncio.shield(_close_soon(world, question.id))
        raise


async def _refuse(world: World, subject: QuestionSubject, why: str, told: bool) -> FormReply:
    """Decline in words, on the record; `told`: the thread hears of it."""
    try:
        async with world.ledger.begin() as tx:
            tx.audit(_entry("question_declined", subject, "policy", reason=why))
            if told and subject.session.thread and not tx.token:
                text = REFUSED.format(server=subject.server, why=why)
                to = subject.requester if subject.private else ""
                await tx.note(Note(world.ids.new(), subject.session, "answer", {"text": text}, to))
    except Unavailable:
        log.warning("a question of %s was declined, which could not be recorded", subject.server)
    return FormReply("decline", reason=why)


async def _open(world: World, subject: QuestionSubject, request: FormRequest) -> ServerQuestion | None:
    """The question, on the record and on its way to Slack. None where nobody waits in a thread: a read through the API
    answers a program. Raises Unavailable."""
    async with world.ledger.begin() as tx:
        if not subject.session.thread or (subject.is_read and tx.token):
            return None
        now = await tx.now()
        question = ServerQuestion(
            id=world.ids.new(),
            version=1,
            state=QuestionState.WAITING,
            session=subject.session,
            requester=subject.requester,
            server=subject.server,
            tool=subject.tool,
            action=subject.action,
            task=subject.task,
            about=subject.about,
            is_read=subject.is_read,
            private=subject.private,
            message=_bounded(request.message),
            schema=request.schema,
            created_at=now,
            until=now + timedelta(seconds=world.limits.server_question),
        )
        await tx.questions.open(question)
        tx.audit(_entry("question_asked", subject, "system", version=1, reason=question.message[:1000]))
        _request_card(tx, question)
    return question


def _bounded(message: str) -> str:
    return message if len(message) <= MOST_MESSAGE else message[: MOST_MESSAGE - 1] + "…"


async def _wait(world: World, question: ServerQuestion) -> FormReply:
    looks, most = 0, round((world.limits.server_question + PATIENCE) / POLL_SECONDS)
    while looks < most:  # also where the ledger is away meanwhile
        await world.clock.sleep(POLL_SECONDS)
        looks += 1
        with contextlib.suppress(Unavailable):  # it is looked at again
            found = await world.ledger.questions.question(question.id)
            if found is None:
                return FormReply("cancel", reason=NO_ANSWER)
            if found.state is not QuestionState.WAITING:
                return await _form_reply(world, found)
            if looks % CHECK_POLLS == 0 and (reason := await _close_reason(world, found)):
                await close(world, found.id, reason)
            elif looks % HEARTBEAT_POLLS == 0:
                async with world.ledger.begin() as tx:
                    await tx.questions.beat(found)
    return FormReply("cancel", reason=TOO_LATE)


async def _close_reason(world: World, question: ServerQuestion) -> str:
    """Why a question that waits has to be closed; "" where it may wait on."""
    if await world.ledger.now() >= question.until:
        return TOO_LATE
    task = await world.ledger.task(question.task) if question.task else None
    stopped = task is not None and (task.is_finished or task.wish is StopRequest.STOP)
    return STOPPED if stopped else ""


async def _form_reply(world: World, question: ServerQuestion) -> FormReply:
    """What the server is told of a question that is over. Raises Unavailable."""
    if question.state is QuestionState.DECLINED:
        return FormReply("decline", reason="the person declined")
    if question.state is QuestionState.EXPIRED:
        return FormReply("cancel", reason=question.reason)
    try:
        async with world.ledger.begin() as tx:
            content = json.loads(await tx.questions.take(question))
    except (StaleQuestion, ValueError):
        return FormReply("cancel", reason=NO_ANSWER)
    return FormReply("accept", content)


async def close(world: World, question_id: str, reason: str) -> None:
    """Expire a question that still waits. Raises Unavailable."""
    with contextlib.suppress(StaleQuestion):
        async with world.ledger.begin() as tx:
            question = await tx.questions.question(question_id)
            if question is None or question.state is not QuestionState.WAITING:
                return
            moved = await tx.questions.move(question, QuestionEvent.EXPIRE, reason=reason)
            tx.audit(_question_entry("question_expired", moved, "system", reason=reason))
            _request_card(tx, moved)


async def _close_soon(world: World, question_id: str) -> None:
    """For a call that has ended. Where the database is away, the sweep closes it."""
    with contextlib.suppress(Unavailable, TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await close(world, question_id, ENDED)


async def close_overdue(world: World) -> None:
    """For the sweep: close the questions whose time is over, or whose call's process died. Raises Unavailable."""
    for question_id in await world.ledger.questions.overdue():
        await close(world, question_id, TOO_LATE)


async def load_question(world: World, press: Press) -> ServerQuestion | PressResult:
    """The question, while this person may answer it; else what to tell them."""
    question = await world.ledger.questions.question(press.ref.id)
    if question is None or question.session.team != press.team:
        return PressResult(False, "gone", NO_SUCH_QUESTION)
    if question.state is not QuestionState.WAITING or question.version != press.ref.version:
        return PressResult(False, "late", CLOSED_TEXTS.get(question.state, CALL_IS_OVER))
    ruling = await _may_answer(world, question, press.user)
    return question if ruling.allowed else PressResult(False, "not_allowed", ruling.reason)


async def _may_answer(world: World, question: ServerQuestion, user: str) -> Ruling:
    action = None if question.is_read else await world.ledger.action(question.action)
    person = await world.people.fresh(question.session.team, user)
    return may_answer(world.policy, question, action, person)


async def answer(world: World, press: Press, content: Mapping[str, Json]) -> PressResult | InvalidAnswer:
    """Take an answer, exactly as it was typed. What is unfit is not sent. Raises Unavailable."""
    question = await load_question(world, press)
    if isinstance(question, PressResult):
        return question
    if not await _is_genuine_form(world, press):
        return PressResult(False, "not_ours", NOT_OPENED)
    wrong = problems(question.schema, content, world.tools.problems)
    return InvalidAnswer(wrong) if wrong else await _decide(world, question, press.user, dict(content))


async def _is_genuine_form(world: World, press: Press) -> bool:
    """Whether the form was really opened through Slack, for this person and version."""
    sheet = await world.ledger.opened_modal(press.view)
    found = sheet and (sheet.kind, sheet.user, sheet.action, sheet.version)
    return found == (FORM_KIND, press.user, press.ref.id, press.ref.version)


async def decline(world: World, press: Press) -> PressResult:
    """Decline a question. Raises Unavailable."""
    question = await load_question(world, press)
    if isinstance(question, PressResult):
        return question
    return await _decide(world, question, press.user, None)


async def _decide(
    world: World, question: ServerQuestion, user: str, content: Mapping[str, Json] | None
) -> PressResult:
    """Write down an answer, or that it is declined, without content."""
    event = QuestionEvent.DECLINE if content is None else QuestionEvent.ANSWER
    text = "" if content is None else json.dumps(content)
    # What was typed is not on the record: a server may have asked for what nobody else should read.
    names = json.dumps(dict.fromkeys(content or {}, "(typed)"))
    action = None if question.is_read else await world.ledger.action(question.action)
    # Of a read it is not kept which step it was, by which a review may name it.
    withheld = await withholds_words(world, action) if action else bool(world.policy.reviews)
    try:
        async with world.ledger.begin(world.limits.decision) as tx:
            moved = await tx.questions.move(question, event, actor=user, answer=text)
            done = f"question_{moved.state}"
            tx.audit(_question_entry(done, moved, user, withheld, arguments=names, user_confirmed=True))
            _request_card(tx, moved)
    except StaleQuestion:
        now = await world.ledger.questions.question(question.id)
        return PressResult(False, "late", CLOSED_TEXTS.get(now.state, CALL_IS_OVER) if now else CALL_IS_OVER)
    return PressResult(True, str(moved.state))


def _request_card(tx: Tx, question: ServerQuestion) -> None:
    tx.request_card(CardKey(CardKind.QUESTION, question.id))


def _question_entry(
    event: str, question: ServerQuestion, actor: str, withheld: bool = False, **more: object
) -> Entry:
    subject = QuestionSubject(
        question.session,
        question.requester,
        question.server,
        question.tool,
        question.action,
        question.about,
        is_read=question.is_read,
        private=question.private,
        withheld=withheld,
    )
    return _entry(event, subject, actor, version=question.version, **more)


def _entry(event: str, subject: QuestionSubject, actor: str, **more: object) -> Entry:
    """An audit entry about a question of the call's server. Of what is private or withheld it keeps the words of the
    server as their length and hash."""
    made = Entry(
        event=event,
        session=subject.session.key,
        actor=actor,
        action=subject.action,
        tool=f"{subject.server}.{subject.tool}",
        requester=subject.requester,
    )
    made = replace(made, **more)  # type: ignore[arg-type]
    if subject.private or subject.withheld:
        made = replace(made, reason=_measured(made.reason), arguments=_measured(made.arguments))
    return replace(made, outcome=READ_ALONE) if subject.private and subject.is_read else made


def _measured(text: str) -> str:
    return measured(text) if text else ""
