"""The cards of a task are posted once, kept as the ledger says, and not drawn more often than Slack likes."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from bot.cards import Cards, _rendered
from bot.slack_messages import Sent
from bot.slack_retry import SlackError
from gate.rules.action import Outcome
from gate.rules.jobs import for_owner
from gate.rules.messages import CardKey, CardKind
from gate.rules.ports import Note, Posted, Tx, Unavailable
from gate.rules.task import Flow, StepState, StopRequest, Task
from gate.rules.task_states import TaskState
from handlers.slack.listener import To
from tests.bot.test_engine_runs import until
from tests.storage.samples import THREAD, action
from tests.tasks import having
from tests.views.task_samples import WHICH, approved, everything, paused, plan, step, task
from views import notices, rendering
from views.block_kit import Message
from views.rendering import Card, status_of_task

S = TaskState


@dataclass
class Slack:
    """What stands in the thread, by key, and every call that got through."""

    messages: dict[str, Message] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)  # (post, update or delete, key)
    places: dict[str, str] = field(default_factory=dict)  # where each message stands -> its key
    refuses: str = ""  # a kind of block that it does not know
    keeps: str = ""  # the message that it does not delete
    away: bool = False

    async def show(
        self, key: str, posted: Posted | None, to: To, message: Message, strict: bool = False
    ) -> Sent:
        if self.away:
            raise Unavailable("Slack does not answer")
        if self.refuses and any(block["type"] == self.refuses for block in message.blocks):
            assert strict, "the last way out was refused"
            raise SlackError("invalid_blocks")
        self.calls.append(("update" if posted and posted.ts else "post", key.split(":", 1)[1]))
        self.messages[key.split(":", 1)[1]] = message
        ts = posted.ts if posted and posted.ts else f"{len(self.calls)}.0"
        self.places[ts] = key.split(":", 1)[1]
        return Sent(to.channel, ts)

    async def remove(self, posted: Posted) -> bool:
        key = self.places[posted.ts]
        if key != self.keeps:
            self.calls.append(("delete", key))
            del self.messages[key]
        return key != self.keeps

    async def agents_sessions_setStatus(self, **arguments: str) -> None:
        """The status is no card."""


@dataclass
class Ledger:
    """The rows that drawing needs, guarded as the real ones are."""

    now: Task
    rows: dict[str, Posted] = field(default_factory=dict)
    waits: bool = False  # a run that nobody has begun

    async def task(self, task_id: str) -> Task | None:
        return self.now

    async def begin_drawing(self, key: str) -> Posted | None:
        self.waits = False
        return Posted("", "", 0, tries=1)

    async def reopen_drawing(self, key: str) -> bool:
        first, self.waits = not self.waits, True
        return first

    async def posted(self, key: str) -> Posted | None:
        return self.rows.get(key)

    async def posted_of(self, keys: Sequence[str]) -> dict[str, Posted]:
        return {key: self.rows[key] for key in keys if key in self.rows}

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[Tx]:
        made: Any = Transaction(self.rows)
        yield made


@dataclass
class Transaction:
    rows: dict[str, Posted]

    async def posted(self, key: str, now: Posted, before: int | None = None) -> bool:
        row = self.rows.get(key)
        if row is not None and (row.revision > now.revision or before not in (None, row.revision)):
            return False
        self.rows[key] = now
        return True


@dataclass
class Drawing:
    """A task whose cards are drawn. `seen`: in which states it was, each time that it was drawn."""

    slack: Slack
    ledger: Ledger
    cards: Cards
    seen: list[TaskState] = field(default_factory=list)

    async def draw(self, within: float = 0.0, **changes: Any) -> None:
        """The task changes, and is drawn."""
        self.ledger.now = having(self.ledger.now, revision=self.ledger.now.revision + 1, **changes)
        await self.cards.draw(CardKey(CardKind.TASK, self.ledger.now.id), within, self.note)

    async def note(self, record: Any) -> None:
        self.seen.append(record.state)


def drawing(first: Task, gap: float = 0.0) -> Drawing:
    slack, ledger = Slack(), Ledger(first)
    client: Any = slack
    made: Any = ledger
    cards = Cards(client, made, gap=gap)
    cards.show = slack.show  # type: ignore[method-assign]
    cards.remove = slack.remove  # type: ignore[method-assign]
    return Drawing(slack, ledger, cards)


async def test_a_card_is_posted_once_and_updated_only_when_it_changed() -> None:
    stage = drawing(task(plan=plan()))
    for _ in range(3):
        await stage.draw()
    assert stage.slack.calls == [("post", "plan:1")]
    await stage.draw(state=S.RUNNING, plan=approved())
    assert stage.slack.calls[1:] == [("update", "plan:1")]


async def test_a_newer_plan_closes_the_one_before_and_stands_below_it() -> None:
    stage = drawing(task(plan=plan()))
    await stage.draw()
    await stage.draw(plan=plan(version=2))
    await stage.draw(plan=plan(version=3))
    assert stage.slack.calls[1:] == [
        ("update", "plan:1"),
        ("post", "plan:2"),
        ("update", "plan:2"),
        ("post", "plan:3"),
    ]
    assert "a newer one took its place" in stage.slack.messages["plan:2"].text


async def test_what_was_never_posted_is_not_posted_only_to_be_closed() -> None:
    stage = drawing(having(everything(S.RUNNING), questions=(), flow=Flow.PLAN))
    await stage.draw()
    assert sorted(stage.slack.messages) == ["plan:2", "question:2"]


async def test_a_closed_card_stays_as_it_was_closed() -> None:
    stage = drawing(task(S.CLARIFYING, questions=(WHICH,), asked=1))
    await stage.draw()
    await stage.draw(state=S.PLANNING, questions=())
    closed = stage.slack.messages["question:1"]
    await stage.draw(state=S.CANCELLED, ended_by="UBEN")
    assert stage.slack.messages["question:1"] is closed


async def test_a_pause_is_posted_and_deleted_once_it_is_over() -> None:
    stage = drawing(paused())
    await stage.draw()
    assert "pause:1" in stage.slack.messages
    await stage.draw(state=S.RUNNING)
    await stage.draw(state=S.STOPPED_BY_USER, ended_by="UBEN")
    assert [call for call in stage.slack.calls if "pause:1" in call] == [
        ("post", "pause:1"),
        ("delete", "pause:1"),
    ]
    assert "pause:1" not in stage.slack.messages


async def test_a_pause_that_slack_does_not_let_us_delete_says_in_a_line_that_it_is_over() -> None:
    stage = drawing(paused())
    await stage.draw()
    stage.slack.keeps = "pause:1"
    await stage.draw(state=S.RUNNING)
    assert stage.slack.messages["pause:1"].text == "It was paused, and went on."


async def test_where_slack_knows_no_plan_block_plain_ones_are_sent_from_then_on() -> None:
    stage = drawing(task(S.RUNNING, plan=approved()))
    stage.slack.refuses = "plan"
    await stage.draw()
    assert "plan" not in {block["type"] for block in stage.slack.messages["plan:1"].blocks}
    stage.slack.refuses = "rich_text_nothing"
    await stage.draw(plan=approved(step(state=StepState.DONE)))
    assert "plan" not in {block["type"] for block in stage.slack.messages["plan:1"].blocks}


async def test_where_slack_knows_no_feedback_buttons_a_plain_one_is_sent() -> None:
    stage = drawing(task(S.SATISFACTION, ends=1, result="2 done"))
    stage.slack.refuses = "context_actions"
    await stage.draw()
    assert "Yes, done" in str(stage.slack.messages["satisfaction:1"].blocks)


async def test_ticks_that_come_close_together_become_one_with_the_newest_state() -> None:
    steps = [step(f"s{n}") for n in range(5)]
    stage = drawing(task(S.RUNNING, plan=approved(*steps)), gap=0.3)
    await stage.draw()
    draws = []
    for done in range(1, 5):
        now = [replace(one, state=StepState.DONE) if i < done else one for i, one in enumerate(steps)]
        draws.append(asyncio.create_task(stage.draw(plan=approved(*now))))
        await asyncio.sleep(0)
    assert stage.slack.calls == [("post", "plan:1")]
    await asyncio.wait_for(asyncio.gather(*draws), 20)
    assert stage.slack.calls == [("post", "plan:1"), ("update", "plan:1")]
    assert "Working on step 5 of 5" in stage.slack.messages["plan:1"].text


async def test_what_people_have_to_see_at_once_is_not_put_off() -> None:
    stage = drawing(task(S.RUNNING, plan=approved()), gap=3600)
    await stage.draw()
    await stage.draw(wish=StopRequest.PAUSE)
    assert "Pausing as soon as" in str(stage.slack.messages["plan:1"].blocks)
    await stage.draw(wish=StopRequest.NONE, state=S.PAUSED, pauses=1)
    assert "pause:1" in stage.slack.messages
    await stage.draw(state=S.STOPPED_BY_USER)
    assert stage.slack.messages["plan:1"].text.startswith("Stopped")


async def test_a_state_that_another_replica_drew_meanwhile_wins() -> None:
    stage = drawing(task(S.RUNNING, plan=approved()))
    await stage.draw()
    real = stage.slack.show

    async def overtaken(
        key: str, posted: Posted | None, to: To, message: Message, strict: bool = False
    ) -> Any:
        """Slack takes our older state after the newer one of somebody else."""
        stage.cards.show = real  # type: ignore[method-assign]
        at = await real(key, posted, to, message, strict)
        stage.ledger.now = having(stage.ledger.now, revision=99, state=S.DONE, result="done")
        stage.ledger.rows[key] = Posted(*at, 99, "theirs")
        return at

    stage.cards.show = overtaken  # type: ignore[method-assign]
    await stage.draw(plan=approved(step(state=StepState.ASKED)))
    assert stage.slack.messages["plan:1"].text.startswith("Done")


async def test_a_newer_state_whose_record_comes_after_that_of_an_older_one_is_drawn_once_more() -> None:
    stage = drawing(task(S.RUNNING, plan=approved()))
    await stage.draw()
    real = stage.slack.show

    async def overtaken(
        key: str, posted: Posted | None, to: To, message: Message, strict: bool = False
    ) -> Any:
        """Somebody else writes an older state down while Slack takes ours, and may have shown it after ours."""
        stage.cards.show = real  # type: ignore[method-assign]
        at = await real(key, posted, to, message, strict)
        before = stage.ledger.rows[key]
        stage.ledger.rows[key] = replace(before, revision=before.revision + 1, digest="theirs")
        return at

    stage.cards.show = overtaken  # type: ignore[method-assign]
    stage.ledger.now = replace(stage.ledger.now, revision=10)
    await stage.draw(state=S.DONE, result="done")
    assert stage.slack.calls[1:] == [("update", "plan:1")] * 2
    assert stage.ledger.rows[f"{stage.ledger.now.id}:plan:1"].revision == 11


async def test_when_slack_is_away_it_is_tried_again() -> None:
    stage = drawing(task(plan=plan()))
    stage.slack.away = True
    with pytest.raises(Unavailable):
        await stage.draw()
    stage.slack.away = False
    await stage.draw()
    assert stage.slack.calls == [("post", "plan:1")]


@pytest.mark.parametrize(
    ("of", "status"),
    [
        (task(S.CLARIFYING), "processing"),
        (task(S.CLARIFYING, questions=(WHICH,)), "suspended"),
        (task(S.PLAN_REVIEW, plan=plan()), "suspended"),
        (task(S.RUNNING, plan=approved(step(state=StepState.ASKED))), "suspended"),
        (task(S.RUNNING, plan=approved(step(state=StepState.ASKED, consent="ef" * 32))), "processing"),
        (task(S.RUNNING, flow=Flow.SIMPLE), ""),
        (task(S.PAUSED), "suspended"),
        (task(S.SATISFACTION), "active"),
        (task(S.DONE), "active"),
    ],
)
def test_slacks_own_line_says_whether_it_works_or_waits(of: Task, status: str) -> None:
    assert status_of_task(of) == status


async def test_what_changes_while_a_card_waits_to_be_drawn_is_drawn_with_it() -> None:
    stage = drawing(task(S.RUNNING, plan=approved()))
    waiting = asyncio.create_task(stage.draw(within=3600, plan=approved(step(state=StepState.ASKED))))
    await asyncio.sleep(0)
    stage.ledger.now = having(stage.ledger.now, revision=9, state=S.DONE, result="done")
    assert stage.slack.calls == []
    stage.cards.draw_now(stage.ledger.now.id)
    await asyncio.wait_for(waiting, 20)
    assert stage.slack.calls == [("post", "plan:1")]
    assert stage.seen == [S.DONE]


async def test_a_card_that_was_hurried_before_its_run_began_is_drawn_at_once() -> None:
    stage = drawing(task(S.RUNNING, plan=approved()))
    stage.cards.draw_now(stage.ledger.now.id)
    await asyncio.wait_for(stage.draw(within=3600), 20)
    assert stage.slack.calls == [("post", "plan:1")]


async def test_a_card_that_nobody_hurries_is_drawn_in_its_time() -> None:
    stage = drawing(task(S.RUNNING, plan=approved()))
    await asyncio.wait_for(stage.draw(within=0.01), 20)
    assert stage.slack.calls == [("post", "plan:1")]


async def test_the_run_that_slack_keeps_waiting_draws_what_is_asked_for_meanwhile() -> None:
    stage = drawing(task(plan=plan()))
    stage.slack.away = True
    with pytest.raises(Unavailable):
        await stage.draw()
    assert stage.ledger.waits


@dataclass
class Notes(Ledger):
    """Two notes of one message, of which the second stands below the first."""

    first: str = ""  # where the first one stands

    async def note(self, note_id: str) -> Note:
        body = {"text": note_id, **({"after": ["n:first", "n:gone"]} if note_id == "n:second" else {})}
        return Note(note_id, THREAD, "answer", body)

    async def posted_of(self, keys: Sequence[str]) -> dict[str, Posted]:
        above = {"n:first": Posted("C1", self.first, 1 if self.first else 0)}
        return {key: row for key, row in above.items() if key in keys}


async def test_the_second_answer_to_a_message_is_posted_below_the_first() -> None:
    it = drawing(task())
    notes: Any = Notes(task())
    it.cards._ledger = notes
    second = asyncio.create_task(it.cards.draw(CardKey(CardKind.NOTE, "n:second"), 0.0, it.note))
    await until(lambda: "n:second" in it.cards._put_off)
    assert it.slack.calls == []
    await it.cards.draw(CardKey(CardKind.NOTE, "n:first"), 0.0, it.note)
    notes.first = "1.0"
    await second
    assert [key for _, key in it.slack.calls] == ["first", "second"]


async def test_an_answer_does_not_wait_for_ever_for_the_one_above_it() -> None:
    now = itertools.count(0, 6)
    it = drawing(task())
    notes: Any = Notes(task())
    it.cards._ledger, it.cards._clock = notes, lambda: float(next(now))
    await it.cards.draw(CardKey(CardKind.NOTE, "n:second"), 0.0, it.note)
    assert [key for _, key in it.slack.calls] == ["second"]


@pytest.mark.parametrize(
    ("outcome", "beside"),
    [
        (None, False),
        (Outcome("success", "moved"), False),
        (Outcome("success", "x" * 30_000), True),
        (Outcome("success", "", {"rows": [{"id": 1}] * 300}), True),
        (Outcome("success", "", {"rows": [{"id": 1}] * 3}), False),
    ],
)
async def test_a_card_with_a_long_result_is_rendered_beside_the_loop(
    outcome: Outcome | None, beside: bool
) -> None:
    threads = list[int]()

    def render(*_: object) -> Card:
        threads.append(threading.get_ident())
        return rendering.of_action(shown, ())

    shown = action(outcome=outcome)
    card = await _rendered([shown], render)
    assert (threads[0] != threading.get_ident()) is beside
    assert card == rendering.of_action(shown, ())


async def test_the_cards_of_a_task_whose_step_gave_much_are_rendered_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads = list[int]()

    def render(drawn: Task) -> tuple[Card, ...]:
        threads.append(threading.get_ident())
        return ()

    monkeypatch.setattr(rendering, "of_task", render)
    stage = drawing(task(S.RUNNING, plan=approved(step("a", state=StepState.DONE, text="moved"))))
    await stage.draw()
    for result in ({"rows": [{"id": 1}] * 300}, {"k" * 30_000: 1}):
        await stage.draw(plan=approved(step("a", state=StepState.DONE, result=result)))
    assert [one == threading.get_ident() for one in threads] == [True, False, False]


async def test_people_take_turns_at_long_results_however_many_one_of_them_has_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, go_on, message = list[str](), threading.Event(), notices.message

    def render(drawn: Note, **more: Any) -> Message:
        begun.append(drawn.id)
        assert go_on.wait(5)
        return message(drawn, **more)

    monkeypatch.setattr(notices, "message", render)
    cards, tasks = drawing(task()).cards, list[asyncio.Task[Card]]()
    body = {"name": "files.read", "summary": "Read", "arguments": {}, "text": "x" * 30_000}
    for owner, note_id in [("ann", "a1"), ("ann", "a2"), ("ann", "a3"), ("ben", "b1")]:
        with for_owner(owner):
            tasks.append(asyncio.create_task(cards._note_card(Note(note_id, THREAD, "read", body))))
    await until(lambda: bool(begun))
    go_on.set()
    await asyncio.gather(*tasks)
    assert begun.index("b1") < begun.index("a3")
