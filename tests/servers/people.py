"""Texts with personal data of which it is known where it stands, made from a seed; and numbers that are none.

Check digits are worked out here from their definitions, not with the library that the scanner uses.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

Random = random.Random


class Labelled(NamedTuple):
    """A text, and the personal data in it."""

    name: str
    text: str
    values: tuple[str, ...]


def digits(r: Random, n: int) -> str:
    return "".join(r.choice("0123456789") for _ in range(n))


def luhn(body: str) -> str:
    total = sum(sum(divmod(int(c) * (2 if n % 2 == 0 else 1), 10)) for n, c in enumerate(reversed(body)))
    return body + str(-total % 10)


def card(r: Random) -> str:
    head, length = r.choice(
        [("4", 16), ("51", 16), ("2230", 16), ("37", 15), ("6011", 16), ("3530", 16), ("36", 14)]
    )
    number = luhn(head + digits(r, length - 1 - len(head)))
    cuts = {16: (4, 8, 12), 15: (4, 10), 14: (4, 10)}[length]
    sign = r.choice([" ", "-", "", " "])
    return sign.join(number[a:b] for a, b in zip((0, *cuts), (*cuts, length), strict=True))


def iban(r: Random) -> str:
    land, bban = r.choice([("DE", digits(r, 18)), ("AT", digits(r, 16)), ("NL", "ABNA" + digits(r, 10)), ("GB", "NWBK" + digits(r, 14)), ("BE", "")])  # fmt: skip
    if land == "BE":
        account = digits(r, 10)
        bban = f"{account}{int(account) % 97 or 97:02}"
    plain = "".join(str(int(c, 36)) for c in bban + land + "00")
    whole = f"{land}{98 - int(plain) % 97:02}{bban}"
    return whole if r.random() < 0.5 else " ".join(whole[n : n + 4] for n in range(0, len(whole), 4))


def phone(r: Random) -> str:
    return r.choice([
        f"+49 30 {r.randint(200, 899)}{digits(r, 5)}", f"+44 20 7{digits(r, 3)} {digits(r, 4)}", f"(0{r.choice(['30', '40', '89'])}) {r.randint(20, 89)}{digits(r, 5)}",
        f"0151 {r.randint(10, 99)}{digits(r, 6)}", f"({r.choice(['415', '212', '312'])}) {r.randint(220, 880)}-{digits(r, 4)}", f"{r.choice(['646', '617'])}-{r.randint(220, 880)}-{digits(r, 4)}",
        f"0{r.choice('12')} {r.randint(40, 58)} {digits(r, 2)} {digits(r, 2)} {digits(r, 2)}", f"+1 {r.choice(['415', '617'])} {r.randint(220, 880)} {digits(r, 4)}", f"+33 6 {r.randint(10, 49)} {digits(r, 2)} {digits(r, 2)} {digits(r, 2)}",
    ])  # fmt: skip


def email(r: Random) -> str:
    first, last = (
        r.choice("ann bob cleo dora emil jürgen-x".split()),
        r.choice("lee miller o-neil schmidt".split()),
    )
    first = first.replace("ü", "ue")
    return f"{first}{r.choice(['.', '_', '', '+news.'])}{last}@{r.choice(['example.org', 'mail.firma.example.de', 'uni-koeln.example.eu'])}"


def ssn(r: Random) -> str:
    return f"{r.randint(101, 650)}-{r.randint(10, 99)}-{r.randint(1000, 9999)}"


def tax_id(r: Random) -> str:
    """The German one: of ten digits one stands there twice, and the last checks (ISO 7064)."""
    figures = r.sample(range(10), 9)
    body = [*figures, r.choice(figures)]
    r.shuffle(body)
    while body[0] == 0:
        r.shuffle(body)
    product = 10
    for figure in body:
        total = (figure + product) % 10 or 10
        product = total * 2 % 11
    whole = "".join(map(str, body)) + str((11 - product) % 10)
    return whole if r.random() < 0.5 else f"{whole[:2]} {whole[2:5]} {whole[5:8]} {whole[8:]}"


def dni(r: Random) -> str:
    number = r.randint(10_000_000, 99_999_999)
    return f"{number}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


def ipv6(r: Random) -> str:
    return r.choice(
        ["2a02:8109:9c80::{:x}", "2001:4860:4802:34::{:x}", "2a00:1450:4001:81b:0:0:0:{:x}"]
    ).format(r.randint(16, 65_000))


def born(r: Random) -> str:
    y, m, d = r.randint(1930, 2009), r.randint(1, 12), r.randint(1, 28)
    return r.choice([f"{y}-{m:02}-{d:02}", f"{d:02}.{m:02}.{y}", f"{m}/{d}/{y}"])


Maker = Callable[[Random], str]
# Sentences as people write them; {} is the value.
SENTENCES: list[tuple[str, Maker]] = [
    ("Please write to {} or to Ann.", email), ("From: Bob Builder <{}>", email), ("mailto:{}?subject=Rent", email), ("cc {}; thanks", email),
    ("Please transfer 900 EUR to {} EUR account of Ann.", iban), ("IBAN: {}, BIC COBADEFF", iban), ("Konto {} BIC", iban),
    ("I paid with my card {} exp 12/28", card), ("Kreditkarte: {} (Visa)", card), ("card={}&cvc=123", card), ('"number": "{}",', card),
    ("You can reach me under {} after six.", phone), ("Tel.: {}", phone), ("Telefon {} (abends)", phone), ("call me: {}", phone), ("Mobil: {}, Fax: keins", phone),
    ("His SSN is {}.", ssn), ("SSN {} (US)", lambda r: ssn(r).replace("-", "")), ("social security number: {}", lambda r: ssn(r).replace("-", " ")),
    ("Steuer-ID: {}", tax_id), ("Meine Steueridentifikationsnummer lautet {}.", tax_id), ("DNI {} de Madrid", dni),
    ("Client connected from {}", ipv6), ("remote_addr={} method=GET", ipv6), ("login from 84.17.{} failed", lambda r: f"{r.randint(1, 250)}.{r.randint(1, 250)}"),
    ("Passport no. {}, issued in Bonn", lambda r: "C" + digits(r, 8)), ("Reisepass: {}", lambda r: f"C{digits(r, 2)}X{digits(r, 5)}"[:9]),
    ("born on {} in Kiel", born), ("Geburtsdatum: {}", born), ("geb. {}", born), ("Date of birth: {}", born), ("NI number {}", lambda r: f"QQ{digits(r, 6)}C".replace("QQ", r.choice(["AB", "JG", "PN"]))),
]  # fmt: skip


def _uuid(r: Random) -> str:
    return f"{digits(r, 8)}-{digits(r, 4)}-4{digits(r, 3)}-8{digits(r, 3)}-{digits(r, 12)}"


def ean(r: Random) -> str:
    body = r.choice(["400", "401", "500", "978"]) + digits(r, 9)
    return body + str(-sum(int(c) * (3 if n % 2 else 1) for n, c in enumerate(body)) % 10)


# What looks like some of it, and is none.
HARMLESS: list[tuple[str, Maker]] = [
    ("EAN {}", ean), ("{} in stock: 4", ean), ("ISBN {}", ean), ("ts={} level=info", lambda r: f"17{digits(r, 11)}"), ("created_at: {}", lambda r: f"17{digits(r, 8)}"),
    ("timestamp {} us", lambda r: f"17{digits(r, 14)}"), ("git clone git@github.com:ann/{}.git", lambda r: f"repo{digits(r, 3)}"), ("origin git@gitlab.example.com:group/{} (fetch)", lambda r: f"x{digits(r, 2)}"),
    ("id: {}", _uuid), ("commit {}", lambda r: "".join(r.choice("0123456789abcdef") for _ in range(40))), ("order {} was shipped", lambda r: digits(r, 16)), ("Order no. {}", lambda r: digits(r, 10)),
    ("Invoice 2026-{}", lambda r: digits(r, 4)), ("version {}", lambda r: f"{r.randint(1, 9)}.{r.randint(0, 30)}.{r.randint(0, 9)}.{r.randint(0, 9)}"), ("pip install lib=={}", lambda r: f"{r.randint(1, 30)}.{r.randint(0, 9)}.{r.randint(0, 9)}.{r.randint(0, 9)}"),
    ("{} 12:30:45 INFO started", lambda r: f"2026-{r.randint(1, 12):02}-{r.randint(1, 28):02}"), ("due {}", lambda r: f"{r.randint(1, 28):02}.{r.randint(1, 12):02}.2026"), ("the sum of {} EUR", lambda r: f"{r.randint(1, 9)}.{digits(r, 3)}.{digits(r, 3)},00"),
    ("lat {}", lambda r: f"52.{digits(r, 7)}, 13.{digits(r, 7)}"), ("serial {}", lambda r: digits(r, 12)), ("Tracking {}", lambda r: digits(r, 20)), ("from 192.168.{}", lambda r: f"{r.randint(0, 9)}.{r.randint(2, 99)}"), ("listening on 127.0.0.1:{}", lambda r: digits(r, 4)),
    ("{} rows, 12 columns", lambda r: f"{r.randint(1, 9)},{digits(r, 3)},{digits(r, 3)}"), ("at 10:30:{} in room 4", lambda r: digits(r, 2)), ("icon@{}x.png", lambda r: r.choice("23")), ("§ {} BGB", lambda r: digits(r, 3)), ("pages {}", lambda r: f"{digits(r, 3)}-{digits(r, 3)}"),
    ("fe80::{}", lambda r: digits(r, 4)), ("std::vector<int>::{}", lambda r: "size" + digits(r, 1)), ("a = [{}]", lambda r: ", ".join(digits(r, 4) for _ in range(6))), ("0x{}", lambda r: digits(r, 16)), ("ratio {}", lambda r: f"0.{digits(r, 16)}"), ("DE{} VAT", lambda r: digits(r, 9)), ("Matter {}", lambda r: f"{digits(r, 3)}-{digits(r, 3)}-{digits(r, 2)}"), ("size {} bytes", lambda r: digits(r, 11)),
]  # fmt: skip


def lines(seed: int, rounds: int) -> Iterator[Labelled]:
    r = random.Random(seed)
    for n in range(rounds):
        for name, (form, maker) in enumerate(SENTENCES):
            value = maker(r)
            whole = f"84.17.{value}" if "84.17.{}" in form else value
            yield Labelled(f"sentence {name}.{n}", form.format(value), (whole,))
        for name, (form, maker) in enumerate(HARMLESS):
            yield Labelled(f"harmless {name}.{n}", form.format(maker(r)), ())


def table(seed: int, rows: int) -> Labelled:
    """An export of customers, where the heads alone say what the numbers are."""
    r = random.Random(seed)
    values: list[str] = []
    text = "customer_no,name,ssn,phone,date_of_birth,email,iban,total,last_order\n"
    for n in range(rows):
        own = [ssn(r).replace("-", ""), digits_of_phone(r), born(r), email(r), iban(r)]
        values += own
        text += f"{100_000 + n},Ann Lee {n},{','.join(own)},{digits(r, 3)}.{digits(r, 2)},2026-0{r.randint(1, 9)}-11\n"
    return Labelled("table", text, tuple(values))


def digits_of_phone(r: Random) -> str:
    return f"{r.choice(['415', '212', '617'])}{r.randint(220, 880)}{digits(r, 4)}"


def corpus(seed: int = 7, rounds: int = 20) -> list[Labelled]:
    return [*lines(seed, rounds), table(seed, 50)]
