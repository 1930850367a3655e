"""A card that Slack does not take is seen by nobody: no words are a yes to what should have stood on it."""

from __future__ import annotations

from bot.outgoing_check import PLAIN
from gate.rules.planner_port import Call, Propose, ProposedStep, ProposePlan
from gate.rules.task import Assessment
from tests.slack_app import ANN, OPS, Edge, said_in
from workspace.faults import Refused

WRITE = Call("desk", "write", {"path": "payroll.md", "content": "everybody gets 0"})
OTHER = Call("desk", "write", {"path": "b.md", "content": "b"})
ASKED = "<@UBOT> please do it"
REFUSED = Refused("msg_blocks_too_long")


def told(edge: Edge, thread: str) -> str:
    return " ".join(f"{one.text} {said_in(one)}" for one in edge.ws.by_app(OPS, thread))


async def shown(edge: Edge) -> list[int]:
    """The versions of actions that people have seen, as the record says."""
    lines = await edge.ledger.audit_tail(team="T1", limit=50)
    return [line.entry.version for line in reversed(lines) if line.entry.event == "shown"]


async def not_taken(edge: Edge, thread: str) -> None:
    await edge.ws.wait_for(lambda: PLAIN in told(edge, thread))
    await edge.settled()


async def yes_is_early(edge: Edge, thread: str) -> None:
    with edge.nothing_ran():
        await edge.ann.say(OPS, "yes", thread_ts=thread)
        await edge.told(ANN, "The card was not there yet")


async def test_a_yes_to_a_card_that_slack_refused_runs_nothing(http: Edge) -> None:
    http.ws.faults.on("chat.postMessage", REFUSED, times=1)
    http.planner.script.append(Propose((WRITE,)))
    said = await http.ann.say(OPS, ASKED)
    await not_taken(http, said.ts)
    assert await shown(http) == []
    await yes_is_early(http, said.ts)


async def test_a_yes_to_an_edited_version_that_slack_refused_runs_nothing(http: Edge) -> None:
    card = await http.propose("write", path="a.md", content="could you come")
    assert await shown(http) == [1]
    http.ws.faults.on("chat.update", REFUSED, times=1)
    http.ws.faults.on("chat.postMessage", REFUSED, times=1)  # where it is drawn once more, as a new message
    await http.ann.say(OPS, "change 'could you come' to 'SOMETHING ELSE'", thread_ts=card.said.ts)
    await not_taken(http, card.said.ts)
    assert await shown(http) == [1]
    await yes_is_early(http, card.said.ts)


async def test_a_yes_to_a_plan_that_slack_refused_runs_nothing(http: Edge) -> None:
    http.planner.assessments.append(Assessment(80, 5))
    http.planner.script.append(ProposePlan((ProposedStep(WRITE), ProposedStep(OTHER))))
    http.ws.faults.on("chat.postMessage", REFUSED, times=1)
    said = await http.ann.say(OPS, ASKED)
    await not_taken(http, said.ts)
    await yes_is_early(http, said.ts)


async def test_a_card_that_slack_takes_later_stands_in_a_new_message_and_counts(http: Edge) -> None:
    http.ws.faults.on("chat.postMessage", REFUSED, times=1)
    http.planner.script.append(Propose((WRITE,)))
    said = await http.ann.say(OPS, ASKED)
    await not_taken(http, said.ts)
    (stand_in,) = http.ws.by_app(OPS, said.ts)
    await http.ann.say(OPS, "change 'everybody gets 0' to 'everybody gets 1'", thread_ts=said.ts)
    await http.ws.wait_for(lambda: "everybody gets 1" in told(http, said.ts))
    await http.settled()
    (card,) = http.ws.by_app(OPS, said.ts)
    assert card.ts != stand_in.ts
    assert 1 not in await shown(http)
    await http.ann.say(OPS, "yes", thread_ts=said.ts)
    await http.ws.wait_for(lambda: "Wrote payroll.md" in told(http, said.ts))
    await http.settled()
    assert http.desk.notes == {"payroll.md": "everybody gets 1"}
