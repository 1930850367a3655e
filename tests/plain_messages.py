"""What no message of the bot may hold: digests, JSON objects, ids of tools as programs write them, old wording.

`joined` and `running_product` hold this of every message that the bot sent through them, whatever became of it later.
Left out are what people wrote, code between fences, and the record of `audit`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from gate.rules.tool import ToolSpec
from workspace.server import Workspace

DIGEST = re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{64}(?![0-9A-Za-z])")
OLD_WORDS = re.compile(r"medium risk|\(UTC, UTC\+00:00\)|^\W*changes something\b")
JSON_OBJECT = re.compile(r"""\{\s*"[^"\n]*"\s*:""")
AUDIT = re.compile(r"^[0-9]+ entr(?:y|ies) of the record$")
FENCED = re.compile(r"```.*?```", re.DOTALL)
WORDS = ("text", "title", "label", "hint", "description", "placeholder", "markdown_text")
PARTS = ("text", "markdown_text", "blocks", "chunks")
METHODS = (
    "chat.postMessage",
    "chat.postEphemeral",
    "chat.update",
    "chat.startStream",
    "chat.appendStream",
    "chat.stopStream",
    "response_url",
)


def assert_plain(ws: Workspace, specs: Iterable[ToolSpec]) -> None:
    """Every message that the bot has sent is free of what only programs read."""
    people = "\n".join(
        message.text
        for channel in ws.state.messages.values()
        for message in channel.values()
        if message.user != ws.state.app.bot_user
    )
    wrong = [*unplain(sent_texts(ws), specs, people)]
    assert not wrong, "\n".join(dict.fromkeys(wrong))


def sent_texts(ws: Workspace) -> Iterator[str]:
    """The texts of all messages that the bot has sent, edits included."""
    for call in ws.log:
        ours = call.side == "call" and call.name in METHODS
        if ours and not AUDIT.search(str(call.sent.get("text"))):
            yield from texts_of({part: call.sent.get(part) for part in PARTS})


def texts_of(value: Any) -> Iterator[str]:
    """The texts in blocks, without code between fences."""
    if isinstance(value, list):
        for one in value:
            yield from texts_of(one)
    elif isinstance(value, dict):
        for key, inside in value.items():
            if key in WORDS and isinstance(inside, str):
                yield FENCED.sub("", inside)
            else:
                yield from texts_of(inside)


def unplain(texts: Iterable[str], specs: Iterable[ToolSpec], said: str = "") -> Iterator[str]:
    """What is wrong with these texts; nothing is that people `said` themselves."""
    ids = _tool_ids(specs)
    for text in texts:
        for name, pattern in (
            ("a digest", DIGEST),
            ("a JSON object", JSON_OBJECT),
            ("the id of a tool", ids),
            ("an old wording", OLD_WORDS),
        ):
            found = next((m[0] for m in pattern.finditer(text) if m[0] not in said), None)
            if found is not None:
                yield f"{name}, {found!r}, is in a message: {text[:300]!r}"


def _tool_ids(specs: Iterable[ToolSpec]) -> re.Pattern[str]:
    """`files.move_file`, `files__move_file`, and `move_file` alone, which cannot be taken for a word."""
    ids = {f"{spec.server}{dot}{spec.name}" for spec in specs for dot in (".", "__")}
    ids |= {spec.name for spec in specs if "_" in spec.name}
    listed = "|".join(map(re.escape, sorted(ids, key=len, reverse=True))) or "(?!)"
    return re.compile(rf"(?<![\w./-])(?:{listed})(?![\w/-])")
