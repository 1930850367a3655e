"""Tables with numbers at the ends of what a computer calculates with."""

from __future__ import annotations

import json
from pathlib import Path

from servers.data.table import plain
from tests.servers.test_data_tables import data


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
