"""Words by which an argument says a change: a switch (`delete: true`), or what is to be done (`action: "delete"`).

Many verbs of a change are words of reading among arguments: `expand: true`, `email: true`, `order: "asc"`. So which of
them count, and where, is said here; docs/policy.md says it for people.
"""

from __future__ import annotations

import unicodedata
from itertools import pairwise

from gate.arguments.text_cache import Remembered
from gate.arguments.tool_names import (
    CHANGING,
    DESTROYING,
    NOUNS,
    PARAMETER_SIGNS,
    READING,
    SHOWING,
    SHOWN,
    THINGS,
    only_reads,
    words,
)

# Of the verbs of a change, those that as a switch say what of a thing is shown, or how
OPTIONS = frozenset(
    "adjust bill block boot call capture cast change compress connect convert decline decrease decrypt defer "
    "download duplicate elevate email empty encrypt exchange expand expire export extend file fill finalize flag flip "
    "follow force format forward freeze fund generate give halt hide hold ignore impose increase invoice issue join "
    "keep label lease leave lend let limit load loan lower mail make message mount mute open order park pick place "
    "play print propose punch queue raise recall record redact redirect refill refresh reload render reorder repeat "
    "replay reply report reprint request resize restrict return reverse route ship skip snooze sort store switch sync "
    "synchronize tag take tap throttle throw tip trade use void waive wake watch".split()
)
# Those that say a change only alone (`enable: true`), and an option of reading before another word (`enable_cache`)
ALONE = THINGS.union(
    "accept acknowledge activate add allocate allow append apply assign attach authorize ban bid broadcast build "
    "bump burn buy cancel charge clear close commit complete compose confirm copy deny detach disable edit enable "
    "execute exec fix forget inject load lock login mark materialize move override persist post push put read "
    "register replace resume return run save schedule seal set shift start stop subscribe transition trigger".split(),
) - (OPTIONS - {"build", "export"})
FILLING = frozenset(
    "after all also anyway as automatically before change changes done each every everything finished first if "
    "immediately it item items message messages missing now on once patch patches permanently plan read seen them "
    "then this to too unread when".split()
)  # what may stand behind one that counts alone: `mark_as_read`, `apply_changes`
BEGINNING = (CHANGING | DESTROYING) - OPTIONS - ALONE - PARAMETER_SIGNS - {"clean"}
OF_ITS_OWN = frozenset(
    "cache cached caches history".split()
)  # `update_cache: true` changes no more than that
HELPING = frozenset(
    "allow also always auto automatically batch bulk do does enable force forcibly must please shall should soft "
    "will".split()
)  # before a verb: `auto_create`
JOINING = frozenset({"and", "then"})  # a second act: `read_and_delete`
WITH_OBJECTS = BEGINNING | {"add", "put"}  # and with what is to be changed: `update: {…}`
# Before “to”, whatever comes then: `save_to: "a.txt"`. “Close to” is near.
MOVING = BEGINNING | frozenset("add assign copy export move post save transfer".split())
REHEARSING = frozenset(
    {("dry", "run"), ("dryrun",), ("noop",), ("what", "if"), ("whatif",)}
    | {(word, "only") for word in "check plan preview simulate simulation validate".split()}
)  # `dry_run: false`
# As what is to be done, these change nothing.
HARMLESS = frozenset(
    "convert expand ignore keep print recall refresh reload render return reverse skip use".split()
)
# And these, which are no word of a change in the name of a tool
MORE = frozenset("alter chmod chown mutate mv new symlink touch".split())
ACTED = THINGS | frozenset("comment failover resolve rollout scale".split())  # only where the act stands
TURNED = frozenset((a, b) for a in ("turn", "power") for b in ("cycle", "down", "off", "on", "up"))
LOOKED = READING | SHOWING | SHOWN | NOUNS | {"detail", "details", "notes", "names", "summary"}
MODES = DESTROYING.union("append apply create execute insert update upsert write".split()) - {
    "clean",
    "format",
}
LONGEST_WORD, LONGEST_ACT = 100, 1_000
NO = frozenset({"", "0", "false", "n", "never", "no", "none", "null", "off"})
YES = frozenset({"true", "yes", "on"})


def switches_a_change_on(name: str, value: object) -> bool:
    """Whether an argument is a switch that is on, and whose name says a change."""
    said = _switch(name)
    if not said:
        return False
    if said in REHEARSING:
        return _is_off(value)
    if said[0] in PARAMETER_SIGNS or (said[0] in MOVING and said[1:2] in (("to",), ("into",))):
        return not _is_off(value)
    alone = len(said) == 1 and said[0] in WITH_OBJECTS
    if isinstance(value, (dict, list)):
        return alone and bool(value)
    return _is_on(value, alone or FILLING.issuperset(said[1:])) and _says_change(said)


@Remembered
def _switch(name: str) -> tuple[str, ...]:
    """The words of an argument's name, without helping ones; none where no verb of a change is among them."""
    said = tuple(words(name[:LONGEST_WORD]))
    while len(said) > 1 and said[0] in HELPING:
        said = said[1:]
    return said if said in REHEARSING or any(map(_is_verb, said)) else ()


def _says_change(said: tuple[str, ...]) -> bool:
    first, rest = said[0], said[1:]
    if any(a in JOINING and _is_verb(b) for a, b in pairwise(said)):
        return True
    if first in BEGINNING:
        return not rest or not OF_ITS_OWN.issuperset(rest)
    return first in ALONE and FILLING.issuperset(rest)


def _is_verb(word: str) -> bool:
    return word in BEGINNING or word in ALONE or word in PARAMETER_SIGNS


def _is_off(value: object) -> bool:
    return not value or (isinstance(value, str) and value.strip().lower() in NO)


def _is_on(value: object, also_one: bool) -> bool:
    if isinstance(value, str):
        value = value.strip().lower()
        return value in YES or (also_one and value == "1")
    return value is True or (also_one and value == 1)


def readable(text: str) -> str:
    """What is seen of a text that names what is to be done: in plain letters, without blanks around it and without
    characters that draw nothing."""
    text = text.strip()[:LONGEST_ACT]
    if text.isascii():
        return text
    return "".join(sign for sign in unicodedata.normalize("NFKC", text) if unicodedata.category(sign) != "Cf")


def acts(text: str) -> frozenset[str]:
    """The verbs by which a text that names what is to be done says a change; none where it reads."""
    start = readable(text)
    said = words(start)
    if not said or only_reads(start):
        return frozenset()
    joined = [word for before, word in pairwise(said) if before in JOINING]
    plain = frozenset(word for word in said if (word not in THINGS or word in joined) and _changes(word))
    plain |= {before for before, word in pairwise(said) if (before, word) in TURNED}
    if plain:
        return plain
    first = said[0] in ACTED and (len(said) == 1 or said[-1] not in LOOKED)
    last = said[-1] in ACTED and ("." in start or ":" in start)
    return frozenset((said[:1] if first else []) + (said[-1:] if last else []))


def _changes(word: str) -> bool:
    return (word in CHANGING or word in DESTROYING or word in MORE) and word not in HARMLESS
