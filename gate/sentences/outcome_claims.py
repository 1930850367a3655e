"""Does a text claim that something was done? Outcomes are told by code; this finds the words that tell them."""

from __future__ import annotations

import re
import unicodedata

CHANGED = (
    "deleted|removed|erased|wiped|purged|dropped|moved|renamed|created|written|wrote|saved|updated|changed|edited|"
    "modified|sent|e-?mailed|messaged|posted|published|added|copied|replaced|restored|archived|unarchived|uploaded|"
    "merged|closed|reopened|assigned|reassigned|cancell?ed|scheduled|rescheduled|booked|invited|executed|applied|"
    "enabled|disabled|encrypted|decrypted|shared|commented|tagged|mentioned|submitted|filled|cleared|emptied|undone|"
    "reverted|fixed|implemented|installed|deployed|committed|pushed|resolved|completed|carried out|taken care of|"
    "handled|dealt with|inserted|appended|converted|trashed|swapped|transferred|paid|ordered|rejected|approved|"
    "built|launched|configured|registered|granted|revoked|rolled back|rolled out|released|signed|bought|"
    "purchased|notified|subscribed|unsubscribed|muted"
)
SOFT = "now|just|already|also|then|finally|successfully|both|all|since|meanwhile|safely|gone ahead and|went ahead and"
PAPER = "plan|draft|proposal|preview|summary|overview|outline|suggestion|question"
INTO = r"(?: \S+){0,6} (?:in|into|to|from|of) (?:a|the|your|my|this) (?:plan|draft|proposal)\b"
OBJECT = rf"(?!(?: (?:a|an|the|this|that|my|your|you an?|for you an?))*(?: [\w-]+)? (?:{PAPER})\b|{INTO})"
FIRST = re.compile(
    rf"\b(?:i|we)(?:'ve| have|'d| had| did)?(?: (?:{SOFT}))* (?:{CHANGED})\b{OBJECT}|"
    rf"\b(?:i|we)(?: (?:{SOFT}))* (?:took care of|did (?:it|that|this|so|both|all)|finished (?:it|that|the job))\b|"
    rf"\b(?:i'm|i am|we're|we are)(?: (?:{SOFT}))* done\b|"
    rf"\b(?:i|we)(?:'ve| have)(?: (?:{SOFT}))* (?:done|made|put|set|run) (?:it|that|this|so|them|the changes?|both)\b"
    rf"(?!{INTO})"
)
BARE = re.compile(
    rf"^(?:(?:ok|okay|all|it'?s|that'?s|that is|it is|and|yes|sure|great)\W+)*(?:all )?"
    rf"(?:done|finished|completed|all set|mission accomplished|success)(?:$|\W*$|[ ,:!–-]+(?!by\b|on\b|at\b))|"
    rf"^(?:(?:{SOFT}) )?(?:{CHANGED})\b(?! ?:| by\b| on\b| at\b| in \d| \d| ago\b|$){OBJECT}|"
    r"^[✅☑✔]|\bconsider it done\b|\b(?:that's|it's|this is|all|everything is) (?:now |already |all )?"
    r"(?:taken care of|handled|sorted|done)\b|^(?:the )?(?:\w+ )?(?:task|job|request|deletion|move|change|update)s? "
    r"(?:is |are )?(?:now )?(?:complete|completed|done|finished)\b(?! (?:only|when|once|after|if|until)\b)|"
    r"^(?:erledigt|fertig|gelöscht|verschoben|gesendet|hecho|listo|eliminado|enviado|terminé|fait|c'est fait|"
    r"supprimé|envoyé|fatto|eliminato|inviato|feito|concluído|gedaan|klaar|готово|сделано|完成|已完成|已删除|完了|削除しました)\b|"
    r"\bich habe (?:\S+ ){0,8}(?:gelöscht|verschoben|gesendet|erstellt|geändert|umbenannt|erledigt)\b|"
    r"\bj'ai (?:\S+ ){0,2}(?:supprimé|déplacé|envoyé|créé|modifié|renommé)\b|"
    r"\bhe (?:eliminado|borrado|movido|enviado|creado|modificado|renombrado)\b"
)
PASSIVE = re.compile(
    rf"\b(?:has|have|had|'s|'ve)(?: (?:{SOFT}))* been(?: (?:{SOFT}))* (?:{CHANGED})\b|"
    rf"\b(?:is|are|'s|'re) (?:now|already) (?:{CHANGED}|gone|done|complete|in place|live|in the trash)\b|"
    rf"\b(?:was|were|got) (?:{CHANGED})\b|"
    rf"\b(?:has|have|had)(?: (?:{SOFT}))* been(?: (?:{SOFT}))* (?:done|made|finished|fulfilled|carried out)\b|"
    r"\b(?:is|are) (?:gone|no longer (?:there|here|in)|on (?:its|their) way)\b|\bno longer exists?\b|"
    rf"\b(?:{CHANGED})\W*[✅☑✔]"
)
LOUD = re.compile(
    # Anchored, and up to the first of the two words only: a search from each of them would take quadratic time.
    r"\bsuccessfully (?:done|finished)\b|"
    rf"\A(?:(?!\bsuccessful(?:ly)?\b)[\s\S])*+\bsuccessful(?:ly)?\b.*?\b(?:{CHANGED})\b|"
    rf"\A(?:(?!\b(?:{CHANGED})\b)[\s\S])*+\b(?:{CHANGED})\b.*?\bsuccessfully\b"
)
GUARD = re.compile(
    r"\b(?:if|once|when|whenever|after|until|unless|before|whether|would|could|should|will|shall|may|might|can|must|"
    r"cannot|not|never|no|nothing|none|neither|nobody|without|to|by the time|as soon as|wait(?:s|ing)?|needs?|"
    r"prepared|propose[ds]?|plan(?:ned)?|wenn|sobald|falls|nicht|kein\w*|si|quand|dès|cuando|non?|pas)\b|n't\b|'ll\b"
)
QUOTED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]*\"|“[^“”\n]*”|«[^«»\n]*»|^[^\S\n]*>[^\n]*", re.S | re.M
)
SENTENCE = re.compile(r"[^.!?\n;。！？]*[.!?\n;。！？]*")
CLAUSE = re.compile(r"[,:–—()]| - | but | and (?=i |we |it |they |the |that )| so (?=i |we |it |they )")
LEADING = re.compile(r"^[^\w✅☑✔]+")
STRAIGHT = str.maketrans({"’": "'", "‘": "'", "´": "'", "`": "'", "\u00a0": " "})
# What NFKC makes 8 and 18 characters of, and texts that it takes long to put in order: marks upon marks
SPELLED_OUT = re.compile("[\ufdfa\ufdfb]")
PIECE = re.compile(r"[^ \n]{1,64}|[ \n]+")
DROPPED = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\ufe0f*_~]")


def claims_outcome(text: str, *, recounting: bool = False) -> bool:
    """Whether the text says, in its own voice, that something was changed or done.

    Quoted words, questions and what is only conditional do not count. `recounting`: the writer has just read
    something, so that “the issue was closed” may be what it read; only “I closed it” counts then. A check for
    common words of the larger languages, not a proof: the cards are what people can rely on.
    """
    own = SPELLED_OUT.sub("§", DROPPED.sub("", QUOTED.sub(" § ", text)))
    composed = (unicodedata.normalize("NFKC", piece) for piece in PIECE.findall(own))
    plain = "".join(composed).translate(STRAIGHT).casefold()
    return any(_claims(sentence, recounting) for sentence in SENTENCE.findall(plain) if sentence.strip())


def _claims(sentence: str, recounting: bool) -> bool:
    clauses = [LEADING.sub("", " ".join(clause.split())) for clause in CLAUSE.split(sentence)]
    asked = "?" in sentence or "？" in sentence
    return any(_claim(clause, recounting) for clause in (clauses[:-1] if asked else clauses))


def _claim(clause: str, recounting: bool) -> bool:
    kinds = (FIRST, BARE) if recounting else (FIRST, BARE, PASSIVE, LOUD)
    return any(
        found and not GUARD.search(clause[: found.start()]) for found in (k.search(clause) for k in kinds)
    )
