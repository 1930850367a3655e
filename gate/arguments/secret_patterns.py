"""Which gated files a text can mean as a pattern of names: `.en*`, `id_r?a`, `{.env,x}`, `config/pro?.yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product

from gate.arguments.name_patterns import KnownNames, name_matches
from gate.arguments.production_files import CODE_ENDS, PRODUCTION_ENDS, PRODUCTION_FILE, PRODUCTION_NAMES
from gate.arguments.secret_files import SECRET, SECRET_NAMES, WORDY_NAMES

BRACES = re.compile(r"\{([^{}\s\":]*)\}")
LOOSE_BRACES = re.compile(r"\{([^{}\":\n]*)\}")
ATTRIBUTE = re.compile(r"\w+(\.\w+)+")  # {self.key} is code
CLASS = re.compile(r"\[!?(?:\[:[a-z]{1,10}:\]){1,10}\]")
# Of one sign, and of a letter where a name begins
CLASS_OF_ONE = re.compile(r"\[([._-])\]|(?:(?<=/)|(?<![^\s]))\[([a-z])\](?=\w)")
RANGE = re.compile(r"\{(?:(\w\.\.\w)|-?\d{1,9}\.\.-?\d{1,9})(?:\.\.-?\d{1,9})?\}")
EXTENDED = re.compile(r"[@?*+]\(([^()\n]*)\)")
MAX_ALTERNATIVES, MOST_CHOICES = 64, 6  # 2 ** 6 names
MOST_JOINED = 3  # of the `*` of a pattern
JOINED_SECRETS = ("secret", "credential")
PATTERN = re.compile(r"[*?\[{]|[@+]\(")
ANY_OF = re.compile(r"\[!?[^\[\]]*\]|[*?]")
BEFORE_A_NAME = re.compile(r"[=\s@,;&|]")
COST_OF_A_PATTERN = 8  # as against a name that is none
SHORT = 256  # characters of a path as they usually are
ENDINGS = KnownNames(
    "pem key p8 p12 pfx ppk jks keystore keytab kdbx tfstate tfvars env json yaml yml toml ini csv txt xml conf cnf "
    "sqlite db".split()
)
WORD = re.compile(r"(?:\[[^\[\]]*+\]|[^/\\._\[\]-])++")
# Words of a name that are patterns; where such a name is also made with what its `*` join
MOST_WILD, MOST_WILD_JOINED = 12, 4
WORDS = KnownNames(
    "env secrets secret credentials config kubeconfig history gshadow account prod dev staging stage test local "
    "live ed25519 ecdsa rsa dsa vault token tokens netrc keystore settings".split()
)
# Of code and of paths into JSON, not of files: `import.meta?.env`, `Contents[].Key`, `[dbo].[a].key`
FIELD = re.compile(r"(?:[\w.@-]|\?(?=\.)|\[[*0ijkn]?\]|(?<![\w\]])\[\w{2,60}\](?=\.))*\.(?:env|key)")
PRODUCTION_WORDS = KnownNames(("prod", "production"))
ENDS_OF_PRODUCTION = KnownNames((*PRODUCTION_ENDS, *CODE_ENDS))
COPIES = "bak old orig save backup bkp copy prev last swp tmp txt gz bz2 xz zip 7z asc enc gpg age 1 20260101".split()
OF_COPY = re.compile(
    r"(?:~|\.(?:bak|old|orig|save|backup|copy|swp|tmp|gz|bz2|xz|zip|7z|asc|enc|gpg|age)){1,3}+$"
)
# Behind the whole name of a file, where they are hardly anything else
MORE_COPIES = KnownNames(
    (*COPIES, *"0 bk previous rej disabled off rpmsave rpmorig rpmnew dpkg-old ucf-old".split())
)
COPY = KnownNames(COPIES)
MOST_ENDINGS = 3
COPY_IN_BRACKETS = re.compile(
    r"(?P<name>[^\s=@,;&|]+) (?:- )?(?:\((?P<any>[^\s()]{1,20})\)?|(?P<word>c[^\s()]{1,20}))"
)


@dataclass(frozen=True, slots=True)
class Known:
    """Paths that a pattern is held against, each with its last name; all of these, one on a line."""

    paths: tuple[tuple[str, str], ...]
    last_names: str

    @classmethod
    def of(cls, paths: Sequence[str]) -> Known:
        found = tuple((path, path.rpartition("/")[2]) for path in paths)
        return cls(found, "\n".join(last for _, last in found))


SECRETS, PRODUCTION = (
    Known.of((*SECRET_NAMES, *sorted(map(str.lower, WORDY_NAMES)))),
    Known.of(PRODUCTION_NAMES),
)
LETTERS_OF_WORDY = {
    name.lower(): min(7, sum(map(str.isalnum, name.rpartition(".")[0]))) for name in WORDY_NAMES
}


def matched_secrets(text: str) -> Iterator[str]:
    """The secret files that a text can mean as a pattern of names (`.en*`, `id_r?a`, `{.env,x}`).

    A pattern that says next to nothing of a name (`*`, `.*`, `*.json`) means none: tools take `*` for much else.
    """
    whole = _in_one_notation(text.lower())
    names = [BEFORE_A_NAME.split(one)[-1] for one in _alternatives(whole[-SHORT:])]
    if len(names) > MAX_ALTERNATIVES:
        yield SECRET_NAMES[0]
    for name in (*names[:MAX_ALTERNATIVES], *_choices(whole)):
        yield from _secrets_of_name(name)
    yield from _in_brackets(whole[-SHORT:])


def matched_production(text: str) -> Iterator[str]:
    """The files of production configuration that a text can mean as a pattern of names.

    Only where there is no blank in it: the rule is about all changes, and so about texts of any words.
    """
    if PATTERN.search(text) and len(text.split(maxsplit=1)) == 1:
        for name in _alternatives(_in_one_notation(text.strip()[-SHORT:].lower()))[:MAX_ALTERNATIVES]:
            yield from _production_of_name(name)


@lru_cache(maxsize=8_192)
def _production_of_name(name: str) -> tuple[str, ...]:
    if "prod" in name and PRODUCTION_FILE.search(plain := ANY_OF.sub("x", name)) and "." in plain:
        return (plain,)
    known = (one for one in _candidates_of_production(name) if _could_be(name.split("/"), one))
    return (*known, *_production_of_own_stem(name))


@lru_cache(maxsize=8_192)  # asked for by the count of the work and by the readings
def _production_of_own_stem(name: str) -> tuple[str, ...]:
    """The files of production configuration that a pattern can mean by its other words: `app-pro?.yml`, `x-prod.y*`."""
    stem, dot, end = name.rpartition(".")
    if not dot or not ANY_OF.search(name):
        return ()
    if _has_many_wild_words(name, ("prod",)):
        return (PRODUCTION_NAMES[0],)
    stems = [WORD.sub(_word_of_production, one) for one in _joined(stem, ("prod",))]
    ends = ENDS_OF_PRODUCTION.meant(end) if ANY_OF.sub("", end) else ()
    meant = (f"{plain}.{ending}" for plain, ending in product(stems, ends))
    return tuple(one for one in dict.fromkeys(meant) if PRODUCTION_FILE.search(one))


def _joined(pattern: str, known: Sequence[str]) -> Iterator[str]:
    """A pattern; and, of one that says one of these words, each name that it has where a `*` joins two words or stands
    for nothing."""
    yield pattern
    *parts, last = pattern.split("*", MOST_JOINED)
    if parts and _says_one(pattern, known):
        for ends in product(*((f"{part}-", part) for part in parts)):
            yield "".join(ends) + last


def _word_of_production(found: re.Match[str]) -> str:
    """A word of a pattern as one for production, where it says three letters of that and can mean it."""
    return _meant_word(found[0], PRODUCTION_WORDS, 3)


def _candidates_of_production(pattern: str) -> tuple[str, ...]:
    """None for `*.yaml`, `p*.json` and `pr*`, which are about other files."""
    if not (found := _candidates(pattern, PRODUCTION)):
        return ()
    stem, dot, end = pattern.rpartition("/")[2].rpartition(".")
    known = _letters_said(stem if dot else end)
    return found if known >= (2 if dot else 3) else ()


def _in_one_notation(pattern: str) -> str:
    """A pattern in the notation of fnmatch and braces: `[^x]`, `[[:alpha:]]`, `@(x|y)` and `{m..o}` are other programs'
    words."""
    if ".." in pattern:
        pattern = RANGE.sub(lambda found: "?" if found[1] else "*", pattern)
    if "[" in pattern:
        pattern = CLASS.sub("?", pattern.replace("[^", "[!"))
        pattern = CLASS_OF_ONE.sub(r"\1\2", pattern)
    return (
        EXTENDED.sub(lambda found: "{" + found[1].replace("|", ",") + "}", pattern)
        if "(" in pattern
        else pattern
    )


def _choices(text: str) -> Iterator[str]:
    """The names among the choices of braces, wherever they stand, and also where there are blanks in them."""
    for found in islice(LOOSE_BRACES.finditer(text), MAX_ALTERNATIVES):
        for choice in found[1].split(",", MAX_ALTERNATIVES)[:MAX_ALTERNATIVES]:
            if not ATTRIBUTE.fullmatch(name := choice.strip()):
                yield name[-SHORT:]


@lru_cache(maxsize=8_192)  # the forms of a text mostly have the same alternatives
def _secrets_of_name(name: str) -> tuple[str, ...]:
    """The secret files that a name means, itself or as a pattern."""
    if not ANY_OF.search(name):
        return (name,) if SECRET.search(name) else ()
    meant = list[str]()
    for one in filter(None, dict.fromkeys((name, OF_COPY.sub("", name), _without_meant_copy(name)))):
        meant += [one] if SECRET.search(one) else []
        meant += _secrets_of_pattern(one)
    return tuple(dict.fromkeys((*meant, *_copied(name))))


def _without_meant_copy(name: str) -> str:
    """A pattern without a last part that can mean the ending of a copy: `id_rsa.b*`; the same where there is none."""
    stem, end = _parted(name)
    is_one = stem and ANY_OF.search(end) and COPY.meant(end)
    return stem if is_one else name


def _parted(name: str) -> tuple[str, str]:
    """What stands before and behind the last sign between parts of a name; `[0-9]` is one part."""
    plain = ANY_OF.sub(lambda found: "?" * len(found[0]), name) if "[" in name else name
    at = max(map(plain.rfind, "._-"))
    return name[: max(at, 0)], name[at + 1 :]


def _copied(name: str) -> Iterator[str]:
    """The secret files that a pattern says the whole name of, before endings that can be those of a copy:
    `id_rsa.b*.gz`, `*.pem.dis*`."""
    for _ in range(MOST_ENDINGS):
        name, end = _parted(name)
        if not name or not _may_be_of_copy(end):
            return
        if SECRET.search(name):
            yield name
        elif ANY_OF.search(name) and "*" not in name.rpartition("/")[2].removeprefix("*."):
            yield from _secrets_of_pattern(name)


def _may_be_of_copy(end: str) -> bool:
    return ANY_OF.sub("", end).isdecimal() or bool(MORE_COPIES.meant(end))


def _in_brackets(text: str) -> Iterator[str]:
    """The secret file that a text names, before what can mean the ending of a copy with a blank: `id_rsa (?)`."""
    found = COPY_IN_BRACKETS.fullmatch(text)
    if found and SECRET.search(found["name"]):
        end = found["any"] or found["word"]
        if ANY_OF.search(end) and (name_matches("copy", end) or (found["any"] and name_matches("1", end))):
            yield found["name"]


def _secrets_of_pattern(name: str) -> Iterator[str]:
    """Those known files that a pattern can mean, and a file of its own stem: `server.pe*`, `.env.st*`."""
    parts = name.split("/")
    yield from (secret for secret in _candidates(name, SECRETS) if _could_be(parts, secret))
    yield from _of_own_stem(name)


@lru_cache(maxsize=8_192)  # asked for by the count of the work and by the readings
def _of_own_stem(name: str) -> tuple[str, ...]:
    """The secret files that a pattern can mean by its own words, where it says two letters of each word of such names,
    and with an ending of which it says two letters."""
    if FIELD.fullmatch(name):
        return ()
    if _has_many_wild_words(name, JOINED_SECRETS):
        return (SECRET_NAMES[0],)
    stem, dot, end = name.rpartition(".")
    names = [WORD.sub(_word_of_secrets, one) for one in _joined(name, JOINED_SECRETS)]
    if dot and ANY_OF.search(end) and _letters_said(end) > 1:
        plain = WORD.sub(_word_of_secrets, stem)
        names += (f"{plain}.{ending}" for ending in ENDINGS.meant(end))
    return tuple(one for one in names if SECRET.search(one))


def _word_of_secrets(found: re.Match[str]) -> str:
    """A word of a pattern as one of those that stand in the names of secret files, where it can mean it."""
    return "prod" if found[0] == "*" else _meant_word(found[0], WORDS, 2)


def _says_one(pattern: str, known: Sequence[str]) -> bool:
    return any(word in pattern for word in known)


def _has_many_wild_words(name: str, known: Sequence[str]) -> bool:
    """Whether more words of a name are patterns than are held against the words of the names that are meant: then it
    counts as one that means any. No file that is asked for has so many. `known`: those that a `*` may join."""
    joins = "*" in name and _says_one(name, known)
    most, words = (MOST_WILD_JOINED, name.replace("*", "*-", MOST_JOINED)) if joins else (MOST_WILD, name)
    return _wild_words(words) > most


@lru_cache(maxsize=8_192)  # asked for by the count of the work and by both readings
def _wild_words(name: str) -> int:
    return sum(1 for word in WORD.findall(name) if word.strip("*") and ANY_OF.search(word))


@lru_cache(maxsize=8_192)  # the same word stands in each name that a `*` is left out of
def _meant_word(pattern: str, known: KnownNames, letters: int) -> str:
    """The known word that a part of a pattern can mean and says so many letters of; else any."""
    if not ANY_OF.search(pattern):
        return pattern
    meant = known.meant(pattern)
    return meant[0] if meant and _letters_said(pattern) >= letters else ANY_OF.sub("x", pattern)


def _letters_said(pattern: str) -> int:
    return sum(map(str.isalnum, ANY_OF.sub(_known, pattern) if "[" in pattern else pattern))


def _candidates(pattern: str, known: Known) -> tuple[str, ...]:
    """Those of the known files whose names hold all that a pattern says in letters: few, and told without a matcher."""
    first, runs, end_of_name = _letters(pattern)
    if not pattern or pattern.endswith("/") or any(run not in known.last_names for run in runs):
        return ()
    return tuple(
        path
        for path, name in known.paths
        if name.startswith(first) and name.endswith(end_of_name) and all(run in name for run in runs)
    )


@lru_cache(maxsize=8_192)  # asked for by the count of the work and by the readings
def _letters(pattern: str) -> tuple[str, tuple[str, ...], str]:
    """What the last name of a pattern begins with, all that it says in letters, and what it ends with."""
    last = pattern.rpartition("/")[2]
    begin, end = last.find("["), last.rfind("]")
    plain = f"{last[:begin]}*{last[end + 1 :]}" if 0 <= begin < end else last
    runs = re.split(r"[*?]", plain)
    return runs[0], tuple(run for run in runs if run), runs[-1]


def names_meant(form: str) -> int:
    """How many names a form of a text stands for; one that is a pattern of secret names counts for several, and one
    that means none for what it takes to find that."""
    form = _in_one_notation(form)
    if not BRACES.search(form):
        return _cost_of_name(BEFORE_A_NAME.split(form[-SHORT:].lower())[-1])
    if form.count(",") > MOST_CHOICES:
        return MAX_ALTERNATIVES + 1
    return sum(max(1, _cost_of_name(one)) for one in _alternatives(form[-SHORT:].lower()))


def _cost_of_name(name: str) -> int:
    if not ANY_OF.search(name):
        return 0
    means = (
        _candidates(name, SECRETS)
        or _candidates_of_production(name)
        or _of_own_stem(name)
        or _production_of_own_stem(name)
    )
    return COST_OF_A_PATTERN if means else _cost_of_words(name)


def _cost_of_words(name: str) -> int:
    """What a pattern counts for because each of its words is held against those of the names that are meant, in each
    name that it has where its `*` join words. One word is what a pattern takes anyway."""
    joins = min(name.count("*"), MOST_JOINED) if _says_one(name, ("prod", *JOINED_SECRETS)) else 0
    return 2 * (max(0, _wild_words(name) - 1) + name.count("[")) + (1 << joins) - 1


def _alternatives(text: str) -> list[str]:
    """The texts that a shell makes of one with braces; more than the most there may be where it makes too many."""
    left, done = [text], list[str]()
    while left and len(left) + len(done) <= MAX_ALTERNATIVES:
        one = left.pop()
        found = BRACES.search(one)
        if found is None:
            done.append(one)
        else:
            left += [one[: found.start()] + choice + one[found.end() :] for choice in found[1].split(",")]
    return done + left


def _could_be(pattern: Sequence[str], path: str) -> bool:
    """Whether a pattern, part by part, can mean one of the known files, and says so much of it that it does."""
    folder, *middle, name = path.split("/") if "/" in path else ("", path)
    above = -2 - len(middle)  # the place of its folder in the pattern
    if folder and (
        len(pattern) < -above
        or not name_matches(folder, pattern[above])
        or not _is_specific(pattern[above], folder)
    ):
        return False
    here, whole = pattern[above : above + 1], [folder]
    if middle:
        here, whole = pattern[: above + 1], ["", folder]  # `/proc/self/*`; without middle `.ssh/*`
    return name_matches(name, pattern[-1]) and (list(here) == whole or _is_specific(pattern[-1], name))


def _is_specific(pattern: str, secret: str) -> bool:
    """Whether a pattern says something of the name: two letters of it, or what follows the dot of a hidden file."""
    if secret in LETTERS_OF_WORDY:
        return _letters_of_stem(pattern) >= LETTERS_OF_WORDY[secret]
    if _letters_said(pattern) < 2:
        return pattern.startswith(".") and len(pattern) > 2
    stem = pattern.rpartition(".")[0]  # `*.json` says only what kind of file it is, `*.pem` says enough
    return not stem or ANY_OF.sub(_known, stem) != "" or secret.startswith("x.")


def _letters_of_stem(pattern: str) -> int:
    """How many letters a pattern says of a name before its ending, of which it counts that it has one."""
    stem, dot, _ = pattern.rpartition(".")
    return len(dot) + _letters_said(stem if dot else pattern)


def _known(found: re.Match[str]) -> str:
    """A letter for a choice among few, nothing for any."""
    return "x" if found[0].startswith("[") and found[0][1] != "!" and len(found[0]) <= 5 else ""
