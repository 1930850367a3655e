"""Configuration files: values as YAML 1.1 defines them, and every mistake with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tools import strict_config
from tools.strict_config import ConfigError, Document, Maybe, Section, Wrong, validate, within

MANIFESTS = Path(__file__).parents[2] / "manifests"


class Part(Section):
    size: Annotated[int, within(1, 9, whole=True)] = 1
    names: tuple[str, ...] = ()


class SampleFile(Section):
    flag: bool = False
    parts: dict[str, Part] = {}  # noqa: RUF012
    more: tuple[Part, ...] = ()
    one: Maybe[Part] = None
    anything: Any = None


@pytest.fixture(params=["libyaml", "python"])
def _loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(strict_config, "LOADER", yaml.SafeLoader)


def problems_of(text: str) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        Document.parse("f.yaml", text).validated(SampleFile)
    return list(raised.value.problems)


@pytest.mark.parametrize("path", sorted(MANIFESTS.rglob("*.yaml")), ids=lambda path: path.name)
def test_a_file_has_the_same_values_as_in_pyyaml(path: Path) -> None:
    assert Document.read(path).data == yaml.safe_load(path.read_text("utf-8"))


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=10,
    )
)
def test_the_output_of_pyyaml_is_read_back(data: Any) -> None:
    assert Document.parse("f.yaml", yaml.safe_dump(data)).data == data


@pytest.mark.usefixtures("_loader")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parts:\n  a: {sise: 2}", "line 2: “parts.a.sise” is not known; did you mean “size”."),
        ("more:\n- size: 2\n- xx: 2", "line 3: “more[1].xx” is not known; known are names, size."),
        ("one: {sze: 2}", "line 1: “one.sze” is not known; did you mean “size”."),
        ("one:", "line 1: “one” has no value: write one or remove the key."),
        ("more:\n- names:\n  - a\n  - 2", "line 4: “more[0].names[1]” must be text: put it into quotes."),
        ("flag: 1", "line 1: “flag” must be true or false."),
        ("names:\n\t- a", "line 2: a tab cannot indent a line: use blanks."),
        ("size: @home", "line 1: no value begins with “@”: put it into quotes."),
        ("size: `ls`", "line 1: no value begins with “`”: put it into quotes."),
        ("flag: true\nflag: true", "line 2: “flag” stands there twice: remove one."),
        ("anything:\n  a: [{b: 1,\n   b: 2}]", "line 3: “anything.a[0].b” stands there twice: remove one."),
        ("anything: {1: 2}", "line 1: “anything” has a key that is no text: put it into quotes."),
        ("anything: {[a]: 2}", "line 1: “anything” has a key that is no text: put it into quotes."),
        ("anything: 2020-01-01", "line 1: “anything” must be text, a number, true, false or null"),
        ("anything: !!int x", "line 1: “anything” must be text, a number, true, false or null"),
        ("anything: .inf", "line 1: “anything” must be text, a number"),
        ("size: 1:30", "line 1: “size” must be text, a number"),
        ("anything: 1:30.5", "line 1: “anything” must be text, a number"),
        ("anything: !!set {a}", "line 1: “anything” has a tag that is not known: remove it."),
        ("anything: !!python/name:os.system x", "line 1: “anything” must be text, a number"),
        ("anything: &a [1]\none: *a", "line 2: aliases (*name) are not used here: write it out."),
        ("anything: &a [*a]", "line 1: aliases (*name) are not used here: write it out."),
        ("anything: {<<: {a: 1}}", "line 1: “anything” has a key that is no text"),
    ],
)
def test_a_mistake_is_reported_with_file_line_and_place(text: str, expected: str) -> None:
    (problem,) = problems_of(text)
    assert problem.startswith(f"f.yaml, {expected}")
    assert problem.endswith(".")


@pytest.mark.usefixtures("_loader")
@pytest.mark.parametrize("text", ["[" * 200_000, "a: " + "{a: " * 200_000, "- " * 200_000])
def test_deep_nesting_is_refused_and_does_not_end_the_process(text: str) -> None:
    with pytest.raises(ConfigError, match=r"f\.yaml, line 1: it is nested too deep\."):
        Document.parse("f.yaml", text)


def test_all_mistakes_of_a_file_are_reported_at_once_in_line_order() -> None:
    found = problems_of("flagg: true\nparts:\n  a: {size: 0}\n  a: {size: 1}\nmore: 3\nflag: maybe")
    assert [problem.split(":")[0] for problem in found] == [f"f.yaml, line {n}" for n in (1, 3, 4, 5, 6)]


def test_a_validator_of_several_values_names_the_line_of_each() -> None:
    document = Document.parse("f.yaml", "parts:\n  a:\n    size: 1\n    names: []")
    error = document.error([(("parts", "a", "names"), "is empty"), (("parts", "a", "size"), "is odd")])
    assert error.problems == (
        "f.yaml, line 3: “parts.a.size” is odd.",
        "f.yaml, line 4: “parts.a.names” is empty.",
    )
    assert str(Wrong(((), "a"), ((), "b"))) == "a; b"


def test_mistakes_in_values_without_a_file_name_no_file() -> None:
    with pytest.raises(ConfigError) as raised:
        validate(SampleFile, {"more": [{"size": True}]})
    assert raised.value.problems == ("“more[0].size” must be a whole number from 1 to 9",)
