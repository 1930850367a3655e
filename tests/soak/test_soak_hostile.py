"""The whole product under hostile input for a given time: no stall of its loop, and a click is always acknowledged.

`make soak` runs it for an hour, `make soak ARGS="--soak-seconds 60 tests/soak"` for a minute.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.connections import listening
from bot.http_limits import HttpLimits
from bot.process_priority import take_turns
from bot.watchdog import LIMIT, Stall
from gate.rules.ports import Limits
from tests.product import OPS, Product, running_product
from tests.soak import hostile_server
from tests.stalls import SUITE_LIMIT
from tools.mcp.server_config import ServerConfig
from views import buttons
from workspace.faults import NotPossible
from workspace.state import Message

SERVER = Path(hostile_server.__file__)
LIMITS = Limits(pending_per_user=1000)
LONGEST = 39_000  # characters, of the 40,000 that Slack takes
UNITS = (
    '\\"', "'a ", "“", "`", "<http://a", '={"', "- a\n", " then a", "move a to b then ", "a.b x=1 ", "[", "\t", "\n",
    "step 1, ", ">", "successfully deleted ", "in table a of a set a to a where ", "\u202e", "é", "*_", "<!channel>",
)  # fmt: skip
REMEMBERED = 300  # messages of a channel, and entries of the log, that the local Slack keeps
STRANGERS = 30  # connections at once in the long run; in the suite, which has other work, fewer
WAIT = 60.0  # seconds for what has to come about; not what is measured


def servers() -> tuple[ServerConfig, ...]:
    return tuple(
        ServerConfig(
            name=name,
            command=sys.executable,
            args=("-S", str(SERVER), str(crowd)),
            mode="legacy",
            timeout=20,
        )
        for name, crowd in (("hostile", 0), ("crowded", 600))
    )


class Attack:
    """One run of it, for `seconds`: what three people, two servers and strangers do, side by side."""

    def __init__(self, product: Product, seconds: float, strangers: int) -> None:
        self.strangers = strangers
        self.product, self.ws, self.until = product, product.ws, time.monotonic() + seconds
        self.mention = f"<@{product.ws.as_('U_ANN')._state.app.bot_user}>"
        self.done = {"messages": 0, "replies": 0, "calls": 0, "forms": 0, "clicks": 0, "bodies": 0}

    def goes_on(self) -> bool:
        return time.monotonic() < self.until

    async def messages(self) -> None:
        """Long hostile messages, and replies in a thread."""
        ben = self.ws.as_("U_BEN")
        for unit in itertools.cycle(UNITS):
            if not self.goes_on():
                return
            # It shares the process of the product: after some minutes the garbage collector would look through millions
            # of its objects.
            self.ws.forget(REMEMBERED)
            text = unit * (LONGEST // len(unit))
            with contextlib.suppress(NotPossible):
                root = await ben.say(OPS, f"{self.mention} move {text}"[:LONGEST])
                self.done["messages"] += 1
                await self.answered(root)
                await ben.say(OPS, f"{self.mention} {text}"[:LONGEST], root.ts)
                self.done["replies"] += 1
                await self.settled()

    async def calls(self) -> None:
        """Each tool of the hostile server, confirmed where that is asked for."""
        cleo, args = self.ws.as_("U_CLEO"), ("", " a=1", " a=" + "a" * 1900, ' a={"a": {"a": [1, 2]}}')
        names = [*hostile_server.schemas(), *hostile_server.RESULTS]
        for name, given in itertools.cycle(itertools.product(names, args)):
            if not self.goes_on():
                return
            root = await cleo.say(OPS, f"{self.mention} hostile.{name}{given}")
            card = await self.answered(root)
            if card and buttons.CONFIRM in str(card.blocks):
                with contextlib.suppress(NotPossible, TimeoutError):
                    await cleo.click(card, buttons.CONFIRM)
                    await self.ws.wait_for(lambda c=card: buttons.CONFIRM not in str(c.blocks), timeout=WAIT)  # type: ignore[misc]
            self.done["calls"] += 1

    async def clicks(self) -> None:
        """Ann's plain work meanwhile: a card, its form with hostile values, and a click that is acknowledged."""
        ann = self.ws.as_("U_ANN")
        for number, unit in enumerate(itertools.cycle(UNITS)):
            if not self.goes_on():
                return
            root = await ann.say(
                OPS, f'{self.mention} filesystem.write_file path=soak-{number}.md content="x"'
            )
            card = await self.answered(root, buttons.CANCEL)
            assert card is not None, "there is no card"
            await self.form(card, unit)
            assert (await ann.click(card, buttons.CANCEL)).ok, "the click was not acknowledged"
            assert (await ann.command("/pending", "", OPS)).ok
            self.done["clicks"] += 1

    async def form(self, card: Message, unit: str) -> None:
        ann = self.ws.as_("U_ANN")
        with contextlib.suppress(NotPossible, TimeoutError):
            await ann.click(card, buttons.EDIT)
            form = await self.ws.wait_for(
                lambda: ann.modal if ann.modal and "input" in str(ann.modal.body) else None
            )
            inputs = [block for block in form.blocks if block["type"] == "input"]
            value = (unit * 3000)[:2900]
            await ann.submit(form, {one["block_id"]: {"value": value} for one in inputs})
            self.done["forms"] += 1
        with contextlib.suppress(NotPossible):
            await ann.close(all_of_them=True)

    async def answered(self, root: Message, button: str = "") -> Message | None:
        """The newest message of ours in the thread; None when none came, which is no answer to what is hostile."""
        found: Callable[[], Message | None] = lambda: next(  # noqa: E731
            (one for one in reversed(self.ws.by_app(OPS, root.ts)) if button in str(one.blocks)), None
        )
        with contextlib.suppress(TimeoutError):
            return await self.ws.wait_for(found, timeout=WAIT if button else 5)
        return None

    async def bodies(self) -> None:
        """Strangers send bodies in chunks of one byte, many at once, and leave without a word."""
        async with listening(self.product.parts.web, "127.0.0.1", 0, HttpLimits(), grace=0.1) as port:
            paths = itertools.cycle(("/slack/events", "/mcp", "/actions", "/nowhere"))
            while self.goes_on():
                await asyncio.gather(
                    *(self.body(port, path) for path in itertools.islice(paths, self.strangers))
                )
                self.done["bodies"] += self.strangers
                await asyncio.sleep(1)

    async def body(self, port: int, path: str) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head.encode() + b"1\r\nx\r\n" * 20_000)
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(1):
                await writer.drain()
        writer.transport.abort()

    async def settled(self) -> None:
        with contextlib.suppress(TimeoutError):
            await self.ws.settled(timeout=5)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as work:
            for part in (self.messages, self.calls, self.clicks, self.bodies):
                work.create_task(part())


@pytest.fixture
def turns() -> Iterator[None]:
    """Threads that compute have turns as short as in the service (bot/cli/serve.py)."""
    before = sys.getswitchinterval()
    take_turns()
    yield
    sys.setswitchinterval(before)


@pytest.mark.slow
@pytest.mark.usefixtures("turns")
@pytest.mark.parametrize(
    "hours",
    [False, pytest.param(True, marks=[pytest.mark.soak, pytest.mark.timeout(0)])],
    ids=["short", "long"],
)
async def test_hostile_people_and_servers_never_hold_up_the_loop(
    hours: bool,
    tmp_path: Path,
    pytestconfig: pytest.Config,
    stalls: list[Stall],
    claim: Callable[[str], None],
) -> None:
    """Stalls of the product's own code count, as the watchdog of the suite finds them."""
    seconds = float(pytestconfig.getoption("--soak-seconds")) if hours else 15.0
    async with running_product(tmp_path, limits=LIMITS, servers=servers()) as product:
        if hours:
            gc.collect()
            gc.freeze()  # as bot/wiring.py does when it begins to serve
        stalls.clear()  # what starting took
        attack = Attack(product, seconds, STRANGERS if hours else 3)
        await attack.run()
        assert all(attack.done.values()), attack.done
    if not stalls:  # of which the watchdog of the suite tells
        most = LIMIT if hours else SUITE_LIMIT
        claim(f"hostile input for {seconds:.0f} s without a stall of {most} s: {attack.done}")
