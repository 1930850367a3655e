"""What the OCR tools take and answer. How sure something is goes from 0 to 1."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

ImageArg = Annotated[
    str, Field(description="A .png, .jpg, .tif, .webp, .bmp or .gif file in the allowed folders.")
]
PdfArg = Annotated[str, Field(description="A .pdf file in the allowed folders.")]
EitherArg = Annotated[str, Field(description="A picture or a .pdf file in the allowed folders.")]
PageArg = Annotated[int, Field(ge=1, le=2_000, description="Which page, or which picture of several.")]
LanguageArg = Annotated[
    str,
    Field(
        pattern=r"^[a-z_]{3,12}(\+[a-z_]{3,12}){0,3}$",
        description="As Tesseract names it: eng, deu, or several: eng+deu.",
    ),
]


class PageText(BaseModel):
    page: int
    text: str
    confidence: float = Field(description="mean over its words; 0 where there are none")


class ImageText(PageText):
    path: str
    pages: int = Field(description="how many pictures are in the file")
    sha256: str
    note: str = ""


class PdfText(BaseModel):
    path: str
    pages: int = Field(description="in the whole file")
    read: list[PageText]
    next_page: int | None = Field(default=None, description="where to go on; none at the end")
    sha256: str
    note: str = ""


class FieldOf(BaseModel):
    """What stands behind a label on one line, such as “Total: 12.50”."""

    label: str
    value: str
    confidence: float


class Mention(BaseModel):
    kind: Literal["date", "amount", "email", "web address", "phone number", "bank account"]
    text: str
    line: str


class Structured(BaseModel):
    path: str
    page: int
    fields: list[FieldOf]
    mentions: list[Mention]
    confidence: float
    sha256: str
    truncated: bool
    note: str = ""


class TableRead(BaseModel):
    path: str
    page: int
    columns: int
    rows: list[list[str]] = Field(description="every row has as many cells as there are columns")
    confidence: float
    sha256: str
    truncated: bool
    note: str = ""
