"""The answer to an earlier request with the same key."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """`digest`: of what was asked then; `status` 0 while that is still under way."""

    digest: str
    status: int
    body: str
