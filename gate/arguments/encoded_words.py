"""Encoded words of mail headers (RFC 2047), in which an address or a name may be written."""

from __future__ import annotations

import re
from email.errors import MessageError
from email.header import decode_header, make_header

from gate.arguments.text_cache import Remembered

BEGINNING = re.compile(r"=\?([^?]*+)\?([qQbB])\?")
# Those of mail. Python has others, of which some take time by the square of a text, and looks for each unknown name.
CHARSETS = frozenset(
    "ascii us-ascii utf-7 utf-8 utf8 utf-16 utf-16be utf-16le utf-32 utf-32be utf-32le latin1 latin-1 "
    "koi8-r koi8-u koi8-t tis-620 big5 big5-hkscs gb2312 gbk gb18030 hz-gb-2312 euc-jp euc-kr euc-tw "
    "iso-2022-jp iso-2022-jp-1 iso-2022-jp-2 iso-2022-kr shift_jis shift-jis sjis ks_c_5601-1987 macintosh "
    "ibm437 ibm850 ibm852 ibm866 cp437 cp850 cp852 cp866 cp874 cp932 cp936 cp949 cp950 windows-874".split()
) | {f"{name}{number}" for name in ("windows-125", "cp125") for number in range(9)} | {
    f"iso-8859-{number}" for number in range(1, 17)
}  # fmt: skip


@Remembered
def without_encoded_words(text: str) -> str:
    """The text with its encoded words in plain; those that nobody can decode stay as they are."""
    if "=?" not in text:
        return text
    return "\n".join(map(_decoded, text.splitlines()))  # as Python divides a header


def _decoded(line: str) -> str:
    """The same of one line. Behind the last end of one there is none, where Python would look for it from each
    beginning to the end of the line."""
    end = line.rfind("?=") + 2
    if "=?" not in line[:end]:
        return line
    known = BEGINNING.sub(_if_known, line[:end])
    try:
        return str(make_header(decode_header(known))) + line[end:]
    except (MessageError, LookupError, ValueError):
        return line


def _if_known(found: re.Match[str]) -> str:
    """The beginning of an encoded word, without the language that RFC 2231 puts behind a star; what begins none where
    its charset is none of mail."""
    charset = found[1].lower().partition("*")[0]
    return f"=?{charset}?{found[2]}?" if charset in CHARSETS else found[0][1:]
