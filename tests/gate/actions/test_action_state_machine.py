"""A machine that plays people, clocks, crashes and intruders against the real flows, and judges every call."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
import redis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import Connection, select, update

from bot.embedded_redis import EmbeddedRedis
from bot.job_routes import jobs
from gate.actions import claim_click, edit, expiry, reissue, resolve_unknown, undo
from gate.actions.button_press import Press, PressResult
from gate.actions.prepare import CallRequest, prepare
from gate.rules.action import Action, Person, Ref, Verdict
from gate.rules.action_states import FINAL, SETTLED, State
from gate.rules.approvers import Approvers
from gate.rules.canonical_json import canonical, parse
from gate.rules.jobs import Run
from gate.rules.permissions import Verb
from gate.rules.planner_port import Call, Incoming, Turn
from gate.rules.policy import Policy, Rule
from gate.rules.ports import OpenedModal
from gate.rules.tool import Answer
from gate.tasks import inbox
from storage.audit_log import verify
from storage.database import reading
from storage.leases import RedisLeases, open_redis
from storage.ledger import SqlLedger
from storage.rows import to_action
from storage.tables import actions
from tests.engines import engine_for
from tests.gate.fake_tools import Desk
from tests.gate.gate_setup import ANN, BEN, CHANNEL, CLEO, GIL, TEAM, Wall, scene

T = TypeVar("T")
Draw = Callable[[Any], Any]
KEY, UNDO = b"key", "undo"
POLICIES = {
    "own": (),
    "two of ops": (Rule("r", ("desk.write",), approvers=Approvers(groups=frozenset({"S_OPS"}), needed=2)),),
    "two others": (Rule("r", ("desk.*",), approvers=Approvers(needed=2)),),
    "typed": (Rule("r", ("desk.write",), always=True),),
    "denied": (Rule("r", ("desk.write",), deny=True),),
}
MOST = 4  # actions besides undos
which = st.integers(0, 7)
who = st.sampled_from((*["right"] * 8, ANN, BEN, CLEO, GIL))
asking = st.sampled_from((ANN, ANN, ANN, BEN))
contents = st.sampled_from(("two", "three", "one"))
seldom = st.sampled_from((False, False, False, True))
PEOPLE = (
    "propose",
    *["confirm"] * 6,
    "change",
    "change",
    "refuse",
    "undo",
    "undo",
    "undo",
    "tidy",
    "say_yes",
)
OTHERS = ("repeat", "janitor", "tick", "tick", "weather", *["disturb"] * 4, *["rewrite_the_policy"] * 2)
MOVES = (*PEOPLE, *PEOPLE, *OTHERS, "work")
BETWEEN = (*[""] * len(OTHERS), *OTHERS, "change", "change", "confirm", "confirm")
OVER = FINAL | {State.SUCCEEDED, State.UNKNOWN}


class Killed(Exception):
    """The process ended while the tool ran."""


@dataclass(frozen=True)
class Yes:
    """Somebody's yes to one receipt, as the machine saw it being taken; or, to UNDO, somebody's click."""

    action: str
    receipt: str
    user: str


class Witness(Desk):
    """The desk, which asks the machine about every call that changes something."""

    machine: Machine

    async def call(
        self, server: str, tool: str, args: bytes, seconds: float | None = None, definition: str = ""
    ) -> Answer:
        if tool != "look" and self.behave != "absent":
            await self.machine.judge(tool, args)
            if self.behave == "kills":
                self.calls.append((tool, parse(args)))
                raise Killed
        return await super().call(server, tool, args, seconds, definition)


class Seen(Wall):
    """The wall, which remembers every version that hung there, and since when."""

    machine: Machine

    async def draw_action(self, action: Action, key: str) -> None:
        await super().draw_action(action, key)
        since = (await self.ledger.now()).timestamp()
        self.machine.shown.setdefault((action.id, action.version), (action, since))


class Machine(RuleBasedStateMachine):
    template: Path
    server: EmbeddedRedis

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.shown: dict[tuple[str, int], tuple[Action, float]] = {}
        self.said: list[tuple[str, float]] = []
        self.yes: set[Yes] = set()
        self.started: Counter[str] = Counter()
        self.last: dict[str, State] = {}
        self.mode, self.numbers = "own", itertools.count(1)
        self.proposed = itertools.count(1)
        self.wait(self._open())

    async def _open(self) -> None:
        path = Path(self.folder.name) / "machine.db"
        shutil.copy(self.template, path)
        self.engine, self.redis = engine_for(f"sqlite:///{path}"), open_redis(self.server.url)
        await self.redis.flushall()
        runs: list[Run] = []

        def enqueue(connection: Connection, run: Run) -> None:
            if run.key not in {known.key for known in runs}:
                runs.append(run)

        self.stage = scene(SqlLedger(self.engine, enqueue, KEY), RedisLeases(self.redis), runs)
        self.desk, self.wall = Witness(), Seen(self.stage.ledger)
        self.desk.machine = self.wall.machine = self
        self.stage.world = replace(self.stage.world, tools=self.desk, chat=self.wall)
        async with self.stage.ledger.begin() as tx:
            await tx.open_turn(Turn("t", self.stage.session, ANN, "hello", await tx.now()))

    def wait(self, work: Awaitable[T]) -> T:
        async def waited() -> T:
            return await work

        return self.runner.run(waited())

    # What the machine believes, told apart from what the gate believes

    def eligible(self, person: Person | None, action: Action) -> bool:
        """Whether this person's yes counts for this action, as things stand now."""
        if person is None or person.is_guest or person.is_deleted:
            return False
        if self.mode == "own" or action.undoes or self.mode == "typed":
            return person.id == action.requester
        if self.mode == "two others":
            return person.id != action.requester
        if self.mode == "two of ops" and action.tool == "write":
            return "S_OPS" in person.groups and person.id != action.requester
        return person.id == action.requester and not (self.mode == "denied" and action.tool == "write")

    def needed(self, action: Action) -> int:
        two = self.mode == "two others" or (self.mode == "two of ops" and action.tool == "write")
        return 2 if two and not action.undoes else 1

    async def judge(self, tool: str, args: bytes) -> None:
        """A call is about to change something: may it?"""
        now = [a for a in await self.all() if a.state is State.EXECUTING]
        (action,) = [a for a in now if a.args == args and a.tool == tool]
        self.started[action.id] += 1
        assert self.started[action.id] == 1, "it was started twice"
        lines = await self.stage.ledger.audit_tail(team=TEAM, limit=1000)
        about = [line.entry for line in lines if line.entry.action == action.id]
        claims = [e for e in about if e.event == "started"]
        assert [(c.version, c.receipt, c.user_confirmed) for c in claims] == [
            (action.version, action.receipt, True)
        ], "no claim on the record before the effect"
        if action.undoes and action.version == 1:
            assert Yes(action.undoes, UNDO, action.requester) in self.yes, "nobody pressed undo"
            return
        shown, since = self.shown[action.id, action.version]
        assert (shown.args, shown.receipt) == (args, action.receipt), "not what was shown"
        spoken = {user for user, ts in self.said if ts > since and action.verdict is Verdict.CONFIRM}
        said = {y.user for y in self.yes if (y.action, y.receipt) == (action.id, action.receipt)}
        people = [self.stage.directory.people[user] for user in said | (spoken & {action.requester})]
        good = [person for person in people if self.eligible(person, action)]
        assert len(good) >= self.needed(action), "too few people said yes to this"

    async def all(self) -> list[Action]:
        """Every action that was ever made, in the order of their ids."""
        async with reading(self.engine).connect() as connection:
            found = await connection.execute(select(actions).order_by(actions.c.id))
            return [to_action(row) for row in found]

    def pick(self, index: int, *states: State) -> Action | None:
        """One of the actions in these states, if there are any; else any at all."""
        found = self.wait(self.all())
        chosen = [action for action in found if action.state in states] or found
        return chosen[index % len(chosen)] if chosen else None

    def card(self, index: int, stale: bool) -> Action | None:
        """What somebody sees, or once saw and still has before them."""
        action = self.pick(index, State.PREPARED)
        seen = [a for (key, _), (a, _) in self.shown.items() if action and key == action.id]
        return seen[0 if stale else -1] if seen else None

    def person(self, name: str, action: Action, turn: int) -> str:
        """Somebody by name, or one of those whose decision it is."""
        deciders = [p.id for p in self.stage.directory.people.values() if self.eligible(p, action)]
        right = deciders or [action.requester]
        return right[turn % len(right)] if name == "right" else name

    def asker(self, name: str, action: Action) -> str:
        return action.requester if name == "right" else name

    # One rule, because of several hypothesis would leave out or dwell on some

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.rewrite_the_policy(data.draw)
        self.propose(data.draw)
        self.propose(data.draw)

    @rule(data=st.data(), move=st.sampled_from(MOVES), between=st.sampled_from(BETWEEN), late=seldom)
    def step(self, data: st.DataObject, move: str, between: str, late: bool) -> None:
        """Somebody acts, something comes between, and the work goes on."""
        getattr(self, move)(data.draw)
        if between:
            getattr(self, between)(data.draw)
        if not late:
            self.wait(self._work())

    # What people do

    def propose(self, draw: Draw) -> None:
        number = next(self.proposed)
        if number > MOST:
            return
        tool, user = draw(st.sampled_from(("write", "write", "shred", "poke"))), draw(asking)
        path = f"n{number}.md"
        if tool == "shred" or number % 2:
            self.desk.notes[path] = f"old {number}"
        args = {"at": path} if tool == "poke" else {"path": path}
        args |= {"content": "one"} if tool == "write" else {}
        asked = CallRequest(f"a{number}", self.stage.session, user, Call("desk", tool, args))
        self.wait(prepare(self.stage.world, asked))
        self.wait(self._work())

    def confirm(self, draw: Draw) -> None:
        """One to three people press Confirm on what they have before them, or type."""
        card = self.card(draw(which), draw(seldom))
        if card is None:
            return
        phrase = draw(st.sampled_from(("right", "right", "right", "wrong", "forged", None)))
        for number, name in enumerate(draw(st.lists(who, min_size=1, max_size=3))):
            self._confirm(card, self.person(name, card, number), phrase)

    def _confirm(self, card: Action, user: str, phrase: str | None) -> None:
        press = self.press(card, user)
        if card.phrase and phrase:
            press = replace(press, message_ts="", view="V_FORGED")
            press = replace(press, typed=card.phrase.upper() + "?" if phrase == "wrong" else card.phrase)
        if card.phrase and phrase in ("right", "wrong"):
            press = replace(press, view=f"V{next(self.numbers)}")
            self.wait(
                self.opened(OpenedModal(press.view, "typed", user, card.id, card.version, card.receipt))
            )
        before, moment = self.wait(self.stage.now(card.id)), self.wait(self.stage.ledger.now())
        leased = self.wait(self.redis.exists(f"confirmation:{card.id}"))
        for said in self.wait(self.twice(press)):
            if not said.ok:
                continue
            assert leased, "Redis had lost it"
            assert (card.version, card.receipt) == (before.version, before.receipt), "an old card confirmed"
            assert moment < before.expires_at, "it was over"
            assert self.eligible(self.stage.directory.people[user], before), "not their decision"
            assert not before.phrase or phrase == "right", "without the phrase"
            self.yes.add(Yes(card.id, card.receipt, user))

    async def twice(self, press: Press) -> list[PressResult]:
        """Slack delivers it twice."""
        return await asyncio.gather(*(claim_click.confirm(self.stage.world, press) for _ in range(2)))

    async def opened(self, sheet: OpenedModal) -> None:
        async with self.stage.ledger.begin() as tx:
            await tx.save_modal(sheet)

    def press(self, card: Action, user: str) -> Press:
        posted = self.wait(self.stage.ledger.posted(card.id))
        ref = Ref(card.id, card.version, card.receipt[:16])
        return Press(ref, TEAM, user, message_ts=posted.ts if posted else "")

    def say_yes(self, draw: Draw) -> None:
        user = draw(asking)
        moment = self.wait(self.stage.ledger.now()).timestamp()
        ts = f"{moment:.3f}{next(self.numbers):03d}"
        self.said.append((user, float(ts)))
        incoming = Incoming(f"{TEAM}:{CHANNEL}:{ts}", self.stage.session, user, "yes", ts, False)
        self.wait(inbox.receive(self.stage.world, incoming))

    def change(self, draw: Draw) -> None:
        index, name, stale, content = draw(which), draw(who), draw(seldom), draw(contents)
        card = self.card(index, stale)
        if card is None or card.tool == "poke":
            return
        user = self.asker(name, card)
        given = {k: v for k, v in parse(card.args).items() if k != "expected"}
        new = {**given, "content": content} if card.tool == "write" else {"path": f"{given['path']}x"}
        before = self.wait(self.stage.now(card.id))
        said = self.wait(edit.submit(self.stage.world, self.press(card, user), new))
        if isinstance(said, PressResult) and said.code == "edited":
            assert user == before.requester
            assert card.version == before.version
            assert not before.undoes

    def refuse(self, draw: Draw) -> None:
        index, name, verb = draw(which), draw(who), draw(st.sampled_from((Verb.CANCEL, Verb.REJECT)))
        action = self.pick(index)
        if action is None:
            return
        user = self.asker(name, action)
        flow = claim_click.cancel if verb is Verb.CANCEL else claim_click.reject
        said = self.wait(flow(self.stage.world, self.press(action, user)))
        if said.ok:
            person = self.stage.directory.people[user]
            in_ops = verb is Verb.REJECT and bool(action.approvers.groups & person.groups)
            assert user == action.requester or in_ops
            assert action.state in (State.PREPARED, State.APPROVED)

    def undo(self, draw: Draw) -> None:
        index, name = draw(which), draw(who)
        action = self.pick(index, State.SUCCEEDED)
        if action is None:
            return
        user = self.asker(name, action)
        said = self.wait(undo.request_undo(self.stage.world, self.press(action, user)))
        if said.ok:
            assert user == action.requester
            assert action.state is State.SUCCEEDED
            self.yes.add(Yes(action.id, UNDO, user))

    def tidy(self, draw: Draw) -> None:
        """Somebody asks again for what expired, or says what became of what is unknown."""
        index, name, happened = draw(which), draw(who), draw(st.booleans())
        action = self.pick(index, State.EXPIRED, State.UNKNOWN)
        if action is None:
            return
        user = self.asker(name, action)
        if action.state is State.UNKNOWN:
            self.wait(resolve_unknown.resolve(self.stage.world, self.press(action, user), happened))
            return
        said = self.wait(reissue.reissue_by_press(self.stage.world, self.press(action, user)))
        assert not said.ok or (user == action.requester and action.state is State.EXPIRED)
        if said.ok and action.undoes:
            self.yes.add(Yes(action.undoes, UNDO, user))

    # What machines do

    def work(self, draw: Draw) -> None:
        self.wait(self._work(draw(st.sampled_from((1, 2, 100)))))

    async def _work(self, most: int = 10_000) -> None:
        for _ in range(most):
            due = next((r for r in self.stage.runs if r.key not in self.stage.done and not r.delay), None)
            if due is None:
                return
            self.stage.done.add(due.key)
            await self._carry(due)

    async def _carry(self, run: Run) -> None:
        """Carry out a run; one that calls a tool on two replicas at once."""
        work = jobs(self.stage.world)[run.name].work
        times = 2 if run.name == "carry_out" else 1
        for ended in await asyncio.gather(*(work(*run.args) for _ in range(times)), return_exceptions=True):
            if isinstance(ended, Killed):
                self.desk.behave = "well"
            elif isinstance(ended, BaseException):
                raise ended

    def repeat(self, draw: Draw) -> None:
        """A run that was done is done again, as after a crash."""
        index = draw(st.integers(0, 50))
        done = [run for run in self.stage.runs if run.key in self.stage.done and run.name != "take_in"]
        if done:
            self.wait(self._carry(done[-1 - index % len(done)]))

    def janitor(self, draw: Draw) -> None:
        self.wait(expiry.overdue(self.stage.world))

    def tick(self, draw: Draw) -> None:
        seconds = draw(st.sampled_from((1, 1, 31, 149, 150, 299, 300, 301)))
        self.stage.travel(seconds)
        if draw(seldom):
            return  # the clock of Redis lags behind
        with redis.Redis.from_url(self.server.url) as keys:
            for key in keys.keys("confirmation:*"):
                left = keys.pttl(key) - seconds * 1000
                keys.pexpire(key, left) if left > 0 else keys.delete(key)

    def weather(self, draw: Draw) -> None:
        self.desk.behave = draw(st.sampled_from(("well", "says no", "breaks the line", "absent", "kills")))

    # What intruders and operators do

    def disturb(self, draw: Draw) -> None:
        what, index = (
            draw(st.sampled_from(("tamper", "tamper", "redefine", "write", "group", "group", "redis"))),
            draw(which),
        )
        if what == "tamper":
            self._tamper(index)
        elif what == "redefine":
            self.desk.redefine(("write", "put_back", "shred")[index % 3])
        elif what == "write":
            self.desk.notes[f"n{1 + index % MOST}.md"] = f"somebody was here {next(self.numbers)}"
        elif what == "group":
            user, people = (BEN, CLEO)[index % 2], self.stage.directory.people
            people[user] = replace(people[user], groups=frozenset({"S_OPS"}) - people[user].groups)
        else:
            self.wait(self.redis.flushall())

    def _tamper(self, index: int) -> None:
        action = self.pick(index, State.PREPARED, State.APPROVED)
        if action is not None:
            name = {"poke": "at", "write": "content"}.get(action.tool, "path")
            args = canonical({**parse(action.args), name: "evil"})
            evil = replace(action.proposal, args=args)
            self.wait(self._execute(update(actions).where(actions.c.id == action.id).values(proposal=evil)))

    async def _execute(self, statement: Any) -> None:
        async with self.stage.ledger.begin() as tx:
            await tx.execute(statement)

    def rewrite_the_policy(self, draw: Draw) -> None:
        self.mode = mode = draw(st.sampled_from(("own", *POLICIES)))
        self.stage.world = replace(self.stage.world, policy=Policy(mode, rules=POLICIES[mode]))

    # What is always so

    @invariant()
    def nothing_comes_back(self) -> None:
        for now in self.wait(self.all()):
            before = self.last.get(now.id)
            if before in FINAL:
                assert now.state is before, f"{before} became {now.state}"
            if before in SETTLED - FINAL:
                assert now.state in SETTLED
            self.last[now.id] = now.state

    def teardown(self) -> None:
        try:
            self.wait(self._end())
        finally:
            self.wait(self.redis.aclose())
            self.wait(self.engine.dispose())
            self.runner.close()
            self.folder.cleanup()

    async def _end(self) -> None:
        """Everybody goes home, the clock goes on: nothing may be left hanging, and the record must hold."""
        self.desk.behave = "well"
        for _ in range(8):
            await self._work()
            self.stage.travel(301)
            await expiry.overdue(self.stage.world)
        await self._work()
        found = await self.all()
        unknown = {action.undoes for action in found if action.state is State.UNKNOWN}
        for action in found:
            waits = action.state is State.UNDOING and action.id in unknown
            assert action.state in OVER or waits, f"stuck: {action}"
            if action.id in self.wall.cards:
                assert self.wall.cards[action.id].state is action.state, "the card tells something else"
        assert (await verify(self.engine, KEY)).broken_at is None


def play(template: Path, server: EmbeddedRedis, examples: int, steps: int, **more: Any) -> None:
    Machine.template, Machine.server = template, server
    quiet = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    chosen = settings(max_examples=examples, stateful_step_count=steps, suppress_health_check=quiet, **more)
    run_state_machine_as_test(Machine, settings=chosen)


# promise: VERB-10
def test_whatever_people_clocks_and_intruders_do(migrated_sqlite: Path, redis_server: EmbeddedRedis) -> None:
    play(migrated_sqlite, redis_server, 20, 35, derandomize=True)


@pytest.mark.soak
def test_whatever_they_do_for_long(migrated_sqlite: Path, redis_server: EmbeddedRedis) -> None:
    play(migrated_sqlite, redis_server, 1000, 60)
