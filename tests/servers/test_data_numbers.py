"""Tables with numbers at the ends of what a computer calculates with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from servers.data.table import plain
from servers.formats.tables import MOST_DIGITS, parsed
from tests.servers.test_data_tables import data

LARGE = {
    "as many digits as a number may have": "9" * MOST_DIGITS,
    "more digits": "9" * (MOST_DIGITS + 1),
    "more than a float has room for": "9" * 400,
    "more than Python reads": "9" * 5000,
    "less than a float has room for": "-" + "9" * 400,
    "an exponent": "1e308",
    "an exponent beyond floats": "1e999",
}


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("ending", ["json", "jsonl"])
@pytest.mark.parametrize("large", LARGE.values(), ids=LARGE)
async def test_a_file_with_numbers_too_large_to_calculate_with_is_looked_through(
    tmp_path: Path, large: str, ending: str
) -> None:
    records = [f'{{"a":{large},"b":{number % 9},"c":{number}}}' for number in range(20)]
    text = "\n".join(records) if ending == "jsonl" else f"[{','.join(records)}]"
    name = f"n.{ending}"
    async with data(tmp_path, **{f"n_{ending}": text}) as ask:
        same = await ask("deduplicate_records", path=name, columns=["a", "b"])
        nearly = await ask("deduplicate_records", path=name, columns=["a"], alike=0.9)
        odd = await ask("summarize_anomalies", path=name)
        call = {"source": name, "destination": "o.csv", "columns": ["a", "b"]}
        left = await ask("preview_without_duplicates", call=call)
    assert (same["records"], same["unique"], nearly["unique"]) == (20, 9, 1)
    assert odd["records"] == 20
    assert left["left_out"] == 11


def test_a_number_with_many_digits_is_the_text_that_it_is_in_its_file() -> None:
    for digits in (MOST_DIGITS, MOST_DIGITS + 1, 5000):
        text = "7" * digits
        found = parsed(f"[{text}]")
        assert found == [text if digits > MOST_DIGITS else int(text)]


def test_whole_numbers_are_compared_by_all_of_their_digits() -> None:
    assert plain(1_700_000_000_001) != plain(1_700_000_000_002)
    assert plain(1_700_000_000_001) == plain(1_700_000_000_001.0)
    assert plain(10**299) != plain(10**299 + 1)
    assert plain(0.1 + 0.2) == plain(0.3)
    assert (plain(1.0), plain(-0.0), plain(2.50)) == ("1", "0", "2.5")


async def test_records_whose_long_ids_differ_in_the_last_digit_are_both_kept(tmp_path: Path) -> None:
    text = json.dumps([{"id": 1_700_000_000_001}, {"id": 1_700_000_000_002}])
    async with data(tmp_path, ids_json=text) as ask:
        assert (await ask("deduplicate_records", path="ids.json"))["unique"] == 2
