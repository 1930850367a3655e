"""The key of this server: one age identity in `.countersign/keys` of each root, readable by its owner alone."""

from __future__ import annotations

import os
from typing import Any

import pyrage
from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import change, disk
from servers.filesystem.names import PRIVATE
from servers.filesystem.rename import put
from servers.filesystem.roots import Root, Roots, Spot, private
from servers.filesystem.text import read_at

_FOLDER, _NAME = "keys", "age-identity.txt"
_SENTENCE = "The key in .countersign/keys is not one. Put the right one back, or move it away to begin anew."


def identity(root: Root) -> Any | None:
    """The key of a root, None where there is none yet. Raises ToolError when it cannot be read."""
    if not os.path.lexists(root.path / PRIVATE / _FOLDER / _NAME):
        return None
    with private(root, _FOLDER, make=False) as folder:
        spot = Spot(folder, _NAME, "The key")
        with disk.reading(spot) as file:
            text = read_at(file, 0, 4096).decode("ascii", "replace")
    try:
        [line] = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
        return pyrage.x25519.Identity.from_str(line)
    except (ValueError, pyrage.IdentityError):
        raise ToolError(_SENTENCE) from None


def own(root: Root) -> Any:
    """The key of a root, made when there is none. Two servers that make one at once agree on one."""
    with change.alone(root):
        if found := identity(root):
            return found
        made = pyrage.x25519.Identity.generate()
        with private(root, _FOLDER) as folder:
            staged = disk.temporary(folder, "The key")
            with disk.staging(staged, 0o600) as file:
                disk.write_all(
                    file, f"# countersign: keep this file, or nothing opens again\n{made}\n".encode()
                )
            put(staged, Spot(folder, _NAME, "The key"))
            os.fsync(folder)
        return made


def all_of(roots: Roots) -> list[Any]:
    """Every key there is."""
    return [found for root in roots.roots if (found := identity(root))]


def recipients(given: list[str]) -> list[Any]:
    """Public keys as age takes them. Raises ToolError for what is none, and for a secret one."""
    found = []
    for text in given:
        if text.strip().upper().startswith("AGE-SECRET-KEY"):
            raise ToolError("That is a secret key. Give the public one (age1…), and make a new secret one.")
        try:
            found.append(pyrage.x25519.Recipient.from_str(text.strip()))
        except (ValueError, pyrage.RecipientError):
            raise ToolError(f"“{text[:20]}” is no public key of age. One begins with age1.") from None
    return found
