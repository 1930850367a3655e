"""What the gate must know of each tool: its class, how to show it before, and how to take it back (design.md 10)."""

from __future__ import annotations

from servers.cards import Card, reading
from servers.making import WAYS_BACK, makes

_LISTED = {"kind": "affected", "items": "{capture.plan.items}"}
_TOLD = {"kind": "text", "after": "{capture.plan.difference}"}


def _makes(name: str, title: str, verb: str, summary: str, goal: str, preview: dict[str, str]) -> Card:
    return makes(
        title,
        verb,
        summary,
        noun=f"{{args.{goal}|name}}",
        capture={"plan": {"tool": "preview_document", "args": {"make": name, "call": "{args}"}}},
        bind={
            "expected_target": "{capture.plan.expected_target}",
            "expected_made": "{capture.plan.expected_made}",
        },
        preview=preview,
    )


CARDS: dict[str, Card] = {
    "extract_text": reading("Read document", "Read {args.path}"),
    "diff_documents": reading("Compare documents", "Compare {args.first} and {args.second}"),
    "read_spreadsheet": reading("Read spreadsheet", "Read {args.path}"),
    "list_form_fields": reading("List form fields", "Read the form {args.path}"),
    "preview_document": reading("Preview a document", "Look at what {args.make} would make"),
    "create_pdf": _makes("create_pdf", "Create PDF", "Create", "Create the PDF {args.path}", "path", _LISTED),
    "create_docx": _makes(
        "create_docx", "Create Word file", "Create", "Create the Word file {args.path}", "path", _LISTED
    ),
    "convert_format": _makes(
        "convert_format",
        "Convert document",
        "Convert",
        "Convert {args.source} to {args.destination}",
        "destination",
        _TOLD,
    ),
    "merge_pdfs": _makes(
        "merge_pdfs",
        "Merge PDFs",
        "Merge",
        "Merge {args.sources|count} PDFs into {args.destination}",
        "destination",
        _LISTED,
    ),
    "fill_pdf_form": _makes(
        "fill_pdf_form",
        "Fill PDF form",
        "Fill",
        "Fill {args.path} and write {args.destination}",
        "destination",
        _TOLD,
    ),
    **WAYS_BACK,
}
