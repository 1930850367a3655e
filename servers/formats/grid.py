"""The rows of a table whose cells may reach over several columns and rows. Runs in the sandbox."""

from __future__ import annotations

from dataclasses import dataclass, field

from servers.formats.blocks import Text

WIDEST = 1_000  # columns that one cell reaches over, as browsers read it
HIGHEST = 65_534  # rows, the same


@dataclass
class Grid:
    """A table while its cells come by. What a cell covers besides its own place is empty, so that others keep theirs.

    `covered`: columns that a cell above reaches into, and for how many rows more.
    """

    made: list[list[Text]] = field(default_factory=list)
    covered: dict[int, int] = field(default_factory=dict)
    is_open: bool = False
    _span: tuple[int, int] = (1, 1)

    def row(self) -> None:
        """Another row begins."""
        self._end()
        self.made.append([])

    def open(self, across: str | None, down: str | None) -> None:
        """A cell begins that reaches so far, as its tag says."""
        self.is_open, self._span = True, (_many(across, WIDEST), _many(down, HIGHEST, HIGHEST))

    def cell(self, text: Text) -> None:
        """What the cell that was opened holds, or what stands beside the cells."""
        if not self.made:
            self.made.append([])
        across, down = self._span if self.is_open else (1, 1)
        self.is_open = False
        row = self.made[-1]
        self._pass(row)
        if down > 1:
            self.covered |= {len(row) + n: down for n in range(across)}
        row += [text, *[()] * (across - 1)]

    @property
    def rows(self) -> list[list[Text]]:
        """The rows so far that have cells."""
        self._end()
        return [row for row in self.made if row]

    def _pass(self, row: list[Text]) -> None:
        while len(row) in self.covered:
            row.append(())

    def _end(self) -> None:
        """The row is over. One without any cell counts for those that reach into it, too."""
        if self.made:
            if self.made[-1]:
                self._pass(self.made[-1])
            self.covered = {column: left - 1 for column, left in self.covered.items() if left > 1}


def _many(told: str | None, most: int, instead: int = 1) -> int:
    """What a tag says of how far a cell reaches; 1 where that is no number, and `instead` where it is 0."""
    text = (told or "").strip()[:9]
    return min(int(text) or instead, most) if text.isdecimal() else 1
