"""The tools. Their docstrings are what people and models read of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pyrage
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers.arguments import Clock
from servers.filesystem import disk, landing
from servers.filesystem.answers import spoken
from servers.filesystem.models import Item
from servers.filesystem.roots import Place, Roots
from servers.making import LARGEST_MADE, Target, bytes_of, put, target
from servers.security import cleaning, keys
from servers.security.models import (
    Cleanup,
    CryptCall,
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
)
from servers.security.patterns import PERSONAL, SECRETS
from servers.security.scan import scan

ENDING = ".age"
MINE = "this server"
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
    def scan_for_pii(self, path: PlaceArg) -> Scan:
        """Find personal data in files: addresses, phone numbers, cards, accounts. What is found is shown masked."""
        return scan(self.roots, path, PERSONAL)

    @spoken
    def scan_for_secrets(self, path: PlaceArg) -> Scan:
        """Find keys, tokens and passwords in files. What is found is shown masked."""
        return scan(self.roots, path, SECRETS)

    @spoken
    def find_duplicates(
        self,
        path: FolderArg,
        smallest: Annotated[int, Field(ge=1, description="Only files of at least so many bytes.")] = 1,
    ) -> Duplicates:
        """Find files with the same content, byte for byte, whatever they are called."""
        return cleaning.twins(self.roots, path, smallest)

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
        return cleaning.cleanup(self.roots, path, self.clock(), old_days, large_mb << 20)

    @spoken
    def show_recipient(self) -> Recipient:
        """Give the public key for which others can encrypt files for this server."""
        found = keys.identity(self.roots.roots[0])
        return Recipient(recipient=str(found.to_public()) if found else "")

    @spoken
    def preview_encrypt(self, call: CryptCall) -> Plan:
        """Say which file encrypt_file would read, where it would write, and who could read that. Changes nothing."""
        place, goal = _encrypted(self.roots, call.path, call.destination)
        others = [str(one) for one in keys.recipients(call.recipients)]
        keys.identity(place.root)  # a broken key is said now
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
        others = keys.recipients(recipients)
        data, _ = bytes_of(place, LARGEST_MADE - (1 << 20), expected_source)
        everyone = [keys.own(place.root).to_public(), *others]
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
    found = keys.all_of(roots)
    if not found:
        raise ToolError(
            f"{place.said} cannot be opened: this server has no key. Put it back in .countersign/keys."
        )
    try:
        return bytes(pyrage.decrypt(data, found))
    except pyrage.DecryptError as error:
        if "matching keys" in str(error):
            raise ToolError(f"{place.said} was not encrypted for this server. Ask who has the key.") from None
        raise ToolError(f"{place.said} is not a whole file of age. Fetch it anew.") from None


def _encrypted(roots: Roots, path: str, destination: str) -> tuple[Place, Target]:
    place = landing.file(roots, path)
    if place.said.endswith(ENDING):
        raise ToolError(f"{place.said} is encrypted already. Name another file.")
    return place, target(roots, destination or place.said + ENDING, ENDING)


def _decrypted(roots: Roots, path: str, destination: str) -> tuple[Place, Target]:
    place = landing.file(roots, path)
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
