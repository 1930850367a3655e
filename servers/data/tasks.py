"""What the sandbox does with tables: it reads them, and tells what was asked about them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from itertools import islice
from typing import Any

from servers.data import deduplicate, quality, table
from servers.data.deduplicate import MOST_GROUPS, MOST_KEPT, Twins
from servers.data.table import Table
from servers.lines import one_line
from servers.sandbox.protocol import first_of

Result = tuple[dict[str, Any], bytes]
MOST_ANOMALIES = 500


def _table(blobs: Sequence[bytes], files: Sequence[int], source: dict[str, Any]) -> Table:
    """The table of a file that is open, or of what is given."""
    ending, named = source["ending"], source.get("named")
    gc.disable()  # nothing of a table is ever garbage, and this process ends with the call
    if not files:
        made = table.load(blobs[0], ending, named)
        return replace(made, assumed=[*made.assumed, *source.get("unlike", ())])
    with open(files[0], "rb", closefd=False) as file:
        return table.load(file.read(), ending, named)


def twins(
    *blobs: bytes,
    columns: Sequence[str] | None,
    alike: float | None,
    files: Sequence[int] = (),
    **source: Any,
) -> Result:
    """The records that are there again, as JSON: the first groups of them."""
    found = _twins(blobs, files, source, columns, alike)
    listed, _ = first_of(map(found.told, found.groups[:MOST_GROUPS]))
    told = {
        "records": found.table.rows,
        "assumed": found.table.assumed,
        "compared": [column.name for column in found.compared],
        "groups": len(found.groups),
        "unique": found.left,
        "keep": [row + 1 for row in found.keep] if found.left <= MOST_KEPT else [],
    }
    return told, listed


def _twins(
    blobs: Sequence[bytes],
    files: Sequence[int],
    source: dict[str, Any],
    columns: Sequence[str] | None,
    alike: float | None,
) -> Twins:
    made = _table(blobs, files, source)
    return deduplicate.twins(made, made.chosen(columns), alike)


def plan(
    *blobs: bytes,
    columns: Sequence[str] | None,
    alike: float | None,
    files: Sequence[int] = (),
    **source: Any,
) -> Result:
    """What is left out of a file without duplicates, line by line."""
    found = _twins(blobs, files, source, columns, alike)
    told = {**_counts(found), "formulas": found.formulas()}
    return told, "\n".join(map(one_line, found.shown())).encode()


def _counts(found: Twins) -> dict[str, Any]:
    compared = [column.name for column in found.compared]
    return {"rows": found.left, "left_out": len(found.extra), "compared": compared, "sign": found.table.sign}


def without(
    *blobs: bytes,
    columns: Sequence[str] | None,
    alike: float | None,
    sign: str,
    files: Sequence[int] = (),
    **source: Any,
) -> Result:
    """The bytes of a file without duplicates, with `sign` between values; "" for that of the source."""
    found = _twins(blobs, files, source, columns, alike)
    told = _counts(found)
    return told, found.written(sign or found.table.sign or ",") if found.extra else b""


def anomalies(
    *blobs: bytes,
    columns: Sequence[str] | None,
    today: str,
    files: Sequence[int] = (),
    **source: Any,
) -> Result:
    """What stands out, as JSON: the first things of it, and one more where there are more."""
    made = _table(blobs, files, source)
    chosen = made.chosen(columns)
    assumed, found = quality.looked_through(made, chosen, date.fromisoformat(today))
    listed, more = first_of(islice(found, MOST_ANOMALIES + 1))
    names = [column.name for column in chosen]
    return {"records": made.rows, "columns": names, "assumed": assumed, "more": more}, listed


def sign(head: bytes) -> Result:
    """What parts the values of a CSV file that begins so."""
    return {"sign": table.sign(head)}, b""


TASKS: dict[str, Callable[..., Result]] = {
    one.__name__: one for one in (twins, plan, without, anomalies, sign)
}
