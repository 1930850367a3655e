"""Paths as people write them, and the allowed folders that they cannot leave."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem.given_up import unless_given_up
from servers.lines import UNWRITABLE, one_line

PRIVATE = ".countersign"  # the server's own folder in each root: trash and watches
LONGEST_PATH = 4096  # characters
LONGEST_NAME = 255  # bytes of UTF-8, as file systems count
LOOKED_AT_ONCE = 1_000  # names of a folder
# How paths of files that hold secrets end. The gate asks before one is read by its name, by the same pattern, so tools
# that read whole folders leave them out.
SECRET = re.compile(
    r"(?i)(^|[/\\=\s@,;&|])[.#]{0,2}(\.env([._-](?!(example|sample|template|dist)$)[\w-]{1,40})?"
    r"(\.(?!(example|sample|template|dist)$)[\w-]{1,40}){0,2}|\.envs[/\\]([\w.-]{1,60}[/\\]){0,2}\.[\w-]{1,40}|"
    r"(?!([\w-]{1,99}\.){0,3}(example|sample|template|dist)\.env)"
    r"[\w-]{1,99}(\.[\w-]{1,60}){0,3}\.env|"
    r"\.envrc|\.dev\.vars(\.(?!(example|sample|template|dist)$)[\w-]{1,40})?|[._]netrc|\.pgpass|pgpass\.conf|\.npmrc|"
    r"\.pypirc|\.htpasswd|\.git-credentials|\.vault-token|vault[_-]pass(word)?([_-]file)?|"
    r"vault\.ya?ml|\.dockercfg|\.dockerconfigjson|\.s3cfg|\.boto|credentials\.tfrc\.json|"
    r"\.((ssh|gnupg|aws|password-store)([/\\](?![\w.*?\[\]{},!-]{0,90}\.pub([._~-]|$))[\w.*?\[\]{},!-]{1,90}){0,3}|"
    r"yarnrc\.ya?ml|smbcredentials|authinfo|m2[/\\]settings(-security)?\.xml|git[/\\]config|config[/\\]op[/\\]config|"
    r"huggingface[/\\](stored_)?tokens?|cache[/\\]huggingface[/\\](stored_)?tokens?|"
    r"kube[/\\]config|(my|mylogin)\.cnf|terraformrc|"
    r"(bash|zsh|sh|ksh|fish|python|psql|mysql|sqlite|rediscli|node_repl|irb|pry)_history)|\.docker[/\\]config\.json|gh[/\\]hosts\.yml|"
    r"run[/\\]secrets([/\\][\w.*?\[\]{},!-]{1,90}){1,4}|"
    r"access_?tokens\.(db|json)|legacy_credentials([/\\][\w.@-]{1,90}){1,2}|azureprofile\.json|"
    r"msal_token_cache\.\w{1,10}|key[34]\.db|signons\.sqlite|logins(-backup)?\.json|cookies\.sqlite(-wal)?|"
    r"login(?<=[/\\]login) data( for account)?|^(?-i:Login Data)( For Account)?|"
    r"etc[/\\](g?shadow-?|wireguard[/\\][\w-]{1,40}\.conf|kubernetes[/\\][\w-]{1,40}\.conf)|"
    r"ssh_host_(rsa|dsa|ecdsa|ed25519)_key|fish_history|kaggle\.json|[\w-]{1,60}-firebase-adminsdk-[\w-]{1,40}\.json|"
    r"proc[/\\]([^/\\\s]{1,40}[/\\]){1,3}(environ|mem)|id_(rsa|dsa|ecdsa|ed25519)(_sk)?|([\w-]{1,40}\.)?kubeconfig(\.ya?ml)?|rclone\.conf|"
    r"[\w.-]{0,60}\.(pem|key|p8|p12|pfx|ppk|jks|keystore|keytab|kdbx|tfstate|"
    r"(?<!example\.)(?<!sample\.)(?<!template\.)tfvars(\.json)?)|credentials(\.\w{1,10})?|secring\.gpg|"
    r"credentials[/\\][\w-]{1,60}\.ya?ml\.enc|"
    r"[\w-]{1,40}([_-](?<!example.)(?<!sample.)credentials|[._-](?<!example.)(?<!sample.)(?<!sealed.)(?<!external.)secrets?)\."
    r"(json|ya?ml|toml|ini|csv)|client_secrets?[\w.-]{0,90}\.json|"
    r"secrets?\.(ya?ml|json|toml|ini|txt|env)|"
    r"secrets?((\.(?!(example|sample|template|dist|schema)\.)[\w-]{1,40}){1,2}|"
    r"[_-](prod(uction)?|dev(elopment)?|staging|stage|test|local|live))\.(ya?ml|json|toml|ini)|"
    r"service[_-]?account[\w-]{0,40}\.json|wp-config\.php|"
    r"local\.settings\.json)"
    r"(~|#|\.(gz|bz2|xz|zip|7z|asc|enc|gpg|age|swp|tmp|txt)|\s?\(\d{1,3}\)|"
    r"([._]\d{1,14}|-\d{4,14}|(?<!credentials) \d{1,3})([T._-]\d{1,6}){0,5}|"
    r"[._-](bkp?|prev(ious)?|last|rej|disabled|off|rpm(save|orig|new)|(dpkg|ucf)-[a-z]{3,6})|"
    r"[\s._-]{1,3}\(?(bak|old|orig|save|backup|copy|kopie)( ?\d{1,3})?\)?){0,3}$"
)


def split(path: str) -> tuple[str, ...]:
    """The parts of a path as a person wrote it, without empty ones and `.`.

    Raises ToolError for what may never be part of one: `..` in any spelling, control characters, our own folder.
    """
    if len(path) > LONGEST_PATH:
        raise ToolError(f"The path is {len(path)} characters long. Give one of at most {LONGEST_PATH}.")
    if UNWRITABLE.search(path):
        raise ToolError("The path holds a control character. Give it in plain characters.")
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    for part in parts:
        _check(part)
    return parts


def _check(part: str) -> None:
    plain = unquote(part)
    if "/" in plain or "\\" in plain or plain in (".", ".."):
        raise ToolError(
            f"“{part}” cannot be part of a path here. Use names and “/”, never “..” or a backslash."
        )
    if len(part.encode()) > LONGEST_NAME:
        raise ToolError(f"A name in the path is longer than {LONGEST_NAME} bytes. Give a shorter one.")
    if is_private(part):
        raise ToolError(
            f"“{PRIVATE}” is kept by this server. Look at the trash, or at the watched folders, to see what is in it."
        )


def is_private(name: str) -> bool:
    """Whether some file system could take this name for our own folder."""
    return look(name).casefold() == PRIVATE


def is_secret(path: str) -> bool:
    """Whether the last name of a path is one of a file that holds secrets, as any file system could take it."""
    return bool(SECRET.search(look(path)))


def look(name: str) -> str:
    """What a reader sees of a name: composed, without invisible characters and spaces or dots at its end."""
    if name.isascii():  # as most are: of these nothing else changes
        return name.lstrip(" ").rstrip(" .")
    seen = (c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    return "".join(seen).lstrip(" ").rstrip(" .")


def unusual(name: str) -> bool:
    """Whether another name could look the same as this one."""
    return not name.isascii() or look(name) != name


def shown(name: str) -> str:
    """A name from the disk as text that JSON and people can bear: bytes outside UTF-8 and controls as escapes."""
    return one_line(name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Root:
    """One allowed folder: its short name, its real path, and the path as the operator gave it."""

    name: str
    path: Path
    given: Path


@dataclass(frozen=True)
class Place:
    """A path inside a root. Nothing is known yet about what is there."""

    root: Root
    parts: tuple[str, ...]
    prefix: tuple[str, ...]  # the root's name where there are several roots
    folder: bool = False  # written with a slash at its end
    served: tuple[
        Root, ...
    ] = ()  # all roots of the server: a file of one may have another name in the others

    @property
    def said(self) -> str:
        """The path as people read it, good as an argument too unless a name in it is no plain text."""
        said = "/".join(self.prefix + self.parts) or "."
        return said if said.isprintable() else shown(said)

    def child(self, name: str) -> Place:
        return Place(self.root, (*self.parts, name), self.prefix, served=self.served)

    @property
    def inner(self) -> str:
        """The path inside its root."""
        return "/".join(self.parts)

    @property
    def recorded(self) -> str:
        """The same as manifests keep it. Raises ToolError for one with bytes that are no text."""
        try:
            self.inner.encode()
        except UnicodeEncodeError:
            raise ToolError(
                f"{self.said} has a name that is no plain text, which no record can keep. Rename it by hand first."
            ) from None
        return self.inner


class Spot(NamedTuple):
    """A name in an open folder. Every call on a file goes through one, so no path is ever resolved twice."""

    folder: int  # descriptor
    name: str
    said: str


@dataclass(frozen=True)
class Roots:
    """All allowed folders; the first is what relative paths start from."""

    roots: tuple[Root, ...]

    @classmethod
    def at(cls, paths: Sequence[Path]) -> Roots:
        """Roots at these folders. Raises ValueError with a sentence when one is missing, two share a name or one is in
        another."""
        roots = tuple(_root(Path(path)) for path in paths)
        if not roots:
            raise ValueError("Name at least one folder with --root.")
        if len({root.name for root in roots}) < len(roots):
            raise ValueError("Two roots have the same folder name. Rename one: paths are told apart by it.")
        for outer, inner in permutations(roots, 2):
            if inner.path.is_relative_to(outer.path):
                raise ValueError(
                    f"The root {inner.given} is inside the root {outer.given}, so files would have two names. Leave "
                    "one of them out."
                )
        return cls(roots)

    @property
    def places(self) -> dict[str, list[str]]:
        """The absolute paths of each folder, by its name."""
        return {root.name: list(dict.fromkeys((str(root.path), str(root.given)))) for root in self.roots}

    def find(self, path: str) -> Place:
        """The place a person means by `path`. Raises ToolError when it is no path inside a root."""
        if not path:  # rules know an allowed folder by one name
            raise ToolError("That path is empty. Give one like reports/q3.md, or “.” for all in the folder.")
        parts, folder = split(path), path.endswith("/")
        if path.startswith("/"):
            return self._absolute(parts, folder)
        if len(self.roots) > 1 and parts and (named := self._named(parts[0])):
            return self.place(named, parts[1:], folder)
        return self.place(self.roots[0], parts, folder)

    def place(self, root: Root, parts: tuple[str, ...], folder: bool = False) -> Place:
        return Place(root, parts, (root.name,) if len(self.roots) > 1 else (), folder, self.roots)

    def _named(self, name: str) -> Root | None:
        return next((root for root in self.roots if root.name == name), None)

    def _absolute(self, parts: tuple[str, ...], folder: bool) -> Place:
        for root in self.roots:
            for base in (root.path.parts[1:], root.given.parts[1:]):
                if parts[: len(base)] == base:
                    return self.place(root, parts[len(base) :], folder)
        raise ToolError(
            "That path is outside the allowed folders. Give one relative to them, like reports/q3.md."
        )


def _root(given: Path) -> Root:
    given = Path(os.path.abspath(given))
    try:
        path = given.resolve(strict=True)
    except OSError:
        raise ValueError(f"The root {given} does not exist. Make the folder or name another.") from None
    if not path.is_dir() or not path.name or not path.name.isprintable():
        raise ValueError(f"The root {given} is not a folder with a plain name. Name a folder.")
    return Root(path.name, path, given)


@contextmanager
def opened(place: Place) -> Iterator[int]:
    """A descriptor of the folder at `place`. Raises ToolError when it is none, or is reached through a link."""
    folder = os.open(place.root.path, _FOLDER)
    try:
        for part in place.parts:
            unmistakable(folder, part)
            inner = _enter(folder, part, place.said)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _enter(folder: int, part: str, said: str) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        raise ToolError(
            f"{said}: the folder “{part}” does not exist. Create that folder first, or name one that is there."
        ) from None
    except OSError as error:
        raise ToolError(
            f"{said}: “{part}” cannot be entered; links are not followed ({error.strerror})."
        ) from None


@contextmanager
def spot(place: Place) -> Iterator[Spot]:
    """Where the last name of `place` stands, with its folder open. The name itself need not exist."""
    if not place.parts:
        raise ToolError("That is an allowed folder itself. Name a file in it.")
    with opened(Place(place.root, place.parts[:-1], place.prefix)) as folder:
        unmistakable(folder, place.parts[-1])
        yield Spot(folder, place.parts[-1], place.said)


def unmistakable(folder: int, name: str) -> None:
    """Refuse a name that another one in the folder looks like (composed or not, space or dot at its end).

    And one that is no name: paths that people give are split before, those in a record or an index may be anything.
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ToolError("That path does not stay in its folder. Give one without “..” in it.")
    if not unusual(name):
        return
    seen = look(name)
    with os.scandir(folder) as others:
        for number, other in enumerate(others):
            if number % LOOKED_AT_ONCE == 0:
                unless_given_up()
            if other.name != name and look(other.name) == seen:
                raise ToolError(
                    f"“{name}” looks the same as another name in its folder. Rename one of them by hand first."
                )


@contextmanager
def private(root: Root, *inside: str, make: bool = True) -> Iterator[int]:
    """A descriptor of a folder of ours, `.countersign/…`, made when it is not there.

    Raises ToolError when something else has its name, or when it is not there and `make` is False.
    """
    folder = os.open(root.path, _FOLDER)
    try:
        for part in (PRIVATE, *inside):
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=folder)
            inner = _enter(folder, part, PRIVATE)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)
