"""What the sandbox does with the text of notes: it makes minutes of it."""

from __future__ import annotations

from typing import Any

from servers.meeting.minutes import lines
from servers.meeting.minutes import minutes as said


def minutes(text: bytes, spoken: bool, title: str) -> tuple[dict[str, Any], bytes]:
    """What the notes say by the rules. `spoken`: every line is said by somebody."""
    return said(lines(text.decode(), spoken), title).model_dump(mode="json"), b""


TASKS = {"minutes": minutes}
