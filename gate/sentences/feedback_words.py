"""The words of gate/sentences/feedback.py, in English and German, in lower case: phrases of up to seven words."""

from __future__ import annotations

from itertools import product


def _phrases(text: str) -> frozenset[str]:
    """One phrase a line, or several with | between."""
    return frozenset(
        " ".join(one.split()) for line in text.splitlines() for one in line.split("|") if one.strip()
    )


def _made(*parts: str) -> frozenset[str]:
    """Every combination of the alternatives, which have | between; an empty one leaves its part out."""
    made = product(*(part.split("|") for part in parts))
    return frozenset(" ".join(" ".join(one).split()) for one in made)


GOOD = (
    "good|great|fine|perfect|right|correct|ok|okay|excellent|awesome|nice|lovely|wonderful|brilliant|amazing|"
    "fantastic|cool|super"
)
GUT = "gut|super|prima|perfekt|toll|klasse|richtig|wunderbar|ok|okay|fein|bestens|top"
WHOM = "|all|everyone|everybody|team|both|guys|folks|you|mate|friend|buddy|bot|countersign"
WHAT_FOR = (
    "for that|for this|for it|for everything|for your help|for the help|for all your help|for helping|for your work|"
    "for doing that|for doing this|for the quick help|for your quick help|for your time|für die hilfe|"
    "für deine hilfe|für ihre hilfe|für die schnelle hilfe|für alles|für die mühe|für deine mühe|dafür"
)
THANKS = (
    _made("thanks|thank you|thankyou|thx|thnx|tnx|tx|ty|tysm|cheers|ta", WHOM)
    | _made("many|big|huge|ok|okay", "thanks|thx")
    | _made("thanks|thank you|thx|ty", "a lot|a bunch|a ton|a million|so much|very much|again|anyway|once again", WHOM)
    | _phrases(WHAT_FOR)
    | _phrases("""
        much appreciated | appreciated | appreciate it | i appreciate it | i appreciate that | much obliged
        danke | dankeschön | danke schön | danke sehr | danke dir | danke euch | danke ihnen | danke vielmals
        danke nochmal | danke nochmals | danke allen | danke an alle | ich danke | ich danke dir
        ich danke euch | ich danke ihnen | vielen dank | vielen lieben dank | besten dank | herzlichen dank
        lieben dank | tausend dank | schönen dank | dank dir | dank euch | vielen dank dir | vielen dank euch
        vielen dank ihnen | vielen dank nochmal | thanks dir | merci | merci beaucoup | merci vielmals | gracias
        muchas gracias | grazie | obrigado | obrigada | tack | dank je
    """)
)  # fmt: skip
PRAISE = (
    frozenset(GOOD.split("|"))
    | frozenset(GUT.split("|"))
    | _made("all|very|really|so far so|sounds|looks|look|looking|it looks|that looks|this looks|all looks", GOOD)
    | _made("looks|look|that looks|it looks|this looks|sounds|that sounds", "good|great|fine|ok|okay|right", "to me")
    | _made("that's|that is|that was|this is|it's|it is|everything is|all is", "|all|very|really|just", GOOD)
    | _made("that's|that is|that was|that'll be|that will be|this is", "it|all|everything", "|for now|for today|thanks")
    | _made("no|no further|no more|no other", "changes|change", "|needed|required|necessary|from me|please")
    | _made("nothing", "else|more|further", "|needed|required|from me|thanks")
    | _made("i'm|i am|we're|we are|very|", "happy|satisfied|pleased", "|with it|with that|with this|with the result")
    | _made("yes|yep|yeah|yup|", "it|that|this", "does|is|did|was|works|worked|will do|looks good")
    | _made("|that's|that is|this is|it's", "|just|exactly|precisely", "what", "i|we", "needed|wanted|meant|asked for")
    | _made("good|great|nice|well|excellent|fantastic", "job|work|done|one|stuff", WHOM)
    | _made("das ist|das sieht|das war|ist|alles|sehr|ganz|so|ja|passt|es ist|alles ist|so ist es", GUT)
    | _made("sieht|schaut|das sieht|das schaut|alles sieht", "|alles|sehr", GUT, "aus")
    | _made("keine|keine weiteren", "änderungen|änderung|wünsche", "|mehr", "|nötig|notwendig|erforderlich|bitte")
    | _made("nichts", "weiter|weiteres|mehr|zu ändern")
    | _made("das|", "war's|wars|war es|wär's|war alles|ist alles|ist es|tut es|tut's|passt|passt so|stimmt|stimmt so")
    | _made("ja|", "tut es|das tut es|ist es|das ist es|hat es|hat geklappt|es hat geklappt|das hat geklappt|passt")
    | _made("ich bin|bin|wir sind|", "zufrieden|glücklich", "|damit")
    | _phrases("""
        yes | yep | yeah | yup | y | k | kk | okey | oki | okey dokey | okay dokay | alright | all right | aye
        sure | lgtm | sgtm | ship-shape | well done | nicely done | job done | done | all done | it is done
        it's done | exactly | precisely | works | works for me | works great | works fine | it works
        that works | this works | it worked | that worked | sweet | neat | splendid | superb | outstanding
        stellar | approved | i approve | accepted | i accept | i like it | we like it | love it | i love it
        love this | as expected | as requested | as wanted | got it | noted | understood | seen | roger
        roger that | copy that | fair enough | no problem | no worries | you're the best | you are the best
        you rock | you're great | you are great | that helps | that helped | it helped | very helpful | helpful
        have a nice day | have a good day | have a great day | good night | bye | see you | no complaints | ja
        jo | jep | jup | jawohl | jawoll | klar | na klar | genau | genau so | genau richtig | genau das
        stimmt | stimmt so | passt | passt so | passt schon | passt für mich | passt alles | alles passt
        alles klar | alles bestens | alles erledigt | in ordnung | ist in ordnung | geht in ordnung | geht klar
        gut gemacht | gute arbeit | sehr schön | schön | spitze | ausgezeichnet | hervorragend | einwandfrei
        großartig | grossartig | genial | geil | mega | fertig | erledigt | läuft | funktioniert
        es funktioniert | klappt | hat geklappt | verstanden | zur kenntnis genommen | freigegeben | abgenommen
        einverstanden | gerne | gern | so soll es sein | wie gewünscht | wie erwartet | schönen tag
        schönen tag noch | schönen feierabend | tschüss | bis dann | top
    """)
)  # fmt: skip
FILLERS = frozenset(
    "and und so very really just then now oh ah aha wow hey hi hello hallo well na also dann sehr echt "
    "wirklich absolutely totally definitely absolut total <name>".split()
)
# Known words that say nothing clear after a result: no, maybe, a yes to what is not asked any more.
HEDGES = frozenset(
    "no nope nah nein nö nee not nicht hm hmm hmmm mhm mmh uh um eh maybe perhaps vielleicht lol haha hehe "
    "please bitte confirm confirmed proceed continue go ahead do it that this weiter los mach es das on but "
    "aber doch sure think guess i ich suppose probably almost fast is ist the der die a to me you".split()
)
# They refer to what was done: with them a message is about a result, not a request of its own.
BACKWARD = frozenset(
    "again instead rather wrong redo retry repeat still undo revert same otherwise not n't don't didn't "
    "doesn't isn't wasn't aren't can't no nope nah but however except missing forgot twice once-more anew "
    "actually nochmal nochmals noch-mal erneut stattdessen lieber falsch nicht nein nö nee kein aber sondern "
    "jedoch doch anders wieder wiederhole rückgängig dasselbe gleiche fehlt vergessen zweimal eigentlich mal".split()
)
# With praise in front, they make a request of it: “thanks, now please delete b.md”.
REQUESTS = frozenset(
    "please bitte also auch now jetzt next then can could would should need needs want change make add remove "
    "delete write send move create update set put show list read find tell give rename replace use run do let "
    "try fix open close pay order book schedule cancel stop post share copy one-more another more kannst "
    "könntest könnten mach mache ändere ändern füge lösche schreibe schreib sende schick schicke verschiebe "
    "erstelle setze zeig zeige lies suche finde benenne ersetze nimm bezahle überweise noch weiter dann".split()
)
# No names, though they stand where one might: “thanks, undo”.
NO_NAMES = (
    BACKWARD
    | REQUESTS
    | HEDGES
    | frozenset("retry abort hold pause resume skip wait help status pending".split())
)
