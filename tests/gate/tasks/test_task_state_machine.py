"""A machine that plays people, clocks, crashes and a changing world against plans, and judges every call."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
import redis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from sqlalchemy import Connection, select

from bot.embedded_redis import EmbeddedRedis
from bot.job_routes import jobs
from gate.actions import claim_click, expiry, reissue, resolve_unknown
from gate.actions.button_press import Press, PressResult, TaskPress
from gate.rules import plans
from gate.rules.action import Action, CallClass, Ref
from gate.rules.action_states import FINAL, State
from gate.rules.approvers import Approvers
from gate.rules.canonical_json import parse
from gate.rules.jobs import Run
from gate.rules.planner_port import (
    Call,
    Clarify,
    Incoming,
    PlannerAssessment,
    PlannerContext,
    PlannerReply,
    ProposedStep,
    ProposePlan,
    Reply,
    Say,
    Turn,
)
from gate.rules.policy import Policy, Rule
from gate.rules.ports import OpenedModal
from gate.rules.settings import Switches
from gate.rules.task import Assessment, Missing, Question, StepState, Task
from gate.rules.task_states import OVER
from gate.rules.task_states import TaskState as S
from gate.rules.tool import Answer
from gate.tasks import control, feedback, inbox
from gate.tasks import plan as planning
from gate.tasks import undo_all as undo_plan
from gate.tasks.plan import StepChange
from storage.audit_log import verify
from storage.database import reading
from storage.leases import RedisLeases, open_redis
from storage.ledger import SqlLedger
from storage.rows import to_action
from storage.tables import actions
from tests.engines import engine_for
from tests.gate.fake_tools import Desk
from tests.gate.gate_setup import ANN, BEN, CHANNEL, GIL, TEAM, scene

T = TypeVar("T")
Draw = Callable[[Any], Any]
KEY = b"key"
POLICIES = {
    "own": (),
    "two others": (Rule("r", ("desk.write",), approvers=Approvers(needed=2)),),
    "always": (Rule("r", ("desk.write",), always=True),),
    "denied": (Rule("r", ("desk.write",), deny=True),),
}
SWITCHES = (
    Switches(), Switches(), Switches(review="after_step"), Switches(review="both"), Switches(plan_approval=False),
    Switches(satisfaction="never"),
)  # fmt: skip
MOST = 3  # tasks
RIGHT = (ANN, ANN, ANN, ANN, ANN, ANN, BEN, GIL)
ON_PLAN = (*[planning.approve_all] * 6, *[planning.step_by_step] * 2, planning.replan, planning.cancel)
ON_PAUSE = (*[control.resume] * 3, *[control.retry] * 3, *[control.skip_step] * 2, control.abort)
PEOPLE = (
    *["decide_on_the_plan"] * 4, "modify", *["answer_the_pause"] * 3, *["decide_on_the_card"] * 5, "say",
    "pause_or_stop", "ask_again", "settle", "end", "undo_all", "request",
)  # fmt: skip
OTHERS = ("repeat", "janitor", "tick", "tick", "weather", "disturb", "rewrite_the_policy", "reconsider")
seldom = st.sampled_from((False, False, False, True))
which = st.integers(0, 7)


class Killed(BaseException):
    """The process ended while the tool ran."""


class Moody:
    """A planner that answers with whatever the machine thought of last."""

    follows = True

    def __init__(self) -> None:
        self.mood: Callable[[PlannerContext], Reply] = lambda brief: Say("?")

    async def assess(self, turn: Turn, brief: PlannerContext) -> PlannerAssessment:
        return PlannerAssessment(Assessment(80, 5))

    async def reply(self, turn: Turn, brief: PlannerContext, pending: tuple[Action, ...]) -> PlannerReply:
        return PlannerReply(self.mood(brief))


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


class Machine(RuleBasedStateMachine):
    """Nothing runs without a yes to exactly it, no step runs twice, what ended starts nothing."""

    template: Path
    server: EmbeddedRedis

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.yes: set[tuple[str, str]] = set()  # (action, receipt) that somebody confirmed on its card
        self.consents: set[tuple[str, str, str]] = set()  # (task, step, seal) under an approval of a plan
        self.taking_back: set[str] = set()
        self.began: dict[tuple[str, str], str] = {}  # the action that each step was last begun with
        self.went_well: set[tuple[str, str]] = set()
        self.ended: dict[str, S] = {}
        self.shown: list[Task] = []
        self.mode, self.numbers, self.requests = "own", itertools.count(1), itertools.count(1)
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
        self.desk, self.planner = Witness(), Moody()
        self.desk.machine = self
        self.stage.world = replace(self.stage.world, tools=self.desk, planner=self.planner)

    def wait(self, work: Awaitable[T]) -> T:
        async def waited() -> T:
            return await work

        return self.runner.run(waited())

    # What must hold for every call

    async def judge(self, tool: str, args: bytes) -> None:
        found = [a for a in await self.all() if a.state is State.EXECUTING]
        (action,) = [a for a in found if a.args == args and a.tool == tool]
        if action.undoes:
            assert action.task in self.taking_back or (action.id, action.receipt) in self.yes, (
                "nobody wanted it back"
            )
            return
        task = await self.stage.ledger.task(action.task)
        assert task is not None
        assert not task.is_finished, "it had ended"
        key = (task.id, action.step)
        assert key not in self.went_well, "this step was done already"
        assert self.began.get(key) != action.id, "it was started twice"
        self.began[key] = action.id
        step = plans.step_of(task.plan, action.step)
        assert step is not None, "it is no step of the plan"
        assert step.action == action.id, "the step waits for another action"
        if (action.id, action.receipt) in self.yes:
            return
        assert (*key, plans.step_seal(action)) in self.consents, "nobody said yes to this"
        assert action.cls is CallClass.WRITE
        assert self.mode == "own", "the rules want more than that"
        assert task.switches.review == "none" or task.switches.review == "after_step"

    async def all(self) -> list[Action]:
        async with reading(self.engine).connect() as connection:
            rows = await connection.execute(select(actions).order_by(actions.c.id))
            return [to_action(row) for row in rows]

    async def tasks(self) -> tuple[Task, ...]:
        return await self.stage.ledger.tasks_of(self.stage.session, 20)

    def task(self, stale: bool = False) -> Task | None:
        """The task that is under way, as it is or as somebody saw it once."""
        if stale and self.shown:
            return self.shown[-2] if len(self.shown) > 1 else self.shown[-1]
        found = self.wait(self.tasks())
        return next((one for one in found if not one.is_finished), found[0] if found else None)

    # One rule, because of several hypothesis would leave out or dwell on some

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.reconsider(data.draw)
        self.request(data.draw)

    @rule(data=st.data(), move=st.sampled_from((*PEOPLE, *PEOPLE, *OTHERS)), late=seldom)
    def step(self, data: st.DataObject, move: str, late: bool) -> None:
        """Somebody or something acts, and the work goes on, or not yet."""
        seen = self.task()
        getattr(self, move)(data.draw)
        if seen is not None:
            self.shown.append(seen)
        if not late:
            self.wait(self._work())

    def request(self, draw: Draw) -> None:
        number = next(self.requests)
        if number > MOST:
            return
        switches = draw(st.sampled_from(SWITCHES))
        self.stage.world = replace(self.stage.world, switches=lambda channel: switches)
        self._speak("do it all", mentioned=True)
        self.wait(self._work())

    def _speak(self, text: str, user: str = ANN, mentioned: bool = False) -> None:
        moment = self.wait(self.stage.ledger.now()).timestamp()
        ts = f"{moment:.3f}{next(self.numbers):03d}"
        incoming = Incoming(f"{TEAM}:{CHANNEL}:{ts}", self.stage.session, user, text, ts, mentioned)
        self.wait(inbox.receive(self.stage.world, incoming))

    def reconsider(self, draw: Draw) -> None:
        """What the planner will answer from now on."""
        kind = draw(st.sampled_from((*["plan"] * 6, *["keep"] * 3, "words", "ask")))
        tools = draw(
            st.lists(
                st.sampled_from(("write", "write", "write", "look", "shred", "poke")), min_size=1, max_size=4
            )
        )
        names = [f"n{next(self.numbers) % 5}.md" for _ in tools]
        fresh = tuple(map(_planned, tools, names, range(1, len(tools) + 1)))

        def mood(brief: PlannerContext) -> Reply:
            kept = tuple(
                ProposedStep(Call(s.server, s.tool, s.args), s.title, s.refs, s.id) for s in brief.left
            )
            if kind == "words":
                return Say("Hm.")
            if kind == "ask" and not brief.decided:
                return Clarify((Question("q", "Which?", Missing.INPUTS, assumption="all"),))
            return ProposePlan((*kept, *fresh[:1]) if kind == "keep" else fresh)

        self.planner.mood = mood

    # What people do

    def _plan_press(self, task: Task, user: str, text: str = "") -> TaskPress:
        version, seal = (task.plan.version, task.plan.seal[:16]) if task.plan else (0, "0")
        return TaskPress(Ref(task.id, version, seal), TEAM, user, text=text)

    def decide_on_the_plan(self, draw: Draw) -> None:
        flow, user = draw(st.sampled_from(ON_PLAN)), draw(st.sampled_from(RIGHT))
        task = self.task(draw(seldom))
        if task is None:
            return
        now = self.wait(self.stage.ledger.task(task.id))
        press = self._plan_press(task, user, "differently")
        for said in self.wait(self.twice(flow, press)):
            if not said.ok:
                continue
            assert user == ANN
            assert now is not None
            if flow is planning.approve_all:
                assert now.plan
                assert task.plan
                assert now.plan.seal == task.plan.seal, "an old card approved"
                assert now.state is S.PLAN_REVIEW
                self.consents |= {
                    (task.id, step.id, step.preflight.seal) for step in task.plan.steps if step.preflight.seal
                }

    async def twice(self, flow: Callable[..., Awaitable[PressResult]], press: TaskPress) -> list[PressResult]:
        """Slack delivers it twice."""
        return await asyncio.gather(*(flow(self.stage.world, press) for _ in range(2)))

    def modify(self, draw: Draw) -> None:
        task, user, index, place = (
            self.task(),
            draw(st.sampled_from(RIGHT)),
            draw(which),
            draw(st.integers(1, 4)),
        )
        if task is None or task.plan is None or not task.plan.steps:
            return
        step = task.plan.steps[index % len(task.plan.steps)]
        args = {**step.args, "content": f"mine {next(self.numbers)}"} if step.tool == "write" else None
        change = StepChange(
            step.id, place, drop=draw(seldom), ask=draw(seldom), args=draw(st.sampled_from((None, args)))
        )
        said = self.wait(planning.modify(self.stage.world, self._plan_press(task, user), (change,)))
        assert not said.ok or (user == ANN and task.state is S.PLAN_REVIEW)

    def answer_the_pause(self, draw: Draw) -> None:
        flow, user, text = (
            draw(st.sampled_from(ON_PAUSE)),
            draw(st.sampled_from(RIGHT)),
            draw(st.sampled_from(("", "x"))),
        )
        task = self.task(draw(seldom))
        if task is None:
            return
        if task.questions and task.state is S.CLARIFYING:
            self._speak("all of them")
            return
        press = TaskPress(Ref(task.id, task.pauses, "0"), TEAM, user, text=text)
        now = self.wait(self.stage.ledger.task(task.id))
        for said in self.wait(self.twice(flow, press)):
            assert not said.ok or (user == ANN and now is not None and not now.is_finished)

    def pause_or_stop(self, draw: Draw) -> None:
        task, user = self.task(draw(seldom)), draw(st.sampled_from(RIGHT))
        flow = draw(st.sampled_from((*[control.pause] * 4, control.stop)))
        if task is not None:
            said = self.wait(flow(self.stage.world, self._plan_press(task, user)))
            assert not said.ok or user == ANN

    def decide_on_the_card(self, draw: Draw) -> None:
        user, index, yes = (
            draw(st.sampled_from(RIGHT)),
            draw(which),
            draw(st.sampled_from((True, True, True, False))),
        )
        found = [a for a in self.wait(self.all()) if a.state is State.PREPARED]
        if not found:
            return
        card = found[index % len(found)]
        press = Press(Ref(card.id, card.version, card.receipt[:16]), TEAM, user)
        if not yes:
            self.wait(claim_click.reject(self.stage.world, press))
            return
        if card.phrase:
            press = replace(press, view=f"V{next(self.numbers)}", typed=card.phrase)
            self.wait(
                self._opened(OpenedModal(press.view, "typed", user, card.id, card.version, card.receipt))
            )
        if self.wait(claim_click.confirm(self.stage.world, press)).ok:
            self.yes.add((card.id, card.receipt))

    async def _opened(self, sheet: OpenedModal) -> None:
        async with self.stage.ledger.begin() as tx:
            await tx.save_modal(sheet)

    def say(self, draw: Draw) -> None:
        self._speak(draw(st.sampled_from(("rather blue", "and another", "pause", "continue"))), draw(
            st.sampled_from(RIGHT)))  # fmt: skip

    def ask_again(self, draw: Draw) -> None:
        index = draw(which)
        found = [a for a in self.wait(self.all()) if a.state is State.EXPIRED]
        if found:
            action = found[index % len(found)]
            press = Press(Ref(action.id, action.version, action.receipt[:16]), TEAM, ANN)
            self.wait(reissue.reissue_by_press(self.stage.world, press))

    def settle(self, draw: Draw) -> None:
        happened = draw(st.booleans())
        for action in self.wait(self.all()):
            if action.state is State.UNKNOWN:
                press = Press(Ref(action.id, action.version, action.receipt[:16]), TEAM, ANN)
                self.wait(resolve_unknown.resolve(self.stage.world, press, happened))
                return

    def end(self, draw: Draw) -> None:
        flow = draw(st.sampled_from((feedback.satisfied, feedback.needs_changes, feedback.needs_changes)))
        task = self.task()
        if task is not None:
            press = TaskPress(Ref(task.id, task.ends, "0"), TEAM, ANN, text="more")
            self.wait(self.twice(flow, press))

    def undo_all(self, draw: Draw) -> None:
        task, user = self.task(), draw(st.sampled_from(RIGHT))
        if task is None:
            return
        said = self.wait(self.twice(undo_plan.undo_all, self._plan_press(task, user)))
        if any(one.ok for one in said):
            assert user == ANN
            assert task.is_finished or task.state is S.SATISFACTION
            self.taking_back.add(task.id)

    # What machines do

    async def _work(self, most: int = 10_000) -> None:
        for _ in range(most):
            due = next((r for r in self.stage.runs if r.key not in self.stage.done and not r.delay), None)
            if due is None:
                return
            self.stage.done.add(due.key)
            await self._carry(due)

    async def _carry(self, run: Run) -> None:
        """Carry out a run; one that may start something on two replicas at once."""
        work = jobs(self.stage.world)[run.name].work
        times = 2 if run.name in ("carry_out", "task", "turn", "renew") else 1
        for ended in await asyncio.gather(*(_safely(work, run) for _ in range(times))):
            if isinstance(ended, Killed):
                self.desk.behave = "well"
            elif ended is not None:
                raise ended

    def repeat(self, draw: Draw) -> None:
        """Runs that were done are done again, as after a crash."""
        index = draw(st.integers(0, 50))
        done = [run for run in self.stage.runs if run.key in self.stage.done and run.name != "take_in"]
        for run in done[-1 - index % len(done) :][:3] if done else ():
            self.wait(self._carry(run))

    def janitor(self, draw: Draw) -> None:
        self.wait(expiry.overdue(self.stage.world))

    def tick(self, draw: Draw) -> None:
        seconds = draw(st.sampled_from((1, 31, 299, 301)))
        self.stage.travel(seconds)
        with redis.Redis.from_url(self.server.url) as keys:
            for key in keys.keys("confirmation:*"):
                left = keys.pttl(key) - seconds * 1000
                keys.pexpire(key, left) if left > 0 else keys.delete(key)
        self.wait(expiry.overdue(self.stage.world))

    def weather(self, draw: Draw) -> None:
        self.desk.behave = draw(
            st.sampled_from(("well", "well", "says no", "breaks the line", "absent", "kills"))
        )

    def disturb(self, draw: Draw) -> None:
        if draw(st.booleans()):
            self.desk.notes[f"n{draw(which) % 5}.md"] = f"somebody was here {next(self.numbers)}"
        else:
            self.desk.redefine(draw(st.sampled_from(("write", "shred", "put_back"))))

    def rewrite_the_policy(self, draw: Draw) -> None:
        self.mode = mode = draw(st.sampled_from(("own", "own", *POLICIES)))
        self.stage.world = replace(self.stage.world, policy=Policy(mode, rules=POLICIES[mode]))

    # What is always so

    @invariant()
    def what_ended_stays_so(self) -> None:
        for task in self.wait(self.tasks()):
            if task.id in self.ended:
                assert task.state is self.ended[task.id]
            if task.is_finished:
                self.ended[task.id] = task.state
            self._steps_hold(task)

    def _steps_hold(self, task: Task) -> None:
        steps = task.plan.steps if task.plan else ()
        assert len({step.id for step in steps}) == len(steps)
        done = {
            (task.id, step.id)
            for step in steps
            if step.state is StepState.DONE and step.cls is not CallClass.READ
        }
        assert {key for key in self.went_well if key[0] == task.id} <= done, (
            "what was done is not done any more"
        )
        self.went_well |= done
        if task.state is S.RUNNING and not self._work_left():
            current = task.plan.current if task.plan else None
            assert current is not None, "it stands still at its end"
            assert current.state is StepState.ASKED, "it stands still"

    def _work_left(self) -> bool:
        return any(run.key not in self.stage.done and not run.delay for run in self.stage.runs)

    def teardown(self) -> None:
        try:
            self.wait(self._end())
        finally:
            self.wait(self.redis.aclose())
            self.wait(self.engine.dispose())
            self.runner.close()
            self.folder.cleanup()

    async def _end(self) -> None:
        """Everybody goes home and the clock goes on: whatever is left waits for a person, and says so."""
        self.desk.behave = "well"
        for _ in range(6):
            await self._work()
            self.stage.travel(301)
            await expiry.overdue(self.stage.world)
        await self._work()
        for action in await self.all():
            unknown = action.state is State.UNDOING
            assert action.state in FINAL | {State.SUCCEEDED, State.UNKNOWN} or unknown, f"stuck: {action}"
        for task in await self.tasks():
            asks = task.state is S.CLARIFYING and bool(task.questions)
            held = task.plan is not None and bool(task.plan.undoing)
            assert (
                task.is_finished or asks or held or task.state in (S.PLAN_REVIEW, S.PAUSED, S.SATISFACTION)
            ), task.state
            if task.id in self.stage.wall.tasks:
                assert self.stage.wall.tasks[task.id].state is task.state, "the card tells something else"
        assert set(self.ended.values()) <= OVER
        assert (await verify(self.engine, KEY)).broken_at is None


def _planned(tool: str, name: str, place: int) -> ProposedStep:
    if tool == "poke":
        return ProposedStep(Call("desk", tool, {"at": name}))
    refs = {"content": f"{{steps.{place - 1}.sha}}"} if tool == "write" and place % 3 == 0 else {}
    args = {"path": name} | ({"content": "one"} if tool == "write" and not refs else {})
    return ProposedStep(Call("desk", tool, args), refs=refs)


async def _safely(work: Callable[..., Awaitable[None]], run: Run) -> BaseException | None:
    try:
        await work(*run.args)
    except (Killed, Exception) as error:
        return error
    return None


def play(template: Path, server: EmbeddedRedis, examples: int, steps: int, **more: Any) -> None:
    Machine.template, Machine.server = template, server
    quiet = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    chosen = settings(max_examples=examples, stateful_step_count=steps, suppress_health_check=quiet, **more)
    run_state_machine_as_test(Machine, settings=chosen)


def test_whatever_people_and_the_world_do_to_a_plan(
    migrated_sqlite: Path, redis_server: EmbeddedRedis
) -> None:
    play(migrated_sqlite, redis_server, 12, 30, derandomize=True)


@pytest.mark.soak
def test_whatever_they_do_for_long(migrated_sqlite: Path, redis_server: EmbeddedRedis) -> None:
    play(migrated_sqlite, redis_server, 500, 50)
