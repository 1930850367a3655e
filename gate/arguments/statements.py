"""Statements for databases: whether one in a call may change something, whatever tool and argument it stands in.

No list of harmful statements clears one: what stands in quotes is left out only where every dialect reads those
alike. Of a text that is known as a statement all is judged; of any other only what is clearly one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gate.arguments.graphql import DOCUMENTS, GRAPHQL, mutates
from gate.arguments.json_texts import pairs_of, parsed
from gate.arguments.mongo_commands import (
    MONGO,
    commands_change,
    is_of_shell,
    is_plain_command,
    shell_changes,
    without_values,
)
from gate.arguments.sql_functions import calls_unknown_function
from gate.arguments.sql_queries import READS, STATED, has_call, is_query
from gate.arguments.tool_names import words
from gate.rules.action import CallClass, Json

DATABASE = frozenset(
    "bigquery clickhouse cypher database databases db duckdb mariadb mongo mongodb mssql mysql neo oracle postgres "
    "postgresql psql queries query snowflake sql sqlite sqlserver statement statements".split()
)
WEAK = frozenset("database databases db queries query statement statements".split())  # of tools of every kind
SQL = frozenset("ddl dml mysql plsql psql sql sqlite tsql".split())
ALWAYS = SQL | {"statement", "statements"}  # in a call of a database tool: an argument that is no question
ASKING = frozenset({"queries", "query", "statement", "statements"})  # also of tools that ask something else
STORES = frozenset({"database", "databases", "db"})
RUNNING = frozenset("exec execute perform raw read run select submit write".split())
SEARCHING = frozenset("docs documentation find lookup search".split())  # in words
OTHER_LANGUAGES = frozenset("cypher mongo mongodb neo".split())
STATEMENTS = SQL | frozenset("command commands cypher q queries query statement statements".split())
PIPELINES = frozenset("aggregate aggregation pipeline pipelines stage stages".split())

# As READS, but for “from”: many a sentence begins with it
READ_STATEMENT = re.compile(r"(?i)[\s(]*(select|show|describe|desc|explain|values|with|table)\b")
LISTING = re.compile(r"(?i)\s*(?:show|describe|desc)\b")
LISTED = re.compile(r"(?i)^\s*show\s{1,90}(create|character\s{1,90}set)\b")
# Blanks of any dialect, however many
GAP = r"[\s\x85\xa0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]++"
WRITE_STATEMENT = re.compile(
    r"(?ia)\b(?:(?:insert|update|delete|merge|replace(?!\s{0,9}\()|alter|create|drop|truncate|rename|grant|revoke|attach|"
    r"detach|vacuum|copy|into|call|do|exec|execute|load|install|import|export|set|reset|reindex|lock|begin|commit|"
    r"rollback|nextval|setval|outfile|pragma|restore|kill|shutdown|dbcc|deny|reconfigure|waitfor|checkpoint|writetext|"
    r"updatetext|openrowset|openquery|opendatasource|setuser|raiserror|"
    rf"backup{GAP}(?:database|log|certificate|master|service|server)|(?:disable|enable){GAP}trigger|"
    rf"(?:send|end|move){GAP}(?:on{GAP})?conversation|get{GAP}conversation{GAP}group|receive{GAP}top|"
    rf"next{GAP}value{GAP}for|add{GAP}(?:(?:counter{GAP})?signature|sensitivity{GAP}classification)|"
    rf"(?:open|close){GAP}(?:symmetric|master){GAP}key|save{GAP}tran(?:saction)?)\b|"
    r"(?:dblink\w{0,60}|lo_(?:import|export|unlink|create|put|from_bytea|open|truncate)|lowrite|load_extension|"
    r"load_file|pg_(?:terminate|cancel|reload|rotate|drop|create|switch|logical_emit|promote|file|write|read|backup|"
    r"start|stop)\w{0,60}|writefile|set_config|xp_\w{1,60}|sys_(?:exec|eval)|(?:utl|dbms)_\w{1,60}(?:\.\w{1,60})?)"
    r"[\"`\]]?\s{0,90}\()"
)
# Of T-SQL, which takes messages out of a queue: no column of that name, as another expression stands before it
RECEIVES = re.compile(
    r"(?ia)(?:(?<![\w$@])(?!(?:select|distinct|all|as|from|join|where|and|or|not|on|by|having|when|then|else|case|in|like|"
    rf"between|is|over|top|using|with|union|except|intersect)\b)[\w$@]++{GAP}|[)\]\"'`]\s*+)receive"
    rf"(?:\s{{0,90}}[*\[\"`@]|{GAP}(?!(?:from|as|is|in|and|or|between|like|not|asc|desc|then|else|end|"
    r"when|where|group|order|limit|having|union|join|on|left|right|inner|outer|cross|full|natural|offset|fetch|for|over|"
    r"collate|except|intersect|minus|with|window|using|nulls|qualify|tablesample|pivot|unpivot|option)\b)[\w$])"
)
BATCH = re.compile(r"(?im)^[ \t]{0,90}go\b")  # of T-SQL: another one begins
# What databases take for blanks besides those of ASCII, and what draws nothing: nobody types them
ODD_BLANKS = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]"
)
# Beside blanks, keys of a terminal, which may take back a quote before them: judged as they are, too
KEYS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
# The first word of a text, or a sign that no question in words begins with
FIRST = re.compile(r"[\s(]*(--|/\*|;|[A-Za-z]{1,20})")
IN_QUOTES = (
    r"{0}'(?:[\x20-\x26\x28-\x5b\x5d-\x7e]|''){{0,8000}}'(?![\s']{{0,90}}\()|"
    r"{0}\"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\"\"){{0,8000}}\"(?![\s\"]{{0,90}}\()"  # what is called may change something
)
# Strings and names on one line, with nothing before them that may make another kind of quote of it
QUOTED = re.compile(IN_QUOTES.format(r"(?<![\w$@&:?%'\"])"), re.ASCII)
# What no dialect reads as a quote, a comment or an escape (`--` and `/*` count by themselves)
PLAIN = re.compile(r"[A-Za-z0-9_ \t\r\n.,()*=<>!+%:;@|?/-]*")
STRING = re.compile(r"'(?:[^']|''){0,8000}'|\"(?:[^\"]|\"\"){0,8000}\"")
# A quote behind a word, as in “the verb 'insert' ”; and one that no quoted words begin with
CLOSING, ENDS_QUOTED = (
    re.compile(r"(?<=\w)['\"](?!\w)"),
    re.compile(r"['\"](?!\w|\Z)|['\"](?i:or|and|union|where)\b"),
)
BEFORE_QUOTE = re.compile(r"\\['\"]")  # some dialects read the quote as a part of the string

NAMED = r"[\w.\"`\[\]]{1,99}"
KINDS = (
    r"(?:(?:or\s{1,9}replace|temp|temporary|unique|global|local|materialized|external|unlogged|if)\s{1,9}){0,3}"
    r"(?:table|database|schema|view|index|collection|user|role|login|column|function|procedure|trigger|sequence|type|"
    r"extension|keyspace|constraint|tablespace|system|server|session|stage|warehouse|materialized|temporary)\b"
)
# Verbs, and what follows one that makes a statement of it
SHAPES = {
    "delete": r"from\b|where\b|data\b|\{|top\s{0,9}\(|(?:low_priority|quick|ignore|only)\s{1,9}from\b",
    "drop|create|alter": KINDS,
    "truncate": rf"(?:table\b|{NAMED}\s{{0,9}}(?:;|\Z|cascade\b|restart\b))",
    "update": rf"(?:(?:only|ignore|low_priority|or\s{{1,9}}\w{{1,20}})\s{{1,9}})?{NAMED}"
    r"(?:\s{1,9}(?:as\s{1,9})?\w{1,60})?\s{1,20}set\b",
    "insert|upsert": rf"\{{|{NAMED}\s{{1,9}}values\b|"
    r"(?:data|into|overwrite|ignore|all|or\s{1,9}\w{1,20}\s{1,9}into)\b",
    "replace": r"into\b",
    "merge": rf"into\b|{NAMED}\s{{1,9}}using\b|\(",
    "grant|revoke": r"[\w ,]{1,200}?\s(?:on|to|from)\b",
    "rename": r"table\b",
    "load": r"data\b",
    # People copy files, too: “copy .env.example to .env”. A statement names a text, a program or a stream.
    "copy": r"into\b|\(|"
    rf"{NAMED}\s{{1,9}}(?:\([^()]{{0,200}}\)\s{{0,9}})?(?:to|from)\s{{1,9}}(?:['\"@$(]|program\b|std(?:in|out)\b)",
    "call": rf"{NAMED}\s{{0,9}}\(",
    "exec|execute": r"(?:immediate|sp_|xp_|procedure|dbo\b|\()",
    "pragma": r"[\w.]{1,60}\s{0,9}[=(]",
    "attach": r"(?:database\b|'|\")",
    "lock": r"tables?\b",
    "set": r"(?:global|role|session|persist)\b|@{1,2}\w{1,60}\s{0,9}:?=",
    "do": rf"\$|language\b|'|{NAMED}\(",
    "restore|backup": r"(?:database|log)\b",
    "detach": r"(?:delete|database)\b",
    "bulk": r"insert\b",
    "clear": r"(?:silent\s{1,9})?(?:graph|default|named|all)\b",
    "purge": r"(?:binary|master|table|index|tablespace|recyclebin|dba_recyclebin)\b",
    "flush": r"(?:(?:binary|engine|error|general|relay|slow)\s{1,9})?(?:tables?|privileges|logs|hosts|status)\b",
    "undrop": KINDS,
    "reassign": r"owned\b",
    "refresh": rf"materialized\b|(?:external\s{{1,9}}|dynamic\s{{1,9}})?table\s{{1,9}}{NAMED}\s{{0,9}}(?:;|\Z)",
    "security": r"label\b",
    "comment": r"on\s{1,9}(?:table|column|view|schema|database|function)\b",
    "optimize|repair": rf"table\b|{NAMED}\s{{1,9}}(?:zorder|final)\b",
    "msck": r"(?:repair\s{1,9})?table\b",
    "analy[sz]e": rf"table\s{{1,9}}{NAMED}\s{{0,9}}(?:;|\Z)",
    "cluster": rf"{NAMED}\s{{1,9}}using\b|{NAMED}\s{{0,9}};",
    "change": r"(?:master|replication\s{1,9}source)\s{1,9}(?:'[^']{0,60}'\s{1,9})?to\s{1,9}\w{1,40}\s{0,9}=|"
    r"replication\s{1,9}filter\b",
    "unload": r"\(|table\b",
    "noaudit": r"\w",
    "flashback": r"(?:table|database)\b",
    "cache": rf"index\s{{1,9}}{NAMED}\s{{1,9}}in\b",
    "system": r"(?:shutdown|kill)\s{0,9}(?:;|\Z)|(?:stop|start|reload|sync|restart|flush)\s{1,9}(?:\w{1,30}\s{1,9})?(?:"
    r"merges|moves|fetches|sends|queues|views?|listen|config|users|dictionary|dictionaries|functions?|models?|"
    r"replicas?|disk|logs|distributed)\b|drop\s{1,9}(?:replica|\w{1,30}\s{1,9}cache)\b",
    "put": r"'?file:",
    "remove|rm": r"@(?:[~%]|[\w.\"]{1,99}(?:/|\s{0,9}(?:;|pattern\b)))",
    "discard": r"(?:all|plans|temp|sequences)\s{0,9}(?:;|\Z)",
    r"[sx]p_\w{1,60}": r"[N'\"@\w]",
    "mutation": r"(?:\w{1,60}\s{0,9})?[({]",
}
# The same, of which hardly any is prose, though it is written with the same signs: looked for with what is in quotes
RARE = {
    "notify": rf"{NAMED}\s{{0,9}}(?:,\s{{0,9}}'|;)",
    "stop|start": r"(?:all\s{1,9})?(?:slaves?|replica|group_replication)\s{0,9}"
    r"(?:;|'|\Z|io_thread|sql_thread|until\b|for\s{1,9}channel)",
    "uninstall": rf"(?:soname|component)\s{{1,9}}'|plugin\s{{1,9}}{NAMED}\s{{0,9}}(?:;|\Z)",
    "xa": r"(?:start|begin|end|prepare|commit|rollback)\s{1,9}(?:[xb]?'|0x)",
    "prepare": r"transaction\s{1,9}'",
    "exchange": rf"(?:tables|dictionaries)\s{{1,9}}{NAMED}\s{{1,9}}and\b",
    "binlog": r"'",
    "clone": r"(?:local\s{1,9}data\s{1,9}directory|instance\s{1,9}from)\b",
}
# Calls and clauses of other languages that change something, after what they change
CALLS = re.compile(
    r"(?i)\.(?:delete|drop|insert|update|remove|replace|save|rename|create|bulkWrite|find(?:One)?And|"
    r"mapReduce)\w{0,30}\s{0,9}\(|"
    r"\bmutation\b\s{0,9}\w{0,60}\s{0,9}[({]|[)}]\s{0,9}(?:detach\s{1,9})?delete\b|"
    r"[)}]\s{0,9}(?:set|remove)\s{1,9}\w{1,60}\s{0,9}[.:+=]|(?:\A|[)}])\s{0,9}(?:create|merge)\s{0,9}\("
)
# How texts in such languages begin that look, and nothing more if they have no word of a change
LOOKS = re.compile(
    r"(?i)[\s,(]*(?:\{|(?:optional\s{1,9}match|match|unwind|return|profile|query|fragment|find)\b|"
    r"db\.[\w.]{1,99}\.(?:find|aggregate|count|distinct|estimated|get|stats)\w{0,30}\()"
)
PROSE = re.compile(r"[\w\s,.?!'’“”–-]*")  # what a sentence is written with, and few statements
# Of what reads as prose, what is hardly any
CLEAR_AS_PROSE = re.compile(
    r"(?i)(?<![\w.'-])(?:"
    r"(?:drop|create|alter|truncate|undrop)\s{1,20}"
    r"(?:(?:or|replace|temporary|temp|unique|materialized|external)\s{1,9}){0,3}"
    r"(?:table|database|schema|view|index|keyspace|function|procedure|trigger)\b|"
    rf"delete\s{{1,20}}from\s{{1,20}}{NAMED}\s{{0,20}}(?:\Z|(?:where|using|returning|limit)\b)|"
    rf"insert\s{{1,20}}into\s{{1,20}}{NAMED}\s{{1,20}}(?:select|values|default)\b|"
    rf"merge\s{{1,20}}into\s{{1,20}}{NAMED}\s.{{0,90}}\busing\b|"
    rf"(?:grant|revoke)\s{{1,20}}[\w ,]{{1,90}}\son\s{{1,20}}{NAMED}\s{{1,20}}(?:to|from)\b|"
    r"rename\s{1,20}table\b|"
    r"(?:delete|drop|create|alter|truncate|insert|merge|grant|revoke|update|rename)\s{20})"
)
HIDDEN = r"\s{0,20}(?:/\*|--)|\s{20}"  # what follows the verb is too far away to be looked for
CLEAR = re.compile(
    r"(?i)(?<![\w.$@'\"`-])(?:"
    + "|".join(rf"(?:{verbs})(?:\s{{1,20}}(?:{rest})|{HIDDEN}|[\"`\[])" for verbs, rest in SHAPES.items())
    + r")"
)
CLEAR_WITH_QUOTES = re.compile(
    r"(?i)(?<![\w.$@'\"`-])(?:"
    + "|".join(
        rf"(?:{verbs})(?:\s{{1,20}}(?:{rest})|\s{{0,20}}(?:/\*|--[^\n]{{0,99}}\n))"
        for verbs, rest in RARE.items()
    )
    + r")"
)
# Of these only what can hardly be prose: a whole statement that takes away
GATED = re.compile(
    rf"(?i)\b(?:delete\s{{1,20}}from\s{{1,20}}{NAMED}\s{{0,20}}(?:;|\Z|(?:where|using|returning|limit|order)\b)|"
    rf"drop\s{{1,20}}{KINDS}|truncate\s{{1,20}}table\b)"
)
WHOLE = re.compile(
    rf"(?i)\s*(?:delete\s{{1,20}}from|(?:drop|truncate)\s{{1,20}}(?:table|database|schema|view|index))\s{{1,20}}{NAMED}\s*"
)
# How a text begins that is a query; and what may be a statement with several parts
QUERY = re.compile(
    r"(?is)[\s(]*(?:select\b(?:.{0,2000}?(?:\bfrom\b|;)|\s{0,90}[\d*@'\"$])|with\s{1,90}\w{1,90}\s{1,90}as\s{0,90}\()"
)
# How a query begins that need not say where from, of a tool that is called like a database's
ASKED = re.compile(
    r"(?i)(?:explain(?:\s{0,90}\([^()]{0,200}\))?|analy[sz]e|verbose|desc|describe|[\s(])*"
    r"(?:(?:select|values|with\s{1,90}\w{1,90}\s{0,90}(?:\(|as\b))\b|"
    r"table\s{1,90}[\w.\"`]{1,90}\s{1,90}(?:order\s{1,90}by|limit|offset|fetch|union|intersect|except)\b)"
)
SAYS_SQL = re.compile(
    r"(?i)\b(?<!no )(?<!not )(?<!non-)"
    r"(?:(?:my|ms|pl|postgre|t-)?sql(?:ite)?|bigquery|clickhouse|duckdb|mariadb|snowflake)\b"
)  # what a server says of a tool that takes statements
# What sends rows through a program, in Hive and Spark
PIPES, THROUGH = re.compile(r"(?i)\b(?:map|reduce)\s"), re.compile(r"(?i)\busing\b(?!\s{0,90}\()")
SEVERAL = re.compile(r"(?i)[\s(]*(?:explain|desc|describe|declare|begin|if|while|use|print|match)\b")
BEFORE = re.compile(r"(?i)\b(?:begin|then|else|do|as|analy[sz]e|explain|desc|describe|verbose)\Z|\)\Z")
MOST_SHAPES, FAR = 1_000, 300  # shapes in a text that are looked at; characters before one
WITHIN = frozenset(
    "body content input raw string text value".split()
)  # names that say nothing of what they hold
STAGE = frozenset({"$out", "$merge"})  # of a pipeline, that write
STAGE_TEXT = re.compile(
    r"\$(?:out|merge)[\"']?\s{0,90}:|"
    r"[\"'](?:\$\w{0,5}\\(?:[ux][0-9a-fA-F{]|[0-7]{2})|\\(?:u0024|u\{0{0,4}24\}|x24|44))"  # with escapes
)
Keys = frozenset[str]


def class_of_statements(said: Sequence[str], args: Json, about: str = "") -> CallClass:
    """The class that a call of a tool whose name has these words has at least because of what its texts state.
    `about`: what its server says of it."""
    tool = frozenset(said)
    texts = [(keys, form) for keys, text in _texts(parsed(args)) for form in _forms(text)]
    found = [_class_of_text(tool, keys, text) for keys, text in texts]
    stated = [(keys, text) for keys, text in texts if keys & STATEMENTS]
    if any(keys & STAGE for keys, _ in texts) or (
        tool & DATABASE and any(_is_change(tool, keys, text) for keys, text in stated)
    ):
        return CallClass.DESTRUCTIVE
    if tool & MONGO and commands_change(args):
        return CallClass.DESTRUCTIVE
    if is_plain_command(args):
        found.append(CallClass.DESTRUCTIVE if tool & DATABASE else CallClass.WRITE)
    if not stated and tool & DATABASE - ASKING and any(_may_change(tool, text) for _, text in texts):
        found.append(CallClass.WRITE)
    says_sql = bool(texts) and SAYS_SQL.search(about) is not None
    if any(_may_do_more(tool, keys, text, says_sql) for keys, text in texts):
        found.append(CallClass.WRITE)
    return next((c for c in (CallClass.DESTRUCTIVE, CallClass.WRITE) if c in found), CallClass.READ)


def _forms(text: str) -> Iterator[str]:
    """A text as it is read where it states something."""
    yield ODD_BLANKS.sub(" ", text)
    if KEYS.search(text):
        yield text


def _is_change(tool: Keys, keys: Keys, text: str) -> bool:
    """Whether what a call of a database's tool calls a statement may change something."""
    if tool & SQL or keys & ALWAYS:
        return changes(text, True)
    if tool & MONGO and is_of_shell(text):
        bare = without_values(text)
        return shell_changes(text) or WRITE_STATEMENT.search(bare) is not None or "remove" in bare.lower()
    prose = PROSE.fullmatch(text) is not None
    if prose and tool & DATABASE <= ASKING and LISTING.match(text):
        return is_clear_change(text, CLEAR_AS_PROSE)  # “describe how to install it”
    if prose or tool & DATABASE <= WEAK:
        clear = not prose and (_calls_change(tool, keys, text) or CLEAR.search(_bare(text)))
        return bool(clear) or changes(text, False)
    # It may be of any language of a database: what is not known to look alone asks.
    if LOOKS.match(text):
        clear = _calls_change(tool, keys, text) or WRITE_STATEMENT.search(text)
        return bool(clear) or "remove" in text.lower()
    return changes(text, True)


def _calls_change(tool: Keys, keys: Keys, text: str) -> bool:
    """Whether a text of another language calls or states a change."""
    if keys & STATEMENTS and CALLS.search(text):
        return True
    return mutates(text, bool(tool & GRAPHQL or keys & DOCUMENTS or (keys & STATEMENTS and tool & DATABASE)))


def _may_do_more(tool: Keys, keys: Keys, text: str, says_sql: bool) -> bool:
    """Whether a text is a statement that does not begin as one that reads, or a query that calls a function of which
    nobody knows whether it changes something."""
    if keys & STATEMENTS and _takes_sql(tool, keys, says_sql):
        if LOOKS.match(text) and not (tool | keys) & SQL and not WRITE_STATEMENT.search(text):
            return False
        if not READS.match(text) or (STATED.match(text) and (changes(text, True) or is_clear_change(text))):
            return True
        return "(" in text and calls_unknown_function(_bare(text))
    return "(" in text and _is_query(tool, keys, text) and calls_unknown_function(_bare(text))


def _is_query(tool: Keys, keys: Keys, text: str) -> bool:
    """Whether what may be words of a search is a query of SQL. The first words are enough where the tool is called like
    a database's."""
    known = tool & SQL or keys & ALWAYS or (keys & STATEMENTS and tool & DATABASE - WEAK)
    if (known and READS.match(text)) or (tool & DATABASE and ASKED.match(text)):
        return True
    found = is_query(_bare(text), bool(tool & DATABASE)) or QUERY.match(text)
    return bool(found and (tool & DATABASE or keys & STATEMENTS or has_call(text)))


def _takes_sql(tool: Keys, keys: Keys, says_sql: bool) -> bool:
    """Whether an argument with one of the names of statements holds one, and no words of a search. `says_sql`: what
    the server says of the tool speaks of SQL."""
    if tool & SQL or keys & SQL or (tool & DATABASE and keys & ALWAYS):
        return True
    if tool & (SEARCHING | OTHER_LANGUAGES):
        return False
    runs = sum(not tool.isdisjoint(kind) for kind in (ASKING, STORES, RUNNING)) > 1
    return bool(tool & DATABASE - WEAK or (tool & DATABASE and runs) or says_sql)


def _may_change(tool: Keys, text: str) -> bool:
    """Whether a text that nobody calls a statement is one of several words all the same."""
    several = " " in text.strip()
    if several and tool & SQL and tool & (RUNNING | ASKING):
        return not READS.match(text) or changes(text, True)
    if PROSE.fullmatch(text):
        return is_clear_change(text, CLEAR_AS_PROSE)
    return several and changes(text, False)


def _class_of_text(tool: Keys, keys: Keys, text: str) -> CallClass:
    """Of a text in a call of any tool. A message may speak of deleting, so a phrase is asked for only where the tool
    or the argument is a database's."""
    if STAGE_TEXT.search(text):
        pipeline = (tool | keys) & (DATABASE | PIPELINES)
        return CallClass.DESTRUCTIVE if pipeline else CallClass.WRITE
    said = keys & STATEMENTS
    if PROSE.fullmatch(text) and not QUERY.match(text) and not (said and (tool & DATABASE or keys & SQL)):
        if not is_clear_change(text, CLEAR_AS_PROSE):
            return CallClass.READ
        return (
            CallClass.DESTRUCTIVE if tool & DATABASE or (said and WHOLE.fullmatch(text)) else CallClass.WRITE
        )
    if is_clear_change(text) or (not said and _goes_on(text)) or _calls_change(tool, keys, text):
        gated = tool & DATABASE or keys & SQL or (keys & STATEMENTS and GATED.search(_bare(text)))
        return CallClass.DESTRUCTIVE if gated else CallClass.WRITE
    if keys & SQL and changes(text, True):
        return CallClass.DESTRUCTIVE
    queried = said and QUERY.match(text) and changes(text, False)
    return CallClass.WRITE if queried else CallClass.READ


def _texts(value: Json) -> Iterator[tuple[Keys, str]]:
    """Each text, with the words of the name that it stands under, at whatever depth."""
    left: list[tuple[Keys, Json]] = [(frozenset(), value)]
    while left:
        keys, one = left.pop()
        if isinstance(one, str):
            yield keys, one
        elif (pairs := pairs_of(one)) is not None:
            for name, item in pairs:
                inner = _words(name)
                left.append((keys | inner if inner <= WITHIN else inner, item))
                if not name.isidentifier():
                    yield frozenset({name} & STAGE), name
        elif isinstance(one, list):
            left += ((keys, item) for item in one)


def _words(name: str) -> Keys:
    return frozenset(words(name[:100]))


def changes(text: str, known: bool) -> bool:
    """Whether a text is a statement that may change something. `known`: it is a statement, and no question."""
    first = FIRST.match(text)
    word = first[1] if first else ""
    known = known or (bool(word) and not word.isalpha())
    if not known and not (word and (READ_STATEMENT.match(word) or WRITE_STATEMENT.fullmatch(word))):
        return False
    bare = _bare(text)
    if ";" in bare.rstrip("; \t\r\n") or "--" in bare or "/*" in bare or not READS.match(text):
        return True
    if _escapes(text) or BATCH.search(bare) or (PIPES.search(bare) and THROUGH.search(bare)):
        return True
    return WRITE_STATEMENT.search(LISTED.sub("", bare)) is not None or _receives(text, bare)


def _receives(text: str, bare: str) -> bool:
    if "receive" not in bare.lower():
        return False
    shown = text if bare == text else QUOTED.sub("''", text)
    found = RECEIVES.search(shown)
    return found is not None and "from" in shown[found.end() :].lower()


def _bare(text: str) -> str:
    """The text without what stands in quotes, where every dialect reads those alike; else as it is."""
    if "'''" in text or '"""' in text:
        return text
    bare = QUOTED.sub(" ", text)
    return bare if PLAIN.fullmatch(bare) and "//" not in bare else text


def _escapes(text: str) -> bool:
    """Whether a backslash may stand outside of a string: clients take it for a command."""
    return "\\" in text and (BEFORE_QUOTE.search(text) is not None or "\\" in STRING.sub(" ", text))


def is_clear_change(text: str, shapes: re.Pattern[str] = CLEAR) -> bool:
    """Whether a text holds what is clearly a statement that changes something, where a statement may begin."""
    several = bool(QUERY.match(text) or SEVERAL.match(text))
    return _holds(shapes, _bare(text), several) or _holds(CLEAR_WITH_QUOTES, text, several)


def _goes_on(text: str) -> bool:
    """Whether a statement stands behind a semicolon in what seems to be in quotes. A tool may put the text into quotes
    of its own, and then they begin where they seem to end: `'; drop table a; select '`."""
    found = ENDS_QUOTED.search(text)
    at = text.find(";", found.end()) if found else -1
    return at >= 0 and _holds(CLEAR, CLOSING.sub(" ", text[at:]), False)


def _holds(shapes: re.Pattern[str], text: str, anywhere: bool) -> bool:
    for count, found in enumerate(shapes.finditer(text)):
        if anywhere or count >= MOST_SHAPES or _begins(text, found.start()):
            return True
    return False


def _begins(text: str, at: int) -> bool:
    """Whether a statement may begin there: first, on a line, behind another one, a comment or a bracket."""
    before = text[max(0, at - FAR) : at]
    if before.endswith("("):
        return True
    before = before.rstrip(" \t\v\f(")
    return not before or before.endswith((";", "\n", "\r", "*/")) or BEFORE.search(before[-90:]) is not None
