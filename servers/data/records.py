"""What rows were before a change: kept in `.countersign/data` of their root for 30 days, for the way back."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from mcp.server.mcpserver.exceptions import ToolError

from servers.data.rows import Touched, decoded, encoded
from servers.data.shape import Image, Shape, shape_of
from servers.filesystem import disk
from servers.filesystem.roots import Place, Roots, Spot, private
from servers.filesystem.text import read_at
from servers.filesystem.trash import KEEP

_FOLDER = "data"
_ID = re.compile(r"^\d{8}T\d{6}-[0-9a-f]{16}$")
_LARGEST = 64 << 20


@dataclass(frozen=True)
class Kept:
    """One row of a record; the table is only a name here."""

    table: str
    key: Image
    before: Image | None
    after: Image | None

    def touched(self, tables: dict[str, Shape]) -> Touched:
        """The row over the table as it is now. Raises ToolError when the table has changed its columns."""
        shape = shape_of(tables, self.table)
        lengths = {len(image) for image in (self.before, self.after) if image is not None}
        if lengths - {len(shape.columns)} or len(self.key) != len(shape.key):
            raise ToolError(f"The table {self.table} has other columns now. Put its rows back by hand.")
        return Touched(shape, self.key, self.before, self.after)


def keep(place: Place, rows: Sequence[Touched], at: datetime) -> str:
    """Write down what the rows were and are, safe on disk. Returns the id of the record."""
    name = f"{at:%Y%m%dT%H%M%S}-{secrets.token_hex(8)}"
    told = [[row.shape.table, encoded(row.key), encoded(row.before), encoded(row.after)] for row in rows]
    data = json.dumps({"path": place.inner, "rows": told}).encode()
    with private(place.root, _FOLDER) as folder:
        _purge(folder, at)
        with disk.staging(Spot(folder, name, name), 0o600) as file:
            disk.write_all(file, data)
        os.fsync(folder)
    return name


def _purge(folder: int, at: datetime) -> None:
    for name in filter(_ID.match, os.listdir(folder)):
        if datetime.strptime(name[:15], "%Y%m%dT%H%M%S").replace(tzinfo=UTC) + KEEP <= at:
            disk.remove(Spot(folder, name, name))


def load(roots: Roots, record: str) -> tuple[Place, list[Kept]]:
    """The database of a record and its rows. Raises ToolError when there is none of that id."""
    for root in roots.roots if _ID.match(record) else ():
        with suppress(ToolError), private(root, _FOLDER, make=False) as folder:
            with disk.reading(Spot(folder, record, record)) as file:
                told = json.loads(read_at(file, 0, _LARGEST))
            rows = [
                Kept(table, decoded(key) or (), decoded(before), decoded(after))
                for table, key, before, after in told["rows"]
            ]
            return roots.place(root, tuple(told["path"].split("/"))), rows
    raise ToolError("There is no record of that id; perhaps its 30 days are over. Change the rows by hand.")
