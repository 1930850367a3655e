"""Whether a sentence asks to build it now, or talks: all triggers of TASK-14 in both meanings."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.sentences.build_intent import MAX_TEXT, intent
from tests.cpu_time import within

# By the trigger of docs/promises.md TASK-14 that a list of its words would have found.
ASKS = {
    "implement": [
        "Yes, implement it",
        "implement it now",
        "IMPLEMENT IT!!!",
        "Please implement OAuth with Google and GitHub.",
        "can you implement it now?",
        "I'd like you to implement this.",
        "JWT tokens it is. Implement it.",
        "That's all I wanted to know, please implement it as discussed.",
        "Implement it, we can add SSO later.",
    ],
    "build": [
        "Build it",
        "build it, please",
        "please build it now",
        "could you please build it?",
        "Thanks for helping me. Build the login page with Google now.",
        "Looks good to me 👍 build it 🚀",
        "ok, let’s build it!",
        "ｂｕｉｌｄ\u3000ｉｔ",
        "build\u200b it\u200b",
        "*Build it.*",
        "Users are logged out when the token expires. Build it.",
        "don't just explain it, build it",
        "Build it by Friday, please",
        "feel free to start building it",
        "Please start building",
    ],
    "create it": [
        "let's go, create it",
        "Create it.",
        "yes, create it with JWT tokens and Redis",
        "Perfect! Create it and tell me when it's done.",
        "could you create it, please?",
    ],
    "do it": [
        "OK, do it",
        "Do it!",
        "just do it now",
        "yes do it please",
        "Do it as we discussed.",
        "It is risky but do it",
        "“Sessions” in Redis. Now do it.",
    ],
    "go ahead": [
        "go ahead",
        "Go ahead… ",
        "No, go ahead.",
        "That is everything I need, go ahead.",
        "sounds great go ahead",
        "go ahead and build it",
        "Go ahead with the plan.",
        "You can go ahead now.",
        ":thumbsup: go ahead :rocket:",
        "don’t wait, go ahead",
    ],
    "make it": [
        "make it so",
        "Make it so!",
        "make it happen",
        "Great, make it now please",
        "Let's make it real.",
    ],
}
TALKS = {
    "implement": [
        "How would you implement it?",
        "should we implement OAuth?",
        "don't implement it yet",
        "Don’t implement it yet.",
        "do\u200bn't implement it",
        "the implementation",
        "before you implement it, use JWT",
        "Implementing it would take weeks",
        "Ann told us to implement it",
        "Implement it or buy it?",
        "Implement it tomorrow",
        "1. implement login",
        "`implement it`",
        "Implement it?",
        "Implement is the wrong word",
        "maybe implement it",
    ],
    "build": [
        "how would you build it?",
        "how would you build it",
        "the build is broken",
        "Build failed again",
        "Build it is not an option",
        "if we build it with JWT, logout is hard",
        "If we build it with JWT we need no Redis",
        "Build it? I am not convinced.",
        "Please build a comparison of JWT and sessions",
        "can you build it with JWT?",
        "I wonder whether to build it ourselves",
        "let's not build it",
        "Build on that idea: what about refresh tokens",
        "They would design it, build it, and sell it",
        '"build it"',
        "“Build it.”",
        "> build it",
        "<@U222>, build it",
        "@countersign's build it button is nice",
        "build it 🤔",
        "❌ build it",
        "b\u0443ild it",
        "bui\u202eld it",
        "Build it. Or is something missing?",
        "build it once Ann has agreed",
        "when everything is clear, build it",
    ],
    "create it": [
        "Who would create it?",
        "don't create it",
        "if you create it with Redis, what happens on a restart?",
        "We did not create it",
        "Ben wrote: create it",
        "Create it later",
        "Ann wrote:\ncreate it",
    ],
    "do it": [
        "how do I do it",
        "Do not do it!",
        "Do it like Google does",
        "can you do it?",
        "We could do it in two steps",
        "she said, do it",
        "do it?",
        "wait, do it tomorrow",
        "Do it. Actually, hold on.",
    ],
    "go ahead": [
        "not yet, go ahead later",
        "go ahead and tell me more",
        "go ahead, explain",
        "Go ahead, I'm listening",
        "Go ahead with your questions.",
        "Go ahead. Tell me more about sessions.",
        "go ahead?",
        'She said "go ahead"',
        "Shall we go ahead?",
        "We are a week ahead, go figure",
        "no go ahead from Ann yet",
        "'go ahead' is what he wrote",
        "go ahead and think about it",
        "If nothing is missing, go ahead",
        "~go ahead~",
        "(go ahead) would be premature",
    ],
    "make it": [
        "make it clear to me which parts are new",
        "Make it shorter",
        "make it work with SAML too",
        "I cannot make it today",
        "What would make it better?",
        "can you explain what you would make?",
        "Don't make it yet",
    ],
}
OTHER_ASKS = [
    "Nothing is missing, build it",
    "Let's go ahead",
    "Let's go ahead and build it",
    "ok let's do this",
    "start implementing",
    "Sure, go for it!",
    "LGTM, ship it",
    "> Shall I build it?\nYes, build it",
    "&gt; x\nbuild it",
    "Let's start!",
    "please, go ahead",
    "Go ahead, use Postgres.",
    "Build it with Postgres, and send a mail when a user signs up.",
    "Build it such that the admin sees everything",
    "make it so!!!",
    "go ahead and do it",
    "ok… do it",
    "build it (with Redis)",
    "I’m happy with that. Build it.",
    "you may go ahead",
    "Yes — implement it",
]
OTHER_TALK = [
    "build it “not yet",
    "go ahead. don`t build it",
    "build it ```not yet",
    '"build it" is what I will say later, not now"',
    "Can I see it before you build it?",
    "implement: verb, to carry out",
    "What if we implement it in phases?",
    "The plan says create it, then test it",
    "you asked me whether to go ahead",
    "Ann: build it",
    "Could we build it now?",
    "please go ahead and explain it",
    "now explain how you would do it",
    "Go ahead and compare Redis and Postgres",
    "I can do it",
    "I will do it",
    "I'll build it",
    "I'll go ahead and ask Ann",
    "you do it how?",
    "make it a question for the team",
    "make it two options",
    "go ahead, but only explain",
    "Do it? Why?",
    "Let me know when to go ahead",
    "no build it's fine",
    "no don't",
    "Implementation starts tomorrow",
    "implement it at 5pm",
    "hmm, build it...? ",
    "Okay, build it later.",
    "Great, but don't start building",
    "so you would build it with Django",
    "I bet you will build it wrong",
    "the others want you to build it",
    "Yes, I think we might build it",
    "How about: build it ourselves",
    "pretend I said build it",
    "Never go ahead without asking",
    'should I write "go ahead" now',
    "Let's do it differently",
    "let's create it as a diagram first",
    "Build me a mental picture of it",
    "implement nothing",
    "build nothing yet",
    "do it only on paper",
    "implement it only on paper",
    "it can do it now",
    "go ahead with talking",
    "Thanks, go ahead with the explanation",
    "if not now, when? build it",
    "ok, but who will build it",
    "OAuth with Google and GitHub",
    "JWT tokens",
    "yes",
    "",
    "?",
    "Help me design a new authentication system",
    "Build the login page is step three of the plan",
    "Implement OAuth: what are the steps",
    "Implement OAuth yourself or use Auth0, which is better",
    "do it now, do it later, I don't care",
    "do it, said the boss",
    "Build it, they said",
    "do it - no wait",
    "Yes, we want to build it eventually",
    "My plan: build it in May",
    "OK. But first, how would you build it",
    "go ahead and summarise the options",
    "go ahead and list what you would build",
    "please go ahead and write down what you understood",
    "ok go ahead and ask",
    "please explain, then build it",
    "first explain, then build it",
    "create it in your head first, then tell me",
    "build it or not, I do not care",
    "you should build it",
    "we need to build it",
    "I want to build it",
    "I want to implement OAuth",
    "I'm going to implement it myself",
    "it's time to build it, isn't it?",
    "let's build it together step by step, shall we?",
    "Can you build it?",
    "Will you build it now?",
    "would you build it with redis",
    "yes but don't go ahead",
    "yes, but not now",
    "go ahead, but not before Ann agrees",
    "Please build it, but wait for Ann",
    "Build it only when I say so",
    "Do it never",
    "no, build it with JWT instead?",
    "do it? yes? no?",
    "make it so that admins can log in",
    "make it now or never",
    "Build, test, deploy: which part is hard",
    "Implement = hard",
    "to implement it",
    "implement it vs buy it",
    "implementing",
    "Building it",
    "creating it now",
    "implemented it",
    "I build it",
    "just imagine we build it",
    "we go ahead",
    "as soon as you build it",
    "The button says build it",
    '"go ahead", he said, "and build it"',
    "‘go ahead’",
    "`go ahead`",
    "```\nbuild it\n```",
    "build\nit is broken",
    "> Shall I build it?\nno",
    "> Shall I build it?\nnot yet",
    "build it :thinking_face:",
    ":x: build it",
    "don´t build it",
    "dont build it",
    "DON'T BUILD IT",
    "do n0t build it",
    "Don’\u200bt\u200b build it",
    "never build it",
    "please do not go ahead",
    "Go ahead and make my day",
    "stop, do it differently",
    "The go ahead came from Ann",
    "Build it seems easy",
    "Do it all over again",
    "TODO: implement it",
    "note to self: build it",
    "e.g. build it",
    "i.e. implement it",
    "option 2: build it",
    "Step 1: implement it",
    "a) build it",
    "- build it",
    "build it;?",
    "What now? Build it?",
    "If so, go ahead",
    "in that case go ahead",
    "in theory go ahead",
    "build it hypothetically",
    "could you build it in a day",
    "build it is",
    "I dare you to build it",
    "Ask Ann to build it",
    "Tell Ben go ahead",
    "Ben should go ahead",
    "Ben, Ann and Cleo go ahead",
    "you can build it with Redis",
    "you can implement it in two ways",
    'Does "go ahead" start it?',
    "When I write go ahead, what happens?",
    "Build artifacts are missing",
    "implement. That word again",
    "build time",
    "start now means what",
    "start with the questions",
    "begin with an explanation",
    "please start with a summary",
    "proceed with the next question",
    "Yes. Implement. It.",
]
# Written before the rules were run on them; what they said at first sight is told in the commit.
FRESH_ASKS = [
    "That's a wrap, please build it.",
    "OK then, implement.",
    "Good, now make it happen please.",
    "The summary is accurate. You may go ahead.",
    "Yes, exactly what I need — create it!",
    "do it. do it. do it!",
    "Please implement the plan you just described",
    "Okay go for it, and let me know when it is ready",
    "No more input from me, go ahead & implement it",
    "Could you please create it right away?",
    "Fantastic, please build the whole thing as discussed",
    "I'm fine with all of that, so do it",
    "Let's make it happen, team!",
    "Can you implement it today, please?",
    "build it now, questions later",
    "ok. start.",
    "Thank you for your patience, now please go ahead and build it",
    "Everything's clear to me. Implement it please 😊",
    "go ahead and create it in eu-west-1",
    "Enough talking. Build it!",
    "Alright, I'm convinced. Build the thing.",
    "ok looks good to me, start coding",
    "No further changes from my side, please go ahead and implement.",
    "great summary!! do it",
    "That matches what I had in mind. Implement it as described above.",
    "Yep - go ahead with the implementation.",
    "Let's get this built now",
    "Could you go ahead and create it for us, please?",
    "I'd say we have enough. Go ahead!",
    "sgtm, build it",
    "You have my blessing, make it happen",
    "Use Postgres for sessions. Otherwise go ahead as planned.",
    "Fine by me. Please start the implementation today.",
    "Approved – please create it in the staging project.",
    "Yes, that is exactly right. Now build it, and ping me when it's done.",
    "okay GO AHEAD AND BUILD IT",
    "do it, and use the smaller instance type",
    "Perfect. Create it please. I'll review tomorrow.",
    "can you please just build it already",
    "Okay, I've seen enough, implement it.",
    "hey, can you start building it now? thx",
    "Good plan. Go ahead, and keep it simple.",
    "We talked about this long enough. Make it so.",
    "Session storage: JWT. Providers: Google, GitHub. Go ahead!",
    "yes pls do it 🙏",
    "I want you to implement the login flow with OAuth as we discussed it",
    "nope, nothing to add. please build it.",
    "ok do it, thank you!",
    "Just build it already, we can fix details afterwards",
    "That's the one. Create it!",
    "Cool cool, go ahead then",
    "Would you please implement it?",
    "Let's do it!!!",
    "alright implement that",
    "I agree with your summary, so go ahead and build the whole thing.",
    "Time to build it.",
    "Please go ahead with option B",
    "Yes, build a small Flask app with Google login",
    "Implement the requirements above, please.",
    "okay, that covers everything. go ahead, implement it!",
    "Great! Now make it happen 💪",
    "I have nothing to add – build it.",
    "Please proceed.",
    "Correct. Implement it exactly as you described.",
    "all good, create it now",
    "yes!! go ahead!!",
    "Alright, do it then. Thanks!",
    "please go ahead, I'll be back in an hour",
    "Can you go ahead and build it please",
    "Build the service, add the tests, open a pull request.",
    "sure do it",
    "make it so, number one",
    "Then implement this with the Postgres variant.",
    "We'd like you to go ahead now.",
    "Redis is fine. Build this for us please.",
    "just implement it, don't overthink it",
    "go ahead & build it",
    "Ok cool, that all makes sense. Do it.",
]
FRESH_TALK = [
    "Your colleague told me he would do it on Monday",
    "I'm torn: build it or license it",
    "please wait with building it",
    "Build it with care is my only advice",
    "Create it yourself if you like",
    "Did you build it already?",
    "We'll implement it in phase two",
    "How do others make it secure?",
    "I wouldn't go ahead with that design",
    "Before you build it, list the risks.",
    "Tell me when you're about to go ahead",
    "If Ann says go ahead, what do you need from her?",
    "The go-ahead must come from security",
    "Implement OAuth? Or SAML? Help me choose.",
    "what does go ahead do here",
    "I would say go ahead but my boss disagrees",
    "create it is not what I said",
    "Making it would cost too much",
    "Don't do it, I changed my mind",
    "Do it in your sandbox first and tell me what it looks like",
    "Do you think it's smart to build it ourselves?",
    "I still don't know whether we should go ahead.",
    "We tried to implement it last year and failed.",
    "What does it take to make it work with SAML?",
    "Who would build it, your side or ours?",
    "The team said do it with Keycloak, but I have doubts.",
    "go ahead with your next question",
    "Let me sleep on it before you do it",
    "Hm, building it on Lambda could be cheaper. Thoughts?",
    "Create it only after Ann has signed off",
    "I'd like to understand how you would create it",
    "implementing this sounds expensive",
    "not sure I want you to go ahead with JWT",
    "Could you build it without a database?",
    "make it optional for admins",
    "You could go ahead and ask Ben about the old login",
    "Last time you went ahead and implemented it too early",
    "We can build it next quarter at the earliest",
    "do it the way Google does, i.e. one account per person",
    "Don't worry, I won't ask you to build it today",
    "What happens when you implement it?",
    "Is it hard to make it so that guests cannot log in?",
    "I guess you could go ahead, but what about costs?",
    "The last build took an hour",
    "Who decides whether we do it?",
    "I never said you should build it",
    "go ahead, ask me anything",
    "Before I say go ahead I want a price",
    "Build or buy?",
    "Can we create it without downtime",
    "implement vs configure: what is cheaper?",
    "You don't have to implement it right now",
    "My manager wants us to make it by Friday",
    "Suppose you build it in Rust. Faster?",
    "it would be nice to make it happen one day",
    "To implement it, we need two more people",
    "do it again, but explain slower",
    "It depends on how you create it",
    "Please explain it before you build it",
    "I'm not ready to do it",
    "Which part would you build first?",
    "Go ahead without me? No.",
    "I read that you can make it with one table",
    "Does it make sense to create it in the cloud?",
    "There is a build it yourself guide somewhere",
    "You were going to implement it, weren't you?",
    "Please tell me how long it takes to build it.",
    "Please don't go ahead with anything before I'm back",
    "Do it yourself is the motto of our team",
    "please make it more secure",
    "Build it on what, exactly?",
    "Ben: go ahead. Ann: no, wait.",
    "Nobody asked you to create it",
    "Let's not make it complicated",
    "The previous agency wanted to do it, build it and run it",
    "I would rather implement it in Go",
    "create a list of open questions",
    "implement it how?",
    "go ahead of schedule if possible",
    "We'd do it if we had the budget",
]
# People may mean it; the words alone leave it open.
IN_DOUBT = [
    "JWT with 15 minute expiry, and then you can go ahead",
    "My decision: create it.",
]
EVERY_ASKING = [*(text for texts in ASKS.values() for text in texts), *OTHER_ASKS, *FRESH_ASKS]
EVERY_TALKING = [*(text for texts in TALKS.values() for text in texts), *OTHER_TALK, *FRESH_TALK, *IN_DOUBT]
QUOTES = "'\"‘’“”„«»`~<>:"
PLAIN = ["implement it", "build it", "create it", "do it", "go ahead", "make it so"]


def kind(text):
    return intent(text).kind


# promise: TASK-14
def test_it_asks_to_build():
    assert [(text, intent(text).because) for text in EVERY_ASKING if kind(text) != "implement"] == []


def test_it_is_talk():
    assert [(text, intent(text).because) for text in EVERY_TALKING if kind(text) != "talk"] == []


def test_every_trigger_stands_in_both_meanings():
    for trigger in ("implement", "build", "create it", "do it", "go ahead", "make it"):
        assert len(ASKS[trigger]) >= 2
        assert len(TALKS[trigger]) >= 2


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("Sounds good, GO AHEAD!", "because you wrote “go ahead”"),
        ("Please implement OAuth with <@U1>", "because you wrote “implement”"),
        ("don’t build it", "because you wrote “don't”"),
        ("build it tomorrow", "because you wrote “tomorrow”"),
        ("if we build it with JWT, logout is hard", "because you wrote “if”"),
        ("Ann said: build it", "because you wrote “said”"),
        ("how would you build it", "because it begins like a question, with “how”"),
        ("build it?", "because it is a question"),
        ("build it “not yet", "because a quotation in it does not end"),
        ("<@U2>, build it", "because it speaks to somebody else"),
        ("build it 🤔", "because of an emoji that doubts or refuses"),
        ("b\u0443ild it", "because it holds characters that may not be what they look like"),
        ("JWT tokens", "because nothing in it asks to build it now"),
        ("x" * (MAX_TEXT + 1), "because it is longer than 4,000 characters"),
    ],
)
def test_the_words_that_decided_are_named(text, because):
    assert intent(text).because == because


@pytest.mark.parametrize(
    "dress",
    [
        "{}",
        "{}!!!",
        "  {} … ",
        "*{}*",
        "_{}_",
        "Yes, {}.",
        "ok {} 🚀",
        "{} :tada:",
        "\u200b{}\ufeff",
        "Thanks!\n\n{}",
        "please {}",
    ],
)
def test_what_stands_around_a_command_does_not_hide_it(dress):
    texts = [dress.format(said) for plain in PLAIN for said in (plain, plain.upper())]
    assert [text for text in texts if kind(text) != "implement"] == []


@pytest.mark.parametrize("plain", PLAIN)
def test_full_width_letters_are_letters(plain):
    wide = "".join("\u3000" if c == " " else chr(ord(c) + 0xFEE0) for c in plain)
    assert kind(wide) == "implement"


@pytest.mark.parametrize(
    "turned",
    [
        '"{}"', "“{}”", "„{}“", "«{}»", "'{}'", "‘{}’", "`{}`", "```\n{}\n```", "> {}", "~{}~", "- {}", "2. {}",
        "{}?", "{}？", "{} ❓", "should we {}?", "how do we {}", "why {}", "when will you {}",
        "don't {}", "don’t {}", "DO NOT {}", "do\u200bn't {}", "ｄｏｎ'ｔ {}", "never {}", "please don't {} yet", "not yet, {} later",
        "if you {}, tests must pass", "before you {}, ask Ann", "once you {}", "{} if Ann agrees", "{} tomorrow", "maybe {}",
        "she said {}", "Ann wrote: {}", "the note says: {}", "<@U2>, {}", "{} or wait", "{}. Wait.", "{}. Not yet.",
        "{} - tell me more first", "{}, but first explain the costs", "they would {}", "I want to {}", "we could {}",
    ],
)  # fmt: skip
def test_quoting_asking_back_refusing_and_supposing_is_talk(turned):
    texts = [turned.format(plain) for plain in PLAIN]
    assert [(text, intent(text).because) for text in texts if kind(text) != "talk"] == []


ANY = st.text(st.characters(codec=None), max_size=200)
OURS = st.lists(
    st.sampled_from(
        "implement build create do make it go ahead so don't not if ? . , \n \" ' “ ” > ` ~ <@U1> and then but please can you "
        "how now later yes no 🤔 :x: \u200b \u202e ( ) — * _ - 1. ".split(" ")
    ),
    max_size=40,
).map(" ".join)


@given(ANY | OURS)
def test_whatever_is_written_it_is_one_of_the_two_and_says_why(text):
    found = intent(text)
    assert found.kind in ("implement", "talk")
    assert found.because.startswith("because ")
    assert len(found.because) < 100
    assert not set("<>\n") & set(found.because)


@given(OURS)
def test_asking_back_is_never_a_command(text):
    assert kind(text + " ?") == "talk" or "can you" in text


@given(OURS)
def test_a_quoted_text_is_never_a_command(text):
    assert kind(f"“{text.translate(str.maketrans('', '', QUOTES))}”") == "talk"


@given(OURS)
def test_a_refusal_at_the_end_makes_it_talk(text):
    assert kind(text.replace('"', "").replace("`", "").replace("'", "") + "\nNot yet.") == "talk"


@pytest.mark.parametrize(
    "part",
    [
        " ", ".", "!", "?", "'", '"', "`", "~a ", "*", "_", "<", "<@", ":", ":a", "\n", "\n>", "\n- ", "(", ", ,", " so so", " -- ",
        "yes ", "ok,", "build it, ", "could you build it, ", "could you please build it and ", "don't ", "implement ",
        "go ahead with ", "build it now ", "do it as we said it ", "build a list of ", "let's let me know ", "🚀", "ﷺ", "\u0301\u0316",
    ],
)  # fmt: skip
@pytest.mark.parametrize("length", [MAX_TEXT, 1_000_000])
def test_a_long_text_is_answered_in_bounded_time(part, length):
    text = (part * (length // len(part) + 1))[:length]
    with within(5, time.process_time):
        intent(text)


@pytest.mark.parametrize(
    "text",
    [
        "a" + "_" * 39_000 + "x",
        "a" + "." * 39_000 + "x",
        "do it" + " now" * 9_900 + " x",
        "build it" + " " * 39_000 + "x",
    ],
)
def test_a_text_made_to_be_slow_is_not(text):
    with within(5, time.process_time):
        intent(text)
