"""What is shown is all there is: every leaf is found again, or the card says that it is not on it."""

import json
import re
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gate.rules.action import Affected, Fact, Preview, Verdict
from gate.rules.canonical_json import leaves
from gate.rules.previews import facts, text_of
from tests.cpu_time import seconds, within
from tests.views.samples import MOVE, action, opened, sent, shown
from views import modals
from views.block_kit import parts, weight
from views.card import card, confirmable
from views.preview import fits, named, reviewable, whole

ESCAPE = re.compile(r"\\u\{([0-9a-f]+)\}")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=200),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=25,
)


def unseen(text):
    return ESCAPE.sub(lambda m: chr(int(m[1], 16)), text)


def found(elements):
    """The facts in a whole preview, read back from its JSON alone."""
    read, label = [], None
    for element in elements:
        texts = [e["text"] for e in element["elements"]]
        if element["type"] == "rich_text_preformatted":
            if label is None:
                read += [tuple(row.split(None, 1)) for row in texts[0].split("\n")]
            else:
                read[-1] = (label, read[-1][1] + texts[0])
        elif (ours := element["elements"][0]["style"].get("italic")) and texts == ["No arguments"]:
            read.append(("", "{}"))
        else:
            label = "" if ours else texts[0]
            read.append((label, ""))
    return sorted((unseen(label), unseen(value)) for label, value in read)


@pytest.mark.slow
@given(st.dictionaries(st.text(max_size=20), JSON, max_size=6))
@example({"No arguments": []})
@settings(max_examples=150)
def test_every_leaf_is_recoverable_from_what_is_shown(args):
    expected = sorted((path, text_of(value)) for path, value in leaves(args))
    assert found(whole(Preview("s", "v", facts(args)))) == expected


@given(st.dictionaries(st.text(max_size=8), st.text(min_size=500, max_size=9000), min_size=1, max_size=3))
@example({"expected_top": "a" * 600})
@settings(max_examples=25)
def test_a_long_preview_is_shown_by_the_card_or_by_the_modal(args):
    asked = action(
        Preview("s", "Write", facts(args)), verdict=Verdict.TYPED, phrase="write 7F3K", cls="destructive"
    )
    assert confirmable(asked) == reviewable(asked)
    sent(card(asked))
    view = opened(modals.review(asked))
    if not reviewable(asked):
        assert "submit" not in view
        return
    pages = [b for b in view["blocks"] if b["type"] == "rich_text"][1:]
    elements = [e for b in pages for e in b["elements"]]
    end = next(i for i, e in enumerate(elements) if shown(e) == "To go on, type exactly:")
    assert found(elements[:end]) == sorted((named(path), text_of(value)) for path, value in leaves(args))


def test_a_value_that_does_not_fit_is_head_tail_and_length_and_never_one_click():
    value = "a" * 6000 + "b" * 6000
    asked = action(Preview("Write x", "Write", (Fact("content", value),)))
    assert not fits(asked)
    made = sent(card(asked))
    told = shown(made.blocks)
    assert "a" * 700 in told
    assert "b" * 300 in told
    assert "11,000 more characters" in told
    assert '"confirm"' not in json.dumps(made.blocks)


def test_the_modal_shows_what_the_card_could_not():
    asked = action(
        Preview("Write x", "Write", (Fact("content", "line\n" * 10_000),)),
        verdict=Verdict.TYPED,
        phrase="write 7F3K",
    )
    made = sent(card(asked))
    assert "This card cannot show all of it" in shown(made.blocks)
    view = opened(modals.review(asked))
    assert shown(view["blocks"]).count("line") >= 10_000
    assert view["submit"]["text"] == "Write"


@pytest.mark.parametrize("value", ["\u200b" * 10_900, "é" * 10_900, "𝔘" * 5_400, '"' * 32_000, "x" * 65_000])
def test_arguments_of_64_kib_can_always_be_reviewed_when_they_are_one_text(value):
    assert len(json.dumps(value)) <= 66_000
    asked = action(Preview("s", "v", (Fact("content", value),)), verdict=Verdict.TYPED, phrase="p")
    assert reviewable(asked)
    opened(modals.review(asked))


# promise: VERB-12
def test_what_even_the_modal_cannot_show_has_no_way_to_a_yes():
    many = tuple(Fact(f"ids[{i}]", "1") for i in range(30_000))
    asked = action(Preview("s", "v", many), verdict=Verdict.TYPED, phrase="p")
    assert not reviewable(asked)
    made = sent(card(asked))
    assert "29,988 more arguments" in shown(made.blocks)
    assert '"review"' not in json.dumps(made.blocks)
    assert "submit" not in opened(modals.review(asked))
    opened(modals.full(asked))


@pytest.mark.parametrize(
    "preview",
    [
        Preview("s", "v", tuple(Fact("a b " * 20 + str(i), "") for i in range(900))),
        Preview("s", "v", (Fact("k" * 60_000, "1"),)),
        Preview("s", "v", (Fact("a", "1"),), diff="+x\n" * 40_000),
        Preview("s", "v", (Fact("a", "1"),), affected=tuple(Affected("n" * 90, i) for i in range(1000))),
    ],
)
def test_a_preview_of_any_shape_is_drawn_within_the_limits(preview):
    for verdict in (Verdict.CONFIRM, Verdict.TYPED):
        asked = action(preview, verdict=verdict, phrase="p")
        sent(card(asked))
        opened(modals.review(asked))
        opened(modals.full(asked))


def test_deciding_what_fits_is_cheap():
    asked = action(Preview("s", "v", (Fact("content", "é\u200b" * 11_000),), diff="+é\n" * 20_000))
    with within(1.0):  # about 0.1 s alone; the bound is for a loaded machine
        fits(asked)
        reviewable(asked)


def test_nothing_is_drawn_beyond_where_a_preview_does_not_fit():
    asked = action(Preview("s", "v", tuple(Fact(f"long label {i} " + "x" * 300, "y") for i in range(5_000))))
    with patch("views.preview.weight", wraps=weight) as weighed:
        assert not fits(asked)
        assert weighed.call_count < 100
        assert not reviewable(asked)
        assert weighed.call_count < 2_000


def test_a_long_word_about_one_thing_does_not_widen_the_rows_of_all():
    """20 kB of a server's answer held the event loop for 3.4 s."""
    things = (Affected("a", 1, "k" * 20_000, "m" * 20_000), *(Affected(f"{i}", 1, "k") for i in range(999)))
    assert sum(map(weight, whole(Preview("s", "v", (), affected=things)))) < 500_000


def test_a_text_is_cut_into_pages_in_no_more_time_than_its_length():
    assert "".join(parts("ab\n" * 3_000)) == "ab\n" * 3_000
    assert (
        seconds(lambda: list(parts("x" * 8_000_000)), 2, 0.3) < 0.3
    )  # 2 s where the rest was copied for each page


def test_an_edit_shows_old_and_new_values():
    edited = Preview("s", "Write", (Fact("path", "b.md", old="a.md"), Fact("note", "", old="gone")))
    told = shown(whole(edited))
    assert told == "path  b.md\nBefore the edit:\npath  a.md\nnote before the edit\ngone\nnote now: empty"


def test_an_edited_text_that_fits_no_row_stands_below_what_it_was():
    told = shown(whole(Preview("s", "Write", (Fact("content", "one\ntwo", old="one"),))))
    assert told == "content before the edit\none\ncontent now\none\ntwo"


def test_what_changes_stands_before_how_it_is_called():
    told = shown(
        whole(Preview("s", "v", (Fact("path", "a.md"),), "-a\n+b\n", (Affected("a.md", 2, "file"),)))
    )
    assert told == "What changes\n-a\n+b\n\nAffected: 1 file, 2 B\n2 B  file  a.md\nArguments\npath  a.md"


def test_what_the_recipe_added_is_marked():
    told = shown(whole(Preview("s", "v", (Fact("path", "a.md"), Fact("hash", "1", added=True)))))
    assert told == "path  a.md\nLooked up for this, and checked again before it runs:\nhash  1"


def test_affected_things_are_listed_with_sizes_and_a_total():
    things = (Affected("a.md", 4100, "file", "2026-11-01"), Affected("b", None, "folder"), Affected("c", 12))
    assert shown(whole(Preview("s", "v", (), affected=things))).split("\n") == [
        "Affected: 3 things, 4.1 KB in all, 1 of unknown size",
        "4.1 KB  2026-11-01  file    a.md",
        "     ?              folder  b",
        "  12 B                      c",
    ]


@pytest.mark.parametrize(
    "folder", ["reports", "reports → archive/reports (a folder with 2 files)", "reports → x"]
)
def test_a_folder_is_not_counted_with_what_is_in_it(folder):
    inside = [Affected("reports/q3.csv", 78, "file"), Affected("reports/q3.md", 131, "file")]
    told = shown(whole(Preview("s", "v", (), affected=(Affected(folder, 209, "folder"), *inside))))
    assert "Affected: 2 files and 1 folder, 209 B in all" in told
    unlisted = (Affected(folder, 209, "folder"), Affected("reports.md", 1, "file"))
    assert "1 file and 1 folder, 210 B in all" in shown(whole(Preview("s", "v", (), affected=unlisted)))


def test_many_folders_with_long_names_are_counted_in_time():
    things = tuple(Affected(f"{'a/' * 2000}{n}", 1, "folder") for n in range(1000))
    with within(2):
        whole(Preview("s", "v", (), affected=things))


def test_a_call_without_arguments_says_so():
    assert shown(whole(Preview("s", "v", facts({})))) == "No arguments"


def test_a_row_of_the_table_cannot_be_faked_by_a_value_or_a_label():
    args = {"path": "a\nmode  delete", "mode  delete": "x", "plain": " b"}
    told = whole(Preview("s", "v", facts(args)))
    assert [e["type"] for e in told] == ["rich_text_section", "rich_text_preformatted"] * 3


def test_the_summary_of_a_short_action_is_on_its_card_in_full():
    assert MOVE.summary in shown(card(action()).blocks)
