"""What tests measured of the tools: docs/tools.md shows it, and each test holds its figure against what it measures."""

FIGURES: dict[str, tuple[str, str]] = {
    "document: text of a Word file": (
        "a contract with controls, a text box, notes, comments, numbers and changes nobody accepted, in three views",
        "30 of 30 pieces of text",
    ),
    "data.summarize_anomalies": (
        "a German ledger with titles, two columns of one name, decimal commas and a sum, and five faults in it",
        "5 of 5 faults found, 0 too much",
    ),
    "security.scan_for_pii": (
        "640 lines with personal data, a table of 50 customers, and 720 lines with numbers that are none",
        "recall ≥ 99 %, precision ≥ 99 %",
    ),
    "security.scan_for_secrets": (
        "our own corpus, made from a seed: 396 texts with secrets and 219 without",
        "recall ≥ 95 %, false positives ≤ 3 %",
    ),
    "email.summarize_thread: whose words": (
        "answers as ten mail programs quote what they answer, five of them without marks before the lines",
        "10 of 10",
    ),
    "decisions in English and German": (
        "sentences of mails and minutes: 20 that say a decision, 20 that look alike and say none",
        "20 of 20 found, 0 of 20 taken wrongly",
    ),
    "knowledge.ask_about_files": (
        "questions to a folder of wrapped texts with headings, lists, abbreviations and a licence, in two languages",
        "11 of 11",
    ),
    "meeting.generate_minutes": (
        "captions, a transcript, German and English notes, with the decisions and actions that a reader notes",
        "23 of 23 found, 0 too much",
    ),
}
# What no test measures again.
BY_HAND = (
    "By hand, on 2026-11-23: the test strings of gitleaks that stand in its source as they are (kept out of this "
    "repository). Of 291 without secrets scan_for_secrets takes 21 for some (7.2 %; 8.6 % before made-up keys were told "
    "from others). 15 of them are Google keys by their form that a public repository holds, so they are called likely "
    "and not certain; 6 are keys of one provider that the rule of another must not take, or a public search key. Without "
    "the Google keys it is 6 of 276 (2.2 %). Of 249 with secrets it finds 204 (81.9 %): 38 of the 45 others are visibly "
    "made up (12345678-ABCD, cafebabe:deadbeef, abc123xyz-456def, EXAMPLE, FaKe), 4 are names of an account, 1 is a short "
    "token, 1 stands in braces like a template, 1 is the kind of a file. Of the 211 not made up it finds 204 (96.7 %).\n"
)


def told(tool: str) -> str:
    """The figure that the page shows."""
    return FIGURES[tool][1]
