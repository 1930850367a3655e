"""The words of all messages in a private SQLite index, so that each message is parsed once and found at once.

The index lives as long as the server, in memory; what does not fit there is in an unnamed file that SQLite removes.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
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
_LISTED = ("date", "sender", "subject")  # what a list says of a message
_SCHEMA = f"""PRAGMA cache_size = -65536; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
CREATE TABLE letter(id INTEGER PRIMARY KEY, path BLOB UNIQUE, version TEXT, facts TEXT, wrong TEXT,
    partly BOOLEAN, named BOOLEAN);
CREATE VIRTUAL TABLE word USING fts5({", ".join(TEXTS)}, tokenize = 'trigram');"""


class Index:
    """For use from several threads: it serves one after the other."""

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
        known = {_path(one): one for one in letters}
        with self._lock:
            self._forget(known, budget)
            left = self._take_in(known, budget, wrong)
            rows = [*self._holding(wanted.terms)]
            wrong += [why for path, why in self._base.execute(_BAD) if path in known]
            partly = sum(path in known for (path,) in self._base.execute(_PARTLY))
            unread = sum(path in known for (path,) in self._base.execute(_NAMED))
        if unread and any("attached" in term.texts for term in wanted.terms):
            many = f"{unread:,} messages have" if unread > 1 else "1 message has"
            wrong.insert(0, f"{many} attachments of which only the names were searched.")
        if partly:
            many = f"{partly:,} messages were" if partly > 1 else "1 message was"
            wrong.insert(0, f"{many} searched in part ({_REASONS}).")
        if left:
            budget.spent = f"{left:,} of {len(known):,} messages are not read yet: search again to go on."
        found = [(known[path], json.loads(facts)) for path, facts in rows if path in known]
        return [(letter, facts) for letter, facts in found if wanted.in_time(facts["date"])]

    def _holding(self, terms: Sequence[Term]) -> Iterator[tuple[bytes, str]]:
        """The paths and the facts of the messages that hold all of these."""
        for path, facts in self._base.execute(*_query(terms)):
            unless_given_up()
            yield path, facts

    def _forget(self, known: Mapping[bytes, Letter], budget: Budget) -> None:
        """Take out what is changed or gone. What is in a mailbox that was not looked at stays."""
        walked = {*map(_folder, known)} if not budget.spent else set()
        old = [
            key
            for key, path, version in self._base.execute("SELECT id, path, version FROM letter")
            if (known[path].version != version if path in known else _folder(path) in walked)
        ]
        for table, column in (("word", "rowid"), ("letter", "id")):
            self._base.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(key,) for key in old])

    def _take_in(self, known: Mapping[bytes, Letter], budget: Budget, wrong: list[str]) -> int:
        """Read what is not in the index. Returns how many are left."""
        read = {path for (path,) in self._base.execute("SELECT path FROM letter")}
        new = [letter for path, letter in known.items() if path not in read]
        new.sort(key=lambda letter: letter.modified, reverse=True)
        some = (letter for letter in new if budget.left())
        done, before = 0, len(wrong)
        self._base.execute("BEGIN")
        try:
            for letter, facts, texts in mailboxes.told("email.indexed", some, SEARCHED, budget, wrong):
                self._add(letter, facts, texts)
                done += 1
        finally:
            self._base.execute("COMMIT")
        return len(new) - done - (len(wrong) - before)

    def _add(self, letter: Letter, facts: Facts, texts: Sequence[str]) -> None:
        partly = bool(facts.get("unread")) or letter.size > SEARCHED
        named = bool(facts.get("named"))
        kept = {name: facts[name] for name in _LISTED if name in facts}
        row = (_path(letter), letter.version, json.dumps(kept), facts.get("wrong"), partly, named)
        added = self._base.execute(_LETTER, row)
        if len(texts) == len(TEXTS):
            self._base.execute(_WORDS, (added.lastrowid, *texts))


_WORDS = f"INSERT INTO word(rowid, {', '.join(TEXTS)}) VALUES (?{', ?' * len(TEXTS)})"
_LETTER = "INSERT INTO letter(path, version, facts, wrong, partly, named) VALUES (?, ?, ?, ?, ?, ?)"
_PARTLY = "SELECT path FROM letter WHERE partly AND wrong IS NULL"
_NAMED = "SELECT path FROM letter WHERE named AND wrong IS NULL"
_REASONS = f"cut off, larger than {SEARCHED >> 20} MB, or not in the encoding that they name"
_BAD = "SELECT path, wrong FROM letter WHERE wrong IS NOT NULL"


def _query(terms: Sequence[Term]) -> tuple[str, list[str]]:
    """The statement for the messages that hold all of these, and its parameters."""
    long = [term for term in terms if len(term.words) >= SHORTEST]
    asked = sorted(long, key=lambda term: len(term.words), reverse=True)[:MOST_LOOKED_UP]
    rest = [term for term in terms if term not in asked or len(term.words) > LOOKED_UP]
    conditions = ["letter.wrong IS NULL", *(["word MATCH ?"] if asked else []), *map(_holds, rest)]
    match = " AND ".join(f"{{{' '.join(term.texts)}}} : {_quoted(term.words[:LOOKED_UP])}" for term in asked)
    given = [*([match] if asked else []), *(term.words for term in rest for _ in term.texts)]
    tables = "letter JOIN word ON word.rowid = letter.id" if terms else "letter"
    return f"SELECT letter.path, letter.facts FROM {tables} WHERE {' AND '.join(conditions)}", given


def _holds(term: Term) -> str:
    return f"({' OR '.join(f'instr(word.{text}, ?)' for text in term.texts)})"


def _quoted(words: str) -> str:
    doubled = words.replace('"', '""')
    return f'"{doubled}"'


def _path(letter: Letter) -> bytes:
    """The file that a message was read from, by the bytes on the disk. What a search says of it is said of no other:
    rules are held against the file, and files of one name may lie in several folders of one mailbox."""
    return os.fsencode(letter.place.inner)


def _folder(path: bytes) -> bytes:
    """The folder of the mailbox that a message file is in."""
    return b"/".join(path.split(b"/")[:-2])
