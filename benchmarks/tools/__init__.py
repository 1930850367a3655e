"""What the bundled tools read right, and what they take for much: each module is a part that also runs alone.

Inputs are made from seeds, or are those of the tests; nothing is downloaded. `python -m benchmarks tools.ocr` runs one.
"""

from __future__ import annotations

from importlib import import_module

PARTS = ("ocr", "documents", "records", "scans", "words", "sizes")


async def run(_: object = None, quick: bool = False) -> None:
    for part in PARTS:
        await import_module(f"benchmarks.tools.{part}").run(None, quick)
