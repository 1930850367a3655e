"""Commands of MongoDB: whether an object, or a text of its shell, may be one that changes something.

The first field of an object makes a command of it, or else the object is a filter, whose fields may be called anything.
Of the methods and functions of the shell only those pass that are known to look.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gate.arguments.json_texts import pairs_of, parsed
from gate.arguments.sql_queries import has_call
from gate.arguments.tool_names import words
from gate.rules.action import Json

MONGO = frozenset({"mongo", "mongodb", "mongosh"})
# Names of what an object stands in that is never taken for a command
FILTERS = frozenset(
    "collation criteria fields filter filters hint match options pipeline projection selector sort where".split()
)
COLLECTION = frozenset({"coll", "collection"})
# Names of what one may stand in within another object
AROUND = frozenset(
    "body command commands content document input operation operations queries query request statement".split()
)
STATED = frozenset("command commands q queries query statement statements".split())  # where it is expected
# Where code of the shell is expected
CODE = frozenset("code eval expression function javascript js pipeline script scripts".split())
TOLD = FILTERS | STATED | CODE  # the words of names that are kept for what stands within them
COMMANDS = frozenset(
    """
    $eval abortmovecollection abortreshardcollection aborttransaction abortunshardcollection addshard addshardtozone
    applyops authenticate authschemaupgrade autocompact autosplitvector balancerstart balancerstop bulkwrite captrunc
    cleanuporphaned cleanupreshardcollection cleanupstructuredencryptiondata clearjumboflag clearlog clone
    clonecollection clonecollectionascapped collmod commitreshardcollection committransaction compact
    compactstructuredencryptiondata configurecollectionbalancing configurefailpoint configurequeryanalyzer
    connpoolsync converttocapped copydb copydbgetnonce coordinatecommittransaction cpuload create createindexes
    createrole createsearchindex createsearchindexes createuser createview delete deleteindexes diaglogging
    disablesharding drop dropallrolesfromdatabase dropallusersfromdatabase dropconnections dropdatabase dropindex
    dropindexes droprole dropsearchindex dropuser emptycapped enablesharding endsessions eval findandmodify
    flushrouterconfig forceerror fsync fsyncunlock getnonce godinsert grantprivilegestorole grantrolestorole
    grantrolestouser insert invalidateusercache journallatencytest killallsessions killallsessionsbypattern
    killcursors killop killsessions logapplicationmessage logout logrotate makesnapshot mapreduce
    mergeallchunksonshard mergeauthzcollections mergechunks movechunk movecollection moveprimary moverange
    oidcrefreshkeys plancacheclear plancacheclearfilters plancachesetfilter profile refinecollectionshardkey
    refreshlogicalsessioncachenow refreshsessions reindex removequerysettings removeshard removeshardfromzone
    renamecollection repairdatabase replsetabortprimarycatchup replsetfreeze replsetinitiate replsetmaintenance
    replsetreconfig replsetrequestvotes replsetresizeoplog replsetstepdown replsetstepup replsetsyncfrom
    replsetupdateposition reseterror resetplacementhistory reshardcollection resync revokeprivilegesfromrole
    revokerolesfromrole revokerolesfromuser rotatecertificates saslcontinue saslstart setaudit setauditconfig
    setallowmigrations setclusterparameter setcommittedsnapshot setdefaultrwconcern setfeaturecompatibilityversion
    setfreemonitoring setindexcommitquorum setparameter setprofilinglevel setquerysettings setshardversion
    setuserwriteblockmode shardcollection shutdown sleep split splitchunk startrecordingtraffic startsession
    stoprecordingtraffic touch transitionfromdedicatedconfigserver transitiontodedicatedconfigserver
    transitiontocatalogshard unsetsharding unshardcollection update updaterole updatesearchindex updateuser
    updatezonekeyrange validate voteabortindexbuild votecommitindexbuild
    """.split()
)
INTERNAL = ("_configsvr", "_shardsvr", "_recvchunk", "_migrate", "_transfer", "_movechunk", "_flush", "_kill")
# Commands that no query of another language begins like, and the field that they do not go without
BESIDE = {
    "delete": "deletes",
    "update": "updates",
    "insert": "documents",
    "bulkwrite": "ops",
    "findandmodify": "",
    "dropdatabase": "",
    "renamecollection": "",
}

# Methods and functions of the shell that look, and constructors of values
LOOKING = frozenset(
    """
    aggregate allowDiskUse batchSize BinData Code collation comment count countDocuments currentOp dataSize Date
    DBRef Decimal128 distinct Double estimatedDocumentCount explain find findOne getCollection getCollectionInfos
    getCollectionNames getDBNames getIndexes getIndexKeys getIndices getName getProfilingStatus getRole getRoles
    getShardDistribution getSiblingDB getTime getUser getUsers hasNext HexData hello hint hostInfo indexStats Int32
    isCapped isMaster ISODate itcount latencyStats limit listIndexes Long max MaxKey maxTimeMS min MinKey next
    noCursorTimeout now NumberDecimal NumberInt NumberLong ObjectId pretty print printjson projection readConcern
    readPref RegExp returnKey serverBuildInfo serverStatus showRecordId size skip sort stats storageSize Timestamp
    toArray toISOString toString totalIndexSize totalSize tryNext UUID valueOf version
    """.split()
)
GLOBAL = r"(?:(?:this|self|window|globalThis)\s*+\.\s*+)?+"
SHELL = re.compile(rf"(?<![\w$.]){GLOBAL}db\s*+(?:[.\[?]|\Z)")
NAMES = (
    r"(?<![\w$])(?:db|Mongo|connect|load|rs|sh|sp|eval|require|import|Function|globalThis|process|run|"
    r"runProgram|removeFile|quit|exit)(?![\w$])"
)
# Leads to any function, but as in “Object.constructor (docs)”
MAKER = r"\.\s*+constructor(?![\w$])(?!\s*+\([\w ,-]*+\)[\w\s,.?!'-]*+\Z)|(?<![\w$])__proto__(?![\w$])"
# Words of the shell that count where a bracket stands in the same text
SHELL_WORD = re.compile(
    rf"{NAMES}|{MAKER}|"
    r"(?<![\w$])this\s*+\[|\\u(?:[0-9a-fA-F]{4}|\{)"  # part of a name
)
# A method that is called, of what is no word of prose: `rs . stepDown (60)`
SHELL_MEMBER = re.compile(
    r"(?<![\w$])(?:db|Mongo|rs|sh|sp|globalThis|process(?=\s++\.))\s*+(?:\.\s*+[a-z_$][\w$]*+\s*+){1,9}+\("
)
SHELL_CALL = re.compile(SHELL_WORD.pattern + r"\s*+[.(\[?]")
# Words with one bracket of words, as in “high load (kW)”: a call of such words has nothing to be about
PROSE = re.compile(
    r"(?:[\w\s,'’%:!?/+-]|\.(?![^\W\d]))*+\((?:\w[\w %:,/+-]*+)?\)(?:[\w\s,'’%:!?/+-]|\.(?![^\W\d]))*+"
)
SQL = re.compile(r"(?i)[\s(]*(?:(?:select|show|explain|describe)\b(?!\s*:)|with\s{1,90}\w)")  # judged as such
OF_SHELL = re.compile(rf"[\s(\ufeff]*+{GLOBAL}db\s*+[.\[]")
FIELD = re.compile(r"(?<![\w$.])[\w$]++\s*+:")
OBJECT = re.compile(
    r"(?:[\s(\[,;\ufeff]|//[^\n\r\u2028\u2029]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+\{"
)  # behind comments
QUOTED = re.compile(r"\"[^\"\\\x00-\x1f\x7f-\x9f\u2028\u2029]*+\"|'[^'\\\x00-\x1f\x7f-\x9f\u2028\u2029]*+'")
# What stands before a bracket: a name, or what ends what else may be called
CALLED = re.compile(r"((?<![\w$])[\w$]++|[\])\"'`./\\?])\s*+\(")
# Comments, other quotes, names of fields that are worked out, and another value for a name
UNCLEAR = re.compile(r"//|/\*|<!--|-->|`|\]\s{0,90}:|(?<![=!<>])=(?![=>])")
# What may come to be called by another name: a function or a member of the shell that is named as a value, functions
# and objects that are made, and a stage by the name of a variable. Also what is put into a list from elsewhere
VALUE = r"\s*+[,)\]}|&?:+]"
METHOD = (
    r"(?:admin|bulk|compact|convert|create|delete|disable|drop|enable|find(?:One)?And|fsync|grant|hide|initialize|insert|"
    r"kill|mapReduce|reIndex|remove|rename|replace|revoke|run|save|set|shutdown|unhide|update|validate|watch)[\w$]*+"
)
REFERRED = re.compile(
    rf"=>|{MAKER}|\.\s*+prototype(?![\w$])|(?<![\w$])\$(?:out|merge)(?![\w$])|[(\[,{{]\s*+\.\.\.|"
    rf"(?<![\w$.])(?:db|rs|sh|sp)(?:\s*+\.\s*+[\w$]++){{1,9}}+{VALUE}|[)\]\w$]\s*+\.\s*+{METHOD}{VALUE}|"
    rf"[\w$)\]]\s*+\[\s*+[\"'][^\[\]]{{0,90}}\]{VALUE}|"
    r"(?<![\w$.])(?:connect|eval|exit|Function|load|quit|removeFile|require|run|runProgram)\s*+[,)\]}]"
)
# A quote that no quoted words begin with, and code that goes on behind it
ENDS_QUOTED, GOES_ON = re.compile(r"['\"](?!\w|\Z)"), re.compile(rf"[;,+|&()]\s*+{GLOBAL}{NAMES}\s*+[.\[(]")
# A pipeline, or a stage of one, that comes out of a document
PIPELINE = re.compile(r"(?<![\w$])aggregate\s*+\((?!\s*+[\[{)])")
OUT_OF_DATABASE = re.compile(r"[(\[,]\s*+db(?![\w$])")
# Escapes that a `$out` or `$merge` may be written with; those of patterns are none
ESCAPE = re.compile(r"\\(?![\\dwsSWDBb.$^(){}\[\]|?*+/\"'-])")
# The first field of each object that stands by itself, and whether its value is one of operators
FIRST = re.compile(
    r"(?:\A[\s(\[,;\ufeff]*+|[}\]);][\s(\[,]*+)\{\s*+(?:\"([^\"\\]*+)\"|'([^'\\]*+)'|([\w$.@-]++)|(?=(\})))?(?:\s*+:(\s*+\{\s*+[\"']?\$)?)?"
)


def commands_change(args: Json) -> bool:
    """Whether a call of a tool for MongoDB may hold a command, or a text of the shell, that changes something."""
    return any(_changes(keys, one) for keys, one in _stated(parsed(args)))


def is_plain_command(args: Json) -> bool:
    """Whether an argument that is called like a statement holds what can hardly be anything but such a command."""
    return any(keys & STATED and _is_plain(one) for keys, one in _stated(parsed(args)))


def is_of_shell(text: str) -> bool:
    """Whether a text begins as one of the shell that is about a database."""
    return OF_SHELL.match(text) is not None


def shell_changes(text: str) -> bool:
    """Whether a text of the shell may change something, or cannot be told."""
    return _text_changes(text, frozenset())


def without_values(text: str) -> str:
    """A text of the shell without what stands in quotes, where that is plain, and without names of fields."""
    return FIELD.sub(" ", _bare(text))


def _stated(value: Json) -> Iterator[tuple[frozenset[str], Json]]:
    """Each text and object that may be a command, with those of TOLD that the names around it have."""
    left = list(_arguments(pairs_of(value) or []))
    while left:
        keys, one = left.pop()
        pairs = pairs_of(one)
        if pairs is not None or isinstance(one, str):
            yield keys, one
        for name, item in pairs or ():
            inner = frozenset(words(name[:100]))
            if inner & AROUND:
                left.append((keys | inner & TOLD, item))
        if pairs is None and isinstance(one, list):
            left += ((keys, item) for item in one)


def _arguments(pairs: list[tuple[str, Json]]) -> Iterator[tuple[frozenset[str], Json]]:
    """Each argument, with those of TOLD that its name has. What is called a query beside a collection is a filter."""
    named = [(frozenset(words(name[:100])), one) for name, one in pairs]
    collection = any(keys & COLLECTION and isinstance(one, str) and one for keys, one in named)
    for keys, one in named:
        yield frozenset({"filter", "query"}) if collection and keys == {"query"} else keys & TOLD, one


def _changes(keys: frozenset[str], value: Json) -> bool:
    if isinstance(value, str):
        return _text_changes(value, keys)
    pairs = pairs_of(value)
    return not keys & FILTERS and bool(pairs) and _is_command(*pairs[0])  # type: ignore[index]


def _is_command(name: str, value: Json) -> bool:
    """Whether a field makes a command that changes something of the object that it is the first one of."""
    return _changes_by_name(name) and not _of_operators(value)


def _changes_by_name(name: str) -> bool:
    name = name.lower()
    return name in COMMANDS or name.startswith(INTERNAL)


def _of_operators(value: Json) -> bool:
    """Whether a value is what a filter asks of a field: `{"$exists": true}`."""
    pairs = pairs_of(value)
    return bool(pairs) and all(name.startswith("$") for name, _ in pairs or ())


def _is_plain(value: Json) -> bool:
    if isinstance(value, str):
        found = FIRST.match(value)
        name = (found[1] or found[2] or found[3] or "").lower() if found else ""
        return name in BESIDE and BESIDE[name] in value.lower()
    pairs = pairs_of(value) or [("", None)]
    first = pairs[0][0].lower()
    return first in BESIDE and (not BESIDE[first] or any(name.lower() == BESIDE[first] for name, _ in pairs))


def _text_changes(text: str, keys: frozenset[str]) -> bool:
    """Whether a text that is no JSON may change something, where it is written as the shell takes it."""
    is_object = OBJECT.match(text) is not None
    if not (is_object or SHELL.search(text) or _calls(text, keys)):
        return False
    if is_object and not keys & FILTERS and any(map(_is_command_in_text, FIRST.finditer(text))):
        return True
    if UNCLEAR.search(_without_quotes(text)) or ESCAPE.search(text):
        return True
    bare = text if not keys & TOLD and _goes_on(text) else _bare(text)
    return any(found[1] not in LOOKING for found in CALLED.finditer(bare)) or _refers(bare)


def _goes_on(text: str) -> bool:
    """Whether code stands in what seems to be in quotes. A tool may put the text into quotes of its own, and then they
    begin where they seem to end: `');db.a.drop();('`."""
    found = ENDS_QUOTED.search(text)
    return found is not None and GOES_ON.search(text, found.end()) is not None


def _refers(bare: str) -> bool:
    """Whether a text that calls only what looks may have something else called, or a pipeline that it does not say."""
    if "(" not in bare:
        return False
    stages = bare.partition("aggregate")[2]
    return bool(REFERRED.search(bare) or PIPELINE.search(bare) or OUT_OF_DATABASE.search(stages))


def _calls(text: str, keys: frozenset[str]) -> bool:
    """Whether a text calls something, where that is of the shell. A question in SQL has functions of its own."""
    if "(" not in text:
        return False
    if SQL.match(text):
        return SHELL_CALL.search(_without_quotes(text)) is not None
    named = SHELL_WORD.search(text) and not (PROSE.fullmatch(text) and not SHELL_MEMBER.search(text))
    return bool(named or (keys & (STATED | CODE) and has_call(text)))


def _without_quotes(text: str) -> str:
    return text if "\\" in text else QUOTED.sub('""', text)


def _bare(text: str) -> str:
    bare = _without_quotes(text)
    return text if "/" in bare else bare  # what is a pattern may hold one of two quotes


def _is_command_in_text(found: re.Match[str]) -> bool:
    """Whether the first field of an object is that of a command that changes something, or cannot be told."""
    quoted, single, plain, empty, operators = found.groups()
    name = quoted or single or plain
    if name is None:
        return empty is None
    return _changes_by_name(name) and operators is None
