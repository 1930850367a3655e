"""Documents of GraphQL: whether one holds a mutation, however it is written.

Between two words its lexer leaves out blanks, commas, byte order marks and comments; the name of an operation has any
length, and variables and directives may follow it.
"""

from __future__ import annotations

import re

GRAPHQL = frozenset({"gql", "graphql", "ql"})  # words of a name: `queryGraphQL` has the last one
DOCUMENTS = GRAPHQL | frozenset({"mutation", "mutations"})  # of arguments that hold nothing else

# A string that ends on its line, without an escape; no dialect and no comment makes anything else of two such quotes
STRING = re.compile(r"\"[^\"\\\x00-\x08\n-\x1f\x7f-\x9f\u2028\u2029]*+\"")
# The word, but for a variable, a directive, and what gives a name to a field or an argument
WORD = re.compile(r"(?<![\w$@-])mutation(?![\w-])(?!\s{0,90}:)")
# What is no word of a document: strings of several lines, strings, and comments
LEFT_OUT = re.compile(
    r"\"\"\"(?:[^\"\\]|\\(?:\"\"\")?|\"(?!\"\"))*+(?:\"\"\")?|\"(?:[^\"\\\r\n]|\\.)*+\"?|#[^\r\n\u2028\u2029]*+"
)
IGNORED = r"[\s,\x00\ufeff\u200b]*+"
BEGINS = re.compile(
    rf"(?i){IGNORED}(?:\"\"{IGNORED})?(?:\{{|(?:query|mutation|subscription|fragment|schema|scalar|type|interface|union|enum|input|directive|"
    r"extend)\b)"
)
OPERATION = re.compile(
    rf"(?i)(?<![\w$@-])mutation\b{IGNORED}(?:\w++{IGNORED})?(?:[{{@]|\({IGNORED}(?:\$|\w++{IGNORED}:))"
)


def mutates(text: str, known: bool) -> bool:
    """Whether a text is a document with a mutation. `known`: it stands where one is expected; anywhere else it has to
    read as one from its beginning."""
    if "{" not in text or "mutation" not in text.lower():
        return False
    if known:
        return _has_word(text)
    plain = LEFT_OUT.sub(lambda found: '""' if found[0].startswith('"') else " ", text)
    if BEGINS.match(plain) is None:
        return False
    return OPERATION.search(plain) is not None or ('\\"""' in text and _has_word(text))


def _has_word(text: str) -> bool:
    """Whether the word stands outside of quotes, before a set of fields. It counts in comments, and in quotes as well
    where there are any that some lexer may read in another way."""
    bare = text if "\\" in text or '"""' in text else STRING.sub('""', text)
    found = WORD.search(bare)
    return found is not None and bare.find("{", found.end()) >= 0
