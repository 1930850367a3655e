"""A policy that counts which tools are judged by it."""

from __future__ import annotations

from collections.abc import Callable

from gate.rules.action import Json
from gate.rules.policy import Policy, Rule


class CountingPolicy:
    """`rule` is about no call, and is asked about each; `policy` has no other."""

    def __init__(self) -> None:
        self.judged = list[str]()
        self.rule = Rule("counts", (), about=self._about)
        self.policy = Policy("v", (self.rule,))

    def _about(self, full_name: str, _: Json) -> bool:
        self.judged.append(full_name)
        return False

    def anew(self, work: Callable[[], object]) -> set[str]:
        """The tools that are judged by this work."""
        self.judged.clear()
        work()
        return set(self.judged)
