"""The files that the index was made of, as they are now."""

from __future__ import annotations

import os

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import disk
from servers.filesystem.paths import Root, Roots, spot
from servers.knowledge.indexing import LARGEST_DOCUMENT


def sha256_now(roots: Roots, root: Root, inner: str) -> str | None:
    """SHA-256 of a file; nothing when it is larger than those that are taken in, None when it is gone."""
    try:
        with spot(roots.place(root, tuple(inner.split("/")))) as here, disk.reading(here) as file:
            larger = os.fstat(file).st_size > LARGEST_DOCUMENT
            return "" if larger else disk.measure(file, here.said).sha256
    except ToolError:
        return None


def is_there(roots: Roots, root: Root, inner: str) -> bool:
    """Whether there is such a file, whatever is in it."""
    try:
        with spot(roots.place(root, tuple(inner.split("/")))) as here, disk.reading(here):
            return True
    except ToolError:
        return False
