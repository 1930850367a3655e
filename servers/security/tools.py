"""The security tools, each with its card and its undo, and the keys of this server."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated, Any

import pyrage
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers.cards import Card, reading
from servers.command_line import Clock
from servers.detection.credentials import credentials
from servers.detection.personal import personal
from servers.filesystem import disk, file_ops, targets
from servers.filesystem.answers import spoken
from servers.filesystem.disk import rename_to_free_name
from servers.filesystem.models import Item
from servers.filesystem.paths import PRIVATE, Place, Root, Roots, Spot, private
from servers.filesystem.text import read_at
from servers.folders import LARGEST_MADE, WAYS_BACK, Target, bytes_of, makes, put, target
from servers.sandbox.calling import Limits, run
from servers.security import scan
from servers.security.scan import (
    Cleanup,
    CryptCall,
    CursorArg,
    Duplicates,
    ExpectedSource,
    ExpectedTarget,
    FolderArg,
    Made,
    PlaceArg,
    Plan,
    Recipient,
    Recipients,
    Scan,
    scan_files,
)

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
    with file_ops.alone(root):
        if found := identity(root):
            return found
        made = pyrage.x25519.Identity.generate()
        with private(root, _FOLDER) as folder:
            staged = disk.temporary(folder, "The key")
            with disk.staging(staged, 0o600) as file:
                disk.write_all(
                    file, f"# countersign: keep this file, or nothing opens again\n{made}\n".encode()
                )
            rename_to_free_name(staged, Spot(folder, _NAME, "The key"))
            os.fsync(folder)
        return made


def all_of(roots: Roots) -> list[Any]:
    """Every key there is."""
    return [found for root in roots.roots if (found := identity(root))]


def parsed_recipients(given: list[str]) -> list[Any]:
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


ENDING = ".age"
MINE = "this server"
LIMITS = Limits(output=LARGEST_MADE + (1 << 20))
FileArg = Annotated[str, Field(description="A file in the allowed folders.")]
WhereArg = Annotated[
    str, Field(description="Where the new file goes. Empty: beside it, with or without .age.")
]


@dataclass(frozen=True)
class Reading:
    """The tools that only read."""

    roots: Roots
    clock: Clock

    @spoken
    def scan_for_pii(self, path: PlaceArg, cursor: CursorArg = "") -> Scan:
        """Find personal data in files: addresses, phone numbers, cards, accounts. What is found is shown masked."""
        return scan_files(self.roots, path, personal, cursor)

    @spoken
    def scan_for_secrets(self, path: PlaceArg, cursor: CursorArg = "") -> Scan:
        """Find keys, tokens and passwords in files. What is found is shown masked."""
        return scan_files(self.roots, path, credentials, cursor)

    @spoken
    def find_duplicates(
        self,
        path: FolderArg,
        smallest: Annotated[int, Field(ge=1, description="Only files of at least so many bytes.")] = 1,
    ) -> Duplicates:
        """Find files with the same content, byte for byte, whatever they are called."""
        return scan.duplicates(self.roots, path, smallest)

    @spoken
    def propose_cleanup(
        self,
        path: FolderArg,
        old_days: Annotated[
            int, Field(ge=1, le=36_500, description="Not changed for so many days is old.")
        ] = 365,
        large_mb: Annotated[int, Field(ge=1, le=100_000, description="From here on a file is large.")] = 100,
    ) -> Cleanup:
        """Propose what could go, be moved away or be encrypted, each with its reason. Changes nothing."""
        return scan.cleanup(self.roots, path, self.clock(), old_days, large_mb << 20)

    @spoken
    def show_recipient(self) -> Recipient:
        """Give the public key for which others can encrypt files for this server."""
        found = identity(self.roots.roots[0])
        return Recipient(recipient=str(found.to_public()) if found else "")

    @spoken
    def preview_encrypt(self, call: CryptCall) -> Plan:
        """Say which file encrypt_file would read, where it would write, and who could read that. Changes nothing."""
        place, goal = _encrypted(self.roots, call.path, call.destination)
        others = [str(one) for one in parsed_recipients(call.recipients)]
        identity(place.root)  # a broken key is said now
        return _plan(place, goal, [MINE, *others])  # the same before and after the first use makes the key

    @spoken
    def preview_decrypt(self, call: CryptCall) -> Plan:
        """Say which file decrypt_file would read, and where it would write. Changes nothing."""
        place, goal = _decrypted(self.roots, call.path, call.destination)
        data, _ = bytes_of(place, LARGEST_MADE)
        plain = opened(self.roots, place, data)
        plan = _plan(place, goal, [])
        return plan.model_copy(
            update={"items": [plan.items[0], plan.items[1].model_copy(update={"size": len(plain)})]}
        )


@dataclass(frozen=True)
class Changing:
    """The tools that make a file, with the clock that dates what they keep."""

    roots: Roots
    clock: Clock

    @spoken
    def encrypt_file(
        self,
        path: FileArg,
        destination: WhereArg = "",
        recipients: Recipients = [],  # noqa: B006 - pydantic copies it
        expected_source: ExpectedSource = None,
        expected_target: ExpectedTarget = None,
    ) -> Made:
        """Encrypt a file with age, for this server and the recipients. The readable file stays until it is deleted."""
        place, goal = _encrypted(self.roots, path, destination)
        others = parsed_recipients(recipients)
        data, _ = bytes_of(place, LARGEST_MADE - (1 << 20), expected_source)
        everyone = [own(place.root).to_public(), *others]
        said = [str(one) for one in everyone]
        made = pyrage.encrypt(data, everyone)
        return put(goal.place, made, expected_target, self.clock(), Made, recipients=said)

    @spoken
    def decrypt_file(
        self,
        path: FileArg,
        destination: WhereArg = "",
        expected_source: ExpectedSource = None,
        expected_target: ExpectedTarget = None,
    ) -> Made:
        """Decrypt a file that was encrypted for this server. The encrypted one stays."""
        place, goal = _decrypted(self.roots, path, destination)
        data, _ = bytes_of(place, LARGEST_MADE, expected_source)
        plain = opened(self.roots, place, data)
        return put(goal.place, plain, expected_target, self.clock(), Made)


def opened(roots: Roots, place: Place, data: bytes) -> bytes:
    """What is in an encrypted file. Raises ToolError when no key of this server opens it."""
    found = all_of(roots)
    if not found:
        raise ToolError(
            f"{place.said} cannot be opened: this server has no key. Put it back in .countersign/keys."
        )
    return run("security.decrypt", place.said, [data], LIMITS, keys=[str(key) for key in found])[1]


def _encrypted(roots: Roots, path: str, destination: str) -> tuple[Place, Target]:
    place = targets.file(roots, path)
    if place.said.endswith(ENDING):
        raise ToolError(f"{place.said} is encrypted already. Name another file.")
    return place, target(roots, destination or place.said + ENDING, ENDING)


def _decrypted(roots: Roots, path: str, destination: str) -> tuple[Place, Target]:
    place = targets.file(roots, path)
    if not destination and not place.said.endswith(ENDING):
        raise ToolError(f"{place.said} does not end in {ENDING}. Say where the readable file goes.")
    goal = target(roots, destination or place.said.removesuffix(ENDING))
    if goal.place.said == place.said:
        raise ToolError("Source and destination are the same file. Choose another name.")
    return place, goal


def _plan(place: Place, goal: Target, recipients: list[str]) -> Plan:
    data, sha256 = bytes_of(place, LARGEST_MADE)
    return Plan(
        path=goal.place.said,
        items=[Item(name=place.said, kind="file", size=len(data)), goal.item],
        expected_source=sha256,
        expected_target=goal.sha256 or disk.ABSENT,
        recipients=recipients,
    )


def _crypt(title: str, verb: str, preview: str) -> Card:
    return makes(
        title,
        verb,
        f"{verb} {{args.path}} to {{capture.plan.path}}",
        targets={"paths": ["path", "destination"], "reported": ["{capture.plan.path}"]},
        noun="{args.path|name}",
        capture={"plan": {"tool": preview, "args": {"call": "{args}"}}},
        bind={
            "expected_source": "{capture.plan.expected_source}",
            "expected_target": "{capture.plan.expected_target}",
        },
        preview={"kind": "affected", "items": "{capture.plan.items}"},
    )


CARDS: dict[str, Card] = {
    "scan_for_pii": reading("Find personal data", "Look for personal data in {args.path}", looks=["path"]),
    "scan_for_secrets": reading("Find secrets", "Look for secrets in {args.path}", looks=["path"]),
    "find_duplicates": reading("Find duplicates", "Look for twins in {args.path}", looks=["path"]),
    "propose_cleanup": reading("Propose a clean-up", "Look what could go in {args.path}", looks=["path"]),
    "show_recipient": reading("Show public key", "Show the public key"),
    "preview_encrypt": reading(
        "Preview encrypting", "Look at what would be encrypted", looks=["call.path", "call.destination"]
    ),
    "preview_decrypt": reading(
        "Preview decrypting", "Look at what would be decrypted", looks=["call.path", "call.destination"]
    ),
    "encrypt_file": _crypt("Encrypt file", "Encrypt", "preview_encrypt"),
    "decrypt_file": _crypt("Decrypt file", "Decrypt", "preview_decrypt"),
    **WAYS_BACK,
}
