"""What a tool's own words say of it: whether it reads, or shows a sign of changing something.

The server chooses these words, so they only count against it: `only_reads` is asked for besides the server's claim
that a tool only reads, and proves nothing by itself. A server that lies in all of them is one for `untrusted`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import islice

from gate.arguments.deleting_names import DROPPING, JOINED, VERBS
from gate.arguments.text_cache import Remembered
from gate.rules.action import Json

# Verbs of reading, also behind the name of a product or a kind of thing (`jira_get_issue`, `pods_list`, `issue_read`).
READING = frozenset(
    "count describe describes fetch fetches find finds get gets list lists lookup query read reads retrieve "
    "retrieves search searches whoami".split()
)
# Verbs of reading at the beginning of a name, or behind one word: what follows is never taken for a thing.
SHOWING = frozenset(
    "aggregate analyse analyze browse calculate cat compare detect diff estimate explain glob grep inspect look "
    "ls preview ripgrep show summarise summarize view whois".split()
)
# Nouns at the end of a name that has no verb (`git_status`, `directory_tree`), behind one of KINDS or a plural.
SHOWN = frozenset("contents diff health history info log logs schema stats status tree version".split())
NOUNS = frozenset(
    "count list lists query read reads".split()
)  # verbs of reading that end a name in the same way
KINDS = frozenset(
    "account api bucket calendar channel cluster collection column config configuration contact database db "
    "dependency directory document event file folder git index issue mongodb namespace node page pod postgres "
    "project redis repo repository request server service storage system table team user view workspace".split()
)
DESTROYING = frozenset(
    "annihilate clean cleanup clear crush decimate del delete deletes demolish destroy destroys detonate discard drop "
    "drops empty eradicate erase erases evict expunge flush forget format incinerate kill kills nuke obliterate "
    "overwrite prune purge purges raze reap remove removes revoke revokes rid rm rmdir scrub shred terminate "
    "truncate uninstall unlink vaporize wipe wipes yank zap".split()
)
CHANGING = frozenset(
    "abort accept ack acknowledge acquire activate add adjust allocate allow amend anonymize append apply approve "
    "archive assign attach authorize backfill backup ban bid bill block book boot broadcast build bump burn buy "
    "call cancel capture cast change charge checkin checkout clone close commit compensate complete compose "
    "compress confirm connect convert copy cordon create credit deactivate deal debit decline decommission decrease "
    "decrement decrypt defer delegate delist demote deny deploy deposit deprecate deprovision dequeue deregister "
    "detach dial disable disburse disconnect dismiss dispatch dispense donate downgrade download drain duplicate edit "
    "eject elevate email enable encrypt enlist enqueue enroll escalate exchange exec execute exempt expand expire "
    "export extend file fill finalize fire fix flag flip fork forward freeze fulfill fund generate give grant halt "
    "hide hire hold ignore impersonate import impose increase increment inject insert install invalidate invest invite "
    "invoice invoke issue jail join keep kick label launch lease leave lend let liquidate load loan lock login "
    "logout lower mail make mark materialize merge message migrate mint modify mount move mute notify offboard "
    "onboard open order override park patch pause pay perform persist pick pin place play poke post postpone "
    "prepend print promote propose provision publish pull punch purchase push put quarantine queue quit raise "
    "reactivate reassign rebase rebind reboot rebuild recall receive reclaim reconcile reconfigure record "
    "recreate redact redeem redirect redo refill refresh refund refuse register reimburse reindex reinstate "
    "reissue reject release reload relocate remit rename render renew reopen reorder repair repay replace "
    "replicate reply report reprint request requeue rerun reschedule reserve reset resign resize restart restore "
    "restrict resubmit resume retire retract retry return reverse revert rewrite rollback rotate route run sail "
    "save schedule seal seize sell send set settle share shift ship shut shutdown sign signup skip snooze spawn "
    "spend stake star start stop store submit subscribe suspend swap switch sync synchronize tag take tap "
    "terminate throttle throw tip toggle trade transfer transition trash trigger unarchive unassign unban unblock "
    "undo uninstall unlist unlock unpublish unregister unset unshare unsubscribe unwatch update upgrade upload upsert "
    "use vacate vacuum void vote waive wake watch wire withdraw write".split()
)
# Of these, what reading tools name by a verb of READING: `get_commit`, `list_pull_requests`, `pull_request_read`.
THINGS = frozenset(
    "archive backup bill block book build call change charge clone commit credit download duplicate email export "
    "file flag fork fund grant import invite invoice issue label lease loan lock mail merge message open order "
    "pin place play post pull purchase queue record refund release reply report request route run schedule share "
    "star store tag trade transfer vote watch".split()
)
FIRST_THINGS = frozenset("file issue pull".split())  # and what stands before that verb
NOTHING: frozenset[str] = frozenset()
# What joins a second act to the first, or turns a verb of reading into another one: `get_rid_of`, `check_out_cart`.
JOINING = frozenset("also and away into off or out plus then through to until while".split())
PARAMETER_SIGNS = DESTROYING - {
    "clear",
    "clean",
    "empty",
    "forget",
    "format",
}  # among arguments: filters, layouts
TOGETHER = frozenset().union(*JOINED.values())
DESTROYED = DESTROYING | TOGETHER
# Words that are looked for in names whose capitals stand in other places than before a word
ACTING = (
    DESTROYED
    | CHANGING
    | VERBS
    | DROPPING
    | frozenset(
        "alter bash chmod chown cmd command eval exec mv new powershell query script sh shell sql statement symlink "
        "terminal touch".split()
    )
)
PIECES = re.compile(r"[A-Za-z]+|\d+")
CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
RUNS = re.compile(r"[A-Z]+|[a-z]+")
LONGEST = 10_000  # characters of a description; what is longer is not gone through, and is a sign by itself
MOST_ARGUMENTS, LONGEST_WORD = 200, 100  # names of arguments and of their choices that are looked at
# At the beginning of a sentence, or after “and”: what the tool is said to do, not what it is said to find.
ACTS = re.compile(
    r"(?:^|[.!?:;\n•*(&\"/]\s{0,9}|\b(?:and|then|also|will|can|may|it|tool|permanently|irreversibly|immediately)\s)"
    r"(?:add|append|approve|archive|assign|authorize|ban|book|buy|cancel|charge|clear|close|create|deactivate|delete|"
    r"deploy|destroy|disable|drop|edit|empty|enable|erase|execute|grant|insert|install|invite|kill|merge|modif|move|"
    r"notif|overwrite|pay|post|publish|purchase|purge|push|refund|reject|remove|rename|replace|reset|restart|restore|"
    r"revoke|rotate|send|shut|submit|subscribe|suspend|terminate|transfer|trigger|truncate|uninstall|unsubscribe|"
    r"update|upgrade|upload|wipe|withdraw|write)(?:s|es|y|ies)?\b(?![_'-])",
    re.IGNORECASE,
)


def words(name: str) -> list[str]:
    """The words of a tool's name: `mergePull_request` gives merge, pull, request."""
    return list(_words(name))


@Remembered  # each tool is asked about for each call
def _words(name: str) -> tuple[str, ...]:
    plain = name if name.isascii() else unicodedata.normalize("NFKC", name)
    return tuple(word for found in PIECES.findall(plain) for word in _divided(found))


def _divided(piece: str) -> list[str]:
    """The words of letters without a sign between them, or a number. Capitals in another place than before a word
    (`dELETE`, `DELETEfile`) hide no word of an act."""
    said = [word.lower() for word in CAMEL.findall(piece)]
    if len(said) < 2:
        return said
    others = ([piece.lower()], [run.lower() for run in RUNS.findall(piece)])
    more = ACTING.difference(said, () if ACTING.isdisjoint(said) else TOGETHER)
    return next((other for other in others if not more.isdisjoint(other)), said)


def tool_in_words(full_name: str) -> str:
    """What people are told of a tool where nothing better is known: `desk.put_back` gives Put back."""
    return " ".join(words(full_name.partition(".")[2])).capitalize() or full_name


def destroys(name: str) -> bool:
    """Whether a word of the name is a verb that destroys, or such a verb and a file or a table in one."""
    return not DESTROYED.isdisjoint(words(name))


def has_changing_verb(name: str) -> bool:
    """Whether the name has a verb that changes something, and is not that of a tool that reads."""
    return not CHANGING.isdisjoint(words(name)) and not only_reads(name)


def only_reads(name: str) -> bool:
    """Whether the name is that of a tool that reads: it has a verb of reading, and no word of another act. The verbs
    are English, so of a name in other letters nothing is known."""
    said = words(name)
    place = _verb(said) if name.isascii() else None
    if place is None:
        return False
    named, first = (THINGS, FIRST_THINGS) if said[place] in READING else (NOTHING, NOTHING)
    allowed = [first if i == 0 else NOTHING if i == place else named for i in range(len(said))]
    return not any(_is_acting_word(word) and word not in allowed[i] for i, word in enumerate(said))


def _verb(said: list[str]) -> int | None:
    """Where the verb of reading stands: first, second or last; elsewhere only one that is no noun."""
    last = len(said) - 1
    for place, word in enumerate(said):
        if place and place == last and word in NOUNS:
            return last if _thing(said[last - 1]) else None
        near = place < 2 or place == last
        if (word in READING and near) or (word in SHOWING and place < 2) or word in ("get", "search"):
            return place
    return last if last > 0 and said[last] in SHOWN and _thing(said[last - 1]) else None


def _thing(word: str) -> bool:
    """Whether this is a noun: a plural, or a word that is known as one."""
    return word in KINDS or (word.endswith("s") and not word.endswith(("ss", "us", "is")))


def _is_acting_word(word: str) -> bool:
    return word in CHANGING or word in DESTROYING or word in JOINING


def has_acting_word(name: str) -> bool:
    """Whether any word of the name is a verb that changes something, or joins a second act to a first."""
    return any(map(_is_acting_word, words(name)))


def shows_change(title: str, description: str, schema: Mapping[str, Json]) -> bool:
    """Whether title, description, or the arguments that the schema offers, tell of a change."""
    offered = list(islice(_offered(schema), MOST_ARGUMENTS + 1))
    if len(offered) > MOST_ARGUMENTS or any(not PARAMETER_SIGNS.isdisjoint(_words(one)) for one in offered):
        return True
    return any(len(text) > LONGEST or ACTS.search(text) for text in (title, description))


def _offered(schema: Mapping[str, Json]) -> Iterator[str]:
    """The names of the arguments, and the words that one may choose from."""
    properties = schema.get("properties")
    for name, about in properties.items() if isinstance(properties, Mapping) else ():
        yield str(name)[:LONGEST_WORD]
        choices = about.get("enum") if isinstance(about, Mapping) else None
        yield from (one[:LONGEST_WORD] for one in choices or () if isinstance(one, str))
