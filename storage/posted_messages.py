"""Where our messages stand in Slack, and which run is to bring each up to date: the statements on table `posted`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import and_, bindparam, case, exists, func, literal, not_, or_, select, update

from gate.rules.action import Session
from gate.rules.messages import EPHEMERAL, NOT_TAKEN, CardKind, hint_key
from gate.rules.task_states import OVER
from storage.columns import clock
from storage.question_tables import server_questions
from storage.rows import insert
from storage.tables import PREPARED, UNDRAWN, actions, inbox, notes, posted
from storage.task_tables import tasks

LOST_AFTER = timedelta(
    minutes=1
)  # a run that has not begun for so long may be lost: another one is asked for
ON_ITS_WAY = timedelta(days=1)  # of which nothing was heard for so long before a card, does not come below it
MAX_LOST_RUNS = 10  # runs of one card, one after the other, after which the sweep asks for no further one
KEY: Any = bindparam("of")
SESSION: Any = bindparam("session")
SHOWN = (posted.c.channel, posted.c.ts, posted.c.revision, posted.c.digest, posted.c.at, posted.c.tries)

POSTED = select(*SHOWN).where(posted.c.key == KEY)
POSTED_OF = select(posted.c.key, *SHOWN).where(posted.c.key.in_(bindparam("keys", expanding=True)))
_OF_THREAD = [
    exists().where(table.c.id == posted.c.key, table.c.session == SESSION)
    for table in (actions, server_questions)
]
# What one person alone was told, but for notes of one kind. Where Slack did not say when it showed it, what we have
# written down counts.
_TOLD_ALONE = and_(
    notes.c.to == bindparam("to"),
    notes.c.kind != bindparam("but"),
    or_(posted.c.ts != EPHEMERAL, posted.c.at > bindparam("at")),
)
# People may see it before we have heard from Slack where it stands, or where we never do: its first draw has begun and
# has not ended, or a place is kept for it. What Slack did not take does not stand there.
_UNHEARD = and_(
    posted.c.ts == "",
    posted.c.digest != NOT_TAKEN,
    or_(posted.c.channel == bindparam("channel"), and_(posted.c.channel == "", posted.c.tries > 0)),
    func.coalesce(posted.c.asked_at, posted.c.at) > bindparam("lately"),
)
# What is newer than a timestamp in a thread, or may be. Those of Slack have as many digits, so they compare as text.
SHOWN_AFTER = (
    select(posted.c.key)
    .where(
        or_(and_(posted.c.channel == bindparam("channel"), posted.c.ts > bindparam("since")), _UNHEARD),
        or_(
            *_OF_THREAD,
            exists()
            .where(notes.c.id == posted.c.key, notes.c.session == SESSION)
            .where(or_(notes.c.to == "", _TOLD_ALONE)),
            exists().where(tasks.c.session == SESSION, posted.c.key.startswith(tasks.c.id + ":")),
            posted.c.key.startswith(bindparam("hints")),
        ),
    )
    .limit(1)
)
# Messages have their place in Slack in their keys; `since` and `until` are two such places.
OTHERS_WROTE = (
    select(inbox.c.key)
    .where(inbox.c.key > bindparam("since"), inbox.c.key < bindparam("until"))
    .where(inbox.c.session == SESSION, inbox.c.user != bindparam("but"))
    .limit(1)
)
# Of a message: something in its thread may still wait for a word, of which it tells whether it is one to us.
WAITS_IN_THREAD = or_(
    exists().where(tasks.c.session == inbox.c.session, tasks.c.state.not_in(OVER)),
    exists().where(actions.c.session == inbox.c.session, PREPARED),
)
# The row stays locked until the end of the transaction of whoever asks, so that this comes before or after it.
BEGIN_DRAWING = (
    update(posted)
    .where(posted.c.key == KEY)
    .values(begun=posted.c.asked, tries=posted.c.tries + 1)
    .returning(*SHOWN)
)

# The run `number` has begun and was given up: it counts as one that is yet to begin.
FAILED_DRAW = (
    update(posted)
    .where(posted.c.key == KEY, posted.c.asked == bindparam("number"), posted.c.begun == posted.c.asked)
    .values(begun=posted.c.asked - 1)
)


def below_card(session: Session, since: str, to: str, but: str) -> dict[str, Any]:
    """What SHOWN_AFTER is asked with."""
    at = datetime.fromtimestamp(float(since), UTC)
    times = {"since": since, "at": at, "lately": at - ON_ITS_WAY}
    hints = hint_key(to, session.channel, session.thread)
    return {"session": session, "channel": session.channel, "to": to, "but": but, "hints": hints, **times}


@lru_cache(maxsize=16)
def request_statement(dialect: str, offset: timedelta) -> Any:
    """Ask for a card by its key: the number of the run that is to draw it, or no row where one waits already."""
    now = clock(offset)
    waits = and_(posted.c.asked > posted.c.begun, posted.c.asked_at > clock(offset - LOST_AFTER))
    nowhere = {"channel": "", "ts": "", "revision": 0, "digest": "", "at": now}
    new = insert(posted, dialect).values(key=KEY, **nowhere, asked=1, begun=0, tries=0, asked_at=now)
    again = {"asked": posted.c.asked + 1, "asked_at": now}
    return new.on_conflict_do_update(index_elements=["key"], set_=again, where=not_(waits)).returning(
        posted.c.asked
    )


@lru_cache(maxsize=32)
def upsert_statement(dialect: str, offset: timedelta, guarded: bool) -> Any:
    """Write down where a card stands: a row where that was done. `guarded`: only where revision `before` was shown."""
    names = ("channel", "ts", "revision", "digest")
    new = insert(posted, dialect).values(
        key=KEY, at=clock(offset), **{name: bindparam(f"new_{name}") for name in names}
    )
    since = case((new.excluded.digest == posted.c.digest, posted.c.at), else_=clock(offset))
    changes = {**{name: new.excluded[name] for name in names}, "at": since, "tries": 0}
    newer = new.excluded.revision >= posted.c.revision
    where = and_(newer, posted.c.revision == bindparam("before")) if guarded else newer
    return new.on_conflict_do_update(index_elements=["key"], set_=changes, where=where).returning(
        posted.c.key
    )


@lru_cache(maxsize=16)
def lost_statement(offset: timedelta) -> Any:
    """The cards that nobody has begun to draw for LOST, `count` at most, the oldest first; what each is about."""
    kinds = [
        (notes, CardKind.NOTE), (actions, CardKind.ACTION), (tasks, CardKind.TASK),
        (server_questions, CardKind.QUESTION),
    ]  # fmt: skip
    of = [(exists().where(table.c.id == posted.c.key), literal(kind.value)) for table, kind in kinds]
    kind = case(*of, else_=literal(CardKind.GROUP.value)).label("kind")
    waits = (
        UNDRAWN,
        posted.c.asked_at <= clock(offset - LOST_AFTER),
        posted.c.asked - posted.c.begun < MAX_LOST_RUNS,
    )
    return select(posted.c.key, kind).where(*waits).order_by(posted.c.asked_at).limit(bindparam("count"))


# The threads with a message from before `ts` that nobody has read or is reading, the oldest first.
UNREAD_SINCE = (
    select(inbox.c.session)
    .where(inbox.c.done_at.is_(None), inbox.c.ts < bindparam("ts"))
    .where(inbox.c.held_until.is_(None) | (inbox.c.held_until < bindparam("now")))
    .group_by(inbox.c.session)
    .order_by(func.min(inbox.c.ts))
    .limit(bindparam("count"))
)
