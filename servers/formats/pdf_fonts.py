"""The fonts of a PDF: one that is put into it, and for Chinese, Japanese and Korean those of the reader's machine."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path

import reportlab
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.pdfmetrics import registerFont, registerFontFamily
from reportlab.pdfbase.ttfonts import TTFont

from servers.formats.blocks import Block, Run, Text

_VERA = Path(reportlab.__file__).with_name("fonts")
# The fonts of a host know more letters than the one that comes with the library.
_FONTS = (
    (Path("/usr/share/fonts/truetype/dejavu"), ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono")),
    (Path("/usr/share/fonts/TTF"), ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono")),
    (_VERA, ("Vera", "VeraBd", "Vera")),
)
# Fonts that a reader of PDF brings along, by the names of Adobe's Asian font packs, with the characters each is sure to
# have. They are not put into the file.
CHINESE, TRADITIONAL, JAPANESE, KOREAN = "STSong-Light", "MSung-Light", "HeiseiMin-W3", "HYSMyeongJo-Medium"
_CHARACTERS = {CHINESE: "gbk", TRADITIONAL: "big5", JAPANESE: "cp932", KOREAN: "cp949"}
_SPACES = "\n\t\r\u00ad"


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


def unknown_letters(blocks: Sequence[Block], font: TTFont) -> list[str]:
    """The letters of these blocks that their run's font does not have, which is `font` where none is named, or that are
    written from right to left: nothing here orders or joins such letters."""
    known = font.face.charToGlyph
    pairs = {(c, next(iter(asian_fonts(run)), "")) for run in _runs(blocks) for c in run.text}
    unknown = {
        c for c, asian in pairs if c not in _SPACES and not (_has(asian, c) if asian else ord(c) in known)
    }
    return sorted(unknown | {c for c, _ in pairs if _to_the_left(c)})


def _to_the_left(char: str) -> bool:
    return unicodedata.bidirectional(char) in ("R", "AL", "AN")


def numbered(blocks: Sequence[Block], letters: Sequence[str]) -> list[Block]:
    """The blocks with these letters as numbers, such as \\u{926}."""
    numbers = {ord(c): f"\\u{{{ord(c):x}}}" for c in letters}
    return _changed(
        blocks, lambda text: tuple(run._replace(text=run.text.translate(numbers)) for run in text)
    )


def with_asian_fonts(blocks: Sequence[Block]) -> list[Block]:
    """The blocks with their Chinese, Japanese and Korean signs in runs whose style names the font. Signs that several
    of these languages write are set as the one whose own letters stand in the text; as Chinese where none does."""
    letters = set().union(*(run.text for run in _runs(blocks)))
    if not any(map(_is_asian, letters)):
        return [*blocks]
    order = tuple(sorted(_CHARACTERS, key=lambda font: not _writes(font, letters)))
    for font in order:
        registerFont(UnicodeCIDFont(font))
    return [
        _in_one_font(block, order)
        if block.kind == "code"
        else _changed([block], lambda text: tuple(part for run in text for part in _split(run, order)))[0]
        for block in blocks
    ]


def _in_one_font(block: Block, order: tuple[str, ...]) -> Block:
    """A block of code, all of it in the font of its first sign that needs one: its lines know no other."""
    fonts = [font for run in block.text for c in run.text if (font := _font_of(c, order))]
    return _changed(
        [block], lambda text: tuple(run._replace(style=run.style | {*fonts[:1]}) for run in text)
    )[0]


def asian_fonts(*runs: Run) -> list[str]:
    """The fonts that the styles of these runs name."""
    return [font for run in runs for font in _CHARACTERS if font in run.style]


def _writes(font: str, letters: set[str]) -> bool:
    """Whether there are letters among these that only the language of a font has: kana, or Hangul."""
    word = {JAPANESE: ("HIRAGANA", "KATAKANA"), KOREAN: ("HANGUL",)}.get(font, ())
    return any(unicodedata.name(c, "").startswith(word) for c in letters) if word else False


def _split(run: Run, order: tuple[str, ...]) -> Iterator[Run]:
    for font, signs in groupby(run.text, lambda c: _font_of(c, order)):
        style = run.style | {font} if font else run.style
        yield run._replace(text="".join(signs), style=style)


@cache
def _font_of(char: str, order: tuple[str, ...]) -> str:
    """The first font that has this sign; "" where it is none of these languages, or none has it."""
    return next((font for font in order if _has(font, char)), "") if _is_asian(char) else ""


def _has(font: str, char: str) -> bool:
    try:
        return bool(char.encode(_CHARACTERS[font]))
    except UnicodeEncodeError:
        return False


def _is_asian(char: str) -> bool:
    return unicodedata.east_asian_width(char) in "WF" and unicodedata.category(char) != "So"


def _runs(blocks: Sequence[Block]) -> Iterator[Run]:
    texts = (text for block in blocks for text in (block.text, *(cell for row in block.rows for cell in row)))
    return (run for text in texts for run in text)


def _changed(blocks: Sequence[Block], change: Callable[[Text], Text]) -> list[Block]:
    return [
        replace(block, text=change(block.text), rows=[[change(cell) for cell in row] for row in block.rows])
        for block in blocks
    ]
