"""Invoices and receipts as scans and as PDF files, of which it is known what stands in each cell. Made from a seed."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFilter, ImageFont
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

Random = random.Random
GOODS = (
    "Blue pens|Printer paper A4|Desk lamp|Toner black|Stapler|Coffee beans|Whiteboard markers|USB cable 2 m|Monitor arm"
    "|Notebook lined|Window cleaning|Travel to Kiel|Server rent|Chair repair|Cable duct"
).split("|")
SHOPS = (
    "Kaufhaus Nord",
    "Corner Books Ltd",
    "Bakery Holm",
    "Hardware Miller",
    "Cafe Lindgren",
    "City Pharmacy",
)
UNEVEN = (70, 640, 800, 960)  # where the columns of a drawn table begin


@dataclass(frozen=True)
class Scan:
    """A file, and the rows that its table has."""

    kind: str
    name: str
    data: bytes
    rows: list[list[str]]


@dataclass(frozen=True)
class Receipt:
    """A picture, and what a reader takes from it: fields by name."""

    data: bytes
    fields: dict[str, str]


def table(r: Random) -> list[list[str]]:
    """A head and rows of goods, with an empty cell now and then."""
    rows = [["Item", "Qty", "Price", "Total"]]
    for name in r.sample(GOODS, r.randint(5, 9)):
        count, cents = r.randint(1, 40), r.randint(120, 24_900)
        shown = "" if r.random() < 0.1 else str(count)
        rows.append([name, shown, f"{cents / 100:.2f}", f"{count * cents / 100:,.2f}"])
    return rows


def scans(seed: int, rounds: int) -> list[Scan]:
    r = random.Random(seed)
    made = []
    for n in range(rounds):
        for kind, maker in KINDS.items():
            rows = table(r)
            name, data = maker(r, rows)
            made.append(Scan(kind, f"{n}-{kind.replace(' ', '-')}{name}", data, rows))
    return made


def _drawn(rows: list[list[str]], ruled: bool) -> Image.Image:
    page = Image.new("L", (1200, 220 + 70 * len(rows)), 255)
    draw, font = ImageDraw.Draw(page), ImageFont.load_default(30)
    draw.text((70, 40), "Invoice", 0, ImageFont.load_default(44))
    for y, row in enumerate(rows):
        for x, cell in zip(UNEVEN, row, strict=True):
            draw.text((x + 12, 150 + 70 * y), cell, 0, font)
    if ruled:
        edges = (*UNEVEN, 1140)
        for y in range(len(rows) + 1):
            draw.line([(edges[0], 132 + 70 * y), (edges[-1], 132 + 70 * y)], 0, 2)
        for x in edges:
            draw.line([(x, 132), (x, 132 + 70 * len(rows))], 0, 2)
    return page


def _worn(r: Random, page: Image.Image) -> tuple[str, bytes]:
    """As a scanner gives it: a little blurred, with grey dots."""
    page = page.filter(ImageFilter.GaussianBlur(0.6))
    for _ in range(300):
        page.putpixel((r.randrange(page.width), r.randrange(page.height)), r.randint(90, 230))
    out = io.BytesIO()
    page.save(out, "PNG")
    return ".png", out.getvalue()


def _skewed(r: Random, rows: list[list[str]]) -> tuple[str, bytes]:
    angle = r.choice([-2.0, -1.2, 1.2, 2.0])
    return _worn(r, _drawn(rows, ruled=True).rotate(angle, expand=True, fillcolor=255))


def _cropped(r: Random, rows: list[list[str]]) -> tuple[str, bytes]:
    page = _drawn(rows, ruled=True)
    return _worn(r, page.crop((60, 126, 1146, page.height - 10)))


def _grid_pdf(_: Random, rows: list[list[str]], ruled: bool = True) -> tuple[str, bytes]:
    out, styles = io.BytesIO(), getSampleStyleSheet()
    grid = Table(rows, colWidths=[230, 60, 80, 90])
    if ruled:
        grid.setStyle(TableStyle([("GRID", (0, 0), (-1, -1), 0.7, colors.black)]))
    SimpleDocTemplate(out, pagesize=A4, invariant=1).build(
        [Paragraph("Invoice", styles["Title"]), Spacer(1, 12), grid]
    )
    return ".pdf", out.getvalue()


KINDS: dict[str, Callable[[Random, list[list[str]]], tuple[str, bytes]]] = {
    "ruled scan": lambda r, rows: _worn(r, _drawn(rows, ruled=True)),
    "unruled scan": lambda r, rows: _worn(r, _drawn(rows, ruled=False)),
    "cropped scan": _cropped,
    "skewed scan": _skewed,
    "PDF with a grid": _grid_pdf,
    "PDF without lines": lambda r, rows: _grid_pdf(r, rows, ruled=False),
}
# How shops write the same: before the total, the number and the day.
WORDS = (
    ("TOTAL", "Receipt No", "%d.%m.%Y"), ("Total:", "Receipt:", "%Y-%m-%d"), ("Amount due", "Invoice no.", "%d %B %Y"),
    ("Summe EUR", "Beleg-Nr.", "%d.%m.%Y"), ("Total EUR", "Order #", "%d/%m/%Y"),
)  # fmt: skip


def receipts(seed: int, rounds: int, turned: int = 0) -> list[Receipt]:
    """Narrow slips of shops, each with its name, a number, a day, goods and a total. `turned`: degrees."""
    r = random.Random(seed)
    return [_receipt(r, WORDS[n % len(WORDS)], turned) for n in range(rounds)]


def _receipt(r: Random, words: tuple[str, str, str], turned: int) -> Receipt:
    from datetime import date

    total_word, number_word, form = words
    prices = [r.randint(90, 4_900) for _ in range(r.randint(3, 6))]
    number, day = (
        f"{r.choice(['R', 'B', '20'])}-{r.randint(1000, 99_999)}",
        date(2026, r.randint(1, 11), r.randint(1, 28)),
    )
    fields = {
        "shop": r.choice(SHOPS),
        "number": number,
        "day": day.strftime(form),
        "total": f"{sum(prices) / 100:.2f}",
    }
    lines = [
        ("", fields["shop"]),
        ("", "Main Street 4, 24103 Kiel"),
        ("", ""),
        (number_word, number),
        ("Date", fields["day"]),
        ("", ""),
    ]
    lines += [
        (name, f"{cents / 100:.2f}") for name, cents in zip(r.sample(GOODS, len(prices)), prices, strict=True)
    ]
    lines += [("", ""), (total_word, fields["total"]), ("", "Thank you")]
    return Receipt(_slip(r, lines, turned), fields)


# How invoices write the same: before the seller and the customer, the number, the day and the total.
INVOICES = (
    ("From", "Bill to:", "Invoice no.", "Invoice date", "Total due", "%d %B %Y"),
    ("Seller:", "Customer:", "Invoice number:", "Date:", "Amount due:", "%Y-%m-%d"),
    ("Absender", "Rechnung an", "Rechnungsnummer:", "Datum:", "Gesamtbetrag:", "%d.%m.%Y"),
)
FIRMS = (
    "Northwind Traders Ltd", "Bruckner & Partner GmbH", "Studio 54 Design", "Hafen Logistik AG", "Olive Tree Catering",
    "Dr. Anna Weber", "Meyer Elektrotechnik", "Blue Kettle Coffee Inc.",
)  # fmt: skip


def invoices(seed: int, rounds: int) -> list[Receipt]:
    """Invoices as scans, the seller and the customer below each other or side by side."""
    r = random.Random(seed)
    return [_invoice(r, INVOICES[n % len(INVOICES)], beside=n % 2 == 1) for n in range(rounds)]


def _invoice(r: Random, words: tuple[str, ...], beside: bool) -> Receipt:
    from datetime import date

    seller, customer = r.sample(FIRMS, 2)
    fields = {
        "seller": seller,
        "customer": customer,
        "number": f"INV-{r.randint(1000, 99_999)}",
        "day": date(2026, r.randint(1, 11), r.randint(1, 28)).strftime(words[5]),
        "total": f"{r.randint(10_000, 999_999) / 100:.2f} EUR",
    }
    page = Image.new("L", (1240, 900), 252)
    draw, font = ImageDraw.Draw(page), ImageFont.load_default(28)
    places = [(80, 170), (700, 170)] if beside else [(80, 170), (80, 350)]
    for (x, y), word, name in zip(places, words, (seller, customer), strict=False):
        for n, text in enumerate((word, name, f"Dock Street {r.randint(1, 99)}", "24103 Kiel")):
            draw.text((x, y + 38 * n), text, 0, font)
    for n, (word, field) in enumerate(zip(words[2:5], ("number", "day", "total"), strict=True)):
        draw.text((80, 560 + 46 * n), f"{word} {fields[field]}", 0, font)
    draw.text((80, 60), "INVOICE" if words[5] != "%d.%m.%Y" else "RECHNUNG", 0, ImageFont.load_default(44))
    return Receipt(_worn(r, page)[1], fields)


def _slip(r: Random, lines: list[tuple[str, str]], turned: int) -> bytes:
    page = Image.new("L", (760, 80 + 52 * len(lines)), 250)
    draw, font = ImageDraw.Draw(page), ImageFont.load_default(30)
    for n, (left, right) in enumerate(lines):
        y = 40 + 52 * n
        draw.text((40, y), left or right, 0, font)
        if left:
            draw.text((720 - draw.textlength(right, font), y), right, 0, font)
    return _worn(r, page.rotate(turned, expand=True, fillcolor=250))[1]
