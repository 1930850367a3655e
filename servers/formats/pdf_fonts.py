"""The fonts in which PDFs are written. Runs in the sandbox."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import reportlab
from reportlab.pdfbase.pdfmetrics import registerFont, registerFontFamily
from reportlab.pdfbase.ttfonts import TTFont

_VERA = Path(reportlab.__file__).with_name("fonts")
# The fonts of a host know more letters than the one that comes with the library.
_FONTS = (
    (Path("/usr/share/fonts/truetype/dejavu"), ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono")),
    (Path("/usr/share/fonts/TTF"), ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono")),
    (_VERA, ("Vera", "VeraBd", "Vera")),
)


@cache
def standard_font() -> TTFont:
    """The font for texts, registered together with those for headings and code."""
    folder, names = next((folder, names) for folder, names in _FONTS if (folder / f"{names[0]}.ttf").exists())
    text, bold, mono = (
        TTFont(name, str(folder / f"{file}.ttf"))
        for name, file in zip(("text", "bold", "mono"), names, strict=True)
    )
    for font in (text, bold, mono):
        registerFont(font)
    registerFontFamily("text", normal="text", bold="bold", italic="text", boldItalic="bold")
    return text
