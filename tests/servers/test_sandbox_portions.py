"""Many files in one call of the sandbox: a slow or a bad one takes nothing from the others."""

from __future__ import annotations

import time
from typing import Any

import pytest

from servers.sandbox import calling
from servers.sandbox.calling import LATER, STOPPED, Job, Result
from servers.sandbox.portions import Portions
from servers.sandbox.protocol import in_turn


class Fake:
    """A sandbox that stops every call with a file called "bad", and tells of the others how far it came."""

    def __init__(self, **told: Any) -> None:
        self.calls = list[list[str]]()
        self.told = told

    def call(self, job: Job) -> Result:
        some = job.args["names"]
        self.calls.append(some)
        told = self.told if len(some) > 1 else {}
        return STOPPED if "bad" in some else Result(dict(told))


def results(
    monkeypatch: pytest.MonkeyPatch, fake: Fake, names: str, seconds: float = 25.0, at_once: int = 10
) -> list[tuple[str, Result]]:
    monkeypatch.setattr(calling, "SANDBOX", fake)

    def job(some: list[str]) -> Job:
        return Job("any", [b""] * len(some), {"names": some})

    return [
        (" ".join(some), result) for some, result in Portions(job, at_once, seconds).results(names.split())
    ]


def test_only_a_file_that_is_opened_alone_is_called_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake()
    found = results(monkeypatch, fake, "a b bad c")
    assert [some for some, result in found if result.stopped] == ["bad"]
    assert [some for some, _ in found] == ["a", "b", "bad", "c"]
    assert fake.calls[0] == ["a", "b", "bad", "c"]


def test_files_for_which_there_is_no_time_are_not_called_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    found = results(monkeypatch, Fake(), "bad b c", seconds=0, at_once=2)
    assert found == [("bad", STOPPED), ("b", LATER), ("c", LATER)]
    assert (LATER.begun, STOPPED.begun) == (False, True)


def test_a_call_for_which_there_was_no_turn_calls_no_file_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = Result(refused=calling.BUSY, stopped=True, begun=False)
    monkeypatch.setattr(Fake, "call", lambda *_: busy)
    assert results(monkeypatch, Fake(), "a b") == [("a b", busy)]


def test_files_that_a_task_did_not_come_to_are_given_to_the_next_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = results(monkeypatch, Fake(through=2), "a b c d e")
    assert [some for some, _ in found] == ["a b", "c d", "e"]


def test_files_that_a_task_puts_off_come_alone_behind_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    found = results(monkeypatch, Fake(late=[0]), "slow b slower d e", at_once=2)
    assert [some for some, _ in found] == ["slow b", "slower d", "e", "slow", "slower"]


@pytest.mark.parametrize(
    "told", [{"through": 0}, {"through": 3}, {"through": "1"}, {"late": [2]}, {"late": 1}, {"late": [None]}]
)
def test_a_task_that_tells_senseless_progress_counts_as_stopped(
    monkeypatch: pytest.MonkeyPatch, told: dict[str, Any]
) -> None:
    found = results(monkeypatch, Fake(**told), "a b")
    assert [some for some, _ in found] == ["a", "b"]
    fake = Fake()
    monkeypatch.setattr(Fake, "call", lambda *_: Result({"late": [0]}))
    assert results(monkeypatch, fake, "a") == [("a", STOPPED)]


def compute(number: int, data: bytes) -> int:
    ends = time.process_time() + (20 if data == b"slow" else 0)
    while time.process_time() < ends:
        pass
    return number


def test_a_file_that_takes_longer_than_its_share_is_left_and_the_others_are_told() -> None:
    assert in_turn([b"a", b"slow", b"c"], compute, 0.05, 60) == [0, None, 2]


def test_no_file_is_begun_when_the_time_of_all_is_over() -> None:
    assert in_turn([b"a", b"b"], compute, 1, 0) == [0]
