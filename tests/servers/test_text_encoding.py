"""The encoding of a text is found in what people write, and what is no text counts as none."""

import codecs
import struct
from random import Random

import pytest

from servers.text_encoding import HEAD, Encoding, detect
from tests.servers.figures import FIGURES

SENTENCES = [
    (
        "cp1252",
        "Die Prüfung der Räume für Müller & Söhne kostet 5 € je Stück – „größer“ heißt nicht schöner.",
    ),
    ("cp1252", "Straße;Größe;Preis\nMünchen;groß;5 €\n"),
    ("cp1252", "L’été dernier, ça coûtait 20 € à l’hôtel Pérignon, très cher où nous étions."),
    ("cp1252", "El niño comió en la mañana; ¿cuánto costó? España, año 2024."),
    ("cp1252", "A reunião não começou às três, por causa da situação do trânsito em São Paulo."),
    ("cp1252", "Räksmörgås på ön, året går så fort när det är sommar i Malmö."),
    ("cp1252", "The price is £20 – “cheap”, they said… It’s not."),
    ("cp1252", "Preis 5 € – “ok”"),
    ("cp1252", "Total: 12.50 €\r\n"),
    ("latin-1", "Die Prüfung der Räume für Müller & Söhne, größer heißt nicht schöner."),
    ("cp1250", "Zażółć gęślą jaźń. Proszę o przesłanie faktury za usługę w październiku."),
    ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy. Dobrý den, děkuji za zprávu."),
    ("cp1251", "Добрый день! Пришлите, пожалуйста, счёт за октябрь. Спасибо."),
    ("koi8-r", "Добрый день! Пришлите, пожалуйста, счёт за октябрь. Спасибо."),
    ("cp1253", "Καλημέρα, παρακαλώ στείλτε το τιμολόγιο του Οκτωβρίου."),
    ("cp1254", "Günaydın, lütfen Ekim ayının faturasını gönderin. Teşekkürler, şirket İstanbul."),
    ("cp1255", "שלום, נא לשלוח את החשבונית של אוקטובר. תודה רבה"),
    ("shift_jis", "おはようございます。十月の請求書を送ってください。よろしくお願いします。"),
    ("euc_jp", "おはようございます。十月の請求書を送ってください。よろしくお願いします。"),
    ("gb18030", "早上好，请把十月份的发票发给我，谢谢。我们公司在北京。"),
    ("big5", "早安，請把十月份的發票寄給我，謝謝。我們公司在台北。"),
    ("euc_kr", "안녕하세요, 10월 청구서를 보내 주세요. 감사합니다."),
]
WIDE = "Straße, Größe und 5 €\nzweite Zeile"


def is_read(encoding: str, text: str) -> bool:
    """Whether it comes out as it was written, and is said to be a guess."""
    data = text.encode(encoding)
    found = detect(data, whole=True)
    return found is not None and found.decoded(data) == text and bool(found.guess)


def test_sentences_in_old_encodings_are_read_as_they_were_written():
    tried = [(name, "\n".join([said] * times)) for name, said in SENTENCES for times in (1, 20)]
    missed = [one for one in tried if not is_read(*one)]
    assert missed == []
    assert FIGURES["text in an old encoding"][1] == f"{len(tried)} of {len(tried)} as written"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_what_shows_its_encoding_is_no_guess(encoding):
    data = WIDE.encode(encoding)
    found = detect(data, whole=True)
    assert (found.decoded(data), found.guess) == (WIDE, "")


@pytest.mark.parametrize("encoding", ["cp1252", "cp1251"])
def test_the_mark_of_utf_8_before_another_encoding_does_not_make_it_utf_8(encoding):
    """Every letter beyond ASCII was lost, and nothing said so."""
    text = next(text for name, text in SENTENCES if name == encoding)
    data = codecs.BOM_UTF8 + text.encode(encoding)
    found = detect(data, whole=True)
    assert (found.decoded(data), found.name) == (text, encoding)
    assert found.guess


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_what_is_not_all_as_its_mark_says_is_a_guess(encoding):
    data = WIDE.encode(encoding)
    damaged = data + (b"\xff" if encoding == "utf-8-sig" else b"\x00\xdc" * 3)
    found = detect(damaged, whole=True)
    assert found.guess == f"{encoding.removesuffix('-sig').upper()} with errors"
    assert found.decoded(damaged).startswith(WIDE)
    assert detect(data, whole=True).guess == ""


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_its_mark_is_a_guess(encoding):
    data = WIDE.encode(encoding)
    found = detect(data, whole=True)
    assert (found.decoded(data), found.guess) == (WIDE, "UTF-16")


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        struct.pack("<1000h", *range(1000)),
        b"\xff\xd8\xff\xe0\x01\x02\x03",
        b"\0" * 50,
        b"a\0b",
    ],
)
def test_what_is_no_text_is_none(data):
    assert detect(data, whole=True) is None


def test_bytes_by_chance_never_count_as_certain():
    chance = Random(1)  # a seed, since one in 30,000 such texts begins with the mark of UTF-16
    for _ in range(200):
        found = detect(chance.randbytes(400), whole=True)
        assert found is None or found.guess


def test_a_character_cut_in_two_at_the_end_of_the_head_is_no_error():
    data = ("x" + "ä" * HEAD).encode()[:HEAD]
    assert detect(data, whole=False) == Encoding("utf-8")
    assert detect(data, whole=True) == Encoding("utf-8", "UTF-8 with errors")


def test_one_bad_byte_in_much_utf_8_does_not_garble_the_rest():
    data = ("Größe " * 20).encode() + b"\xff" + "für alle".encode()
    found = detect(data, whole=True)
    assert found.guess == "UTF-8 with errors"
    assert found.decoded(data).endswith("\ufffdfür alle")


def test_text_after_much_plain_ascii_decides():
    data = b"plain words\n" * 3_000 + "Счёт за октябрь, пожалуйста. Спасибо.".encode("cp1251")
    assert detect(data, whole=True).name == "cp1251"


def test_an_empty_file_is_text():
    assert detect(b"", whole=True) == Encoding("utf-8")
