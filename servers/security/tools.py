"""The security tools, each with its card and its undo."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any, BinaryIO

import pyrage
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers.command_line import Clock
from servers.filesystem import disk, path_arguments
from servers.filesystem.answers import spoken
from servers.filesystem.models import ExpectedTarget, Item
from servers.filesystem.paths import PRIVATE, Place, Root, Roots, Spot, private
from servers.filesystem.text import read_at
from servers.folders import LARGEST_MADE, WAYS_BACK, Target, copied, makes, put, streamed, target
from servers.sandbox.calling import Job, Limits, Streamed, answered, count, unbroken, written
from servers.security import scan
from servers.security.models import (
    Cleanup,
    CryptCall,
    CursorArg,
    Duplicates,
    ExpectedSource,
    FolderArg,
    Made,
    PlaceArg,
    Plan,
    Recipient,
    Recipients,
    Scan,
)
from servers.security.scan import scan_files
from servers.tool_metadata import ITEMS, Card, bound, call, reading

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
        found = cls(file, tuple(str(one) for one in public_keys(list(always))))
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


def public_keys(given: list[str]) -> list[Any]:
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
class Tools:
    """The tools over some roots, with the clock that says what is old and dates what is kept."""

    roots: Roots
    clock: Clock
    keys: Keys

    @spoken
    def scan_for_pii(self, path: PlaceArg, cursor: CursorArg = "") -> Scan:
        """Find personal data in files: addresses, phone numbers, cards, accounts. What is found is shown masked."""
        return scan_files(self.roots, path, "personal", cursor)

    @spoken
    def scan_for_secrets(self, path: PlaceArg, cursor: CursorArg = "") -> Scan:
        """Find keys, tokens and passwords in files. What is found is shown masked."""
        return scan_files(self.roots, path, "credentials", cursor)

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
        found = self.keys.identity()
        return Recipient(recipient=str(found.to_public()) if found else "")

    @spoken
    def preview_encrypt(self, call: CryptCall) -> Plan:
        """Say which file encrypt_file would read, where it would write, and who could read that. Changes nothing."""
        place, goal = _encrypted(self.roots, call.path, call.destination)
        others = [str(one) for one in public_keys(call.recipients)]
        self.keys.outside(self.roots)
        self.keys.identity()  # a broken key is said now
        mine = [MINE] if self.keys.file else []  # the same before and after the first use makes the key
        return _plan(place, goal, [*mine, *_all(mine, self.keys.always, others)])

    @spoken
    def preview_decrypt(self, call: CryptCall) -> Plan:
        """Say which file decrypt_file would read, and where it would write. Changes nothing."""
        place, goal = _decrypted(self.roots, call.path, call.destination)
        with streamed(place, LARGEST_MADE) as data:
            told = opened(self.keys, self.roots, place, data)
        with unbroken(place.said):
            size = count(told["size"], LARGEST_MADE)
        plan = _plan(place, goal, [])
        return plan.model_copy(
            update={"items": [plan.items[0], plan.items[1].model_copy(update={"size": size})]}
        )

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
        others = public_keys(recipients)
        self.keys.outside(self.roots)
        with copied(place, LARGEST_MADE - (1 << 20), expected_source) as data, TemporaryFile() as made:
            mine = self.keys.own()
            own = [str(mine.to_public())] if mine else []
            said = [*own, *_all(own, self.keys.always, [str(one) for one in others])]
            job = Job("security.encrypt", [data], {"recipients": said}, limits=LIMITS, into=made)
            answered(job, place.said)
            return put(goal.place, written(made), expected_target, self.clock(), Made, recipients=said)

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
        with copied(place, LARGEST_MADE, expected_source) as data, TemporaryFile() as plain:
            opened(self.keys, self.roots, place, data, plain)
            return put(goal.place, written(plain), expected_target, self.clock(), Made)


def _all(own: Sequence[str], always: Sequence[str], others: Sequence[str]) -> list[str]:
    """The public keys of other people, each once. Raises ToolError when nobody could read what is encrypted."""
    found = list(dict.fromkeys([*always, *others]))
    if not (own or found):
        raise ToolError(
            "This server has no key. Say for whom to encrypt: recipients, public keys of age (age1…)."
        )
    return found


def opened(
    keys: Keys, roots: Roots, place: Place, data: Streamed, into: BinaryIO | None = None
) -> dict[str, Any]:
    """The size of what is in an encrypted file, which is written to another one where that is given. Raises ToolError
    when no key of this server opens it."""
    found = [*filter(None, [keys.identity()]), *earlier(roots)]
    if not found:
        where = f"Put it back as {keys.file}" if keys.file else "Open it with age where the key is"
        raise ToolError(f"{place.said} cannot be opened: this server has no key. {where}.")
    args = {"keys": [str(key) for key in found], "shown": into is not None}
    return answered(Job("security.decrypt", [data], args, limits=LIMITS, into=into), place.said)[0]


def _encrypted(roots: Roots, path: str, destination: str) -> tuple[Place, Target]:
    place = path_arguments.file(roots, path)
    if place.said.endswith(ENDING):
        raise ToolError(f"{place.said} is encrypted already. Name another file.")
    return place, target(roots, destination or place.said + ENDING, ENDING)


def _decrypted(roots: Roots, path: str, destination: str) -> tuple[Place, Target]:
    place = path_arguments.file(roots, path)
    if not destination and not place.said.endswith(ENDING):
        raise ToolError(f"{place.said} does not end in {ENDING}. Say where the readable file goes.")
    goal = target(roots, destination or place.said.removesuffix(ENDING))
    goal.must_not_be(place.said)
    return place, goal


def _plan(place: Place, goal: Target, recipients: list[str]) -> Plan:
    with streamed(place, LARGEST_MADE) as source:
        found = disk.measure(source.file, place.said)
    return Plan(
        path=goal.place.said,
        touched=[goal.place.said, place.said.removesuffix(ENDING)],
        items=[Item(name=place.said, kind="file", size=found.size), goal.item],
        expected_source=found.sha256,
        expected_target=goal.sha256 or disk.ABSENT,
        recipients=recipients,
    )


def _crypt(title: str, verb: str, preview: str, **ids: list[str]) -> Card:
    return makes(
        title,
        verb,
        f"{verb} {{args.path}} to {{capture.plan.path}}",
        targets={"paths": ["path", "destination"], "reported": ["{capture.plan.touched}"], **ids},
        noun="{args.path|name}",
        capture={"plan": call(preview, call="{args}")},
        bind=bound("expected_source", "expected_target"),
        preview=ITEMS,
    )


CARDS: dict[str, Card] = {
    "scan_for_pii": reading(
        "Find personal data", "Look for personal data in {args.path|place}", looks=["path"], told=["named[]"]
    ),
    "scan_for_secrets": reading(
        "Find secrets", "Look for secrets in {args.path|place}", looks=["path"], told=["named[]"]
    ),
    "find_duplicates": reading(
        "Find duplicates", "Find duplicates in {args.path|place}", looks=["path"], told=["groups[].paths[]"]
    ),
    "propose_cleanup": reading(
        "Propose a clean-up",
        "Look what could go in {args.path|place}",
        looks=["path"],
        told=["proposals[].paths[]", "proposals[].keep"],
    ),
    "show_recipient": reading("Show public key", "Show the public key"),
    "preview_encrypt": reading(
        "Preview encrypting",
        "Look at what would be encrypted",
        looks=["call.path", "call.destination"],
        ids=["call.recipients"],
        nested=["call"],
    ),
    "preview_decrypt": reading(
        "Preview decrypting",
        "Look at what would be decrypted",
        looks=["call.path", "call.destination"],
        nested=["call"],
    ),
    "encrypt_file": _crypt("Encrypt file", "Encrypt", "preview_encrypt", ids=["recipients"]),
    "decrypt_file": _crypt("Decrypt file", "Decrypt", "preview_decrypt"),
    **WAYS_BACK,
}
