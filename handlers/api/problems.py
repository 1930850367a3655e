"""Error responses by RFC 9457, with a sentence that says what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from gate.actions.button_press import Said

MARKED = re.compile(r"(?<![\w*])\*([^*\n]{1,80})\*(?![\w*])|`([^`\n]{1,80})`")
MENTION = re.compile(r"<(?:@|!subteam\^)([A-Z0-9_]+)>")
UNKNOWN_PLACE = (
    "Nothing of yours has the id in `after`. Give `next` of the page before as it was, or leave `after` out."
)
STATUS = {  # by the code of a refusal; 409 for other codes
    "gone": 404,
    "not_allowed": 403,
    "not_ours": 403,
    "needs_phrase": 422,
    "wrong_phrase": 422,
    "no_preview": 422,
    "unfit": 422,
    "empty": 422,
    "needed": 422,
    "denied": 403,
    "no_edit": 422,
    "no_tool": 503,
    "full": 422,
    "bad_url": 422,
}


class Wrong(BaseModel):
    """One thing that is wrong in a request, and where."""

    pointer: str = Field(description="where in the body, as a JSON pointer, or the name of a parameter")
    detail: str


class ProblemOut(BaseModel):
    """Why a request was not carried out (RFC 9457, application/problem+json)."""

    model_config = ConfigDict(title="Problem")

    type: str = Field(description="urn:countersign:problem:<code>")
    title: str
    status: int
    detail: str = Field(description="a plain sentence that says what to do")
    code: str
    errors: list[Wrong] = Field(default_factory=list)


class Problem(Exception):
    """An error response. `headers` are added to it."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        errors: Sequence[Wrong] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, plain_text(detail)
        self.errors, self.headers = tuple(errors), dict(headers or {})

    def content(self) -> dict[str, Any]:
        """The body of the response."""
        return ProblemOut(
            type=f"urn:countersign:problem:{self.code}",
            title=HTTPStatus(self.status).phrase,
            status=self.status,
            detail=self.detail,
            code=self.code,
            errors=list(self.errors),
        ).model_dump(mode="json")


def plain_text(text: str) -> str:
    """A sentence for Slack without mrkdwn and mentions."""
    return MENTION.sub(r"\1", MARKED.sub(lambda found: f"“{found[1] or found[2]}”", text))


def not_found(what: str) -> Problem:
    """The same 404 for what does not exist and for what the token may not see."""
    return Problem(404, "gone", f"There is no such {what} for this token.")


def require_ok(said: Said) -> Said:
    """Returns the result of a flow, or raises it as a Problem if the flow refused."""
    if said.ok:
        return said
    text = said.text or "This cannot be done as things stand. Look at it anew, then decide."
    raise Problem(STATUS.get(said.code, 409), said.code, text)


@contextmanager
def a_known_place() -> Iterator[None]:
    """Within it, a page is read from behind an item. Raises Problem where there is none with the id `after`."""
    try:
        yield
    except LookupError:
        raise Problem(400, "unknown_place", UNKNOWN_PLACE) from None
