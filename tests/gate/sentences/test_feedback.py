"""What a reply says about a result: thanks are known as such in many forms, and nothing else is taken for thanks."""

from __future__ import annotations

import pytest

from gate.sentences.feedback import MAX_TEXT, FeedbackKind, classify_feedback, is_thanks

THANKS = """
ok|okay|k|OK!|ok.|ok, thanks|ok thanks|Ok, thank you!|okay thx|👍|👍🏽|👍👍|:+1:|:+1::skin-tone-3:|:thumbsup:|🙏|✅|🎉|❤️|lgtm|LGTM
LGTM!|lgtm 👍|looks good|looks good to me|Looks good to me, thanks!|looks great|that looks right|it looks perfect
no further changes|No further changes.|no changes needed|no more changes, thanks|nothing else|nothing more, thank you
thanks|Thanks!|thanks!!!|THANKS|thx|ty|tysm|cheers|thank you|thank you so much|thanks a lot|many thanks|thanks again
thanks Ben|Thanks, Ben!|thanks @ben|thanks <@U012ABC>|thank you, Maria.|thanks all|thanks everyone|thanks mate|Thanks Zoë
thanks for your help|Thank you so much for the quick help!|yes it does|yes, it does|Yes it does, thank you|yes|yep|yes it is
yes that works|it works, thanks|works for me|works great|perfect|Perfect!|great|great, thanks|great job|nice work everyone
well done|good job|exactly what I needed|that's exactly what I needed, thanks!|just what I wanted|as expected|got it, thanks
done|all done|all good|all good, thanks :)|that's it|that's all|that's all, thanks|that is perfect|it's fine|fine|cool|awesome
awesome 🎉🎉|amazing, thank you so much|correct|exactly|approved|I'm happy with that|love it|much appreciated|super|sweet
danke|Danke!|danke dir|Danke dir, Maria!|dankeschön|danke schön|vielen Dank|Vielen Dank!|vielen lieben Dank|besten Dank
herzlichen Dank für die schnelle Hilfe|ok danke|ok, danke|ja danke|ja, passt|passt|passt so|passt so, danke|passt schon|alles gut
alles klar|alles klar, danke|alles bestens|in ordnung|ist in Ordnung|geht klar|sehr gut|sehr gut, danke|gut|prima|perfekt|Perfekt!
super, danke|toll|klasse|wunderbar|genau so|genau richtig|stimmt so|sieht gut aus|Sieht super aus, danke!|das sieht gut aus
keine Änderungen|keine weiteren Änderungen|keine Änderungen mehr nötig|das war's|Das war alles|das ist alles, danke|fertig
hat geklappt|es hat geklappt, vielen Dank|funktioniert|läuft|erledigt, danke|freigegeben|gut gemacht|ich bin zufrieden|merci
ja, das tut es|ja tut es|das ist perfekt|DANKE|Danke 👍|danke <@U1> und <@U2>|ｔｈａｎｋｓ|th​anks
"""
CHANGES = """
thanks but change the title|ok, now delete b.md|great, now please send it to Ben|thanks, undo|thanks, undo it|ok, do it again
again|once again please|do it again|redo it|not quite, the second page please|no, the other one|wrong file|that is wrong
same again|instead use b.md|perfect, but make it bold|danke, aber der Titel ist falsch|nochmal|bitte nochmal|nein, die andere
nicht ganz|super, jetzt bitte noch b.md löschen|falsch|lieber die zweite Seite|thanks, can you also notify Ben?
ok, did Ben get it?|thanks retry|thanks again but retry the payment|no further changes except the title
"""
UNCLEAR = """
ok?|thanks?|yes please|do it|go ahead|proceed|no|nope|nein|no thanks|nein danke|hm|hmm|maybe|vielleicht|lol|please|👎|ok 🤔|:thinking_face:
not ok|thanks, Ann is delighted with the quick help|great, the board loves surprises|ok I guess|
"""
OTHERS = """
read b.md|please write b.md|pay invoice 17|write a good summary|the second page please|and b.md?|what is in the notes?
delete the thanks folder|lies die Datei b.md|schreibe einen guten Text|Ben, thanks to you I know: archive it
"""


def forms(text: str) -> list[str]:
    return [one for line in text.strip("\n").splitlines() for one in line.split("|")]


def test_thanks_and_approval_are_known() -> None:
    texts = [*forms(THANKS), "  ok,\n thanks \n", "*thanks*", "_Looks good to me_"]
    assert [text for text in texts if classify_feedback(text) is not FeedbackKind.THANKS] == []


@pytest.mark.parametrize("text", forms(CHANGES))
def test_what_asks_for_a_change_is_no_thanks(text: str) -> None:
    assert classify_feedback(text) is FeedbackKind.CHANGE


@pytest.mark.parametrize("text", forms(UNCLEAR))
def test_what_code_cannot_tell_is_unclear(text: str) -> None:
    assert classify_feedback(text) is FeedbackKind.UNCLEAR


@pytest.mark.parametrize("text", forms(OTHERS))
def test_a_request_of_its_own_is_neither(text: str) -> None:
    assert classify_feedback(text) is FeedbackKind.OTHER


@pytest.mark.parametrize(
    "text",
    [
        "start over",
        "Please start over.",
        "begin again!",
        "bitte von vorne",
        "fang nochmal von vorne an",
    ],
)
def test_starting_over_is_said_in_so_many_words(text: str) -> None:
    assert classify_feedback(text) is FeedbackKind.OVER


def test_a_long_message_is_never_thanks() -> None:
    assert classify_feedback("thanks " * MAX_TEXT) is FeedbackKind.OTHER
    assert not is_thanks("ok, thanks. " * 40)


@pytest.mark.parametrize(
    "bit", ["thanks ", "ok, ", "<", "<@", "a-", "a'", ":", ":a", "👍", "́", "no ", "\n", "(((("]
)
def test_reading_takes_a_bounded_time_whatever_is_written(bit: str) -> None:
    """Only the first characters are looked at, so that ten times the text is no more work."""
    whole = bit * 50_000
    assert classify_feedback(whole) is classify_feedback(whole[: MAX_TEXT + 1])
