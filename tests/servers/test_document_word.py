"""Word files as lawyers send them: nothing of one is dropped, and what changed between two is told word by word."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from docx import Document
from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from openpyxl import Workbook

from servers.formats import html, markdown, tasks, word, word_writing
from servers.formats.blocks import plain, to_plain
from tests.cpu_time import within
from tests.servers.figures import told
from tests.servers.test_document_reading import documents

NAMES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:v="urn:schemas-microsoft-com:vml"'
)
BY = 'w:author="Ann" w:date="2026-03-01T10:00:00Z"'


def r(text: str, more: str = "") -> str:
    return f'<w:r w:rsidR="00A1">{more}<w:t xml:space="preserve">{text}</w:t></w:r>'


def came(text: str) -> str:
    return f'<w:ins w:id="1" {BY}>{r(text)}</w:ins>'


def gone(text: str) -> str:
    return f'<w:del w:id="2" {BY}><w:r><w:delText xml:space="preserve">{text}</w:delText></w:r></w:del>'


def p(*parts: str, props: str = "") -> str:
    return f"<w:p><w:pPr>{props}</w:pPr>{''.join(parts)}</w:p>"


def numbered(level: int, *parts: str) -> str:
    return p(*parts, props=f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="77"/></w:numPr>')


def control(inside: str) -> str:
    return f'<w:sdt><w:sdtPr><w:alias w:val="x"/></w:sdtPr><w:sdtContent>{inside}</w:sdtContent></w:sdt>'


def cell(*parts: str, props: str = "") -> str:
    return f"<w:tc><w:tcPr>{props}</w:tcPr>{p(*parts)}</w:tc>"


BOX = (
    "<w:r><mc:AlternateContent><mc:Choice Requires='wps'><w:drawing><wp:anchor><wp:docPr id='1' name='Box'/><a:graphic>"
    f"<a:graphicData><wps:wsp><wps:txbx><w:txbxContent>{p(r('Strictly confidential'))}</w:txbxContent></wps:txbx></wps:wsp>"
    "</a:graphicData></a:graphic></wp:anchor></w:drawing></mc:Choice><mc:Fallback><w:pict><v:shape><v:textbox>"
    f"<w:txbxContent>{p(r('Strictly confidential'))}</w:txbxContent></v:textbox></v:shape></w:pict></mc:Fallback>"
    "</mc:AlternateContent></w:r>"
)
PICTURE = "<w:r><w:drawing><wp:inline><wp:docPr id='2' name='Picture 2' descr='Plan of the flat'/></wp:inline></w:drawing></w:r>"
WIDE = '<w:gridSpan w:val="2"/>'
BODY: Sequence[str] = (
    p(r("Lease"), props='<w:pStyle w:val="Title"/>'),
    p(r("Rent is "), gone("900"), came("950"), r(" EUR per mo"), '<w:proofErr w:type="spellStart"/>', r("nth.")),
    p(r("The tenant is "), control(r("Bob Builder")), r(", born in 1990."), BOX),
    control(p(r("Keys: three"), '<w:r><w:footnoteReference w:id="7"/></w:r>', r("."))),
    p(r("Pets are "), came("not "), r("allowed"), '<w:r><w:commentReference w:id="0"/></w:r>'),
    numbered(0, r("Deposit")),
    numbered(1, r("Three rents, see "), '<w:hyperlink r:id="rIdLink">' + r("the act") + "</w:hyperlink>"),
    numbered(1, gone("Two rents")),
    numbered(0, r("Notice")),
    p(r("One month")) .replace("<w:pPr></w:pPr>", f'<w:pPr><w:rPr><w:del w:id="9" {BY}/></w:rPr></w:pPr>'),
    p(r(" of notice.")),
    p(PICTURE),
    f'<w:tbl><w:tr>{cell(r("what"))}{cell(r("sum"))}</w:tr>{control("<w:tr>" + cell(r("garage")) + control(cell(r("50"))) + "</w:tr>")}'
    f'<w:tr><w:trPr><w:ins w:id="3" {BY}/></w:trPr>{cell(came("garden"))}{cell(came("10"))}</w:tr>'
    f'<w:tr>{cell(r("both together"), props=WIDE)}</w:tr></w:tbl>',
    p('<w:moveFrom w:id="4" w:author="Ann">' + r("Signed here.") + "</w:moveFrom>"),
    p('<w:fldSimple w:instr="DATE">' + r("1 March") + "</w:fldSimple>", r(" "), "<w:r><w:sym w:font='Wingdings' w:char='F0FC'/></w:r>"),
    p('<w:moveTo w:id="5" w:author="Ann">' + r("Signed here.") + "</w:moveTo>"),
)  # fmt: skip
LEGAL = (
    '<w:abstractNum w:abstractNumId="77"><w:lvl w:ilvl="0"><w:start w:val="4"/><w:numFmt w:val="decimal"/><w:lvlText w:val="§ %1"/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1.%2)"/></w:lvl></w:abstractNum>'
)


def contract(*body: str) -> bytes:
    """A file with all that Word puts into one: controls, a box, notes, numbers, and changes nobody accepted."""
    document = Document()
    for node in reversed(parse_xml(f"<w:body {NAMES}>{''.join(body or BODY)}</w:body>")):
        document.element.body.insert(0, node)
    numbering = document.part.numbering_part.element
    numbering.insert(0, parse_xml(LEGAL.replace("<w:abstractNum ", f"<w:abstractNum {NAMES} ", 1)))
    numbering.append(parse_xml(f'<w:num {NAMES} w:numId="77"><w:abstractNumId w:val="77"/></w:num>'))
    document.sections[0].header.paragraphs[0].text = "Lease no. 12"
    document.sections[0].footer.paragraphs[0].text = "Page 1 of 3"
    document.add_comment(document.paragraphs[0].runs, text="Ask the landlord", author="Cleo", initials="C")
    note = (
        f'<w:footnotes {NAMES}><w:footnote w:id="7">{p(r(" One for the cellar."))}</w:footnote></w:footnotes>'
    )
    part = Part(
        PackURI("/word/footnotes.xml"), CONTENT_TYPE.WML_FOOTNOTES, note.encode(), document.part.package
    )
    document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
    document.part.rels.add_relationship(
        RELATIONSHIP_TYPE.HYPERLINK, "https://example.org/act", "rIdLink", True
    )
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


ALWAYS = """Header: Lease no. 12|Lease|The tenant is Bob Builder, born in 1990.|Strictly confidential|Keys: three[1].|
§ 4 Deposit|4.a) Three rents, see the act (https://example.org/act)|§ 5 Notice|[picture: Plan of the flat]|what\tsum|
garage\t50|both together|1 March \uf0fc|Footer: Page 1 of 3|[1] One for the cellar.|Cleo: Ask the landlord""".split(
    "|"
)
VIEWS = {
    "accepted": ["Rent is 950 EUR per month.", "Pets are not allowed[", "One month of notice.", "garden\t10"],
    "rejected": ["Rent is 900 EUR per month.", "Pets are allowed[", "One month\n\nof notice.", "4.b) Two rents"],
    "both": [
        "Rent is {--900--}{++950++} EUR per month.", "Pets are {++not ++}allowed[", "4.b) {--Two rents--}",
        "{--Signed here.--}", "{++Signed here.++}", "{++garden++}\t{++10++}",
    ],
}  # fmt: skip


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("changes", VIEWS)
def test_nothing_of_a_word_file_is_dropped_in_any_view(changes: str) -> None:
    facts, text = tasks.text(contract(), ".docx", changes)
    for part in (*ALWAYS, *VIEWS[changes]):
        assert part.strip("\n") in text.decode(), part
    assert text.decode().count("Strictly confidential") == 1
    assert text.decode().count("Signed here.") == (2 if changes == "both" else 1)
    assert facts["found"]["inserted"] >= 4
    assert facts["found"]["deleted"] >= 4
    assert facts["found"]["comments"] == 1


def test_the_page_about_the_tools_says_how_many_pieces_are_held_against_the_text() -> None:
    pieces = len(ALWAYS) + sum(map(len, VIEWS.values()))
    assert told("document: text of a Word file") == f"{pieces} of {pieces} pieces of text"


@pytest.mark.slow
async def test_changes_that_nobody_accepted_are_said_by_the_tools(tmp_path: Path) -> None:
    clean = contract(p(r("Rent is 900 EUR per month.")), p(r("No pets.")))
    changed = contract(p(r("Rent is "), gone("900"), came("950"), r(" EUR per month.")), p(r("No pets.")))
    async with documents(tmp_path, a_docx=clean, b_docx=changed) as ask:
        read = await ask("extract_text", path="b.docx")
        accepted = await ask("diff_documents", first="a.docx", second="b.docx")
        rejected = await ask("diff_documents", first="a.docx", second="b.docx", changes="rejected")
    assert "Rent is {--900--}{++950++} EUR" in read["text"]
    assert (
        read["note"] == "b.docx has tracked changes (1 added, 1 removed), shown as {++come++} and {--gone--}."
    )
    assert "~Rent is [-900-]{+950+} EUR per month." in accepted["difference"]
    assert (accepted["changed"], accepted["added"], accepted["removed"]) == (1, 0, 0)
    assert (
        accepted["note"] == "b.docx has tracked changes (1 added, 1 removed), read as if all were accepted."
    )
    assert rejected["same_text"]


def test_a_changed_word_is_shown_in_its_paragraph_once() -> None:
    old = "# Lease\n\nThe rent of 900 EUR is due on the first day of each month.\n\nPets are allowed.\n"
    new = "# Lease\n\nA new paragraph.\n\nThe rent of 950 EUR is due on the third day of each month.\n\nPets are allowed.\n"
    counts, shown = tasks.compared(old, new)
    assert counts == {"added": 2, "removed": 0, "changed": 1}
    assert "~The rent of [-900-]{+950+} EUR is due on the [-first-]{+third+} day of each month." in shown
    assert tasks.compared(old, old) == ({"added": 0, "removed": 0, "changed": 0}, "")


RICH = """# Report *now*

See [the page](https://example.org/a_(b)), ![a cat](cat.png) and ~~not~~ **bold *and italic* text**.[^1]

> A quote
> of two lines

> - quoted item

1. one
2. two

    more of two

    - deep

3. three

```
x = "`"
```

[ref]: https://example.org/ref

By [reference][ref], `code` and snake_case_name, 2 * 3 * 4, AT&amp;T, <b>.

| a \\| b | **c** |
| --- | --- |
| 1 | [x](https://example.org) |

[^1]: What stands below.
[^two]: https://example.org
"""


def test_changed_paragraphs_next_to_each_other_are_shown_once_each_and_what_is_between_them_stays() -> None:
    old = "\n\n".join(
        f"Paragraph {n} says that the lease ends in May and that keys are returned." for n in range(9)
    )
    new = re.sub(r"(Paragraph [3456] says that the lease ends in )May", r"\1June", old)
    counts, shown = tasks.compared(old, new)
    assert counts == {"added": 0, "removed": 0, "changed": 4}
    assert shown.count("[-May-]{+June+}") == 4


def test_markdown_is_read_as_commonmark_and_comes_back_the_same() -> None:
    blocks = markdown.read(RICH)
    text = to_plain(blocks)
    for part in (
        "Report now", "See the page (https://example.org/a_(b)), [picture: a cat] (cat.png) and ~~not~~ bold and italic text.[1]",
        "> A quote\n> of two lines", "> - quoted item", "2. two", "3. three", "By reference (https://example.org/ref)",
        "snake_case_name, 2 * 3 * 4, AT&T, <b>.", "a | b\tc", "[1] What stands below.", "[two] https://example.org",
    ):  # fmt: skip
        assert part.replace(" (cat.png)", "") in text.replace(" (cat.png)", ""), part
    assert markdown.read(markdown.write(blocks)) == blocks


@pytest.mark.parametrize("to", [".docx", ".html"])
def test_links_emphasis_and_lists_survive_word_and_html(to: str) -> None:
    made = tasks.make(RICH, to, "")[1]
    blocks = word.read(made)[0] if to == ".docx" else html.read(made.decode())
    styles = {(run.text, style) for block in blocks for run in block.text for style in run.style}
    assert {("bold ", "bold"), ("not", "struck"), ("code", "code"), ("and italic", "italic")} <= styles
    links = {run.link for block in blocks for run in block.text} - {""}
    assert {"https://example.org/a_(b)", "https://example.org/ref"} <= links
    assert [b.number for b in blocks if b.kind == "item" and b.number] == ["1.", "2.", "3."]
    assert any(b.quote and "A quote" in plain(b.text) for b in blocks)


def test_a_second_list_in_word_begins_anew() -> None:
    made = word_writing.write(markdown.read("1. a\n2. b\n\nBetween.\n\n1. c\n\n7. d\n"), "")
    assert [b.number for b in word.read(made)[0] if b.kind == "item"] == ["1.", "2.", "1.", "7."]


def test_every_sheet_of_a_workbook_is_read() -> None:
    book = Workbook()
    book.active.append(["Ann", 1])
    book.create_sheet("Costs").append(["Bob", 2])
    out = io.BytesIO()
    book.save(out)
    assert tasks.text(out.getvalue(), ".xlsx")[1].decode() == "Sheet\n\nAnn\t1\n\nCosts\n\nBob\t2\n"
    facts, made = tasks.convert(out.getvalue(), ".xlsx", ".csv", "")
    assert (facts["left_out"], made) == (["Costs"], b"Ann,1\n")
    assert b"Bob" in tasks.convert(out.getvalue(), ".xlsx", ".md", "")[1]


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("text", ["*a " * 20_000, "[" * 60_000, "> " * 30_000, "- " * 30_000, "`" * 59_999, "a|" * 30_000, "![[" * 20_000, "_a_*" * 15_000])  # fmt: skip
def test_no_markdown_keeps_the_reader_busy_for_long(text: str) -> None:
    with within(10, time.process_time):
        markdown.write(markdown.read(text))


def alternatives(*choices: str, fallback: str) -> str:
    told = "".join(f"<mc:Choice Requires='zz'>{choice}</mc:Choice>" for choice in choices)
    return f"<mc:AlternateContent><!-- one of these -->{told}<mc:Fallback>{fallback}</mc:Fallback></mc:AlternateContent>"


def boxed(text: str) -> str:
    return f"<w:pict><v:shape><v:textbox><w:txbxContent>{p(r(text))}</w:txbxContent></v:textbox></v:shape></w:pict>"


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (
            p(r("The fee: "), alternatives(r("nothing"), fallback=r("900 EUR")), r(".")),
            ["The fee: nothing [another program shows instead: 900 EUR]."],
        ),
        (p(alternatives(fallback=r("900 EUR"))), ["900 EUR"]),
        (
            p(alternatives("", fallback=r("900 EUR"))),
            ["[another program shows instead: 900 EUR]"],
        ),
        (
            alternatives(p(r("We pay")), fallback=p(r("They pay")) + p(r("all"))),
            ["We pay", "[another program shows instead:]", "They pay", "all", "[until here]"],
        ),
        (
            p(r("See:"), f"<w:r>{alternatives(boxed('free'), fallback=boxed('900 EUR'))}</w:r>"),
            ["See:", "free", "[another program shows instead:]", "900 EUR", "[until here]"],
        ),
        (p(alternatives(r("the same"), r(" the") + r(" same "), fallback=r("the same"))), ["the same"]),
        (p(alternatives(r("shown"), fallback="")), ["shown"]),
    ],
)
def test_alternatives_that_say_something_else_are_all_read(body: str, lines: list[str]) -> None:
    said = to_plain(word.read(contract(p(r("Lease")), body))[0]).split("\n")
    inside = said[
        next(n for n, line in enumerate(said) if line.startswith("Lease[")) + 1 : said.index(
            "Footer: Page 1 of 3"
        )
    ]
    assert [line for line in inside if line] == lines
