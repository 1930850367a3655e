"""The answer to an earlier request with the same key."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """`digest`: of what was asked then; `status` 0 while that is still under way. `body` "" with a status: the answer
    was not kept."""

    digest: str
    status: int
    body: str
