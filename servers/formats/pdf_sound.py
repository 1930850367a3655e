"""PDF files that programs read alike: what pypdf would repair or choose is not written anew. Runs in the sandbox."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager

import pypdfium2
from pypdf import PdfReader
from pypdf.errors import PyPdfError
from pypdf.generic import DictionaryObject, IndirectObject

from servers.sandbox.protocol import Refused

BROKEN = (PyPdfError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, OSError)
_UNSOUND = (*BROKEN, AssertionError, pypdfium2.PdfiumError)
_DIFFERENT = (
    "is damaged or says a thing twice, so that programs may read it differently. Print it to a new PDF first."
)
_HARMLESS = ("Xref table not zero-indexed", "Superfluous whitespace", "Duplicate %%EOF")
_LAYERS = "has layers: those that are hidden would show in a merged file. Print it to a new PDF first."
_XFA = "has a second form in it (XFA), which some programs show in its place. Print it to a new PDF first."


def strict(data: bytes) -> PdfReader:
    """An open PDF of which no object had to be repaired, found by search or chosen among two. Raises Refused."""
    try:
        with warnings_of_pypdf() as heard:
            found = PdfReader(io.BytesIO(data), strict=True)
            if found.is_encrypted:
                found.decrypt("")
            for one in [*_objects(found)]:
                found.get_object(one)
            second = "/XFA" in found.root_object.get("/AcroForm", {})
    except _UNSOUND as error:
        raise Refused(_DIFFERENT) from error
    if any(not said.startswith(_HARMLESS) for said in heard):
        raise Refused(_DIFFERENT)
    if second:
        raise Refused(_XFA)
    return found


def must_have_no_layers(found: PdfReader) -> None:
    """Raise Refused for one with layers: which of them are hidden stands in its catalogue, which no merging keeps."""
    try:
        layers = "/OCProperties" in found.root_object
    except BROKEN as error:
        raise Refused(_DIFFERENT) from error
    if layers:
        raise Refused(_LAYERS)


def is_signed(found: PdfReader) -> bool:
    """Whether somebody signed it: whatever is written anew is not what the signature is about."""
    try:
        return any(_is_signed(found.get_object(one)) for one in _objects(found))
    except BROKEN as error:
        raise Refused(_DIFFERENT) from error


def _is_signed(field: object) -> bool:
    """Whether it is a field with a signature; a part of one may leave it to the whole what kind it is."""
    if not isinstance(field, DictionaryObject):
        return False
    value = field.get("/V")
    signature = value.get_object() if value is not None else None
    return isinstance(signature, DictionaryObject) and (
        field.get("/FT") == "/Sig" or "/ByteRange" in signature
    )


def _objects(found: PdfReader) -> Iterator[IndirectObject]:
    for generation, numbers in found.xref.items():
        yield from (IndirectObject(number, generation, found) for number in numbers)
    yield from (IndirectObject(number, 0, found) for number in found.xref_objStm)


def must_say_the_same(before: Sequence[bytes], after: bytes) -> None:
    """Raise Refused where PDFium, which is not what wrote it, reads other text on a page than it did before."""
    try:
        same = [text for data in before for text in _pages(data)] == [*_pages(after)]
    except _UNSOUND as error:
        raise Refused(_DIFFERENT) from error
    if not same:
        raise Refused(_DIFFERENT)


def _pages(data: bytes) -> Iterable[str]:
    with closing(pypdfium2.PdfDocument(data)) as document:
        for number in range(len(document)):
            with closing(document[number]) as page, closing(page.get_textpage()) as text:
                yield text.get_text_range()


@contextmanager
def warnings_of_pypdf() -> Iterator[list[str]]:
    """What pypdf says meanwhile of what it had to repair, to choose or to leave out."""
    heard = list[str]()
    handler, logger = _Heard(heard), logging.getLogger("pypdf")
    logger.addHandler(handler)
    try:
        yield heard
    finally:
        logger.removeHandler(handler)


class _Heard(logging.Handler):
    def __init__(self, heard: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        self._heard.append(record.getMessage())
