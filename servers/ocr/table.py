"""A table out of words and their places: rows are words of one height, columns are parted by empty strips."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from servers.ocr.lines import Word

GAP = 0.9  # of a word's height: what is further apart stands in two cells
Cell = list[Word]


def rows(found: Sequence[Word]) -> list[list[str]]:
    """Rows of as many cells each; empty when the words stand in no columns."""
    if not found:
        return []
    height = median(word.height for word in found)
    laid = [_cells(row, height) for row in _rows(found, height)]
    edges = _columns([cell for row in laid if len(row) > 1 for cell in row])
    if len(edges) < 2:
        return []
    return [_placed(row, edges) for row in laid]


def _rows(found: Sequence[Word], height: float) -> list[list[Word]]:
    """Words whose middles are about as high."""
    out: list[list[Word]] = []
    for word in sorted(found, key=lambda word: word.middle):
        if out and word.middle - sum(w.middle for w in out[-1]) / len(out[-1]) < height * 0.6:
            out[-1].append(word)
        else:
            out.append([word])
    return [sorted(row, key=lambda word: word.left) for row in out]


def _cells(row: list[Word], height: float) -> list[Cell]:
    out: list[Cell] = []
    for word in row:
        if out and word.left - out[-1][-1].right < height * GAP:
            out[-1].append(word)
        else:
            out.append([word])
    return out


def _columns(cells: list[Cell]) -> list[tuple[int, int]]:
    """The strips that cells of any row stand in: two that overlap are one."""
    out: list[tuple[int, int]] = []
    for left, right in sorted((cell[0].left, cell[-1].right) for cell in cells):
        if out and left < out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], right))
        else:
            out.append((left, right))
    return out


def _placed(row: list[Cell], edges: list[tuple[int, int]]) -> list[str]:
    """The words of a row, each in the column that its cell overlaps most."""
    out: list[list[str]] = [[] for _ in edges]
    for cell in row:
        left, right = cell[0].left, cell[-1].right
        shared = [min(right, b) - max(left, a) for a, b in edges]
        out[shared.index(max(shared))].extend(word.text for word in cell)
    return [" ".join(words) for words in out]
