"""Characters that a text writes with the escapes of JSON, YAML, source code, XML or old addresses of the web."""

from __future__ import annotations

import re

from gate.arguments.text_cache import Remembered

MOST_TIMES = 3  # JSON in JSON in JSON
ESCAPE = re.compile(
    r"\\(?:u([0-9A-Fa-f]{4})|u\{0{0,4}([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2})|U00([0-9A-Fa-f]{6}))|"
    r"%u([0-9A-Fa-f]{4})|&#[xX]0{0,6}([0-9A-Fa-f]{1,6});?|"
    r"&#0{0,6}(\d{1,7});?|\\([0-7]{3})|\\([\"'/\\])|&(amp|lt|gt|quot|apos|period|sol|bsol|lowbar);"
)
HEX, DECIMAL, ITSELF = range(1, 7), 7, 9  # groups of ESCAPE; the eighth is octal
NAMED = dict(amp="&", lt="<", gt=">", quot='"', apos="'", period=".", sol="/", bsol="\\", lowbar="_")
SURROGATES, BEYOND = range(0xD800, 0xE000), 0x110000


@Remembered
def unescaped(text: str) -> str:
    """The text with such characters as they are meant, also where they are escaped up to three times."""
    for _ in range(MOST_TIMES):
        if "\\" not in text and "&" not in text and "%u" not in text:
            return text
        text, before = ESCAPE.sub(_meant, text), text
        if text == before:
            return text
    return text


def _meant(found: re.Match[str]) -> str:
    kind = found.lastindex or 0
    said = found[kind]
    if kind == ITSELF:
        return said
    if kind > ITSELF:
        return NAMED[said]
    code = int(said, 16 if kind in HEX else 10 if kind == DECIMAL else 8)
    return found[0] if code in SURROGATES or code >= BEYOND else chr(code)
