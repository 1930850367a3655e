"""The screen of this host as a picture, small enough to be sent."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Callable
from typing import NamedTuple

from mcp.server.mcpserver.exceptions import ToolError
from PIL import Image, ImageGrab

LARGEST = 1_500_000  # bytes of a picture that is sent as PNG
Screen = Callable[[], Image.Image]
_NONE = (
    "This host has no screen that can be seen ({why}). Start the server in a session with one; on Wayland install grim "
    "or gnome-screenshot."
)


class Picture(NamedTuple):
    """What was on the screen, ready to be sent."""

    data: bytes
    kind: str  # image/png or image/jpeg
    whole: tuple[int, int]
    size: tuple[int, int]


def grabbed() -> Image.Image:
    """All of the screen. Raises ToolError with a sentence where there is none."""
    try:
        return ImageGrab.grab()
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolError(_NONE.format(why=str(error).rstrip(".") or "it cannot be taken")) from None


def picture(screen: Screen, width: int) -> Picture:
    """The screen, at most so many pixels wide."""
    seen = screen().convert("RGB")
    whole = seen.size
    if seen.width > width:
        seen = seen.resize((width, max(seen.height * width // seen.width, 1)), Image.Resampling.LANCZOS)
    data, kind = _encoded(seen, "PNG"), "image/png"
    if len(data) > LARGEST:
        data, kind = _encoded(seen, "JPEG"), "image/jpeg"
    return Picture(data, kind, whole, seen.size)


def _encoded(seen: Image.Image, form: str) -> bytes:
    out = io.BytesIO()
    seen.save(out, form)
    return out.getvalue()
