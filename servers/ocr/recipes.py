"""What the gate must know of each tool: all of them only read."""

from __future__ import annotations

from servers.cards import Card, reading

CARDS: dict[str, Card] = {
    "extract_text_from_image": reading("Read text in a picture", "Read the text in {args.path}"),
    "extract_text_from_pdf": reading("Read text in a scanned PDF", "Read the pages of {args.path}"),
    "extract_structured_data": reading("Find values in a picture", "Read the values in {args.path}"),
    "extract_table": reading("Read a table in a picture", "Read the table in {args.path}"),
}
