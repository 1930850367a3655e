"""The other forms of one text: what a tool, a file system, a mail server or a browser could take it for.

Rules about arguments are held against all of them, so that none depends on a spelling.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain, islice
from urllib.parse import unquote, urlsplit

from gate.arguments.encoded_words import without_encoded_words
from gate.arguments.host_names import LONGEST_HOST, as_of_2008, host_on_the_web, in_ascii, with_own_letters
from gate.arguments.json_texts import is_json
from gate.arguments.listed_names import looks_like_path, path_names, secret_names, unlike
from gate.arguments.notations import PATH_SIGN, SOURCES
from gate.arguments.production_files import ends_as_production
from gate.arguments.secret_files import SECRET_NAMES, ends_as_secret
from gate.arguments.secret_patterns import matched_production, matched_secrets
from gate.arguments.text_cache import Remembered
from gate.arguments.unicode_safety import is_invisible

Forms = Callable[[str], tuple[str, ...]]
# A text that has no other form: words between single separators.
PLAIN = re.compile(r"/?[A-Za-z0-9_]+([./ -][A-Za-z0-9_]+)*")
WILD = re.compile(r"[*?\[{(]")
DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
# Around an address, libraries leave out what Python takes for blanks, control characters, and a byte order mark
BLANKS = "".join(one for one in map(chr, range(0x3001)) if one <= " " or one.isspace()) + "\ufeff"
BREAKS = dict.fromkeys(map(ord, "\t\n\r"))  # anywhere in an address of the web, URL parsers leave them out
MAX_DECODED = 8  # times that percent-encoding is taken off
SLASHES, DOTS = "\\\u2044\u2215\u29f8\u2571\u27cb\u2216\u29f5\u29f9", "\u2024\ua4f8\ua60e\U00010a50"
FIRST = re.compile(r"[,;]|(?<!\s)[&|](?!\s)")  # behind the first path of a list in one text
LISTED = re.compile(r"[,;\r\n\u3001]")  # between all of them
ENTRY = re.compile(r"[^\s=(){}<>\"'`]{1,300}|\{[^\s=(){}<>\"'`]{1,300}\}")
# Names in one text that the rules of operators are held against; forms of it, beyond which a call is refused
MOST_NAMES, MOST_FORMS = 700, 2_001
SHORTEST_OF_MANY = 2 * MOST_NAMES  # characters
ROOT = re.compile(r"(?:\.?[/\\])+")
ARCHIVE = re.compile(
    r"(?i)\.(zip|jar|war|ear|apk|aar|whl|egg|tar|tgz|tbz2?|txz|gz|bz2|xz|zst|7z|rar|cab|iso|cpio|docx|xlsx|pptx)[!#?>|*]{1,3}"
    r"(?=\S)"
)
VARIABLE = re.compile(r"\$(\w{1,60}|\{[^{}\s]{0,80}\}|\([^()\s]{0,80}\)|[@*#?!$-])|%\w{1,60}%")  # of a shell
# Before the dot of a hidden file: of pathspecs, redirections, lists of arguments
SIGNS = re.compile(r"(\([\w,:-]{0,40}\)|[:+!^<>~(\[$])+(?=\.)")
# The same before a path: of a pathspec, an option, a comment
SIGNS_OF_PATHS = re.compile(r"(\([\w,:-]{0,40}\)|[:+!^<>(\[=#@-])+(?=[/\\]{0,9}\w[^/\\]{0,255}[/\\])")
REDIRECTED = re.compile(r"[#>](?=\.)")
# Behind the file of a machine that is mounted at a path: `.env:/x:ro`; one word and what is assigned to it
MOUNTED = re.compile(r":(?=[/\\~.$]|[A-Za-z]:[/\\])")
ASSIGNED = re.compile(r"-{0,2}([A-Za-z][\w.-]{0,40})=(.+)")
# The same where the path has a blank: then the text is nothing else. Of a revision as well: `my files/.env@HEAD`.
MOUNTED_WITH_BLANKS = re.compile(
    r"(?:(?:-v|--volume)[ =])?((?:[A-Za-z]:)?[^:\r\n]{1,1000}):(?:[/\\~.$]|[A-Za-z]:[/\\])[^\s:]{0,1000}"
    r"(?::[\w,]{1,40})?"
)
OF_REVISION = re.compile(r"([^@\r\n]{1,1000})@[\w./~^{}-]{1,200}")
ASSIGNMENTS = re.compile(r"-{0,2}[A-Za-z][\w.-]{0,40}(=[^,;\r\n]{1,1000})?")
CODE = re.compile(r"(\w+\.)+key")  # `item.key`
HAS_A_SIGN = re.compile(r"[._]")
DOMAIN = re.compile(r"\w[\w-]*(\.\w[\w-]*)*\.[A-Za-z]{2,}")
MOST_MOUNTS = 4
ANY_PROCESS = "/proc/self/environ"
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://[^/?#]*")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\t\r\n-]{0,60}:")
WEB = re.compile(r"(https?|wss?|ftp):[/\\]*|[/\\]{2}", re.IGNORECASE)  # as browsers read an address
HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(?::([0-9]{0,5}))?")
MOST_ADDRESSES = 2_001  # of mail in one text: more than a call may have
# A text may become this long when it is composed, and else this many times as long: U+FDFA alone becomes 18 characters.
ALWAYS_COMPOSED, MOST_COMPOSED = 2_000, 2
COMPOSED_AT_ONCE = 1_024  # characters
# In a row, as in Unicode's format of text that is safe for streams: putting them in order takes quadratic time
MOST_MARKS, A_MARK = 30, "\u0301"
BRACKET = re.compile(r"[()]")
AROUND_SIGNS = re.compile(r"(?<!\s)\s++(?=[@.])|(?<=[@.])\s++")  # blanks that an address may have (RFC 5322)
UNQUOTED = r"\1"
QUOTED_NAME = re.compile(r"\"([\w!#$%&'*+/=?^`{|}~.-]{1,64})\"")  # in quotes that change nothing
QUOTED = re.compile(r"\"(?:[^\"\\]|\\.){1,64}+\"")
PAIR = re.compile(r"\\(.)")  # in quotes, a character behind a backslash stands for itself (RFC 5322)
MAILBOX = re.compile(
    r"(\"(?:[^\"\\]|\\.){1,64}\"|[^\s<>,;:()\"@]{1,64})@"
    r"\[?((?<=\[)(?:(?i:ipv6):)?[0-9a-fA-F:.]{2,45}(?=\])|[^\s<>,;:()\"@?#&/\\\[\]]{1,255})"
)


def path_variants(text: str) -> tuple[str, ...]:
    """The forms that a text can take on its way to a file system, without the text itself.

    Resolved parts, decoded percent signs, no tabs and line breaks, composed characters without those that draw
    nothing, any separator, no spaces, dots or stream names at the end of a part, no query, nothing after a zero byte or
    a separator of lists.
    """
    return () if PLAIN.fullmatch(text) else _path_variants(text)


@Remembered
def _path_variants(text: str) -> tuple[str, ...]:
    forms = plain_variants(text)
    patterns = [form for form in (text, *forms) if WILD.search(form)]
    meant = [one for form in patterns for one in (*matched_secrets(form), *matched_production(form))]
    return tuple(form for form in dict.fromkeys((*forms, *meant)) if form != text)


@Remembered
def plain_variants(text: str) -> tuple[str, ...]:
    """The same, without what the text can mean as a pattern."""
    found: dict[str, None] = {}
    for one in versions(text):
        address = URL.match(one)
        found |= dict.fromkeys(
            (_url(one) if address else _resolved(one, str), _resolved(visible_text(one), _trimmed))
        )
        if ":" in one:  # a path behind a revision, a host or a scheme
            found[_resolved(visible_text(one.rpartition(":")[2]), _trimmed)] = None
            revision, _, path = one.partition(":")  # of git, behind which names may have colons
            if " " not in revision and ":" in path:
                found |= dict.fromkeys((_resolved(path, str), _resolved(visible_text(path), str)))
        for cut in ("\0", "?", "#"):
            if cut in one:
                found[_resolved(visible_text(one.partition(cut)[0]), _trimmed)] = None
        for part in chain(_behind_signs(one), _before_signs(one), _listed(one)):
            found[_resolved(visible_text(part), _trimmed)] = None
            if len(found) > MOST_FORMS:
                return tuple(found)
    return tuple(form for form in found if form != text)


@Remembered
def _decoded(text: str) -> tuple[str, ...]:
    """The text, and what is left of it each time that percent-encoding is taken off."""
    found = [text]
    while len(found) <= MAX_DECODED and (plain := _unquoted(found[-1])) != found[-1]:
        found.append(plain)
    return tuple(found)


@Remembered
def _unquoted(text: str) -> str:
    """The text with percent-encoding taken off once. Kept, as each of the decoded texts is decoded further for itself:
    of eight they would be 44 times."""
    return unquote(text, errors="replace")


@Remembered
def versions(text: str) -> tuple[str, ...]:
    """What its forms are made of: the text decoded once, twice and so on, each as it is, composed, and without breaks;
    an address without blanks around it, too."""
    decoded = list(dict.fromkeys(form for one in _decoded(text) for form in (one, composed(one))))
    decoded += [bare for one in decoded if SCHEME.match(bare := one.strip(BLANKS))]
    return tuple(dict.fromkeys((*decoded, *(one.translate(BREAKS) for one in decoded))))


def composed(text: str) -> str:
    """The text with one character for each letter and its marks, and else the same (NFC): a file system or a server may
    take both for one name. One of which that takes long stays as it is."""
    return text if text.isascii() else _composed(text)


@Remembered
def _composed(text: str) -> str:
    return text if grows(text) else unicodedata.normalize("NFC", text)


@Remembered
def grows(text: str) -> bool:
    """Whether some form of a text takes long to be looked at: it is much longer, or has marks upon marks."""
    return any(map(_grows, (*_decoded(text), without_encoded_words(text))))


def _grows(text: str) -> bool:
    return not text.isascii() and _grows_by_itself(text)


@Remembered
def _grows_by_itself(text: str) -> bool:
    if _has_marks_upon_marks(text):
        return True
    left = max(ALWAYS_COMPOSED, MOST_COMPOSED * len(text))
    for begin in range(0, len(text), COMPOSED_AT_ONCE):
        left -= len(unicodedata.normalize("NFKC", text[begin : begin + COMPOSED_AT_ONCE]))
        if left < 0:
            return True
    return False


def _has_marks_upon_marks(text: str) -> bool:
    marks = dict.fromkeys((ord(char) for char in set(text) if _is_mark(char)), A_MARK)
    return bool(marks) and A_MARK * (MOST_MARKS + 1) in text.translate(marks)


@lru_cache(maxsize=4_096)
def _is_mark(char: str) -> bool:
    """Whether it is put in order among others, once it is composed."""
    return not char.isascii() and unicodedata.combining(unicodedata.normalize("NFKD", char)[0]) != 0


def without_root(path: str) -> str:
    """A path without the slashes at its beginning."""
    found = ROOT.match(path)
    return path[found.end() :] if found else path


def is_url(text: str) -> bool:
    return URL.match(text) is not None


def _listed(text: str) -> Iterator[str]:
    """The names that a text holds for the rules of operators, paths first, and all secret files. Where it holds more
    paths than are looked at, it counts as naming a secret file."""
    names = _names(text)
    paths = [name for name in names if looks_like_path(name)]
    yield from islice(unlike(chain(paths, names)), MOST_NAMES)
    yield from SECRET_NAMES[:1] if len(paths) > MOST_NAMES else ()
    yield from secret_names(text)


@Remembered
def names_beyond(text: str) -> tuple[str, ...]:
    """All names in a text, as it is and decoded, of which more are in it than have forms."""
    if len(text) < SHORTEST_OF_MANY:
        return ()
    found = map(_names, versions(text))
    return tuple(dict.fromkeys(chain.from_iterable(one for one in found if len(one) > MOST_NAMES)))


def names_too_many_files(text: str) -> bool:
    """Whether more of the names in a text look like paths than have forms."""
    return sum(map(looks_like_path, names_beyond(text))) > MOST_NAMES


@Remembered
def _names(text: str) -> tuple[str, ...]:
    """The entries of a list in one text, on lines or between separators, and names in other notations, each once. What
    has a blank, a bracket or an assignment between two separators is no list, but code or prose. What JSON says is
    looked at by itself."""
    return tuple(dict.fromkeys(_each_name(text)))


def _each_name(text: str) -> Iterator[str]:
    if PLAIN.fullmatch(text):  # a word, a path, or words: it has no other forms
        return
    first, *more = FIRST.split(text, maxsplit=1)
    if more and first.split() == [first]:
        yield first
    entries = [entry for each in LISTED.split(text) if (entry := each.strip())]
    if LISTED.search(text) and all(map(ENTRY.fullmatch, entries)):
        yield from filter(_is_whole, entries)
    if "\\\\" in text or not is_json(text):  # JSON in JSON in JSON is looked at as it is, too
        yield from path_names(text)


def _behind_signs(text: str) -> Iterator[str]:
    """The member of an archive that a text names (`a.zip!x`). And of a text without blanks, which most code and prose
    have, what stands behind signs or is left when its variables are empty: `+.env`, `a#.env`, `$X.env`."""
    members = [found.end() for found in ARCHIVE.finditer(text)]
    yield from (text[end:] for end in dict.fromkeys((*members[:1], *members[-1:])))
    if text.split() != [text]:
        return
    if (signs := SIGNS.match(text) or SIGNS_OF_PATHS.match(text)) is not None:
        yield text[signs.end() :].rstrip(")]>")
    if (ends := [found.end() for found in REDIRECTED.finditer(text)]) and "(" not in text:
        yield text[ends[-1] :]
    if (bare := VARIABLE.sub("", text)) != text and (
        "/" in bare or (ends_as_secret(bare) and bare != ".key")
    ):
        yield bare  # `$item.key` is code


def _before_signs(text: str) -> Iterator[str]:
    """The file of a text without blanks that is mounted somewhere (`.env:/x:ro`, `type=bind,source=.env,target=/x`), or
    taken from a revision (`.env@HEAD`). And of a path that leads through /proc and up again, what it may end at: what
    is there are links."""
    if "/.." in (seen := text.replace("\\", "/")) and any(map(_leads_through_processes, seen.split())):
        yield ANY_PROCESS
    if text.split() != [text]:
        yield from _with_blanks(text.strip())
        return
    for found in islice(MOUNTED.finditer(text), MOST_MOUNTS):
        if PATH_SIGN.search(mounted := text[: found.start()]) or ends_as_secret(mounted):
            yield mounted
    assigned = [ASSIGNED.fullmatch(one) for one in LISTED.split(text)] if "=" in text and "," in text else []
    for one in filter(None, assigned):
        if (one[1].lower() in SOURCES or not CODE.fullmatch(one[2])) and _names_a_file(one[2]):
            yield one[2]
    for at in dict.fromkeys((text.find("@"), text.rfind("@"))):
        if at > 0 and _is_of_revision(text[:at], text[at + 1 :]):
            yield text[:at]


def _with_blanks(text: str) -> Iterator[str]:
    """The file of a text that is a mount or a file at a revision as a whole, though its path has blanks."""
    if (mount := MOUNTED_WITH_BLANKS.fullmatch(text)) and _names_a_file(mount[1]):
        yield mount[1]
    found = OF_REVISION.fullmatch(text)
    if found and "/" in found[1] and _names_a_file(found[1]):
        yield found[1]
    parts = text.split(",")
    if len(parts) > 1 and all(map(ASSIGNMENTS.fullmatch, parts)):
        given = (part.lstrip("-").partition("=") for part in parts)
        yield from (value for name, _, value in given if name.lower() in SOURCES and _names_a_file(value))


def _is_of_revision(path: str, revision: str) -> bool:
    """Whether it is a file of secrets or of production at a revision, and no address of mail or name of a package."""
    if not _names_a_file(path) or not HAS_A_SIGN.search(path.rpartition("/")[2]):
        return False
    return path.startswith(".") or "/" in path or not DOMAIN.fullmatch(revision)


def _names_a_file(text: str) -> bool:
    return (ends_as_secret(text) or ends_as_production(text)) and text.lower() not in (
        "prod",
        "production",
    )


def _leads_through_processes(path: str) -> bool:
    """Whether a path goes up again behind /proc or /dev/fd, where it may be anywhere."""
    parts = [part.strip("\"'`;&|)") for part in path.split("/") if part not in ("", ".")]
    if ".." not in parts:
        return False
    before = parts[: len(parts) - parts[::-1].index("..")]
    return "proc" in before or ("dev" in before and "fd" in before[before.index("dev") :])


def _is_whole(entry: str) -> bool:
    """Whether it is no part of a choice in braces, which is looked at as such."""
    return entry.count("{") == entry.count("}")


def text_variants(text: str) -> tuple[str, ...]:
    """The forms of a text that nobody has declared: it may be a path, an address of the web or one of mail."""
    if PLAIN.fullmatch(text):
        return ()
    return (*path_variants(text), *other_variants(text))


def other_variants(text: str) -> tuple[str, ...]:
    """Those of them that are no paths; all of a text that is declared as an address."""
    webs = web_address(text)
    spelled = [with_own_letters(one) for one in (text, *webs)]
    mails = address(text) if "@" in text or "=?" in text else ()
    return tuple(one for one in dict.fromkeys((*webs, *spelled, *mails)) if one != text)


@Remembered
def web_address(text: str) -> tuple[str, ...]:
    """An address of the web as browsers and their libraries read it (https://url.spec.whatwg.org/#url-parsing): without
    blanks around it, breaks and invisible characters in it, any number and kind of slashes, no user, an IPv4 address in
    four numbers."""
    seen = text if text.isascii() else "".join(one for one in text if one.isspace() or not is_invisible(one))
    plain = seen.strip(BLANKS).translate(BREAKS)
    scheme = WEB.match(plain)
    if not scheme:
        return ()
    rest = plain[scheme.end() :].replace("\\", "/")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    found = HOST.fullmatch(authority.rpartition("@")[2])
    if not found or not found[1]:
        return ()
    if len(found[1]) > 3 * LONGEST_HOST:  # each character may be written as %xx
        return ()
    written, tail = unquote(found[1]), rest[len(authority) :]
    hosts = (host_on_the_web(visible_text(written).strip("/")), as_of_2008(written))
    tail = tail if tail.startswith("/") else f"/{tail}"
    made = [
        f"{name}://{host}{'' if not found[2] or int(found[2]) == DEFAULT_PORTS[name] else ':' + found[2]}{tail}"
        for host in filter(None, hosts)
        for name in ([scheme[1].lower()] if scheme[1] else ["https", "http"])
    ]
    return tuple(one for one in made if one != text)


def _with(sign: str, others: str, text: str) -> str:
    """The text with this sign in place of the others; one after the other is quicker than by a table."""
    for other in others:
        text = text.replace(other, sign)
    return text


@Remembered
def visible_text(text: str) -> str:
    """What is left of a text when it is composed and what draws nothing is taken out; its separators are slashes.

    A text of which that takes long stays as it is: a call with one is refused."""
    if text.isascii() and text.isprintable():
        return URL.sub("/", text.replace("\\", "/"), count=1)
    plain = _with(".", DOTS, _with("/", SLASHES, text))
    composed = plain if _grows(plain) else _with("/", SLASHES, unicodedata.normalize("NFKC", plain))
    blank = {ord(c): None for c in set(composed) if not c.isspace() and is_invisible(c)}
    return URL.sub("/", composed.translate(blank) if blank else composed, count=1)


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
    host = in_ascii(parts.hostname or "")
    host = host if port in (None, DEFAULT_PORTS.get(parts.scheme)) else f"{host}:{port}"
    path = _resolved(parts.path, str)
    more = ("?" + parts.query if parts.query else "") + ("#" + parts.fragment if parts.fragment else "")
    return f"{parts.scheme}://{host}{path}{more}"


@Remembered
def address(text: str) -> tuple[str, ...]:
    """The mail addresses in a text in their canonical form: no display names, comments and blanks, the host in lower
    case and ASCII, and in its own letters. Blanks and brackets may stand between addresses as well, so both readings
    count."""
    decoded = without_encoded_words(text)
    if "@" not in visible_text(decoded):
        return ()
    quoted = QUOTED.sub(lambda found: PAIR.sub(UNQUOTED, found[0]), decoded)
    plains = dict.fromkeys(map(visible_text, (decoded, quoted)))
    bares = dict.fromkeys(map(_without_comments, plains))
    readings = dict.fromkeys((*bares, *(AROUND_SIGNS.sub("", bare) for bare in bares), *plains))
    matches = dict.fromkeys(match.groups() for one in readings for match in MAILBOX.finditer(one))
    found = [
        f"{QUOTED_NAME.sub(UNQUOTED, name)}@{in_ascii(host)}"
        for name, host in islice(matches, MOST_ADDRESSES)
    ]
    spelled = map(with_own_letters, found)
    return tuple(one for one in dict.fromkeys((*found, *spelled)) if one != text)


def _without_comments(text: str) -> str:
    """The text without what stands in brackets, also in brackets within them; what has no end is kept."""
    kept, depth, since = [], 0, 0
    for bracket in BRACKET.finditer(text):
        if bracket[0] == "(":
            if not depth:
                kept.append(text[since : bracket.start()])
                since = bracket.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                since = bracket.end()
    return "".join((*kept, text[since:]))


def identifier(text: str) -> tuple[str, ...]:
    """An identifier without what draws nothing, in either case."""
    plain = " ".join(visible_text(text).split())
    return tuple(dict.fromkeys(one for one in (plain, plain.casefold()) if one != text))
