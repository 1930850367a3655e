"""Making documents: the same arguments give the same bytes, text survives every conversion, forms are filled."""

from __future__ import annotations

import io
import json
import os
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from servers.document import conversion, server
from servers.formats import html, markdown, office, tasks, word, word_writing
from servers.formats.blocks import Block, plain, unstyled
from servers.sandbox.protocol import Refused
from tests.servers import papers
from tests.servers.files import Clock
from tests.servers.gate_around_server import Gate, gated
from tests.servers.test_document_reading import documents


def test_markdown_comes_back_as_it_was_written() -> None:
    text = (
        papers.TEXT
        + "\n```\nx = 1\n\n# no heading\n```\n\n---\n\n1. one\n2. two\n  - deep\n\n###### six\n\n*a* `b` | c\n"
    )
    blocks = markdown.read(text)
    assert [
        block.kind for block in blocks
    ] == "heading paragraph item item table code break item item item heading paragraph".split()
    assert markdown.read(markdown.write(blocks)) == blocks
    assert [
        b for b in html.read(html.write(blocks, "t")) if b.kind in ("heading", "table", "code", "paragraph")
    ] == [b for b in blocks if b.kind in ("heading", "table", "code", "paragraph")]


@pytest.mark.parametrize(
    "text", ["", "|", "#", "- ", "```", "|-|", "**", "\0", "a|b\n-|-", "<b>&amp;</b>", "\u202e x"]
)
def test_no_text_is_too_odd_for_markdown(text: str) -> None:
    blocks = markdown.read(text)
    assert markdown.read(markdown.write(blocks)) == markdown.read(
        markdown.write(markdown.read(markdown.write(blocks)))
    )
    word.read(word_writing.write(blocks, ""))
    html.read(html.write(blocks, text))


def test_what_html_says_is_text_and_never_a_tag_again() -> None:
    page = html.write(
        [Block("paragraph", unstyled("<script>alert(1)</script> & **bold**"))], "</title><script>"
    )
    assert "<script>" not in page
    assert plain(html.read(page)[0].text) == "<script>alert(1)</script> & **bold**"


def test_tags_in_any_state_are_read(tmp_path: Path) -> None:
    for page in (
        "<table><td>a",
        "<li>a<li>b</ul></ul>",
        "</table></pre>",
        "<pre>a\n b</pre>",
        "<svg><p>x",
        "<h1>a<h2>b",
    ):
        html.read(page)
    nested = html.read("<ol><li>a<ul><li>b</li></ul></li><li>c</li></ol>")
    assert [(plain(b.text), b.level, b.number) for b in nested] == [
        ("a", 0, "1."),
        ("b", 1, ""),
        ("c", 0, "2."),
    ]


@pytest.mark.slow
async def test_a_document_is_made_and_says_what_was_written(tmp_path: Path) -> None:
    args: dict[str, Any] = {
        "content": papers.TEXT + "\n\n---\n\nÜber € – “done”\n",
        "title": "Q3 <draft> & more",
    }
    async with documents(tmp_path) as ask:
        made = await ask("create_pdf", path="a.pdf", **args)
        await ask("create_pdf", path="b.pdf", **args)
        await ask("create_docx", path="a.docx", **args)
        await ask("create_docx", path="b.docx", **args)
        text = (await ask("extract_text", path="a.pdf"))["text"]
        written = (await ask("extract_text", path="a.docx"))["text"]
        assert "must end in .pdf" in await ask.refused("create_pdf", path="a.txt", content="x")
        assert "a.pdf exists now" in (
            await ask.refused("create_pdf", path="a.pdf", content="x", expected_target="absent")
        ).replace(" has changed since it was shown: it", "")
        assert "these letters cannot be set here: द ह" in await ask.refused(
            "create_pdf", path="c.pdf", content="हद"
        )
        await ask("create_docx", path="c.docx", content="हद")
    assert made["pages"] == 2
    for part in ("Q3 <draft> & more", "Rent", "May", "deposit", "900", "Über € – “done”"):
        assert part in text
        assert part in written
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()
    assert (tmp_path / "a.docx").read_bytes() == (tmp_path / "b.docx").read_bytes()
    assert not (tmp_path / "c.pdf").exists()


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    "content",
    ["شُروط العَقد", "תְּנַאי החוזה", "अनुबंध की शर्तें", "    שלום = 1", "合同 ہے", "    合同 Š = 1 𠀋"],
)
async def test_what_a_pdf_cannot_set_rightly_is_refused_and_kept_by_a_docx(
    tmp_path: Path, content: str
) -> None:
    async with documents(tmp_path) as ask:
        refused = await ask.refused("create_pdf", path="a.pdf", content=content)
        await ask("create_docx", path="a.docx", content=content)
        read = (await ask("extract_text", path="a.docx"))["text"]
    assert "cannot be set here" in refused
    assert "Make a .docx file instead." in refused
    assert content.strip() in read
    assert not (tmp_path / "a.pdf").exists()


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    ("content", "font"),
    [
        ("# 合同条款\n\n租金每月 **九百** 欧元 (€ 900)，五月到期。", "STSong-Light"),
        ("# 契約条件\n\n家賃は月額 **900** ユーロです。契約は五月に終わります。", "HeiseiMin-W3"),
        ("# 계약 조건\n\n월세는 **900** 유로이며 5월에 끝난다.", "HYSMyeongJo-Medium"),
        ("| 名称 | 数量 |\n|---|---|\n| 桌子 | 3 |", "STSong-Light"),
        ("- Größe — 大小\n- Prix — 價格", "STSong-Light"),
        ("    打印 = 1", "STSong-Light"),
    ],
)
async def test_chinese_japanese_and_korean_are_set_in_fonts_of_the_reader(
    tmp_path: Path, content: str, font: str
) -> None:
    async with documents(tmp_path) as ask:
        await ask("create_pdf", path="a.pdf", content=content)
        read = (await ask("extract_text", path="a.pdf"))["text"]
    assert f"/{font}".encode() in (tmp_path / "a.pdf").read_bytes()
    signs = {c for c in content if c.isalnum()}
    assert signs - {*read} == set()


@pytest.mark.slow
async def test_a_line_without_spaces_ends_at_the_margin(tmp_path: Path) -> None:
    text = "租金每月九百欧元" * 40
    async with documents(tmp_path) as ask:
        await ask("create_pdf", path="a.pdf", content=text)
        read = (await ask("extract_text", path="a.pdf"))["text"]
    lines = [line for line in read.splitlines() if "租" in line]
    assert "".join(lines) == text
    assert max(map(len, lines)) < 60


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("source", ["a.md", "a.docx", "a.html", "a.pdf"])
def test_text_survives_every_conversion(source: str) -> None:
    kind = "." + source.partition(".")[2]
    data = tasks.make(papers.TEXT, kind, "")[1]
    for to in (".md", ".docx", ".html", ".txt", ".pdf"):
        _, made = tasks.convert(data, kind, to, "t")
        assert tasks.convert(data, kind, to, "t")[1] == made, "the same twice"
        text = tasks.text(made, to)[1].decode().replace("*", "")
        for part in ("Rent", "The lease ends in May.", "deposit", "900"):
            assert part in text, to


def test_tables_survive_every_conversion() -> None:
    rows = 'name,n,code\nAnn,1.5,007\n"Bob, jr.",-2,=1+1\n'
    for to in (".xlsx", ".json", ".tsv", ".md", ".html", ".docx"):
        _, made = tasks.convert(rows.encode(), ".csv", to, "t")
        assert tasks.convert(made, to, ".csv", "t")[1].decode() == rows, to
    records = json.loads(tasks.convert(rows.encode(), ".csv", ".json", "t")[1])
    assert records[0] == {"name": "Ann", "n": 1.5, "code": "007"}
    sheet = tasks.sheet(tasks.convert(rows.encode(), ".csv", ".xlsx", "t")[1], ".xlsx", "", 1, 9)[0]
    assert sheet["rows"][2] == ["Bob, jr.", -2, "=1+1"]


@pytest.mark.slow
async def test_formulas_in_a_table_that_becomes_text_are_said_on_the_card(tmp_path: Path) -> None:
    root = tmp_path / "files"
    root.mkdir()
    (root / "a.xlsx").write_bytes(tasks.convert(b"a,b\n=1+1,x\n", ".csv", ".xlsx", "")[1])
    async with gated(tmp_path / "logs", "document", server([root], Clock())) as gate:
        summaries = [
            (await gate.look("convert_format", source="a.xlsx", destination=f"a.{kind}")).preview.summary
            for kind in ("csv", "tsv", "json", "md")
        ]
    said = " (1 cell begins like a formula: a spreadsheet program may run it)"
    assert [one.endswith(said) for one in summaries] == [True, True, False, False]


async def test_a_change_that_is_too_long_to_be_shown_is_said_on_the_card(tmp_path: Path) -> None:
    root = tmp_path / "files"
    root.mkdir()
    (root / "a.txt").write_text("x\n")
    (root / "b.md").write_text("ab\n" * 40_000)
    async with gated(tmp_path / "logs", "document", server([root], Clock())) as gate:
        preview = (await gate.look("convert_format", source="a.txt", destination="b.md")).preview
    assert preview.summary == "Convert a.txt to b.md (what changes in it is too much to be shown)"
    assert preview.diff == "+a.txt\n+b.md (in place of the present one, which goes to the trash)\n"


def test_text_in_an_excel_file_is_never_a_formula() -> None:
    made = tasks.convert(b'a,b\n=1+1,"@SUM(A1)"\n', ".csv", ".xlsx", "")[1]
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml")
    assert b"<f" not in sheet.replace(b"<formatting", b"")
    assert b'<c r="A2" t="inlineStr"><is><t>=1+1</t>' in sheet


def test_a_cell_that_no_excel_file_holds_is_refused() -> None:
    whole = tasks.convert(b"a,b\n1," + b"x" * 32_767, ".csv", ".xlsx", "")[1]
    assert [*office.sheet_cells(whole, "")[1]][1] == [1, "x" * 32_767]
    with pytest.raises(Refused, match="a cell of more than 32,767 letters"):
        tasks.convert(b"a,b\n1," + b"x" * 32_768, ".csv", ".xlsx", "")


async def test_what_cannot_be_converted_is_said(tmp_path: Path) -> None:
    async with documents(tmp_path, a_md=b"no table", b_csv=b"a,b\n", c_json=b"[1]", d_png=b"x") as ask:
        for source, to, why in (
            ("a.md", "a.csv", "holds no tables"),
            ("a.md", "a.xyz", "not a kind of file that I know"),
            ("d.png", "a.md", "not a kind of file that I know"),
            ("c.json", "c.csv", "not a list of records"),
            ("a.md", "a.md", "the same file"),
            ("missing.md", "b.md", "does not exist"),
            ("a.md", "../b.txt", "cannot be part of a path"),
        ):
            assert why in await ask.refused("convert_format", source=source, destination=to)


async def test_pdfs_are_put_together_in_order(tmp_path: Path) -> None:
    async with documents(
        tmp_path, a_pdf=papers.pdf("one"), b_pdf=papers.pdf("two\n\n---\n\nthree"), c_pdf=b"%PDF"
    ) as ask:
        made = await ask("merge_pdfs", sources=["b.pdf", "a.pdf", "b.pdf"], destination="all.pdf")
        assert "file 2 is not a PDF" in await ask.refused(
            "merge_pdfs", sources=["a.pdf", "c.pdf"], destination="x.pdf"
        )
        assert "must end in .pdf" in await ask.refused(
            "merge_pdfs", sources=["a.pdf", "a.txt"], destination="x.pdf"
        )
    assert made["pages"] == 5
    pages = PdfReader(io.BytesIO((tmp_path / "all.pdf").read_bytes())).pages
    assert [page.extract_text().strip() for page in pages] == ["two", "three", "one", "two", "three"]
    assert not (tmp_path / "x.pdf").exists()


@pytest.mark.slow
async def test_a_form_is_filled_and_the_card_shows_each_field(tmp_path: Path) -> None:
    root = tmp_path / "sample"
    root.mkdir()
    (root / "f.pdf").write_bytes(papers.form("Ann"))
    values = {"name": "Bob Ünal", "agreed": True, "size": "large"}
    async with gated(tmp_path / "logs", "document", server([root], Clock())) as gate:
        done = await gate.do("fill_pdf_form", path="f.pdf", values=values, destination="g.pdf")
        assert (
            done.preview.diff
            == "-name: Ann\n+name: Bob Ünal\n-agreed: not ticked\n+agreed: ticked\n-size: small\n+size: large\n"
        )
        found = {
            one["name"]: one["value"] for one in (await gate("list_form_fields", path="g.pdf"))["fields"]
        }
        assert found == {"name": "Bob Ünal", "agreed": "Yes", "size": "large"}
        listed = [{"field": "name", "value": "Cyd"}, {"field": "agreed", "value": "no"}]
        again = await gate.do("fill_pdf_form", path="g.pdf", values=listed, destination="g.pdf")
        assert again.preview.diff == "-name: Bob Ünal\n+name: Cyd\n-agreed: ticked\n+agreed: not ticked\n"
        await refusals(gate)
    assert (root / "f.pdf").read_bytes() == papers.form("Ann")


async def refusals(gate: Gate) -> None:
    for values, why in (
        ({"nobody": "x"}, "no field “nobody”"),
        ({"size": "huge"}, "none of: small, large"),
        ({"agreed": "perhaps"}, "write yes or no"),
        ({"name": "Ann"}, "would change nothing"),
    ):
        assert why in await gate.blind("fill_pdf_form", path="f.pdf", values=values, destination="h.pdf")
        assert why in await gate.refused("fill_pdf_form", path="f.pdf", values=values, destination="h.pdf")


async def test_a_source_that_changed_since_is_not_used(tmp_path: Path) -> None:
    root = tmp_path / "sample"
    root.mkdir()
    (root / "a.md").write_text("one")
    async with gated(tmp_path / "logs", "document", server([root], Clock())) as gate:
        seen = await gate.look("convert_format", source="a.md", destination="a.txt")
        (root / "a.md").write_text("two")
        assert "changed since" in await gate.refused("convert_format", **seen.args)
        assert "`content`" in await gate.refused(
            "preview_document", make="create_pdf", call={"path": "a.pdf"}
        )
    assert not (root / "a.txt").exists()


async def test_files_are_merged_only_where_their_sizes_together_are_few_before_any_is_read(
    tmp_path: Path,
) -> None:
    """One file of 20 MB that takes no room on the disk, named 50 times, was read 50 times."""
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4")
    os.truncate(tmp_path / "a.pdf", conversion.LARGEST)
    async with documents(tmp_path) as ask:
        tracemalloc.start()
        refused = await ask.refused("merge_pdfs", destination="o.pdf", sources=["a.pdf"] * 50)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert "more than 40 MB together" in refused
    assert peak < conversion.LARGEST


async def test_a_file_that_grows_while_it_is_merged_is_counted_as_it_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4")
    os.truncate(tmp_path / "a.pdf", conversion.LARGEST)
    monkeypatch.setattr(conversion, "size_of", lambda place: 0)
    async with documents(tmp_path) as ask:
        refused = await ask.refused("merge_pdfs", destination="o.pdf", sources=["a.pdf"] * 50)
    assert "more than 40 MB together" in refused
