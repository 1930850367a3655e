"""What a call touches: the paths, addresses and identifiers among its arguments, and the forms they are judged in.

A recipe declares them. `with_canonical_paths` writes declared paths in the one form that is shown, granted, sealed and
sent; `path_variants` gives every other form that a tool or a file system could take a text for, so that no rule about
arguments depends on a spelling.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from gate.rules.action import Json
from gate.rules.secret_files import ALL_LAST_NAMES, LAST_NAMES, SECRET, SECRET_NAMES
from gate.rules.templates import TemplateError, expand
from gate.rules.unicode_safety import is_invisible

# A text that has no other form: words between single separators.
PLAIN = re.compile(r"/?[A-Za-z0-9_]+([./ -][A-Za-z0-9_]+)*")
WILD = re.compile(r"[*?\[{]")
BRACES = re.compile(r"\{([^{},\s\":]*,[^{}\s\":]*)\}")
MAX_ALTERNATIVES, MOST_CHOICES = 64, 6  # 2 ** 6 names
MAX_ALTERNATIVES_OF_A_CALL = 2_000  # each takes up to 0.03 ms to be held against the names of secret files
MOST_WORK_OF_A_CALL = 6_000  # targets that are not plain, each of which takes up to 0.015 ms
COST_OF_A_FORM = 3  # as against a target without other forms
# Characters that take as long as one form, and copies of a text as long as one target
LONG_FORM, COPIES = 600, 13
ANY_OF = re.compile(r"\[!?[^\[\]]*\]|[*?]")
BEFORE_A_NAME = re.compile(r"[=\s@,;&|]")
COST_OF_A_PATTERN = 8  # as against a name that is none
# Characters of a text that is looked through as JSON; JSON in JSON in JSON
LONGEST_JSON, DEEPEST_JSON = 1 << 20, 3
REPORTED = "reported targets"  # in place of an argument's name
DEFAULT_PORTS = {"http": 80, "https": 443}
SHORT = 256  # characters of a path as they usually are
MAX_DECODED = 3  # times that percent-encoding is taken off
# Arguments that hold words, where a tool does not declare its targets.
PROSE = frozenset(
    "answer body comment content contents description keywords message messages prompt q query question reason search "
    "sql summary task text thought title topic".split()
)
SLASHES = str.maketrans(dict.fromkeys("\\\u2044\u2215\u29f8\u2571\u27cb\u2216\u29f5\u29f9", "/"))
DOTS = str.maketrans(dict.fromkeys("\u2024\ua4f8\ua60e\U00010a50", "."))
LISTED = re.compile("[,;&|]")  # between the paths of a list in one text
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://[^/?#]*")
MAILBOX = re.compile(r"[^\s<>,;:()\"@]{1,64}@[^\s<>,;()\"@]{1,255}")


Forms = Callable[[str], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Root:
    """A folder that a server serves: the name its paths begin with where it serves several, and where it is."""

    name: str
    places: tuple[str, ...] = ()  # absolute paths, without a slash at the end


@dataclass(frozen=True, slots=True)
class Targets:
    """What a recipe declares of a tool's arguments, each named as `path`, `call.path` or `files[].path`.

    `paths`: what is in there is read or changed. `looks`: paths of which only names, sizes and hashes are given.
    `found`: fields of the result of a read that name the files whose content is in it, as `hits[].path`; as
    `matches[excerpt].path`, where `excerpt` is given.
    `reported`: templates over the captured reads that say what the call will really touch. `links`: the server
    follows links; without a report nobody knows then where a path leads.
    """

    paths: tuple[str, ...] = ()
    looks: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    roots: tuple[Root, ...] = ()
    links: bool = False
    resolved_to: tuple[str, ...] = ()  # what the reads have said by now

    @property
    def unresolved(self) -> bool:
        """Whether a path may lead somewhere else than it says, and no read says where."""
        return self.links and not self.reported


def with_resolved_paths(targets: Targets | None, capture: Mapping[str, Json]) -> Targets | None:
    """The targets with what the reads have told of them. Where one does not tell, nothing counts as told."""
    if targets is None or not targets.reported:
        return targets
    try:
        found = [expand(template, {"capture": capture}) for template in targets.reported]
    except TemplateError:
        return replace(targets, reported=())
    told = [one for value in found for one in (value if isinstance(value, list) else [value])]
    return replace(targets, resolved_to=tuple(one for one in told if isinstance(one, str)))


def with_canonical_paths(targets: Targets | None, args: Mapping[str, Json]) -> dict[str, Json]:
    """The arguments with every declared path in its canonical form; doing it again changes nothing.

    Only what means the same to every server is taken out: `.` and doubled separators, and the folder that an
    absolute path begins with. Unicode forms and percent-encoding stay, as they may name another file.
    """
    if targets is None:
        return dict(args)
    names = (*targets.paths, *targets.looks)
    return dict(_named(args, names, lambda text: canonical_path(text, targets.roots)))


def canonical_path(path: str, roots: Sequence[Root] = ()) -> str:
    """The path without `.` and empty parts, relative to its root. One with `..` or a control character is as it was:
    where it leads depends on the disk, and servers refuse it."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts or not path or any(unicodedata.category(char) == "Cc" for char in path):
        return path
    absolute = path.startswith("/")
    if absolute and (inside := _inside(parts, roots)) is not None:
        parts, absolute = inside, False
    elif not absolute and len(roots) > 1 and parts[:1] not in [[root.name] for root in roots]:
        parts = [roots[0].name, *parts]
    end = "/" if path.endswith("/") and parts else ""
    return ("/" if absolute else "") + "/".join(parts) + end or "."


def _inside(parts: Sequence[str], roots: Sequence[Root]) -> list[str] | None:
    """The parts of an absolute path as they are below the root that it is in, or None."""
    for root in roots:
        for place in root.places:
            base = place.strip("/").split("/")
            if list(parts[: len(base)]) == base:
                return ([root.name] if len(roots) > 1 else []) + list(parts[len(base) :])
    return None


def path_variants(text: str) -> tuple[str, ...]:
    """The forms that a text can take on its way to a file system, without the text itself.

    Resolved parts, decoded percent signs, composed characters without those that draw nothing, any separator, no
    spaces, dots or stream names at the end of a part, no query, nothing after a zero byte or a separator of lists.
    """
    if PLAIN.fullmatch(text):
        return ()
    return _short(text) if len(text) <= SHORT else _long(text)


def _path_variants(text: str) -> tuple[str, ...]:
    forms = _plain_variants(text)
    meant = [
        one for form in filter(WILD.search, (text, *forms)) for one in _matched_secrets(form[-SHORT:].lower())
    ]
    return tuple(form for form in dict.fromkeys((*forms, *meant)) if form != text)


@lru_cache(maxsize=2_048)  # asked for by the count of the work and by the readings
def _plain_variants(text: str) -> tuple[str, ...]:
    """The same, without what the text can mean as a pattern."""
    decoded = [text]
    while len(decoded) <= MAX_DECODED and (plain := unquote(decoded[-1], errors="replace")) != decoded[-1]:
        decoded.append(plain)
    found: dict[str, None] = {}
    for one in decoded:
        address = URL.match(one)
        found |= dict.fromkeys(
            (_url(one) if address else _resolved(one, str), _resolved(_visible_text(one), _trimmed))
        )
        if ":" in one:  # a path behind a revision, a host or a scheme
            found[_resolved(_visible_text(one.rpartition(":")[2]), _trimmed)] = None
        for cut in ("\0", "?", "#"):
            if cut in one:
                found[_resolved(_visible_text(one.partition(cut)[0]), _trimmed)] = None
        if len(listed := LISTED.split(one, 1)) > 1:
            found[_resolved(_visible_text(listed[0]), _trimmed)] = None
    return tuple(form for form in found if form != text)


def _matched_secrets(text: str) -> Iterator[str]:
    """The secret files that a text can mean as a pattern of names (`.en*`, `id_r?a`, `{.env,x}`).

    A pattern that says next to nothing of a name (`*`, `.*`, `*.json`) means none: tools take `*` for much else.
    """
    names = [BEFORE_A_NAME.split(one)[-1] for one in _alternatives(text)]
    if len(names) > MAX_ALTERNATIVES:
        yield SECRET_NAMES[0]
    for name in names[:MAX_ALTERNATIVES]:
        yield from _secrets_of_name(name)


@lru_cache(maxsize=8_192)  # the forms of a text mostly have the same alternatives
def _secrets_of_name(name: str) -> tuple[str, ...]:
    """The secret files that a name means, itself or as a pattern."""
    choices = _candidate_secrets(name) if ANY_OF.search(name) else ()
    meant = tuple(secret for secret in choices if _could_be(name.split("/"), secret))
    return (name, *meant) if SECRET.search(name) else meant


def _candidate_secrets(pattern: str) -> tuple[str, ...]:
    """The secret files whose names hold all that a pattern says in letters: few, and told without making a matcher."""
    last = pattern.rpartition("/")[2]
    begin, end = last.find("["), last.rfind("]")
    plain = f"{last[:begin]}*{last[end + 1 :]}" if 0 <= begin < end else last
    first, *inner = re.split(r"[*?]", plain)
    end_of_name = inner.pop() if inner else first
    runs = [run for run in (first, *inner, end_of_name) if run]
    if not last or any(run not in ALL_LAST_NAMES for run in runs):
        return ()
    return tuple(
        secret
        for secret, name in LAST_NAMES
        if name.startswith(first) and name.endswith(end_of_name) and all(run in name for run in runs)
    )


def _alternatives_of(form: str) -> int:
    """How many names a form of a text stands for; one that is a pattern of secret names counts for several."""
    if not BRACES.search(form):
        return _cost_of_name(BEFORE_A_NAME.split(form[-SHORT:].lower())[-1])
    if form.count(",") > MOST_CHOICES:
        return MAX_ALTERNATIVES + 1
    return sum(max(1, _cost_of_name(one)) for one in _alternatives(form[-SHORT:].lower()))


def _cost_of_name(name: str) -> int:
    return COST_OF_A_PATTERN if ANY_OF.search(name) and _candidate_secrets(name) else 0


def too_many_targets(targets: Targets | None, args: Json) -> bool:
    """Whether the targets among the arguments have more forms, or stand for more names, than one call may have."""
    if not isinstance(args, Mapping):
        return False
    opened = with_parsed_json(args) if targets is None else args
    both = (args,) if opened is args else (args, opened)
    texts = dict.fromkeys(found for given in both for found in _texts(targets, given))
    texts |= dict.fromkeys((one, path_variants) for one in (targets.resolved_to if targets else ()))
    return too_many_forms(texts)


def too_many_forms(texts: Collection[tuple[str, Forms]]) -> bool:
    """Whether these texts, each with what gives its forms, have more of them, or stand for more names, than are looked
    at for one call. It stops counting there, so that it takes no longer than what is looked at."""
    names = work = widest = 0
    for text, of in texts:
        if PLAIN.fullmatch(text):
            continue
        forms = (text, *(_plain_variants(text) if of is path_variants else of(text)))
        names += sum(map(_alternatives_of, forms)) if of is path_variants else 0
        others = len(forms) - text.isascii() + sum(map(len, forms)) // LONG_FORM
        work += 1 + COST_OF_A_FORM * others
        widest = max(widest, len(forms))
        if names > MAX_ALTERNATIVES_OF_A_CALL or work + widest * len(texts) // COPIES > MOST_WORK_OF_A_CALL:
            return True
    return False


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


def _could_be(pattern: Sequence[str], secret: str) -> bool:
    folder, slash, name = secret.rpartition("/")
    if slash and (
        len(pattern) < 2 or not fnmatchcase(folder, pattern[-2]) or not _is_specific(pattern[-2], folder)
    ):
        return False
    return fnmatchcase(name, pattern[-1]) and (pattern[-2:-1] == [folder] or _is_specific(pattern[-1], name))


def _is_specific(pattern: str, secret: str) -> bool:
    """Whether a pattern says something of the name: two letters of it, or what follows the dot of a hidden file."""
    if sum(map(str.isalnum, ANY_OF.sub(_known, pattern))) < 2:
        return pattern.startswith(".") and len(pattern) > 2
    stem = pattern.rpartition(".")[0]  # `*.json` says only what kind of file it is, `*.pem` says enough
    return not stem or ANY_OF.sub(_known, stem) != "" or secret.startswith("x.")


def _known(found: re.Match[str]) -> str:
    """A letter for a choice among few, nothing for any."""
    return "x" if found[0].startswith("[") and found[0][1] != "!" and len(found[0]) <= 5 else ""


# Each text is asked for several times for one call, which may have thousands.
_short, _long = lru_cache(maxsize=16_384)(_path_variants), lru_cache(maxsize=64)(_path_variants)


def _visible_text(text: str) -> str:
    """What is left of a text when it is composed and what draws nothing is taken out; its separators are slashes."""
    if text.isascii() and text.isprintable():
        return URL.sub("/", text.replace("\\", "/"), count=1)
    composed = unicodedata.normalize("NFKC", text.translate(SLASHES).translate(DOTS)).translate(SLASHES)
    return URL.sub("/", "".join(c for c in composed if c.isspace() or not is_invisible(c)), count=1)


def _trimmed(part: str) -> str:
    """One part of a path as file systems take it that drop spaces, dots and streams at its end."""
    if part in (".", ".."):
        return part
    stream = part.find(":", 2)  # not the colon of a drive
    return part[: stream if stream > 0 else None].strip().strip(" \t\r\n\f\v\"'`").rstrip(" .")


def _resolved(text: str, trim: Callable[[str], str]) -> str:
    parts: list[str] = []
    for part in map(trim, text.split("/")):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
    return ("/" if text.startswith("/") else "") + "/".join(parts)


def _url(text: str) -> str:
    """A URL with its scheme and host in lower case, no user, no port that goes without saying, and a resolved path."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return text
    host = _host(parts.hostname or "")
    host = host if port in (None, DEFAULT_PORTS.get(parts.scheme)) else f"{host}:{port}"
    path = _resolved(parts.path, str)
    more = ("?" + parts.query if parts.query else "") + ("#" + parts.fragment if parts.fragment else "")
    return f"{parts.scheme}://{host}{path}{more}"


def address(text: str) -> tuple[str, ...]:
    """The mail addresses in a text in their canonical form: no display names, the host in lower case and ASCII."""
    found = []
    for match in MAILBOX.finditer(_visible_text(text)):
        name, _, host = match[0].rpartition("@")
        found.append(f"{name}@{_host(host)}")
    return tuple(one for one in found if one != text)


def _host(host: str) -> str:
    host = host.rstrip(".").lower()
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host


def identifier(text: str) -> tuple[str, ...]:
    """An identifier without what draws nothing, in either case."""
    plain = " ".join(_visible_text(text).split())
    return tuple(dict.fromkeys(one for one in (plain, plain.casefold()) if one != text))


def argument_variants(targets: Targets | None, args: Json) -> Iterator[Json]:
    """The arguments in every other form that rules are held against, one after another.

    Of a tool that declares nothing, any text may be a path, also the name of a field (`{"files": {path: content}}`),
    but for what is prose by its name.
    """
    if not isinstance(args, Mapping):
        return
    if targets and targets.resolved_to:
        yield {**args, REPORTED: [form for one in targets.resolved_to for form in (one, *path_variants(one))]}
    if targets is None and (inside := with_parsed_json(args)) is not args:
        yield inside
        yield from _argument_variants(None, inside)
    yield from _argument_variants(targets, args)


def _argument_variants(targets: Targets | None, args: Mapping[str, Json]) -> Iterator[Json]:
    forms = {text: of(text) for text, of in _texts(targets, args)}
    for number in range(max(map(len, forms.values()), default=0)):
        yield _mapped(targets, args, lambda text: _pick(forms.get(text, ()), number) or text)  # noqa: B023


def with_parsed_json(args: Mapping[str, Json]) -> Mapping[str, Json]:
    """The arguments with every text that is a JSON object or list, but for prose, in the form of what it says."""
    opened = {
        key: value if key.lower() in PROSE else _parse_json_text(value, DEEPEST_JSON)
        for key, value in args.items()
    }
    return args if opened == args else opened


def _parse_json_text(value: Json, depth: int) -> Json:
    if isinstance(value, Mapping):
        return {key: _parse_json_text(item, depth) for key, item in value.items()}
    if isinstance(value, list):
        return [_parse_json_text(item, depth) for item in value]
    if not isinstance(value, str) or not depth or len(value) > LONGEST_JSON:
        return value
    if not value.lstrip().startswith(("{", "[")):
        return value
    try:
        # Every pair is kept: a tool may take the first of two that have the same name.
        found = json.loads(value, object_pairs_hook=lambda pairs: [[*pair] for pair in pairs])
    except (ValueError, RecursionError):
        return value
    return _parse_json_text(found, depth - 1)


def _pick(forms: Sequence[str], number: int) -> str:
    return forms[min(number, len(forms) - 1)] if forms else ""


def content_paths(targets: Targets | None, args: Json) -> tuple[str, ...]:
    """Every form of the paths whose content the call reads or changes; of a tool that declares nothing, of every
    text among the arguments that is not prose by its name."""
    texts = list(targets.resolved_to) if targets else []
    if isinstance(args, Mapping):
        only = targets and Targets(paths=targets.paths)
        texts += (text for text, _ in _texts(only, args))
        if targets is None and (inside := with_parsed_json(args)) is not args:
            texts += (text for text, _ in _texts(None, inside))
    return tuple(form for text in texts for form in (text, *path_variants(text)))


def _texts(targets: Targets | None, args: Mapping[str, Json]) -> list[tuple[str, Forms]]:
    """Each target among the arguments, with what gives its other forms."""
    found: list[tuple[str, Forms]] = []
    for of, names in _kinds(targets):

        def note(text: str, of: Forms = of) -> str:
            found.append((text, of))
            return text

        _named(args, names, note)
    return found


def _mapped(targets: Targets | None, args: Mapping[str, Json], change: Callable[[str], str]) -> Json:
    for _, names in _kinds(targets):
        args = _named(args, names, change)
    return args


def _kinds(targets: Targets | None) -> tuple[tuple[Forms, tuple[str, ...] | None], ...]:
    """What the named arguments are; None in place of names: whatever is no prose."""
    if targets is None:
        return ((path_variants, None),)
    return (
        (path_variants, (*targets.paths, *targets.looks)),
        (address, targets.addresses),
        (identifier, targets.ids),
    )


def _named(
    args: Mapping[str, Json], names: tuple[str, ...] | None, change: Callable[[str], str]
) -> Mapping[str, Json]:
    if names is None:
        return {change(k): v if k.lower() in PROSE else _everywhere(v, change) for k, v in args.items()}
    for name in names:
        args = _changed(args, _steps(name), change)
    return args


def _steps(name: str) -> tuple[str, ...]:
    return tuple(name.replace("[]", ".[]").split("."))


def _changed(value: Json, steps: Sequence[str], change: Callable[[str], str]) -> Json:
    """The value with the texts at this place changed; a list at its end is changed item by item."""
    if not steps:
        if isinstance(value, list):
            return [_changed(item, (), change) for item in value]
        return change(value) if isinstance(value, str) else value
    if steps[0] == "[]":
        return [_changed(item, steps[1:], change) for item in value] if isinstance(value, list) else value
    if isinstance(value, Mapping) and steps[0] in value:
        return {**value, steps[0]: _changed(value[steps[0]], steps[1:], change)}
    return value


def _everywhere(value: Json, change: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(key): _everywhere(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_everywhere(item, change) for item in value]
    return value
