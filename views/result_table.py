"""What a tool gave as a list of things, as Slack's table block: https://docs.slack.dev/reference/block-kit/blocks/table-block"""

from __future__ import annotations

from itertools import accumulate

from views.block_kit import Block, clip, inline, line, rich, table, words
from views.tool_results import Table

SUMMARY = 300
ROWS = 99  # beside the head; Slack takes 100
NAME, CELL = 100, 1_000  # characters of the name of a column, and of a cell
CELLS = 9_000  # of all cells; Slack takes 10,000


def in_table(found: Table) -> list[Block]:
    """The list as a table, with what the tool says of it above and below, and how many rows there was no room for."""
    head = [inline(clip(name.replace("_", " "), NAME)).capitalize() for name in found.head]
    rows = [[clip(cell, CELL) for cell in row] for row in found.rows[:ROWS]]
    weights = accumulate(
        (sum(max(len(cell), 1) for cell in row) for row in rows), initial=sum(map(len, head))
    )
    shown = [row for row, weight in zip(rows, list(weights)[1:], strict=True) if weight <= CELLS]
    left = len(found.rows) - len(shown)
    notes = [*([f"… {left:,} more rows"] if left else []), *found.remarks]
    return [
        *([rich(line(words(found.summary, most=SUMMARY)))] if found.summary else []),
        table([head, *shown]),
        *([rich(line(words("\n".join(notes), "italic")))] if notes else []),
    ]
