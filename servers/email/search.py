"""The words of all messages in a private SQLite index, so that each message is parsed once and found at once.

The index lives as long as the server, in memory; what does not fit there is in an unnamed file that SQLite removes.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence, Set
from threading import Lock
from weakref import finalize

from servers.email import mailboxes
from servers.email.mailboxes import Facts, Letter
from servers.email.words import TEXTS, Term, Wanted
from servers.filesystem.given_up import unless_given_up
from servers.filesystem.listing import Budget

SEARCHED = 4 << 20  # bytes of a message that are searched
SHORTEST = 3  # letters that the index finds, inside of words too; for fewer, every text is looked through
# Letters, and terms, that the index is asked for: it goes through the places of each three letters, and there may be
# millions. In what it finds, the rest is looked for.
LOOKED_UP, MOST_LOOKED_UP = 6, 4
File = tuple[bytes, str]  # the path of a message, and its version
_LISTED = ("date", "sender", "subject")  # what a list says of a message
_SCHEMA = f"""PRAGMA cache_size = -65536; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
CREATE TABLE letter(id INTEGER PRIMARY KEY, path BLOB, version TEXT, facts TEXT, wrong TEXT,
    partly BOOLEAN, named BOOLEAN, UNIQUE(path, version));
CREATE VIRTUAL TABLE word USING fts5({", ".join(TEXTS)}, tokenize = 'trigram');"""


class Index:
    """For use from several threads: it serves one after the other, and several while they wait for the sandbox."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._base = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._base.executescript(_SCHEMA)
        finalize(self, self._base.close)

    def search(
        self, letters: Sequence[Letter], wanted: Wanted, budget: Budget, wrong: list[str]
    ) -> list[tuple[Letter, Facts]]:
        """Those of the messages that hold what is wanted, each with what a list says of it.

        What is new or changed is read first, the newest first, until the budget is spent. `wrong` gets a sentence for
        each message that cannot be read.
        """
        known = {_file(one): one for one in letters}
        with self._lock:
            self._forget(known, budget)
            new = {file: known[file] for file in self._missing(known)}
        left = self._take_in(new, budget, wrong)
        with self._lock:
            rows = [*self._holding(wanted.terms)]
            wrong += [why for *file, why in self._base.execute(_BAD) if tuple(file) in known]
            partly = sum(file in known for file in self._base.execute(_PARTLY))
            unread = sum(file in known for file in self._base.execute(_NAMED))
            left += len(self._missing(known) - new.keys())  # which another search forgot
        if unread and any("attached" in term.texts for term in wanted.terms):
            many = f"{unread:,} messages have" if unread > 1 else "1 message has"
            wrong.insert(0, f"{many} attachments of which only the names were searched.")
        if partly:
            many = f"{partly:,} messages were" if partly > 1 else "1 message was"
            wrong.insert(0, f"{many} searched in part ({_REASONS}).")
        if left:
            budget.spent = f"{left:,} of {len(known):,} messages are not read yet: search again to go on."
        found = [(known[file], json.loads(facts)) for file, facts in rows if file in known]
        return [(letter, facts) for letter, facts in found if wanted.in_time(facts["date"])]

    def _holding(self, terms: Sequence[Term]) -> Iterator[tuple[File, str]]:
        """The files and the facts of the messages that hold all of these."""
        for path, version, facts in self._base.execute(*_query(terms)):
            unless_given_up()
            yield (path, version), facts

    def _forget(self, known: Mapping[File, Letter], budget: Budget) -> None:
        """Take out what is changed or gone. What is in a mailbox that was not looked at stays."""
        paths = {path for path, _ in known}
        walked = {*map(_folder, paths)} if not budget.spent else set()
        old = [
            (key,)
            for key, path, version in self._base.execute("SELECT id, path, version FROM letter")
            if (path, version) not in known and (path in paths or _folder(path) in walked)
        ]
        for table, column in (("word", "rowid"), ("letter", "id")):
            self._base.executemany(f"DELETE FROM {table} WHERE {column} = ?", old)

    def _missing(self, known: Mapping[File, Letter]) -> Set[File]:
        return known.keys() - self._base.execute("SELECT path, version FROM letter")

    def _take_in(self, new: dict[File, Letter], budget: Budget, wrong: list[str]) -> int:
        """Read these, and drop those that were. Returns how many are left. Others search meanwhile: the reading waits
        for its turns in the sandbox, as long as the other reads of this person last."""
        newest = sorted(new.values(), key=lambda letter: letter.modified, reverse=True)
        some = (letter for letter in newest if budget.left())
        before = len(wrong)
        for together in mailboxes.told("email.indexed", some, SEARCHED, budget, wrong):
            with self._lock:
                self._base.execute("BEGIN")
                try:
                    for letter, facts, texts in together:
                        self._add(letter, facts, texts)
                        new.pop(_file(letter), None)
                finally:
                    self._base.execute("COMMIT")
        return len(new) - (len(wrong) - before)

    def _add(self, letter: Letter, facts: Facts, texts: Sequence[str]) -> None:
        """Unless another search has."""
        partly = bool(facts.get("unread")) or letter.size > SEARCHED
        named = bool(facts.get("named"))
        kept = {name: facts[name] for name in _LISTED if name in facts}
        row = (*_file(letter), json.dumps(kept), facts.get("wrong"), partly, named)
        added = self._base.execute(_LETTER, row)
        if added.rowcount and len(texts) == len(TEXTS):
            self._base.execute(_WORDS, (added.lastrowid, *texts))


_WORDS = f"INSERT INTO word(rowid, {', '.join(TEXTS)}) VALUES (?{', ?' * len(TEXTS)})"
_LETTER = "INSERT OR IGNORE INTO letter(path, version, facts, wrong, partly, named) VALUES (?, ?, ?, ?, ?, ?)"
_PARTLY = "SELECT path, version FROM letter WHERE partly AND wrong IS NULL"
_NAMED = "SELECT path, version FROM letter WHERE named AND wrong IS NULL"
_REASONS = f"cut off, larger than {SEARCHED >> 20} MB, or not in the encoding that they name"
_BAD = "SELECT path, version, wrong FROM letter WHERE wrong IS NOT NULL"


def _query(terms: Sequence[Term]) -> tuple[str, list[str]]:
    """The statement for the messages that hold all of these, and its parameters."""
    long = [term for term in terms if len(term.words) >= SHORTEST]
    asked = sorted(long, key=lambda term: len(term.words), reverse=True)[:MOST_LOOKED_UP]
    rest = [term for term in terms if term not in asked or len(term.words) > LOOKED_UP]
    conditions = ["letter.wrong IS NULL", *(["word MATCH ?"] if asked else []), *map(_holds, rest)]
    match = " AND ".join(f"{{{' '.join(term.texts)}}} : {_quoted(term.words[:LOOKED_UP])}" for term in asked)
    given = [*([match] if asked else []), *(term.words for term in rest for _ in term.texts)]
    tables = "letter JOIN word ON word.rowid = letter.id" if terms else "letter"
    return f"SELECT path, version, facts FROM {tables} WHERE {' AND '.join(conditions)}", given


def _holds(term: Term) -> str:
    return f"({' OR '.join(f'instr(word.{text}, ?)' for text in term.texts)})"


def _quoted(words: str) -> str:
    doubled = words.replace('"', '""')
    return f'"{doubled}"'


def _file(letter: Letter) -> File:
    """The file that a message was read from, by the bytes on the disk. What a search says of it is said of no other:
    rules are held against the file, and files of one name may lie in several folders of one mailbox."""
    return os.fsencode(letter.place.inner), letter.version


def _folder(path: bytes) -> bytes:
    """The folder of the mailbox that a message file is in."""
    return b"/".join(path.split(b"/")[:-2])
