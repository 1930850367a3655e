"""The widgets of a PDF form: what a page shows of a field. Only those of the fields that were asked for are written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pypdf import PdfWriter
from pypdf.generic import ArrayObject, NameObject, TextStringObject

from servers.formats import form_looks
from servers.formats.form_looks import at
from servers.sandbox.protocol import Refused

_DEEPEST = 100


class Widget(NamedTuple):
    """A widget on a page, with the names of what it hangs on, the innermost first, and what it says."""

    page: Any
    annotation: Any
    names: tuple[str, ...]
    in_form: bool
    value: str
    state: str


def fill(writer: PdfWriter, chosen: dict[str, str]) -> None:
    """Write these values, by the names that get_fields of pypdf gives. pypdf alone would also write to fields of which
    only the last part is named so, and to such that the form does not list. Raises Refused where others would change.
    """
    tree = _tree(writer)
    before = list(_widgets(writer, tree))
    asked: dict[str, list[Widget]] = {name: [] for name in chosen}
    for widget in before:
        if widget.in_form and (name := _name(writer, widget.annotation)) in asked:
            asked[name].append(widget)
    looks = list[form_looks.Look]()
    for name, widgets in asked.items():
        if len({(widget.names, widget.value) for widget in widgets}) > 1:
            raise Refused(f"has several fields that are called “{name}”. Fill it by hand.")
        for widget in widgets:
            if at(_holder(widget.annotation), "/FT") == "/Btn":
                _press(writer, widget, name, chosen[name])
            else:
                looks.append(_look(writer, widget, name, chosen[name]))
    if looks:
        form_looks.draw(writer, looks)
    own = {id(widget.annotation) for widgets in asked.values() for widget in widgets}
    for old, new in zip(before, _widgets(writer, tree), strict=True):
        if id(old.annotation) not in own and old[-2:] != new[-2:]:
            raise Refused(
                f"has other fields that take the value of “{'”, “'.join(chosen)}”. Fill it by hand."
            )


def _look(writer: PdfWriter, widget: Widget, name: str, value: str) -> form_looks.Look:
    """Write a text, and say what is to be shown of it. Raises Refused where there is less room than that."""
    holder = _holder(widget.annotation)
    above = [*_above(widget.annotation), at(writer._root_object, "/AcroForm", {})]
    look = form_looks.Look(name, value, above)
    if look.says("/FT", "") not in ("/Tx", "/Ch"):
        raise ValueError("no field for a text")
    if any("/RV" in one for one in above):
        raise Refused(f"has formatted text in the field “{name}”, which would stay. Fill it by hand.")
    most = int(look.says("/MaxLen", len(value)))
    if len(value) > most:
        raise Refused(f"has room for {most} letters in the field “{name}”. Give a shorter value.")
    if len(value.splitlines()) > 1 and not look.has_lines:
        raise Refused(f"has one line for the field “{name}”. Give a value of one line.")
    holder[NameObject("/V")] = TextStringObject(value)
    holder.pop("/I", None)  # the places of what was chosen before
    return look


def _press(writer: PdfWriter, widget: Widget, name: str, value: str) -> None:
    """Let pypdf see this widget alone."""
    page, annotation = widget.page, widget.annotation
    all_of_them = page.raw_get("/Annots")
    page[NameObject("/Annots")] = ArrayObject([annotation])
    try:
        writer.update_page_form_field_values(page, {name: value}, auto_regenerate=False)
    finally:
        page[NameObject("/Annots")] = all_of_them


def _name(writer: PdfWriter, annotation: Any) -> str:
    field = annotation if "/T" in annotation else _holder(annotation)
    return writer._get_qualified_field_name(parent=field)


def _holder(annotation: Any) -> Any:
    """The field whose value changes with a widget."""
    return annotation if "/FT" in annotation and "/T" in annotation else at(annotation, "/Parent", {})


def _tree(writer: PdfWriter) -> set[int]:
    """The ids of all that the form lists."""
    found = set[int]()
    left = [at(at(writer._root_object, "/AcroForm", {}), "/Fields", ())]
    while left:
        for item in left.pop():
            field = item.get_object()
            if id(field) not in found:
                found.add(id(field))
                left.append(at(field, "/Kids", ()))
    return found


def _widgets(writer: PdfWriter, tree: set[int]) -> Iterator[Widget]:
    for page in writer.pages:
        for item in at(page, "/Annots", ()):
            annotation = item.get_object()
            if at(annotation, "/Subtype") == "/Widget":
                yield _widget(page, annotation, tree)


def _widget(page: Any, annotation: Any, tree: set[int]) -> Widget:
    above = list(_above(annotation))
    return Widget(
        page,
        annotation,
        tuple(str(one["/T"]) for one in above if "/T" in one),
        any(id(one) in tree for one in above),
        next((str(one["/V"]) for one in (_holder(annotation), *above) if "/V" in one), ""),
        str(at(annotation, "/AS", "")),
    )


def _above(annotation: Any) -> Iterator[Any]:
    """A widget and all fields that it hangs on."""
    one = annotation
    for _ in range(_DEEPEST):
        yield one
        if "/Parent" not in one:
            return
        one = one["/Parent"]
    raise ValueError("a field hangs on too many others")
