"""The meeting tools, each with its card and its undo, and the minutes that they show and write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Sample

from servers import differences
from servers.command_line import Clock
from servers.filesystem import answers, disk
from servers.filesystem.answers import spoken
from servers.filesystem.models import ExpectedMade, ExpectedTarget, Item
from servers.filesystem.paths import Place, Roots
from servers.folders import WAYS_BACK, Target, bytes_of, makes, named, put_shown, target
from servers.meeting.by_model import completed, question
from servers.meeting.minutes import (
    ActionItem,
    Call,
    Decision,
    Made,
    Minutes,
    NewArg,
    Plan,
    SourceArg,
    TitleArg,
)
from servers.model_answers import Answer, asking, samples
from servers.sandbox import calling
from servers.sandbox.calling import Limits, run, unbroken
from servers.tool_metadata import Card, bound, reading

LARGEST = 5 << 20  # bytes of notes
MOST_DIFFERENCE = 200_000  # characters, more than fit in an answer
CAPTIONS = (".vtt", ".srt")
SOURCES = (".txt", ".md", ".docx", ".vtt", ".srt")


@dataclass(frozen=True)
class Built:
    """New minutes and where they would go."""

    target: Target
    source: Item
    minutes: Minutes
    note: str  # what was used, where a model was asked, and what is left out
    text: str
    data: bytes
    before: bytes | None  # of the file that gives way, where it is text

    @property
    def sha256(self) -> str:
        return disk.sha256(self.data)

    @property
    def items(self) -> list[Item]:
        return [self.source, Item(name=self.target.item.name, kind="file", size=len(self.data))]

    @property
    def difference(self) -> str | None:
        """The whole text, against what is there now; None where that is too long."""
        before, after = self.before or b"", self.text.encode("utf-8", "replace")
        said = self.target.place.said
        return differences.of_file(said, before, after, MOST_DIFFERENCE, differences.ALL_LINES)


@dataclass(frozen=True)
class Notes:
    """Notes or a transcript: the file, and its text. `guessed`: how it was read, as the end of a sentence."""

    place: Place
    size: int
    sha256: str
    text: str
    spoken: bool
    guessed: str


def notes(roots: Roots, source: str) -> Notes:
    """Raises ToolError."""
    place, ending = named(roots, source, *SOURCES)
    data, sha256 = bytes_of(place, LARGEST)
    told, text = calling.read("formats.text", place.said, data, ending=ending)
    with unbroken(place.said):
        return Notes(place, len(data), sha256, text, ending in CAPTIONS, told["guessed"])


def built(roots: Roots, call: Call, told: Answer) -> Built:
    """What generate_minutes would write. `told`: what a model answered. Raises ToolError."""
    read = notes(roots, call.source)
    place = read.place
    goal = target(roots, call.destination, ".md", ".docx")
    goal.must_not_be(place.said)
    found, used = completed(_by_rule(read, call.title), told, read.text)
    note = f"{used} {found.unsaid}".strip()
    if not (found.attendees or found.decisions or found.actions):
        raise ToolError(
            f"{place.said} names no attendees, decisions or actions in a form that is known. Write them as “Attendees: "
            "…”, “Decision: …”, “Action: Ann will … by Friday”, or write the minutes as a file of your own."
        )
    found = found.model_copy(update={"title": found.title or place.parts[-1].rpartition(".")[0]})
    text = written(found, read, note)
    return Built(
        goal,
        Item(name=place.said, kind="file", size=read.size),
        found,
        note,
        text,
        *_as(goal, text),
    )


_LIMITS = Limits(told=1 << 20)


def _by_rule(read: Notes, title: str) -> Minutes:
    """The minutes before a model adds to them. Raises ToolError."""
    text = read.text.encode("utf-8", "replace")
    found, _ = run("meeting.minutes", read.place.said, [text], _LIMITS, spoken=read.spoken, title=title)
    with unbroken(read.place.said):
        return Minutes.model_validate(found)


def _as(goal: Target, text: str) -> tuple[bytes, bytes | None]:
    """The bytes of the new file, and those of a text that gives way."""
    if goal.place.said.lower().endswith(".docx"):
        return run("formats.make", goal.place.said, [], content=text, to=".docx", title="")[1], None
    if goal.sha256 == disk.ABSENT:
        return text.encode(), None
    return text.encode(), bytes_of(goal.place, LARGEST, goal.sha256)[0]


def written(found: Minutes, read: Notes, note: str = "") -> str:
    """The minutes as Markdown. `note`: what was used, and left out."""
    held = found.held.isoformat() if found.held else "not said in the notes"
    parts = [
        f"# {found.title}",
        f"Date: {held}",
        "## Attendees",
        _list(found.attendees),
        "## Decisions",
        _list([f"{one.what} (line {_line(one)})" for one in found.decisions]),
        "## Action items",
        _table(found.actions),
        f"Made from {read.place.said} (SHA-256 {read.sha256[:12]}). The lines are those of that file."
        + (f" It {read.guessed}." if read.guessed else "")
        + (f" {note}" if note else ""),
    ]
    return "\n\n".join(parts) + "\n"


def _line(one: Decision | ActionItem) -> str:
    return f"{one.line}, by a model" if one.by_model else str(one.line)


def _list(items: list[str]) -> str:
    return "\n".join(f"- {item}" for item in items) or "None in the notes."


def _table(actions: list[ActionItem]) -> str:
    if not actions:
        return "None in the notes."
    rows = [["What", "Owner", "Due", "Line"], ["---"] * 4]
    rows += [[one.what, one.owner or "nobody named", _due(one), _line(one)] for one in actions]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def _due(one: ActionItem) -> str:
    if one.due_date and one.due_date.isoformat() != one.due:
        return f"{one.due_date} ({one.due})"
    return one.due or "no day named"


@dataclass(frozen=True)
class Tools:
    """The tools over some roots, with the clock that dates what gives way."""

    roots: Roots
    clock: Clock

    @property
    def preview_minutes(self) -> Callable[..., Plan]:
        """The tool, which asks the client's model where there is one."""
        return asking(self._preview_minutes, self._question_of_call)

    def _question_of_call(self, call: Call, ctx: Context[Any, Any]) -> Sample | None:
        return self._question(call.source, ctx)

    @spoken
    def _preview_minutes(self, call: Call, told: Answer) -> Plan:
        """Make the minutes that generate_minutes would write, in memory, and show them. Changes nothing."""
        made = built(self.roots, call, told)
        difference = made.difference
        if difference is None or not answers.fits(2 * difference):
            raise ToolError("These minutes are too long to be shown whole. Take a part of the notes.")
        return Plan(
            path=made.target.place.said,
            items=made.items,
            difference=difference,
            expected_target=made.target.sha256,
            expected_made=made.sha256,
            minutes=made.minutes,
            gives_way=made.target.gives_way(),
            note=made.note,
        )

    @property
    def generate_minutes(self) -> Callable[..., Made]:
        """The tool, which asks the client's model what its preview has asked."""
        return asking(self._generate_minutes, self._question)

    def _question(self, source: str, ctx: Context[Any, Any]) -> Sample | None:
        return question(notes(self.roots, source).text) if samples(ctx) else None

    @spoken
    def _generate_minutes(
        self,
        source: SourceArg,
        destination: NewArg,
        title: TitleArg = "",
        expected_target: ExpectedTarget = None,
        expected_made: ExpectedMade = None,
        told: Answer = None,
    ) -> Made:
        """Write minutes out of notes or a transcript: attendees, decisions, action items with owner and day.

        It takes what is said in so many words: lists under such headings, “Decision: …”, “we agreed to …”, “Action: Ann
        will … by Friday”, check boxes, “I will …” of somebody who speaks. It does not guess. With sampling, a model
        adds lines that quote the notes.
        """
        made = built(self.roots, Call(source=source, destination=destination, title=title), told)
        found = made.minutes
        counts = {name: len(getattr(found, name)) for name in ("attendees", "decisions", "actions")}
        more = {**counts, "note": made.note}
        shown = (expected_target, expected_made)
        return put_shown(made.target, made.data, shown, self.clock(), Made, **more)


CARDS: dict[str, Card] = {
    "preview_minutes": reading(
        "Preview minutes", "Look at the minutes", paths=["call.source", "call.destination"], nested=["call"]
    ),
    "generate_minutes": makes(
        "Generate minutes",
        "Write",
        "Write minutes of {args.source} to {args.destination}{capture.plan.gives_way}",
        targets={"paths": ["source", "destination"]},
        noun="{args.destination|name}",
        capture={"plan": {"tool": "preview_minutes", "args": {"call": "{args}"}, "seconds": 60}},
        bind=bound("expected_target", "expected_made"),
        preview={"kind": "text", "after": "{capture.plan.difference}"},
    ),
    **WAYS_BACK,
}
