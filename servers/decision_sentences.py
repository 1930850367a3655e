"""Sentences that say what was decided, in English and German."""

# ruff: noqa: E501 - a form reads best on one line
from __future__ import annotations

import re2

_FORMS = (
    r"\b(?:we|the (?:team|board|group|committee)|everyone|all)(?: have| has|['’]ve)?(?: all| now| therefore| finally)* (?:decided|agreed|resolved|approved|chose|opted|settled|voted)\b",
    r"\bit (?:was|is|has been) (?:\w+ )?(?:decided|agreed|resolved|approved)\b",
    r"\b(?:was|were|is|are|has been|have been) (?:unanimously )?(?:approved|signed off|adopted|called off|cancelled|postponed)\b",
    r"\b(?:we(?:['’]ll| will|['’]re going to| are going to| shall)|let['’]?s) (?:therefore |then |now )?(?:go (?:with|ahead)|take|use|order|hire|sign|ship|launch|cancel|move|postpone|keep|drop|buy|accept|reject|switch|pay|stay)\b",
    r"^\W{0,3}(?:agreed|approved|decided|decision|resolved)\b",
    r"^\W{0,3}(?:beschluss|beschlossen|entscheidung|entschieden|einverstanden|genehmigt|abgemacht|vereinbart)\b",
    r"\b(?:wir|das team|der vorstand|die gruppe|die runde|alle|man)\b.{0,80}\b(?:beschlossen|entschieden|vereinbart|geeinigt|festgelegt|verabschiedet)\b",
    r"\b(?:haben|hat) (?:wir |das team |der vorstand |die runde |man )?.{0,80}\b(?:beschlossen|entschieden|vereinbart|geeinigt|festgelegt)\b",
    r"\b(?:wurde|wird|ist|werden|wurden|sind)\b.{0,80}\b(?:beschlossen|entschieden|vereinbart|festgelegt|genehmigt|abgesagt|verschoben)\b",
    r"\b(?:wir (?:nehmen|machen das so|einigen uns|bleiben bei|verschieben|kaufen|bestellen|unterschreiben)|es bleibt (?:bei|beim)|(?:nehmen|machen|verschieben|bestellen) wir)\b",
)
# What was not decided yet, or somebody asks.
_OPEN = re2.compile(
    r"(?i)^\W*(?:should|do|have|haben|sollen) (?:we|wir)\b|\b(?:whether|if we|not (?:yet )?(?:decided|agreed)|undecided|ob wir|noch nicht|nichts|not|never|falls|nicht)\b"
)
_DECIDED = re2.compile("(?i)" + "|".join(_FORMS))


def decided(sentence: str) -> bool:
    """Whether a sentence says that something was decided."""
    return (
        not sentence.rstrip().endswith("?") and bool(_DECIDED.search(sentence)) and not _OPEN.search(sentence)
    )
