"""Records without those that are there again: which stay, and the file that they make."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp.server.mcpserver.exceptions import ToolError

from servers.data import quality
from servers.data.models import Cell, Group, TwinsCall
from servers.data.sources import Records, records
from servers.filesystem.paths import Roots

MOST_SHOWN = 200  # rows that leave
LONGEST_ROW = 300  # characters of one of them


@dataclass(frozen=True)
class Sifted:
    """Records, the groups of those that say the same, and the numbers of the rows that stay."""

    records: Records
    compared: list[str]
    groups: list[Group]
    keep: list[int]

    @property
    def leaving(self) -> int:
        return len(self.records.rows) - len(self.keep)

    @property
    def rows(self) -> list[list[Cell]]:
        """The rows that stay, as they are in the file."""
        return [self.records.rows[row - 1] for row in self.keep]

    @property
    def sign(self) -> str:
        """What parts the values in a .csv source; "" where the source is of another kind."""
        return "" if self.records.said.lower().endswith(".tsv") else self.records.sign or ","

    def digest(self, target: str) -> str:
        """SHA-256 over all records, and that of the file whose place they take."""
        told = [self.records.columns, self.records.rows, target]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    def must_be(self, expected: str | None, target: str) -> None:
        """Raise ToolError when the records or the target are not those that were shown."""
        if expected not in (None, self.digest(target)):
            raise ToolError(
                f"{self.records.said}, or the file to be written, has changed since it was shown. "
                "Look at it again, then ask again."
            )

    def shown(self) -> Iterator[str]:
        """What is left out, a line for each row, and how the file was read."""
        yield from self.records.assumed
        pairs = [(row, group) for group in self.groups for row in group.rows[1:]]
        for row, group in pairs[:MOST_SHOWN]:
            first, kind = group.rows[0], "as" if group.kind == "same" else "nearly as"
            yield f"- row {row}: {self._told(row)} ({kind} row {first}: {self._told(first)})"
        if len(pairs) > MOST_SHOWN:
            yield f"… and {len(pairs) - MOST_SHOWN:,} more rows; deduplicate_records lists groups."

    def _told(self, row: int) -> str:
        text = " · ".join("" if value is None else str(value) for value in self.records.rows[row - 1])
        return text if len(text) <= LONGEST_ROW else f"{text[:LONGEST_ROW]}…"


def sifted(
    roots: Roots, path: str, table: str | None, columns: Sequence[str] | None, alike: float | None
) -> Sifted:
    """The records of a file and which of them stay. Raises ToolError for what is no table, or too large a one."""
    found = records(roots, path, table)
    compared = found.chosen(columns)
    groups = quality.groups(found, compared, alike)
    extra = {row for group in groups for row in group.rows[1:]}
    keep = [row for row in range(1, len(found.rows) + 1) if row not in extra]
    return Sifted(found, compared, groups, keep)


def of_call(roots: Roots, call: TwinsCall) -> Sifted:
    """The same for what is to be written. Raises ToolError where every row stays."""
    found = sifted(roots, call.source, call.table, call.columns, call.alike)
    if not found.leaving:
        raise ToolError(
            f"No record of {found.records.said} is there twice in {', '.join(found.compared)}. Name fewer columns, "
            "or say how alike they must be."
        )
    return found
