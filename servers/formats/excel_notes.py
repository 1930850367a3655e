"""What people noted beside the cells of an Excel file. Runs in the sandbox."""

from __future__ import annotations

from collections.abc import Iterator

from openpyxl.comments.comment_sheet import CommentSheet
from openpyxl.packaging.relationship import get_dependents, get_rels_path
from openpyxl.xml.constants import COMMENTS_NS
from openpyxl.xml.functions import fromstring

from servers.formats import office
from servers.sandbox.protocol import Refused


def notes(data: bytes) -> dict[str, list[str]]:
    """The comments on the cells of each sheet, as lines."""
    try:
        parts = office.sheet_parts(data)
        return {sheet.name: lines for sheet in parts if (lines := [*_of_sheet(data, sheet.path)])}
    except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
        raise Refused("has comments that cannot be read. Save it anew.") from error


def _of_sheet(data: bytes, path: str) -> Iterator[str]:
    with office.opened(data) as archive:
        beside = get_rels_path(path)
        if beside not in archive.namelist():
            return
        for found in get_dependents(archive, beside).find(COMMENTS_NS):
            sheet = CommentSheet.from_tree(fromstring(archive.read(found.target)))
            for cell, comment in sheet.comments:
                said = " ".join((comment.text or "").split())
                author = (comment.author or "").strip()
                text = said.removeprefix(f"{author}:").strip() if author else said
                if text:
                    yield f"[note on {cell}] {author}: {text}" if author else f"[note on {cell}] {text}"
