"""Words that claim an outcome are told from words that do not: outcomes are told by code alone."""

from __future__ import annotations

import unicodedata
from unittest.mock import Mock, patch

import pytest

from gate.sentences.outcome_claims import claims_outcome
from tests.cpu_time import seconds, within

CLAIMS = """
Done - I mentioned John on SCRUM-2
Done.
Done!
All done 🎉
✅ The file is gone
I have deleted notes.md.
I've now moved both files to archive.
I deleted it
I’ve gone ahead and sent the mail.
The file has been deleted.
Both files have been moved into archive.
Deleted notes.md and moved a.md.
Successfully deleted notes.md
notes.md was deleted successfully
The issue is now closed.
OK, done: the drafts are in the trash.
I took care of it.
If you wonder, I have deleted it.
The plan was good, and I have deleted the drafts.
It's done.
Your message was sent.
**Done** – comment added
I did it.
The deletion is complete.
File removed ✅
notes.md is gone.
Your file is no longer there.
It worked: a.md no longer exists
Alright, that's taken care of!
Consider it done.
The request has been fulfilled
Task complete.
Successfully done
The mail is on its way to Bob.
I have built it and deployed it.
I notified the team.
I’m done.
I have deleted it, ok?
The two files were moved.
Finished!
I have **deleted** the file
I just e-mailed Bob
We've updated the record
I have created the task list.
I have put it into the trash.
I de​leted it.
Ｉ ｄｅｌｅｔｅｄ ｉｔ
Erledigt.
Ich habe die Datei gelöscht.
C'est fait.
J'ai supprimé le fichier.
Hecho.
He borrado el archivo.
已完成
""".strip().splitlines()
NONE = """
I've prepared to delete notes.md. Would you like me to proceed?
I have prepared the move; it waits for you.
I have not deleted anything.
Nothing was deleted.
No file was moved.
Once I have deleted it, I will tell you.
If it has been deleted, it is in the trash.
Should I say that it has been deleted?
Has the file been deleted?
The folder holds three files: a.md, b.md and c.md.
I have read the file and found two dates.
I have created a plan with three steps.
It will be moved after you confirm.
The file says “I have deleted everything”.
The log contains `done`.
> Done, I deleted it
You rejected the move, so the file stays where it is.
I can delete it for you.
To get it done, I need the name.
When should this be done?
It needs to be updated by Friday.
I drafted a summary.
Created: 2024-01-01
Updated 3 days ago by Ann
Updated on Monday
The changes wait for your confirmation before they are applied.
I haven't sent it.
What do you want done?
Tell me when the task is done.
Is everything done?
The task is not complete.
If the file is gone, I cannot read it.
A change is complete only after you confirm it.
I have put it into the plan.
I have added a step to the plan.
""".strip().splitlines()
RECOUNTED = """
The PR was merged on May 3.
The issue has been closed since May.
The report was sent by Ann.
""".strip().splitlines()


def test_a_claim_is_seen() -> None:
    texts = [said for text in CLAIMS for said in (text, f"The folder is large. {text}")]
    assert [text for text in texts if not claims_outcome(text)] == []


@pytest.mark.parametrize("text", NONE)
def test_what_claims_nothing_is_let_through(text: str) -> None:
    assert not claims_outcome(text)


@pytest.mark.parametrize("text", RECOUNTED)
def test_what_was_read_may_be_recounted(text: str) -> None:
    assert claims_outcome(text)
    assert not claims_outcome(text, recounting=True)


@pytest.mark.parametrize("text", ["I have deleted it.", "Done.", "I've sent the report."])
def test_ones_own_deeds_are_no_recounting(text: str) -> None:
    assert claims_outcome(text, recounting=True)


@pytest.mark.parametrize("piece", ["i have ", "done", "a ", "- ", '"', "`", "successfully ", "was sent if "])
def test_any_text_is_judged_in_time(piece: str) -> None:
    with within(2):
        claims_outcome(piece * (8000 // len(piece)))


@pytest.mark.parametrize("long", ["\ufdfa" * 7_900, "a" + "\u0300\u0316" * 3_950])
def test_no_characters_grow_in_being_judged(long: str) -> None:
    judged = long + " . Ich habe es gelo\u0308scht."
    normal = Mock(wraps=unicodedata.normalize)
    with patch("gate.sentences.outcome_claims.unicodedata.normalize", normal):
        assert claims_outcome(judged)
    assert max(len(call.args[1]) for call in normal.call_args_list) <= 64
    assert seconds(lambda: claims_outcome(long), 3, 0.1) < 0.1
