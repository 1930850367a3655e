"""The key of a security server: in a file of the operator's, outside of all folders that its tools reach."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyrage
from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import disk
from servers.filesystem.paths import PRIVATE, Root, Roots, Spot, private
from servers.filesystem.text import read_at

NAME = "age-identity.txt"
LONGEST = 4096  # bytes
_HEAD = "# countersign: keep this file, or nothing opens again\n"
_EARLIER = "keys"  # in .countersign of a root, where keys were kept before
_SENTENCE = "The key in {} is not one. Put the right one back, or move it away to begin anew."


def usual() -> Path:
    """Where the key is when nobody says: in the state folder of the user that runs the server."""
    return Path.home() / ".local" / "state" / "countersign" / NAME


@dataclass(frozen=True)
class Keys:
    """The file of the secret key, made when it is first needed; None where only `always` can read what is encrypted.

    `always`: the operator's public keys, for which everything is encrypted besides.
    """

    file: Path | None
    always: tuple[str, ...] = ()

    @classmethod
    def at(cls, file: Path | None, always: Sequence[str], roots: Roots) -> Keys:
        """Raises ToolError for a file inside an allowed folder, and for what is no public key."""
        found = cls(file, tuple(str(one) for one in recipients(list(always))))
        found.outside(roots)
        return found

    def outside(self, roots: Roots) -> None:
        """Raise ToolError when the file is inside an allowed folder: whoever may read that would have the key."""
        real = Path(os.path.realpath(self.file)) if self.file else None
        inside = [root.name for root in roots.roots if real and real.is_relative_to(root.path)]
        if inside:
            raise ToolError(
                f"The key file {self.file} is inside the allowed folder {inside[0]}, beside what it opens. Name one "
                "elsewhere with --key-file."
            )

    def identity(self) -> Any | None:
        """The secret key; None where there is none yet. Raises ToolError when it cannot be read."""
        if self.file is None:
            return None
        try:
            with open(self.file, "rb") as file:
                return _parsed(file.read(LONGEST), str(self.file))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ToolError(f"The key file {self.file} cannot be read: {error.strerror}.") from error

    def own(self) -> Any | None:
        """The secret key, made when there is none. Two servers that make one at once agree on one."""
        if self.file is None or (found := self.identity()):
            return found if self.file else None
        made = self.file.with_name(f".{NAME}.{secrets.token_hex(8)}")
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(f"{_HEAD}{pyrage.x25519.Identity.generate()}\n")
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):
                os.link(made, self.file)
            made.unlink()
        except OSError as error:
            raise ToolError(
                f"No key can be made in {self.file}: {error.strerror}. Name another file with --key-file."
            ) from error
        return self.identity()


def earlier(roots: Roots) -> list[Any]:
    """Keys that were made inside the allowed folders, before they were kept elsewhere. They only open files."""
    return [found for root in roots.roots if (found := _inside(root))]


def _inside(root: Root) -> Any | None:
    if not os.path.lexists(root.path / PRIVATE / _EARLIER / NAME):
        return None
    with private(root, _EARLIER, make=False) as folder, disk.reading(Spot(folder, NAME, "The key")) as file:
        return _parsed(read_at(file, 0, LONGEST), f"{PRIVATE}/{_EARLIER}")


def _parsed(data: bytes, said: str) -> Any:
    lines = (line.strip() for line in data.decode("ascii", "replace").splitlines())
    try:
        [line] = [line for line in lines if line and not line.startswith("#")]
        return pyrage.x25519.Identity.from_str(line)
    except (ValueError, pyrage.IdentityError):
        raise ToolError(_SENTENCE.format(said)) from None


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
