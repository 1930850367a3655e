"""Queries of SQL: how a statement that reads begins, and whether words that may be those of a search are one.

Such a text is a query by more than its first word: “select a plan (draft)” is none.
"""

from __future__ import annotations

import re

# The first word of each statement that reads; any other one changes something, or may
READS = re.compile(r"(?i)[\s(]*(?:select|show|describe|desc|explain|values|with|table|from)\b")

# How such a statement begins where it is hardly a question in words, and may go on with a change: what EXPLAIN runs,
# where a result is written to, and rows that Hive and Spark put into another table
STATED = re.compile(
    r"(?is)[\s(]*(?:(?:explain|describe|desc)\s{0,90}(?:\(|\banaly[sz]e\b)|values\s{0,90}(?:row\s{0,90})?\(|"
    r"table\s{1,90}[\w.\"`\[\]]{1,99}\s{1,90}(?:into|order\s{1,90}by|limit|offset|fetch|union|intersect|except)\b|"
    r"with\s{1,90}(?:recursive\s{1,90})?\w{1,90}\s{0,90}(?:\([^()]{0,500}\)\s{0,90})?as\s{0,90}(?:\(|materialized\b|not\b)|"
    r"from\b.{0,2000}?\binsert\s{1,90}(?:into|overwrite)\b|\w.{0,2000}?\binto\s{1,90}(?:outfile|dumpfile)\b)"
)

# Brackets, comments of any dialect and what nobody sees before the first word; MySQL reads what stands in `/*!`.
COMMENTS = r"(?:[\s(\x00\ufeff\u200b-\u200f\u2060]|--[^\n]*+|#[^\n]*+|//[^\n]*+|/\*!\d{0,6}|/\*(?:[^*]|\*(?!/))*+\*/)*+"
FIRST_WORD = re.compile(
    rf"(?i){COMMENTS}(select|values|from(?!:)|with(?!:)|show|explain|describe|desc|analy[sz]e|table|summarize|pivot|unpivot)\b"
)
# Words alone in brackets, as in prose, “the server (second try)”; but not those that are values where there is no table
VALUE = r"(?:not|case|all|any|array|row|null|true|false|default|user|localtime|localtimestamp|sysdate|uid|on|off)\b"
IN_WORDS = rf"(?!(?i:{VALUE}))[^\W\d_]{{1,40}}+(?:[ ,’-]{{1,2}}[^\W_]{{1,40}}+){{0,12}}+[.!?]?\)"
CALLED = re.compile(rf"[^\s(,;.:=<>+*%|&~^?!$@]\s{{0,90}}\((?!{IN_WORDS})")
SELECT = re.compile(r"(?i)\bselect\b|\bvalues\s{0,90}(?:row\s{0,90})?\(")
FROM = re.compile(r"(?i)\bfrom\b")
CLAUSE = re.compile(r"(?i)\b(?:where|join|limit|order\s{1,90}by|group\s{1,90}by|qualify|having)\b")
TABLE = re.compile(
    r"(?i)\bas\s{0,90}(?:(?:not\s{1,90})?materialized\s{0,90})?\(\s{0,90}(?:select|values|with|table|from)\b"
)
SHOWN = re.compile(
    r"(?i)show\s{1,90}(?:(?:full|extended|global|session|local|open|all|storage|temporary|changed)\s{1,90}){0,3}"
    r"(?:tables?|columns?|fields|index|indexes|indices|keys|databases|schemas|status|variables|procedure|function|"
    r"package|triggers|events|collations?|character|charset|plugins|engines|processlist|dictionaries|functions|"
    r"settings|merges|clusters?|views|profiles)\b"
)


def is_query(text: str, of_database: bool) -> bool:
    """Whether one of the statements in a text is a query with what may call a function. In a call of a database's
    tool, a first word that is hardly ever that of a search is enough."""
    return any(_is_one(part, of_database) for part in text.split(";") if "(" in part)


def has_call(text: str) -> bool:
    """Whether a bracket stands behind a name that holds anything but words of prose."""
    return CALLED.search(text) is not None


def _is_one(text: str, of_database: bool) -> bool:
    first = FIRST_WORD.match(text)
    if first is None:
        return False
    word = first[1].lower()
    if word == "show":
        return SHOWN.match(text, first.start(1)) is not None and CLAUSE.search(text) is not None
    if of_database and word in ("select", "values"):
        return True
    rest = text[first.end(1) :]
    selects = word in ("select", "values") or SELECT.search(rest) is not None
    sourced = word == "from" or FROM.search(rest) is not None
    if word == "from" and CLAUSE.search(rest):
        return True
    if word == "with" and TABLE.search(rest):
        return True
    return (selects and sourced) or (has_call(text) and (selects or sourced))
