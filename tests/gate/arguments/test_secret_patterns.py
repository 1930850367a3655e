"""Patterns of names that mean the copy of a secret file, and those that mean other files."""

from __future__ import annotations

import pytest

from gate.arguments.secret_patterns import MOST_WILD, matched_production, matched_secrets
from gate.rules.always_gated import ALWAYS
from gate.rules.policy import Policy, decide
from gate.rules.tool import Hints, ToolSpec
from tests.cpu_time import seconds

COPIES = """id_rsa.ba?.gz|id_rsa.*.gz|id_rsa.b*.g*|id_rsa.0*|id_rsa.[0-9]|id_rsa.ol?.1|id_rsa.rpm*|id_rsa.r*|id_rsa.dis*
    id_rsa.of?|id_rsa.dpkg*|id_rs?.b*.gz|server.key.b*.gz|secrets.yml.b*.gz|.netrc.rpm*|credentials.json.dis*|.env.b*.gz
    terraform.tfstate.b*.gz|*.pem.[0-9]|*.pem.b*.gz|*.pem.dis*|**/*.pem.b*.gz|keys/id_rsa.2024*.gz|.env.o*.1
    id_rsa[.]bak|server[.]key|.env[.]bak.gz|[i]d_rsa|id_rsa (?)|id_rsa (*|id_rsa ([0-9])|id_rsa (cop?)|id_rsa cop?|id_rsa - cop?|keys/id_rsa (?)|.env - (c*)"""
OTHERS = """server[0].key|tls[k].key|a[.]py|[n]otes.md|*.py|report.*|notes.b*|notes.b*.gz|report.ba?.gz|log*.*.gz|access*.b*.gz|*.log.[0-9]|*.log.[0-9].gz
    credentials_*.py|credentials.*.md|id_rsa*.pub|id_rsa.pub.b*|app-*.tar.gz|*.*.gz|*.b*|*config.d*|a[0-9].txt
    dump.sql.b*.gz|report (?)|report (*).pdf|notes cop?|What is in (?)|import.meta?.env|f(x[0])
    the credentials (?)|who can read the key (*)?|rotate id_rsa (when?)|x.y (*args)"""


def _each(table: str) -> list[str]:
    return [one.strip() for line in table.splitlines() for one in line.split("|")]


@pytest.mark.parametrize("pattern", _each(COPIES))
def test_a_pattern_with_the_endings_of_a_copy_means_the_secret_file(pattern: str) -> None:
    assert list(matched_secrets(pattern))


@pytest.mark.parametrize("pattern", _each(OTHERS))
def test_a_pattern_of_other_files_or_words_means_none(pattern: str) -> None:
    assert not list(matched_secrets(pattern))


def _crowded(number: int, word: str, wild: int) -> str:
    """A name of so many words that are patterns, each another one."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = (f"{letters[(number + i) % 26]}{letters[(number * 7 + i * 3) % 26]}?" for i in range(wild))
    return f"{number}-{word}*x*y*{'-'.join(words)}.b*"


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("word", ["secret", "prod"])
@pytest.mark.parametrize("wild", [2, MOST_WILD - 1, 60])
def test_names_of_many_words_that_are_patterns_take_no_time(word: str, wild: int) -> None:
    spec = ToolSpec("x", "find_files", "", "Finds.", {"type": "object"}, "d", hints=Hints(read_only=True))
    numbers = iter(range(0, 10_000, 240))

    def judged() -> None:
        first = next(numbers)
        names = [_crowded(first + number, word, wild) for number in range(240)]
        decide(Policy("p", rules=ALWAYS), spec, {"n": names}, "C1", lambda *_: False)

    assert seconds(judged, 3, 0.4) < 0.4


def test_a_name_of_more_words_that_are_patterns_than_are_gone_through_means_any() -> None:
    assert list(matched_secrets("-".join(["a?"] * (MOST_WILD + 1))))
    assert list(matched_production("-".join(["a?"] * (MOST_WILD + 1)) + ".yml"))
    assert not list(matched_secrets("-".join(["a?"] * MOST_WILD)))
    assert list(matched_secrets("7secret*a?*b?*c?.q*"))  # its `*` join as many words
    assert not list(matched_secrets("7secret*a?*b?.q*"))
    assert not list(matched_secrets("/".join(["**"] * 30) + "/*.md"))
    assert not list(matched_secrets("????????-????-????-????-????????????.txt"))
