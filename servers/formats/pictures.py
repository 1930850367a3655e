"""Pictures of text: opened with care, and read word by word with Tesseract. Runs in the sandbox."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import radians, sin
from typing import Any, NamedTuple

import pypdfium2
import pytesseract
from PIL import Image, ImageChops, ImageFilter, ImageOps, ImageStat

from servers.formats.pdf_letters import Letters, Merged, exact, exact_lines, letters
from servers.sandbox.protocol import Refused

FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF")
MOST_PIXELS = 50_000_000  # of a picture that is opened
READ_PIXELS = 10_000_000  # of one that is read: larger ones are made smaller first
SMALL = 1_500  # pixels: what is smaller on both sides is made larger, which reads better
MOST_PAGES = 2_000
DOTS = 200 / 72  # for each point of a page: 200 dpi
SECONDS = 40  # for one page
CLEAR = 0.75  # how sure Tesseract is of a page that stands upright
FEW = 20  # characters from which it is tried how a page lies
CERTAIN = 2.0  # Tesseract's measure of how sure it is of that: it gives 5 to 8 for a page of text
HARD = 0.6  # how sure Tesseract is of a page that may lie another way than it says
MUCH_MORE, DOUBTED = (
    1.5,
    0.3,
)  # how much more of a page is legible the right way up, and how sure garbage is at most
TURNING = 20.0  # seconds of a call after which no page is read all ways round
STRAIGHT = 800  # pixels of the width on which it is tried how a page is turned
TRIED = 20  # degrees: how far a page may be skewed
PAPER = 12  # pixels around which give the colour of the paper
_IS_INK = [0] * 40 + [255] * 216
LEVEL = 1.0  # degrees: lines of text that are skewed less are read as they are
DARK, PALE = 160, 200  # of 255: what is darker may be a line, and from where on it is paper
ROW_LINE, COLUMN_LINE = 64, 128  # pixels of a line across and down: longer than the strokes of letters
_PROBLEMS = (OSError, ValueError, SyntaxError, KeyError, IndexError, TypeError, MemoryError, RuntimeError)


@dataclass(frozen=True)
class Asked:
    """Which pages are read, in which languages, and whether straight across the page, whatever its columns."""

    first: int
    limit: int
    language: str
    table: bool = False


def _emptied(name: str) -> None:
    """Remove a file of Tesseract's; where none can be removed, it is left without anything in it."""
    try:
        os.remove(name)
    except PermissionError:
        os.close(os.open(name, os.O_WRONLY | os.O_TRUNC))


vars(pytesseract.pytesseract)["remove"] = _emptied


class Drawn(NamedTuple):
    """A page as people see it, and the letters of its file that are seen on it."""

    seen: Image.Image
    there: Sequence[Letters] = ()


def words(data: bytes, ending: str, program: str, **asked: Any) -> dict[str, Any]:
    """The words of some pages: `found` has one entry a page, with its size, how far it was turned to be upright, how
    far it was skewed, in how many places the letters of its file differ, and [text, x, y, width, height, sure, line].

    `program`: the path of Tesseract. Raises Refused with a sentence.
    """
    pytesseract.pytesseract.tesseract_cmd = program
    want = Asked(**asked)
    _known(want.language)
    until = time.monotonic() + TURNING
    pages, pictures = (_pages if ending == ".pdf" else _picture)(data, want.first, want.limit)
    return {
        "pages": pages,
        "found": [{"page": number, **_upright(seen, want, until)} for number, seen in pictures],
    }


def _upright(page: Drawn, want: Asked, until: float) -> dict[str, Any]:
    """The words on a page. One that is hard to read, or whose words run up or down, may lie on its side: then it is
    turned, and read once more. `until`: the time from which on nothing is tried that Tesseract does not advise."""
    seen = page.seen
    found = _laid(seen, want, page.there)
    lies = _runs_down(found)
    turned = _turned(seen) if lies or _sure(found) < CLEAR else 0
    if turned:
        again = _laid(seen.rotate(-turned, expand=True), want)
        if _sure(again) > _sure(found) or (lies and not _runs_down(again)):
            found = {**again, "turned": turned}
    if found["words"] and _sure(found) < HARD:
        for other in {90, 180, 270} - {turned}:
            if time.monotonic() > until:
                break
            again = _laid(seen.rotate(-other, expand=True), want)
            if _legible(again) > MUCH_MORE * _legible(found) and _sure(again) > _sure(found):
                found = {**again, "turned": other}
    return {"turned": 0, **found}


def _legible(page: dict[str, Any]) -> float:
    """How many letters and digits of a page are read, those that are hard to read counted little."""
    counted: list[float] = [
        max(sure - DOUBTED, 0.0) * sum(map(str.isalnum, text)) for text, _, _, _, _, sure, _ in page["words"]
    ]
    return sum(counted)


def _runs_down(page: dict[str, Any]) -> bool:
    """Whether most words of some letters are higher than wide."""
    shapes: list[bool] = [width < height for text, _, _, width, height, *_ in page["words"] if len(text) > 3]
    return sum(shapes) * 2 > len(shapes)


def _laid(seen: Image.Image, want: Asked, there: Sequence[Letters] = ()) -> dict[str, Any]:
    """The words on a page, which is made straight, with the letters that are `there` in the file."""
    skew = _skew(seen)
    if want.table:
        return _words_on(seen, skew, want, there)
    if abs(skew) < LEVEL:  # Tesseract reads such lines, and what is turned loses some of its sharpness
        return _words_on(seen, 0.0, want, there)
    straight = _words_on(seen, skew, want, there)
    if _sure(straight) >= CLEAR:
        return straight
    return max(straight, _words_on(seen, 0.0, want, there), key=_legible)


def _words_on(seen: Image.Image, skew: float, want: Asked, there: Sequence[Letters]) -> dict[str, Any]:
    paper = int(ImageStat.Stat(seen).median[0])
    page = seen.rotate(skew, Image.Resampling.BICUBIC, expand=True, fillcolor=paper) if skew else seen
    if want.table:
        page = _unruled(page)
    told = Merged(_read(page, want))
    if there and not skew:
        told = (exact if want.table else exact_lines)(told.words, there)
    return {"width": page.width, "height": page.height, "skew": skew, **told._asdict()}


def _sure(page: dict[str, Any]) -> float:
    """How sure Tesseract is of the words on a page, from 0 to 1; a page of one or two words says nothing. Letters of
    the file that agree with it leave no doubt how the page lies."""
    if page["agreed"]:
        return 1.0
    found = page["words"]
    return sum(one[5] for one in found) / len(found) if len(found) > 2 else 0.0


def _turned(seen: Image.Image) -> int:
    """By how many degrees a page has to be turned clockwise to be upright; 0 where nobody can say."""
    if "osd" not in pytesseract.get_languages():
        return 0
    try:
        told = pytesseract.image_to_osd(
            seen,
            config=f"-c min_characters_to_try={FEW}",
            timeout=SECONDS,
            output_type=pytesseract.Output.DICT,
        )
    except RuntimeError:  # such as too few characters on it
        return 0
    return int(told["rotate"]) if float(told["orientation_conf"]) >= CERTAIN else 0


def _known(language: str) -> None:
    there = set(pytesseract.get_languages())
    missing = [one for one in language.split("+") if one not in there]
    if missing:
        packages = ", ".join(f"tesseract-ocr-{one.replace('_', '-')}" for one in missing)
        raise Refused(
            f"cannot be read: Tesseract does not know {', '.join(missing)} on this host. Install {packages}, or "
            f"ask for one of: {', '.join(sorted(there - {'osd'}))}."
        )


def _picture(data: bytes, first: int, limit: int) -> tuple[int, Iterator[tuple[int, Drawn]]]:
    Image.MAX_IMAGE_PIXELS = None  # the size is looked at below, before any of it is unpacked
    try:
        opened = Image.open(io.BytesIO(data), formats=FORMATS)
        frames = getattr(opened, "n_frames", 1)
        if opened.width * opened.height > MOST_PIXELS:
            raise Refused(
                f"has {opened.width} by {opened.height} pixels, more than {MOST_PIXELS:,}. Make it smaller first."
            )
        if first > frames:
            raise Refused(f"has {frames} pictures in it, not {first}. Ask for one of those.")
        opened.seek(first - 1)
        opened.draft("L", (SMALL * 2, SMALL * 2))  # a JPEG is taken smaller from the start
        seen = _fitting(ImageOps.exif_transpose(opened))
    except _PROBLEMS as error:
        raise Refused(f"is no picture that can be opened. Known are: {', '.join(FORMATS)}.") from error
    return frames, iter([(first, Drawn(seen))][:limit])


def _fitting(seen: Image.Image) -> Image.Image:
    """Grey on white, and neither too large nor too small to read."""
    if seen.mode in ("RGBA", "LA", "PA") or "transparency" in seen.info:
        clear = seen.convert("RGBA")
        seen = Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear)
    grey = seen.convert("L")
    scale = 2.0 if max(grey.size) < SMALL else 1.0
    scale = min(scale, (READ_PIXELS / max(grey.width * grey.height, 1)) ** 0.5)
    if scale == 1.0:
        return grey
    size = (max(int(grey.width * scale), 1), max(int(grey.height * scale), 1))
    made = grey.resize(size, Image.Resampling.LANCZOS)
    # Tesseract takes dots for signs. Where nothing was enlarged, strokes of small letters are as thin as dots.
    return made.filter(ImageFilter.MedianFilter(3)) if scale > 1 else made


def _pages(data: bytes, first: int, limit: int) -> tuple[int, Iterator[tuple[int, Drawn]]]:
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise Refused("is locked, or no PDF that can be opened. Save it anew, without a password.") from error
    count = len(document)
    if count > MOST_PAGES:
        raise Refused(f"has {count:,} pages, more than {MOST_PAGES:,}. Take a part of it.")
    if first > count:
        raise Refused(f"has {count} pages. Ask for one of those.")
    return count, (
        (number, _drawn(document, number)) for number in range(first, min(first + limit, count + 1))
    )


def _drawn(document: pypdfium2.PdfDocument, number: int) -> Drawn:
    try:
        page = document[number - 1]
        width, height = page.get_size()
        scale = min(DOTS, (READ_PIXELS / max(width * height, 1.0)) ** 0.5)
        drawn = page.render(scale=scale, grayscale=True)
        seen: Image.Image = drawn.to_pil()
        return Drawn(seen, letters(page, drawn, seen))
    except (pypdfium2.PdfiumError, *_PROBLEMS) as error:
        raise Refused(f"has a page {number} that cannot be drawn. Save it anew.") from error


def _skew(grey: Image.Image) -> float:
    """By how many degrees a page has to be turned anticlockwise so that its rows are level: then the mean of each row
    of pixels differs most. 0 where turning helps little."""
    small = grey.resize((STRAIGHT, max(grey.height * STRAIGHT // grey.width, 1)))
    ink = ImageChops.difference(small, small.filter(ImageFilter.GaussianBlur(PAPER))).point(_IS_INK)
    # With room around it, so that no corner is lost: then what fills a page evenly, such as a photo, is level as it is.
    room = int(small.height * sin(radians(TRIED + 1))), int(small.width * sin(radians(TRIED + 1)))
    page = ImageOps.expand(ink, (room[0] // 2, room[1] // 2), 0)

    half = page.reduce(2)
    near = max(range(-TRIED, TRIED + 1), key=lambda angle: _level(half, angle))
    angle = max((near + n / 4 for n in range(-4, 5)), key=lambda angle: _level(page, angle))
    return angle if _level(page, angle) > 1.05 * _level(page, 0) else 0.0


def _level(page: Image.Image, angle: float) -> float:
    rows = page.rotate(angle, Image.Resampling.BILINEAR).resize((1, page.height), Image.Resampling.BOX)
    return ImageStat.Stat(rows).stddev[0]


def _unruled(grey: Image.Image) -> Image.Image:
    """Without the lines of a table, and what is pale beside them."""
    dark = grey.point([0] * DARK + [255] * (256 - DARK))
    wiped = grey.copy()
    for across, length in ((True, ROW_LINE), (False, COLUMN_LINE)):
        wiped.paste(255, mask=ImageOps.invert(_runs(dark, across, length).filter(ImageFilter.MinFilter(5))))
    return wiped.point([*range(PALE), *[255] * (256 - PALE)])


def _runs(dark: Image.Image, across: bool, length: int) -> Image.Image:
    """Of a picture in black and white, what is black for `length` pixels (a power of two) in one direction."""
    run, steps = dark, [2**n for n in range(length.bit_length() - 1)]
    for step in steps:
        run = ImageChops.lighter(run, _moved(run, across, step))
    for step in steps:
        run = ImageChops.darker(run, _moved(run, across, -step))
    return run


def _moved(picture: Image.Image, across: bool, by: int) -> Image.Image:
    """The picture so many pixels further, white where nothing came from."""
    moved = Image.new("L", picture.size, 255)
    moved.paste(picture, (by, 0) if across else (0, by))
    return moved


def _read(seen: Image.Image, want: Asked) -> list[list[Any]]:
    """Mode 6 takes a page for one block, mode 3 looks for columns."""
    try:
        told = pytesseract.image_to_data(
            seen,
            lang=want.language,
            config="--psm 6" if want.table else "--psm 3",
            timeout=SECONDS,
            output_type=pytesseract.Output.DICT,
        )
    except RuntimeError as error:  # both of its errors, and its timeout, are of this class
        raise Refused(
            "could not be read: Tesseract gave up on it. Take a smaller or a clearer picture."
        ) from error
    rows = zip(*(told[key] for key in ("text", "left", "top", "width", "height", "conf")), strict=True)
    lines = zip(told["block_num"], told["par_num"], told["line_num"], strict=True)
    return [
        [text, *place, round(float(sure) / 100, 2), [int(part) for part in line]]
        for (text, *place, sure), line in zip(rows, lines, strict=True)
        if text.strip() and float(sure) >= 0
    ]
