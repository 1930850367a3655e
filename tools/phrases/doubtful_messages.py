"""Words that put the rest of a message in doubt: a heading that is more than a request, and answers that are none."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tools.phrases.plan_draft import Unclear
from tools.phrases.typed_values import clipped

# A line over others that only asks for them. Anything else may take them back: “Do not do this:”, “Ben wrote:”.
PLAIN_HEADING = re.compile(
    r"(?:(?:hi|hello|hey|ok|okay|please|pls|plz|then|now|next|also)\b[ ,]*+)*+"
    r"(?:(?:(?:can|could|would|will) you|i(?: would|['’]d) like you to|i (?:need|want) you to)[ ,]*+)?+"
    r"(?:please[ ,]*+)?+"
    r"(?:(?:do|take care of|carry out|run) )?+"
    r"(?:(?:this|these|all of this|all this|the following|as follows)(?: (?:things|steps|tasks|instructions))?+|"
    r"to[ -]?dos?(?: list)?+|(?:my |the |some )?(?:tasks?|steps|instructions|things to do)|next steps)?+"
    r"(?: for me)?+(?:[ ,]*+please)?+",
    re.IGNORECASE,
)
LONGEST_HEADING = 100
LEAVES = (
    r"no|nope|nah|none|none of (?:them|these|those|it)|neither|neither of them|nothing|nowhere|nobody|"
    r"never[ -]?mind|nvm|cancel|stop|abort|(?:please )?(?:don['’]?t|do not)(?: do (?:it|that|anything))?|"
    r"forget (?:it|that|about it)|scratch that|drop it|leave it|not any ?more|"
    r"i(?:['’]ve| have)? changed my mind|i(?:['’]d| would)? rather not|on second thought|changed my mind"
)
WITHDRAWAL = re.compile(
    rf"(?:oh|no|ok|okay|sorry|actually|please|well|hm+)?[ ,]*+(?:{LEAVES})(?:[ ,]++(?:please|thanks|"
    r"thank you|sorry|after all))?[ .!]*+",
    re.IGNORECASE,
)
# How people begin who have no answer yet, or say no to something.
HESITATION = re.compile(
    r"(?:no|not|nope|nah|never|none|neither|nothing|nowhere|don['’]?t|do not|wait|hang on|hold on|hold off|hold it|"
    r"stop|cancel|forget|scratch|actually|one (?:moment|second|sec|minute)|just a|a (?:moment|second|sec|minute)|"
    r"i(?:['’]m| am| do|['’]ve| have|['’]ll| will|['’]d| would)?(?: still)? ?"
    r"(?:not|don['’]?t|do not|dunno|changed|unsure|think|guess|wonder|need|want|decide|tell|let)|"
    r"let me|dunno|idk|unsure|maybe|perhaps|possibly|probably|hm+|um+|uh+|er+|later|someday|soon|"
    r"yes|yeah|yep|yup|ok|okay|sure|fine|go|do it|thanks|thank you|whatever|whichever|something|anything|anywhere|"
    r"somewhere|either|any of|it depends|depends|only if|if|unless|until|except|instead|but|"
    r"what|which|why|how|who|whose|where|when|is (?:it|that|this|there)|are (?:you|we|there)|"
    r"can (?:you|i|we)|could (?:you|i|we)|should (?:i|we|it)|shall|does|did|do (?:you|i|we))(?!\w|[./-]\w)",
    re.IGNORECASE,
)
HEADING = "I do not know what “{}” makes of the lines below, so I took none of them. Write the instructions without it."


def under_heading(found: Sequence[str]) -> list[str]:
    """The lines of a message without a heading that only asks for them. Raises Unclear for any other heading."""
    first = " ".join(found[0].split()) if found else ""
    if len(found) < 2 or not first.endswith(":"):
        return [*found]
    if len(first) > LONGEST_HEADING or not PLAIN_HEADING.fullmatch(first[:-1].rstrip()):
        raise Unclear(HEADING.format(clipped(first, 60)))
    return [*found[1:]]


def is_withdrawal(answer: str) -> bool:
    """Whether an answer to a question says that nothing is to be done after all."""
    return len(answer) <= LONGEST_HEADING and WITHDRAWAL.fullmatch(" ".join(answer.split())) is not None


def is_no_answer(answer: str) -> bool:
    """Whether an answer hesitates, says no, or asks back."""
    said = answer.strip()
    return HESITATION.match(said) is not None or said.endswith("?")
