"""What can be told from lines with certainty: values behind labels, and things whose form says what they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from servers.ocr.lines import Line
from servers.ocr.models import FieldOf, Mention

_LABEL = re.compile(r"^\W{0,3}([^\W\d_][^:]{0,39}?)\s?:\s+(\S.*)$")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_NUMBER = r"\d{1,3}(?:[.,' ]\d{3})*(?:[.,]\d{2})?|\d+(?:[.,]\d{2})?"
_MONEY = r"€|\$|£|¥|EUR|USD|GBP|CHF|JPY"
# In this order: where two see the same, the first counts.
_FORMS = {
    "email": r"[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,24}",
    "web address": r"https?://[^\s<>\"]{3,300}|www\.[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}(?:/\S{0,200})?",
    "bank account": r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?",
    "date": rf"\d{{4}}-\d\d-\d\d|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|\d{{1,2}}\.? {_MONTH} \d{{4}}"
    rf"|{_MONTH} \d{{1,2}},? \d{{4}}",
    "amount": rf"(?:{_MONEY}) ?(?:{_NUMBER})|(?:{_NUMBER}) ?(?:{_MONEY})",
    "phone number": r"\+\d{1,3}(?:[ .()/-]{0,2}\d{1,4}){2,6}",
}
_PATTERNS = {kind: re.compile(rf"(?<!\w)(?:{form})(?!\w)") for kind, form in _FORMS.items()}


def labelled(lines: Iterable[Line]) -> list[FieldOf]:
    """`Label: value`, line by line. What stands on the next line is not guessed."""
    found = ((line, _LABEL.match(line.text)) for line in lines)
    return [
        FieldOf(label=match[1].strip(), value=match[2].strip(), confidence=line.sure)
        for line, match in found
        if match and not match[0].lower().startswith(("http:", "https:"))
    ]


def mentions(lines: Iterable[Line]) -> Iterator[Mention]:
    """Dates, amounts, addresses and numbers, as they are written."""
    for line in lines:
        taken: list[tuple[int, int]] = []
        for kind, pattern in _PATTERNS.items():
            for match in pattern.finditer(line.text):
                if not any(match.start() < end and start < match.end() for start, end in taken):
                    taken.append(match.span())
                    yield Mention.model_validate({"kind": kind, "text": match[0], "line": line.text})
