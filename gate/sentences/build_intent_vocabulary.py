"""The words by which a sentence asks to build, puts it off, refuses, reports, supposes or asks back."""

from __future__ import annotations

import re

GOOD = r"(?:good|great|fine|perfect|right|ok|okay|correct|awesome|nice|excellent|clear|set|done|ready|lovely)"
# What people put before a command without changing it.
OPENING = re.compile(
    r"(?:yes|yep|yeah|yup|ya|y|aye|sure(?: thing)?|ok|okay|okey|k|alright|all right|thanks(?: (?:a lot|so much))?|"
    r"thank you(?: (?:so|very) much)?|thx|ty|well|now|then|so|and|but|also|please|pls|plz|kindly|just|simply|hey|"
    r"hi|hello|absolutely|definitely|of course|certainly|exactly|indeed|agreed|approved|confirmed|lgtm|cool|super|"
    r"wonderful|amazing|brilliant|fantastic|right|great|perfect|nice|good|excellent|awesome|fine|love it|"
    r"i (?:like|love) (?:it|that|this)|i agree|finally|otherwise|come on|as (?:i|we) (?:said|agreed|discussed)|"
    r"(?:(?:that|it|this|all|everything) )?(?:looks|sounds|seems|is) (?:all |very |really |pretty |so )?"
    rf"{GOOD}(?: to me| enough| with me)?|(?:that|it)'s (?:all |very |really )?{GOOD}|all {GOOD}|"
    r"that works(?: for me)?|works for me|that's (?:it|all|everything)|nothing else|no more questions|bot|"
    rf"(?:i'm|i am|we're|we are) (?:all )?(?:happy|{GOOD})(?: with (?:that|this|it))?|enough talk(?:ing)?)(?![\w']) ?"
)
ALONE = re.compile(r"(?:no|nope|nah|no questions|none)")  # as an answer of its own: “No, go ahead.”
POLITE = re.compile(r"(?P<who>can|could|will|would) (?:you|u) (?:(?:please|pls|just|now|kindly) )*")
FRAME = re.compile(
    r"(?:(?:i|we)(?: would|'d)? (?:want|need|like|love) you to|feel free to|(?:it's |it is )?time to|go(?: on)? and|"
    r"(?:you|u) (?:can|may)(?= (?:now|just|go ahead|start|begin|proceed)\b)|go(?= (?:build|implement|create)\b))"
    r" (?:(?:now|please|just) )*"
)
LETS = re.compile(r"(?:let'?s|let us) (?:(?:just|now|please|then|go and) )*")
IT = r"(?:it all|it|this|that|them|these|those|everything|all of (?:it|this|that|them)|the (?:whole )?thing)"
SOON = (
    r"(?: (?:now|please|pls|plz|then|today|asap|already|immediately|anyway|right (?:now|away)|straight ?away|at once|"
    r"for (?:me|us)|thanks|thank you|bot|(?:exactly |just )?(?:as|like) (?:that|this|discussed|agreed|planned|"
    r"described|proposed|suggested|(?:we|you|i) (?:just )?\w+(?: it)?)|this way|that way))*"
)
PAPER = (
    r"(?:questions?|explanations?|summar(?:y|ies)|comparisons?|overview|list|table|outline|sketch|diagram|plan|"
    r"proposal|recommendations?|examples?|draft|estimate|timeline|case|argument|picture|idea|shortlist|"
    r"description|details?|discussion|pros|talk|thoughts?|story|answer|talking|explaining|asking|analysis|mock-?up|understanding|consensus|trust)"
)
START = r"(?:start|begin|proceed)(?: with| to)?"
MAKING = r"(?:building|implementing|creating|coding|developing|implement|build|create|code)"
# Whole commands: nothing but haste and courtesy may follow.
WHOLE = re.compile(
    rf"(?P<said>go ahead|go for it|proceed|start|begin|get started|get going|get to work|"
    rf"get (?:it|this|that) (?:done|built)|kick it off|ship it|do (?:it|this|that)|make it(?: so| happen| real)?|"
    rf"(?:implement|build)(?= )|{START} (?:{MAKING}|the (?:implementation|build|work))(?: {IT})?){SOON}"
)
AHEAD_WITH = re.compile(
    rf"(?P<said>go ahead|proceed) with (?!(?:\S+ ){{0,3}}(?!plan){PAPER}\b)(?P<tail>\S.*)"
)
# Commands with an object: more may follow, as a wish about the thing.
OBJECT = re.compile(
    rf"(?P<said>(?:implement|build|create|code|develop|{START} {MAKING}) {IT})(?![\w'])(?P<tail>.*)"
)
ONE_WORD = ("implement", "build")  # commands only where nothing else is said
NAMED = re.compile(
    r"(?P<said>implement|build|start (?:building|implementing))(?: me| us)? "
    r"(?:the|an?|my|our|both|all|your|its)\b(?P<tail>.*)"
)
BARE = re.compile(r"(?P<said>implement)(?P<tail> \S.*)")
FRAMED_BARE = re.compile(r"(?P<said>implement|build)(?P<tail> (?!on |upon |in |up |for )\S.*)")
NAMING = (NAMED, BARE, FRAMED_BARE)
ON_PAPER = re.compile(
    rf"(?:\S+ ){{0,3}}{PAPER}(?: (?:of|for|about|comparing|with|between|showing|that|to|against|first|please).*)?"
)
# After “build it”: words that make a statement, an alternative or a question of it.
STATES = re.compile(
    r" ?(?:is|was|were|are|has|had|will|would|could|should|can|must|may|might|sounds?|looks?|seems?|means?|takes?|took|"
    r"fails?|failed|broke|works?|worked|went|costs?|needs?|does|did|or|vs|versus|how|why|what|which|myself|"
    r"ourselves|yourself|yet|either|instead|first|again|nothing|none|nowhere|-)(?![\w'])"
)
# In “build the page …”: words that make a statement of it, or leave open who builds.
OPEN = re.compile(r"\b(?:is|are|was|were|myself|ourselves|yourself|which)\b|=")
LATER = (
    r"(?:later|tomorrow|tonight|someday|some day|eventually|afterwards?|one day|soon|in the future|another time|"
    r"next (?:week|month|sprint|year|time|quarter|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|"
    r"in (?:an?|one|two|a few|\d+) (?:bit|while|moment|minutes?|hours?|days?|weeks?|months?|sec(?:ond)?s?)|"
    r"(?:on |this )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|this (?:afternoon|evening)|at \d+ ?(?:am|pm|:\d\d)?)"
)
CONDITION = (
    r"(?:if|when|whenever|once|unless|until|till|after|before|as soon as|as long as|provided|assuming)"
)
HEDGE = (
    r"(?:maybe|perhaps|possibly|probably|might|i guess|i suppose|i wonder|wondering|not sure|unsure|dunno|kidding|"
    r"joking|in theory|hypothetically)"
)
HINDERS = re.compile(
    rf"\b(?P<said>{CONDITION}|{LATER}|{HEDGE}|yet|or not|would|should|on paper|is (?:my|our|an?|not|only|too)|"
    rf"as an? (?:\w+ )?{PAPER})\b"
)
DEADLINE = re.compile(rf"\b(?:by|until|before) (?:the end of|{LATER}|noon|\w+day)\b")
HEDGED = re.compile(rf"\b(?P<said>{HEDGE})\b")
POSTPONES = re.compile(rf"(?:only |but |do (?:it|that) |just )*(?P<said>{LATER})")
NEGATES = re.compile(
    r"\b(?P<said>don'?t|do not|doesn'?t|does not|never|not|won'?t|can'?t|cannot|shouldn'?t|wouldn'?t|without|"
    r"instead of|rather than|no need to|stop|no(?= go ahead)|refuse to|avoid)(?: [\w']+){0,4}? "
    r"(?:implement\w*|build\w*|creat\w+|do (?:it|this|that)|go ahead|make it|cod(?:e|ing)|start\w*|ship\w*|"
    r"proceed\w*|begin\w*|develop\w*)\b"
)
NOT_NOW = re.compile(
    r"\b(?P<said>not (?:yet|now|today|so fast|right now|quite|ready|for now|just yet|until|before))\b"
)
WAITS = re.compile(
    r"(?:actually |no )*(?P<said>wait|hold (?:on|off|it|your horses)|hang on|stop|pause|never ?mind|forget (?:it|that)|"
    r"scratch that|cancel|slow down|(?:one|a|just a) (?:moment|sec|second|minute)|no way|not sure|think twice)\b"
)
SUPPOSES = re.compile(
    rf"(?:even |only |and |but |especially )*(?P<said>{CONDITION}|suppos(?:e|ing)|imagine|say we|"
    r"let'?s (?:say|suppose|assume|imagine)|assume|in case|were we|had we|should you|for example|for instance|while)\b"
)
REPORTS = re.compile(
    r"\b(?P<said>said|says|say|saying|told|tells|wrote|writes|asked|asks|quote|according to|"
    r"replied|answered|insists|insisted)\b"
)
SUBJUNCTIVE = re.compile(r"\b(?P<said>would|could|should|might|'d) \w")
QUESTION = re.compile(
    r"(?P<said>how|what(?! (?:an?|i|we)\b)|why|which|who|whose|where|whether|should|shall|is|are|was|were|"
    r"do (?:you|we|i|they)|does|did|has|have (?:you|we|they)|can|could|would|will|may|might|am i|"
    r"wouldn'?t|couldn'?t|can'?t|isn'?t|won'?t|don'?t (?:you|we))(?![\w'])"
)
ASKS_AGAIN = re.compile(
    r"(?P<said>how|what(?! (?:an?|i|we)\b)|why|shall|should|do (?:you|we|i)|can (?:you|we|i)|could (?:you|we|i)|"
    r"would (?:you|we|i)|are (?:you|we)|is (?:it|that|this|there))(?![\w'])"
)
TALKS = re.compile(
    r"(?:first |then |also |only |maybe |let'?s |you can )*(?P<said>tell|explain|describe|show (?:me|us)|list|"
    r"ask(?: me| us| away| your|$)|"
    r"compare|summari[sz]e|elaborate|answer|suggest|propose|think|help (?:me|us)|give (?:me|us|him|her|them)|"
    r"walk (?:me|us)|outline|sketch|draft|clarify|discuss|talk|shoot|share|say|speak|guess|consider|recap|repeat|"
    r"remind|convince|continue|keep (?:talking|going|explaining|asking)|finish|read|spell|let (?:me|us)|"
    r"(?:i'?m|i am|we're) (?:listening|all ears|curious|reading)|i'?ll listen)(?![\w'])"
)
# These turn to us wherever they stand: “Go ahead. Tell me more.”
TALKS_TO_US = re.compile(
    r"(?:first |then |also |maybe |let'?s |you can )*(?P<said>(?:tell|show|give|walk|help|remind|let|ask) (?:me|us)|"
    r"explain|clarify|elaborate|keep (?:talking|explaining|asking)|let'?s (?:talk|discuss))\b"
)
NOTIFIES = re.compile(
    r"(?:then )?(?:tell|ping|notify|message|show|let) (?:me|us|everyone)\b.*\b"
    r"(?:done|finished|ready|complete|completed|works|live|up|it goes|it went|the result|the results)"
)
OR = re.compile(r"(?P<said>or)\b")
# What a whole sentence tells about a polite question in it.
MANNERS = {
    "pleases": re.compile(r"\b(?:please|pls|plz|kindly)\b"),
    "hurries": re.compile(r"\b(?:now|just|asap|today|at once)\b"),
    "chooses": re.compile(r"\bor\b"),
}
MENTIONS = re.compile(
    r"\b(?:implement|build|built|creat|do (?:it|this|that)|go ahead|make it|code|ship|start)"
)
LOOSE = (
    ",",
    "—",
    "–",
    "-",
    "--",
    "so",
    ", so",
    "but",
    ", but",
)  # joints before which another clause may be complete
