"""What the document tools take and answer."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from servers.filesystem.models import Item, Sha256, Written

Cell = str | int | float | bool | None
DocumentArg = Annotated[
    str,
    Field(
        description="A .pdf, .docx, .xlsx, .csv, .tsv, .json, .html, .md or .txt file in the allowed folders."
    ),
]
PdfArg = Annotated[str, Field(description="A .pdf file in the allowed folders.")]
NewArg = Annotated[str, Field(description="Where the new file goes; one that is there goes to the trash.")]
TitleArg = Annotated[str, Field(max_length=200, description="A title, put on top. Empty: none.")]
ContentArg = Annotated[
    str,
    Field(
        min_length=1, max_length=60_000, description="Text with Markdown headings, lists, tables, **bold**."
    ),
]
SourcesArg = Annotated[list[str], Field(min_length=2, max_length=50, description="PDF files, in this order.")]


class FieldValue(BaseModel):
    model_config = ConfigDict(extra="forbid")

    field: str
    value: str | bool


ValuesArg = Annotated[
    dict[str, str | bool] | list[FieldValue],
    Field(
        min_length=1,
        max_length=500,
        description="Field to value, for a box yes or no; or a list of {field, value}. See list_form_fields.",
    ),
]
ExpectedTarget = Annotated[
    Sha256 | None,
    Field(description="SHA-256 of what the new file takes the place of, or “absent”. Empty: anything."),
]
ExpectedMade = Annotated[Sha256 | None, Field(description="SHA-256 the new file must have. Empty: any.")]


class Extract(BaseModel):
    path: str
    pages: int = Field(description="of a PDF; 0 where there are none")
    text: str
    offset: int = Field(description="first character shown")
    next_offset: int | None = Field(default=None, description="where to go on reading; none at the end")
    characters: int = Field(description="in the whole document")
    sha256: str
    note: str = ""


class Comparison(BaseModel):
    first: str
    second: str
    same_bytes: bool
    same_text: bool
    added: int = Field(description="lines")
    removed: int
    difference: str = Field(description="as diff -u prints it")
    truncated: bool


class Sheet(BaseModel):
    path: str
    sheet: str
    sheets: list[str] = Field(description="names of all sheets; empty for a text file")
    first_row: int
    rows: list[list[Cell]]
    next_row: int | None = Field(default=None, description="where to go on reading; none at the end")
    note: str = ""


class FormField(BaseModel):
    name: str
    kind: Literal["text", "checkbox", "choice", "signature", "other"]
    value: str
    choices: list[str]


class Form(BaseModel):
    path: str
    fields: list[FormField]
    truncated: bool = False


class Plan(BaseModel):
    """The file that would be made."""

    path: str
    items: list[Item] = Field(description="what goes in, and what comes out")
    difference: str = Field(description="what changes, line by line, where it can be told so")
    expected_target: Sha256 = Field(description="of what is there now")
    expected_made: Sha256 = Field(description="of the new file")
    pages: int
    size: int


class Made(Written):
    pages: int = Field(description="of a PDF; 0 where there are none")


class Call(BaseModel):
    """Arguments of a tool as a preview is given them."""

    model_config = ConfigDict(extra="forbid")


class CreateCall(Call):
    path: NewArg
    content: ContentArg
    title: TitleArg = ""


class ConvertCall(Call):
    source: DocumentArg
    destination: NewArg


class MergeCall(Call):
    sources: SourcesArg
    destination: NewArg


class FillCall(Call):
    path: PdfArg
    values: ValuesArg
    destination: NewArg


CallArg = Annotated[dict[str, Any], Field(description="The arguments of that tool.")]
MakeArg = Annotated[
    Literal["create_pdf", "create_docx", "convert_format", "merge_pdfs", "fill_pdf_form"],
    Field(description="The tool whose result is to be shown."),
]
