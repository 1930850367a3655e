"""Why a call is refused or always gated, in words; where these come with the name of the rule, that is the second."""

TOO_MANY = (  # the reason, and the rule
    "its arguments hold more texts that could be file names or addresses, or deeper JSON, than can be checked for one "
    "call: name fewer at a time, without {braces}, %-codes and characters that stand for several",
    "too many names",
)
FOLLOWS_LINKS = "its server follows links and does not say where they lead"
UNDECLARED = "the tool says nothing of its argument “{name}”, so nobody knows what that does"
BROKEN_PATH = "a path in it holds a tab, a line break or another control character, which some leave out"
HIDDEN_CARD = (
    "what it reads first, or is given by an earlier step, is private, which hides the card from the approvers that the "
    "policy wants"
)
ELSEWHERE = (
    "its server takes an id, a path or a name in its arguments for another one than it says: write it as it is, "
    "without dots, slashes, signs and encodings that lead elsewhere",
    "leads elsewhere",
)
TOO_FEW = (  # the reason, and the rule
    "several rules name approvers for this, and too few people are named by all of them: ask for it in parts, or ask "
    "your administrator",
    "approvers",
)
