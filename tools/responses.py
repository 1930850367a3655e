"""What a response of the model means: a reply to store, a search to answer, or something to send back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gate.talk import Call, Clarify, Done, Mode, Propose, ProposePlan, Reply
from tools import controls
from tools.context import Known
from tools.dialogue import Asked, Round, Said
from tools.gate_toolset import Unusable
from tools.offering import Offering
from tools.outcomes import key, refusals, supported, truthful

LONGEST_SAY = 8000  # characters
LONGEST_PROSE = 600
NOT_A_CALL = {
    Mode.PLAN: "It changes something, and nothing is changed while planning: put it into the plan with propose_plan.",
    Mode.TALK: "It changes something, and this is a conversation: nothing is changed before it is to be built.",
}
ALONE = "Not done: {name} has to be called alone."
NOT_DONE = "Not done: another call of the same response could not be used. Make all of them again."
NOTHING = (
    "There was neither text nor a call in your response. Say something to the requester, or call a tool."
)
NO_OUTCOME = "What became of calls is told by code, and not so. Ask without saying that something was done."


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a response comes to. Without a reply the model is asked again; `why`: it was sent back."""

    round: Round
    reply: Reply | None = None
    found: tuple[str, ...] = ()
    why: str = ""


class Misused(Exception):
    """A response that is sent back, with one result for each of its calls."""

    def __init__(self, results: Sequence[str]) -> None:
        super().__init__(next((text for text in results if text != NOT_DONE), NOT_DONE))
        self.results = tuple(results)


class Responses:
    """Reads the responses of one turn."""

    def __init__(self, known: Known, offering: Offering) -> None:
        self._known, self._offering = known, offering
        self._denied = refusals(known.turn, known.brief)

    def read(self, said: Said) -> Meaning:
        if not said.calls:
            return self._words(said)
        searches = [self._offering.searched and call.name == controls.FIND for call in said.calls]
        found: list[str] = []
        results = [
            self._find(call, found) if search else None
            for call, search in zip(said.calls, searches, strict=True)
        ]
        rest = [call for call, search in zip(said.calls, searches, strict=True) if not search]
        try:
            reply = self._meant(said, rest) if rest else None
        except Misused as error:
            back = Round(said, tuple(results)).told(error.results)
            return Meaning(replace(back, repair=True), found=tuple(found), why=str(error))
        return Meaning(Round(said, tuple(results)), reply, tuple(found))

    def _words(self, said: Said) -> Meaning:
        if said.text:
            reply = truthful(said.text[:LONGEST_SAY], self._known.turn, self._offering.reads)
            return Meaning(Round(said), reply)
        if self._known.turn.exchanges:
            return Meaning(Round(said), Done())
        return Meaning(Round(said, note=NOTHING, repair=True), why="It gave no answer.")

    def _find(self, call: Asked, found: list[str]) -> str:
        """The answer to a search: at once, and without anybody's being asked."""
        try:
            query = controls.read(controls.SEARCH, call.args)["query"]
        except Unusable as error:
            return str(error)
        text, names = self._offering.find(query, self._known.marks)
        found += names
        return text

    def _meant(self, said: Said, calls: Sequence[Asked]) -> Reply:
        """Calls of tools or of one control tool. Raises Misused."""
        control = next((call for call in calls if call.name in controls.ALL), None)
        if control is None:
            return self._proposed(said, calls)
        if len(calls) > 1:
            raise Misused([ALONE.format(name=control.name)] * len(calls))
        try:
            return self._controlled(said, control)
        except Unusable as error:
            raise Misused([str(error)]) from None

    def _controlled(self, said: Said, control: Asked) -> Reply:
        brief, pending = self._known.brief, self._known.pending
        if control.name not in {offer.name for offer in self._offering.controls}:
            raise Unusable(f"{control.name} is not there in this turn.")
        reply = controls.reply(
            control.name, control.args, self._known.tools, pending, (brief.done, brief.left)
        )
        if isinstance(reply, ProposePlan):
            return replace(reply, note=self._prose(reply.note or said.text))
        told = [one.text for one in reply.questions] if isinstance(reply, Clarify) else []
        if any(not self._supported(text) for text in told):
            raise Unusable(NO_OUTCOME)
        return reply

    def _proposed(self, said: Said, calls: Sequence[Asked]) -> Propose:
        """All calls of one response together, or none of them."""
        made = [self._call(call) for call in calls]
        proposed = [one for one in made if isinstance(one, Call)]
        if len(proposed) < len(made):
            raise Misused([one if isinstance(one, str) else NOT_DONE for one in made])
        proposed[0] = replace(proposed[0], prose=self._prose(said.text))
        return Propose(tuple(proposed))

    def _call(self, asked: Asked) -> Call | str:
        """The proposal, or what is wrong with it."""
        try:
            call = self._known.tools.call(asked.name, asked.args)
            if not self._offering.may_call(self._known.tools.named(asked.name)):
                return NOT_A_CALL[self._known.turn.mode]
        except Unusable as error:
            return str(error)
        if key(call) in self._denied:
            return (
                f"refused: {self._denied[key(call)]}, and is not asked again. Say so, or do something else."
            )
        return call

    def _prose(self, text: str) -> str:
        """Words beside a proposal; none, when they claim what has not happened."""
        return text[:LONGEST_PROSE] if self._supported(text) else ""

    def _supported(self, text: str) -> bool:
        return supported(text, self._known.turn, self._offering.reads)
