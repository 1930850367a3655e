"""docs/architecture.md and docs/decisions say what is there: diagrams, modules, links and states of records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from gate.rules import action_states, task_states

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
DIAGRAM = re.compile(r"```mermaid\nstateDiagram-v2\n(.+?)```", re.DOTALL)
ARROW = re.compile(r"(\w+) --> (\w+): (\w+(?:, \w+)*)")
MODULE = re.compile(r"`((?:gate|views|storage|tools|handlers|bot|servers|workspace|tests)/[\w/]*(?:\.py)?)`")
DECISIONS = ROOT / "docs" / "decisions"
WITH = r"\[\d+\]\([\w-]+\.md\)"
RECORD = re.compile(
    rf"# (\d+)\. (.+)\n\nStatus: ((?:accepted|superseded by {WITH})(?:; amended by {WITH})?)[.:]"
)
LINK = re.compile(r"\]\(([^)#:]+)\)")
Arrow = tuple[str, str, str]  # from, event, to


def drawn(diagram: str) -> set[Arrow]:
    """The arrows of a Mermaid state diagram; one that leaves `any` leaves each state that another arrow leaves."""
    found, begins = set[Arrow](), r"\[\*\] --> \w+"
    for line in map(str.strip, diagram.splitlines()):
        arrow = ARROW.fullmatch(line)
        if arrow:
            found |= {(arrow[1], event, arrow[2]) for event in arrow[3].split(", ")}
        else:
            assert re.fullmatch(rf'({begins}|state ".+" as any)?', line), f"this is no arrow: {line}"
    leaving = {begin for begin, _, _ in found} - {"any"}
    each = {(one, event, end) for begin, event, end in found if begin == "any" for one in leaving}
    return each | {arrow for arrow in found if arrow[0] != "any"}


def written(arrows: Mapping[tuple[str, str], str]) -> set[Arrow]:
    """The arrows of a table of the code."""
    return {(str(begin), str(event), str(end)) for (begin, event), end in arrows.items()}


def test_the_page_is_short() -> None:
    assert len(PAGE.splitlines()) <= 200


def test_the_diagram_of_an_action_has_the_arrows_of_the_code() -> None:
    assert drawn(DIAGRAM.findall(PAGE)[0]) == written(action_states.ARROWS)


def test_the_diagram_of_a_task_has_the_arrows_of_the_code() -> None:
    assert drawn(DIAGRAM.findall(PAGE)[1]) == written(task_states.ARROWS)


def test_the_diagrams_begin_where_actions_and_tasks_do() -> None:
    assert re.findall(r"\[\*\] --> (\w+)", PAGE) == [
        action_states.State.PREPARED,
        task_states.TaskState.CLARIFYING,
    ]


def test_an_arrow_that_leaves_any_state_leaves_each_that_another_arrow_leaves() -> None:
    diagram = '[*] --> a\na --> b: go, run\nb --> d: end\nstate "any" as any\nany --> c: stop'
    assert drawn(diagram) == {
        ("a", "go", "b"),
        ("a", "run", "b"),
        ("b", "end", "d"),
        ("a", "stop", "c"),
        ("b", "stop", "c"),
    }


def test_every_module_and_folder_that_the_page_names_exists() -> None:
    named = [name for name in MODULE.findall(PAGE) if "NAME" not in name]
    assert len(named) > 50
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_page_that_the_page_links_to_exists() -> None:
    linked = LINK.findall(PAGE)
    assert linked
    assert [link for link in linked if not (ROOT / "docs" / link).is_file()] == []


def test_every_decision_says_whether_it_holds_and_is_listed_so() -> None:
    listed = []
    for file in sorted(DECISIONS.glob("0*.md")):
        record = RECORD.match(file.read_text("utf-8"))
        assert record, f"{file.name} has no number, title or status"
        number, title, status = record.groups()
        assert int(number) == int(file.name[:4])
        listed.append(f"| {number} | [{title}]({file.name}) | {status} |")
    rows = [line for line in (DECISIONS / "README.md").read_text("utf-8").splitlines() if "](0" in line]
    assert rows == listed


def test_every_page_that_a_decision_links_to_exists() -> None:
    files = sorted(DECISIONS.glob("*.md"))
    linked = [(file.name, link) for file in files for link in LINK.findall(file.read_text("utf-8"))]
    assert linked
    assert [(name, link) for name, link in linked if not (DECISIONS / link).is_file()] == []
