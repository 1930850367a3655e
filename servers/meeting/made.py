"""The minutes that a call would write, made in memory: shown by the preview, and written by the tool, byte for byte."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from mcp.server.mcpserver.exceptions import ToolError

from servers.document import apart
from servers.filesystem import disk, landing
from servers.filesystem.models import Item
from servers.filesystem.roots import Roots
from servers.making import Target, bytes_of, target
from servers.meeting.found import minutes
from servers.meeting.models import ActionItem, Call, Minutes
from servers.meeting.notes import lines

LARGEST = 5 << 20  # bytes of notes
SOURCES = (".txt", ".md", ".docx", ".vtt", ".srt")


@dataclass(frozen=True)
class Built:
    """New minutes and where they would go."""

    target: Target
    source: Item
    minutes: Minutes
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
    def difference(self) -> str:
        """The whole text, against what is there now."""
        said = self.target.place.said
        old = (self.before or b"").decode("utf-8", "replace").splitlines(keepends=True)
        new = self.text.splitlines(keepends=True)
        most = len(old) + len(new)
        return "".join(difflib.unified_diff(old, new, f"{said} (now)", f"{said} (after)", n=most))


def built(roots: Roots, call: Call) -> Built:
    """What generate_minutes would write. Raises ToolError."""
    place = landing.file(roots, call.source)
    ending = next((one for one in SOURCES if place.said.lower().endswith(one)), None)
    if ending is None:
        raise ToolError(f"{place.said} must end in {', '.join(SOURCES)}. Name notes or a transcript.")
    goal = target(roots, call.destination, ".md", ".docx")
    if goal.place == place:
        raise ToolError("Source and destination are the same file. Choose another name.")
    data, sha256 = bytes_of(place, LARGEST)
    _, read = apart.run("text", place.said, [data], ending=".docx" if ending == ".docx" else ".txt")
    found = minutes(lines(read.decode()), call.title)
    if not (found.attendees or found.decisions or found.actions):
        raise ToolError(
            f"{place.said} names no attendees, decisions or actions in a form that is known. Write them as “Attendees: "
            "…”, “Decision: …”, “Action: Ann will … by Friday”, or make the minutes with write_file."
        )
    found = found.model_copy(update={"title": found.title or place.parts[-1].rpartition(".")[0]})
    text = written(found, place.said, sha256)
    return Built(
        goal,
        Item(name=place.said, kind="file", size=len(data)),
        found,
        text,
        *_as(goal, text),
    )


def _as(goal: Target, text: str) -> tuple[bytes, bytes | None]:
    """The bytes of the new file, and those of a text that gives way."""
    if goal.place.said.lower().endswith(".docx"):
        return apart.run("make", goal.place.said, [], content=text, to=".docx", title="")[1], None
    if goal.sha256 == disk.ABSENT:
        return text.encode(), None
    return text.encode(), bytes_of(goal.place, LARGEST, goal.sha256)[0]


def written(found: Minutes, source: str, sha256: str) -> str:
    """The minutes as Markdown."""
    held = found.held.isoformat() if found.held else "not said in the notes"
    parts = [
        f"# {found.title}",
        f"Date: {held}",
        "## Attendees",
        _list(found.attendees),
        "## Decisions",
        _list([f"{one.what} (line {one.line})" for one in found.decisions]),
        "## Action items",
        _table(found.actions),
        f"Made from {source} (SHA-256 {sha256[:12]}). The lines are those of that file.",
    ]
    return "\n\n".join(parts) + "\n"


def _list(items: list[str]) -> str:
    return "\n".join(f"- {item}" for item in items) or "None in the notes."


def _table(actions: list[ActionItem]) -> str:
    if not actions:
        return "None in the notes."
    rows = [["What", "Owner", "Due", "Line"], ["---"] * 4]
    rows += [[one.what, one.owner or "nobody named", _due(one), str(one.line)] for one in actions]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def _due(one: ActionItem) -> str:
    if one.due_date and one.due_date.isoformat() != one.due:
        return f"{one.due_date} ({one.due})"
    return one.due or "no day named"
