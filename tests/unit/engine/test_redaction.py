"""Known secret values are replaced in whatever form they come back, and that is recorded."""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.engine.drive import escapes
from failproof_es.engine.drive.redaction import Redactor
from failproof_es.events import Redaction
from failproof_es.problems import InvalidInput, Problem
from tests.every import every

KEY = 'sk/a"b+c==&canary<0123'
FORMS = {
    "as it is": KEY,
    "in upper case": KEY.upper(),
    "in JSON": json.dumps(KEY)[1:-1],
    "in JSON, slashes escaped": json.dumps(KEY)[1:-1].replace("/", r"\/"),
    "in HTML": html.escape(KEY),
    "in a URL": quote(KEY),
    "in a URL's path": quote(KEY, safe=""),
    "in a form": quote_plus(KEY),
    "in a URL, in lower case": quote(KEY, safe="").lower(),
    "in a URL, every character": "".join(f"%{ord(sign):02X}" for sign in KEY),
    "in base64": b64encode(KEY.encode()).decode(),
    "in base64 without padding": b64encode(KEY.encode()).decode().rstrip("="),
    "in URL-safe base64": urlsafe_b64encode(KEY.encode()).decode(),
    "in hexadecimal": KEY.encode().hex(),
    "in upper-case hexadecimal": KEY.encode().hex().upper(),
}
IN_PIECES = {
    "escaped": "".join(f"\\u{ord(sign):04x}" for sign in KEY),
    "escaped in upper case": "".join(f"\\u{ord(sign):04X}" for sign in KEY),
    "escaped in part": KEY.replace('"', r"\u0022").replace("a", r"\u0061"),
    "escaped twice": "".join(f"\\\\u{ord(sign):04x}" for sign in KEY),
    "in JSON in JSON": json.dumps(json.dumps(json.dumps(KEY))),
}
SPELT = {
    "in decimal entities": "".join(f"&#{ord(sign)};" for sign in KEY),
    "in hexadecimal entities": "".join(f"&#x{ord(sign):02X};" for sign in KEY),
    "in entities with zeros": "".join(f"&#000{ord(sign)};" for sign in KEY),
    "in HTML, in part": KEY.replace("/", "&sol;").replace("k", "&#107;").replace("+", "&plus;"),
    "in a URL, in part": KEY.replace("k", "%6b").replace("c", "%63"),
    "in URL-encoded base64": "".join(f"%{sign:02X}" for sign in b64encode(f"x{KEY}".encode())),
    "in base64 in lines": "\r\n".join(re.findall(".{1,10}", b64encode(KEY.encode()).decode())),
    "in base64 in lines in JSON": json.dumps("\n".join(b64encode(KEY.encode()).decode())),
    "in hexadecimal with spaces": KEY.encode().hex(" "),
}
WITHIN_BASE64 = [f"{'x' * n}Bearer {KEY}{'y' * m}" for n in range(3) for m in range(3)]


@pytest.fixture
def redactor(monkeypatch: pytest.MonkeyPatch) -> Redactor:
    monkeypatch.setenv("CANARY_KEY", KEY)
    return Redactor(["CANARY_KEY", "NOT_SET_HERE"])


@every("how", FORMS)
def test_a_key_is_replaced_in_every_form_and_the_replacement_is_recorded(
    how: str, redactor: Redactor
) -> None:
    echo, redact = FORMS[how], redactor.for_event()
    assert redact.text("message", f"kéy {echo} is bad") == "kéy [redacted:CANARY_KEY] is bad"
    assert redact.values("headers", {"x-id": echo}) == {"x-id": "[redacted:CANARY_KEY]"}
    assert redact.optional("model", None) is None
    assert redact.record() == (
        Redaction(field="message", variable="CANARY_KEY", count=1),
        Redaction(field="headers.x-id", variable="CANARY_KEY", count=1),
    )


@every("echo", [*FORMS.values(), *IN_PIECES.values()])
@every("around", [b'{"a": {"b": ["%b"]}}', b'{"%b": 1}', b"\xff%b\xff", b"data: %b"])
def test_a_body_in_which_a_key_stands_is_dropped(
    echo: str, around: bytes, redactor: Redactor
) -> None:
    redact = redactor.for_event()
    assert redact.body("body", around % echo.encode()) == "[redacted:CANARY_KEY]"
    assert redact.record() == (Redaction(field="body", variable="CANARY_KEY", count=1),)


@every("how", IN_PIECES)
def test_a_text_in_which_a_key_stands_in_escapes_is_replaced_whole(
    how: str, redactor: Redactor
) -> None:
    said = redactor.redact(f"kéy {IN_PIECES[how]} is bad")
    assert said in ("[redacted:CANARY_KEY]", 'kéy "\\"[redacted:CANARY_KEY]\\"" is bad')


@every("how", SPELT)
def test_a_key_that_is_spelt_character_by_character_is_found(how: str, redactor: Redactor) -> None:
    echo = SPELT[how]
    assert redactor.redact(f"kéy {echo} is bad") == "[redacted:CANARY_KEY]"
    for before in (b"", b"\\", b"x" * (2**20 - 9)):
        body = before + f"kéy {echo} is bad".encode()
        assert redactor.for_event().body("body", body) == "[redacted:CANARY_KEY]"


@pytest.mark.slow
@pytest.mark.parametrize("escape", [b"%41 ", b"&#65;"])
@pytest.mark.parametrize("how", SPELT)
@pytest.mark.thinned(whole=6)
def test_a_key_that_is_spelt_is_found_behind_a_megabyte_of_escapes(
    how: str, escape: bytes, redactor: Redactor
) -> None:
    body = escape * 2**18 + f"kéy {SPELT[how]} is bad".encode()
    assert redactor.for_event().body("body", body) == "[redacted:CANARY_KEY]"


@pytest.mark.parametrize("spelt", ["\\u{:04x}", "\\\\u{:04X}", "%{:02x}", "&#{};", "&#x{:x};"])
@pytest.mark.parametrize("encode", [bytes, b64encode])
def test_a_key_with_capitals_is_found_however_it_is_spelt(
    spelt: str, encode: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-CANARY-Proj-0123"
    monkeypatch.setenv("CANARY_KEY", key)
    redact = Redactor(["CANARY_KEY"]).for_event()
    echo = "".join(map(spelt.format, encode(key.encode())))
    assert redact.body("body", echo.encode()) == "[redacted:CANARY_KEY]"
    assert redact.text("text", echo) == "[redacted:CANARY_KEY]"


def test_a_text_with_references_and_white_space_but_no_key_stays_as_it_is(
    redactor: Redactor,
) -> None:
    text = f"100%41 &#115; &amp; {KEY[:-1]} &#x2d \\n \\\\ 50 %"
    assert redactor.redact(text) == text


def test_a_key_in_the_name_of_a_header_is_replaced_and_that_is_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = "sk-Canary-0123456789"
    monkeypatch.setenv("CANARY_KEY", key)
    redact = Redactor(["CANARY_KEY"]).for_event()
    headers = {f"x-ratelimit-{key.lower()}": "5", f"x-ratelimit-{key.encode().hex()}": "6"}
    assert redact.values("headers", headers) == {"x-ratelimit-[redacted:CANARY_KEY]": "5, 6"}
    assert redact.record() == (Redaction(field="headers", variable="CANARY_KEY", count=2),)
    assert redact.body("body", b"an answer") is None


@every("said", WITHIN_BASE64)
@every("encode", [b64encode, urlsafe_b64encode])
def test_a_key_is_found_in_base64_wherever_it_stands_there(
    said: str, encode: Callable[[bytes], bytes], redactor: Redactor
) -> None:
    packed = encode(said.encode()).decode()
    assert "[redacted:CANARY_KEY]" in redactor.redact(packed)
    assert redactor.for_event().body("body", packed.encode()) == "[redacted:CANARY_KEY]"


def test_a_body_without_a_key_stays_as_it_is(redactor: Redactor) -> None:
    redact = redactor.for_event()
    assert redact.body("body", rb'{"a": "\u0073k/ \\ ", "b": "' + KEY[:-1].encode() + b'"}') is None
    assert redact.record() == ()


def event(**fields: Any) -> bytes:
    return b"data: " + json.dumps({"id": "c1", "choices": [fields]}).encode() + b"\n\n"


SPLIT = {
    "in a field that is not read": [event(delta={"reasoning": sign}) for sign in KEY],
    "in another choice": [
        line for sign in KEY for line in (event(index=0, x="a"), event(index=1, x=sign))
    ],
    "in a list": [event(tokens=[{"token": sign} for sign in KEY])],
    "in base64": [event(x=sign) for sign in b64encode(KEY.encode()).decode()],
    "in events that are no JSON": [b"data: " + sign.encode() + b"\n\n" for sign in KEY],
    "in an event that never ended": [event(x=KEY[:9]), event(x=KEY[9:])[:-2]],
    "with \\r as line ends": [event(x=sign).replace(b"\n", b"\r") for sign in KEY],
    "in lines of JSON": [
        json.dumps({"message": {"thinking": sign}}).encode() + b"\n" for sign in KEY
    ],
    "in lines of JSON between events": [
        line
        for sign in KEY
        for line in (b'{"x": "%b"}\n' % json.dumps(sign)[1:-1].encode(), event())
    ],
    "between a thousand other fields": [
        line for n, sign in enumerate(KEY) for line in (event(x=sign), event(**{f"f{n}": "a" * 9}))
    ],
}


@every("how", SPLIT)
def test_a_key_that_a_stream_brings_in_pieces_takes_the_body_with_it(
    how: str, redactor: Redactor
) -> None:
    body = b": begins\n\n" + b"".join(SPLIT[how])
    assert KEY.encode() not in body
    assert redactor.for_event().body("body", body) == "[redacted:CANARY_KEY]"


def test_a_key_that_was_read_takes_the_body_with_it(redactor: Redactor) -> None:
    redact = redactor.for_event()
    redact.text("text", KEY)
    assert redact.body("body", b"its pieces, one way or another") == "[redacted:CANARY_KEY]"


def test_a_key_in_a_header_takes_nothing_with_it(redactor: Redactor) -> None:
    redact = redactor.for_event()
    redact.values("headers", {"server": KEY})
    assert redact.body("body", b"an answer") is None


def test_every_problem_is_redacted_with_all_that_it_says(redactor: Redactor) -> None:
    error = InvalidInput(
        [Problem("a-code", f"a {KEY}", remedy=f"b {KEY}", field="models[0]"), Problem("other", "c")]
    )
    assert [str(each) for each in redactor.redact_error(error).problems] == [
        "models[0]: a [redacted:CANARY_KEY] (b [redacted:CANARY_KEY]) [a-code]", "c [other]",
    ]  # fmt: skip


def test_a_key_that_begins_like_another_one_leaves_nothing_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("A_KEY", "sk-team-0123456789")
    monkeypatch.setenv("B_KEY", "sk-team-0123456789-0123")
    redact = Redactor(["A_KEY", "B_KEY"]).for_event()
    said = redact.text("text", "sk-team-0123456789-0123 sk-team-0123456789")
    assert said == "[redacted:B_KEY] [redacted:A_KEY]"


@pytest.mark.parametrize("value", ["test", "EMPTY", "x" * 15])
def test_a_stand_in_for_a_key_is_left_alone_wherever_it_stands(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_KEY", value)
    redactor = Redactor(["CANARY_KEY", "NOT_SET_HERE"])
    redact = redactor.for_event()
    assert redact.text("text", f"say the word {value}") == f"say the word {value}"
    assert redact.body("body", value.encode()) is None
    assert redact.record() == ()
    assert redactor.too_short == ("CANARY_KEY",)


@every("how", FORMS)
def test_a_key_in_a_stream_is_replaced_wherever_it_is_cut(how: str, redactor: Redactor) -> None:
    text = f"kéy {FORMS[how]} is bad, s and sk are not, {KEY[:-1]}"
    for size in range(1, len(text) + 1):
        passed: list[str] = []
        stream = redactor.for_stream(passed.append)
        for start in range(0, len(text), size):
            stream.piece(text[start : start + size])
            assert KEY not in "".join(passed) and "" not in passed
        stream.end()
        assert "".join(passed) == (
            f"kéy [redacted:CANARY_KEY] is bad, s and sk are not, {KEY[:-1]}"
        )


@given(st.lists(st.text("ab", max_size=6)), st.text("ab", min_size=2, max_size=3))
def test_whatever_the_pieces_no_key_passes_and_text_without_one_passes_unaltered(
    pieces: list[str], key: str
) -> None:
    key *= 16 // len(key) + 1
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CANARY_KEY", key)
        passed: list[str] = []
        stream = Redactor(["CANARY_KEY"]).for_stream(passed.append)
    for piece in pieces:
        stream.piece(piece)
    stream.end()
    said, whole = "".join(passed), "".join(pieces)
    assert key not in said
    assert said == whole.replace(key, "[redacted:CANARY_KEY]")


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_a_key_that_begins_like_another_one_leaves_nothing_of_it_in_a_stream(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, long = "sk-team-0123456789", "sk-team-0123456789-0123"
    monkeypatch.setenv("A_KEY", short)
    monkeypatch.setenv("B_KEY", long)
    passed: list[str] = []
    stream = Redactor(["A_KEY", "B_KEY"]).for_stream(passed.append)
    text = f"{long} {short} {short}-0, {short}-01"
    for start in range(0, len(text), size):
        stream.piece(text[start : start + size])
    stream.end()
    a, b = "[redacted:A_KEY]", "[redacted:B_KEY]"
    assert "".join(passed) == f"{b} {a} {a}-0, {a}-01"


def test_text_that_begins_no_key_is_passed_on_at_once(redactor: Redactor) -> None:
    passed: list[str] = []
    stream = redactor.for_stream(passed.append)
    for piece in ("The ", "sky i", "s blue s", "k", "y"):
        stream.piece(piece)
    assert passed == ["The ", "sky i", "s blue ", "sky"]


def test_a_text_of_the_length_of_the_shortest_key_is_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHORT_KEY", "0123456789abcdef")
    redact = Redactor(["SHORT_KEY"]).for_event()
    assert redact.text("text", "0123456789ABCDEF") == "[redacted:SHORT_KEY]"
    assert redact.text("text", "0123456789abcde") == "0123456789abcde"


def test_a_text_that_held_no_key_before_is_remembered_for_itself_alone(redactor: Redactor) -> None:
    clean = f"x-{'y' * 40}"
    for _ in range(2):
        redact = redactor.for_event()
        assert redact.text("text", clean) == clean
        assert redact.text("text", f"{clean}{KEY}") == f"{clean}[redacted:CANARY_KEY]"
        assert redact.values("headers", {clean: KEY, "other": clean}) == {
            clean: "[redacted:CANARY_KEY]",
            "other": clean,
        }


@pytest.mark.parametrize("key", ["a key with spaces in it", r"back\slash\u0041in-the-key", KEY])
def test_a_key_is_found_in_text_without_escapes_whatever_it_is_made_of(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODD_KEY", key)
    redact = Redactor(["ODD_KEY"]).for_event()
    said = "words that come before and others that come after it, with white space: "
    assert redact.text("text", f"{said}{key}{said}") == f"{said}[redacted:ODD_KEY]{said}"


@every("times", [1, 2, 9, 100_000])
@every("inner", [r"\n", r"\u000d", r"\u0020", "\\\\t"])
@pytest.mark.long
def test_a_key_is_found_around_escaped_white_space_inside_escaped_white_space(
    times: int, inner: str, redactor: Redactor
) -> None:
    nested = r"\u00" * times + inner + "0a" * times
    assert redactor.redact(f"{KEY[:10]}{nested}{KEY[10:]}") == "[redacted:CANARY_KEY]"
    split = "\\u00" + nested + f"{ord(KEY[10]):02x}"  # within the escape of a character of the key
    assert redactor.redact(f"{KEY[:10]}{split}{KEY[11:]}") == "[redacted:CANARY_KEY]"


def _one_by_one(data: bytes) -> bytes:
    while found := escapes._ESCAPED_WHITE_SPACE.search(data):
        data = data[: found.start()] + data[found.end() :]
    return data


@given(st.lists(st.sampled_from([b"\\", b"u", b"00", b"0", b"u00", b"a", b"20", b"n", b"9", b"x"])))
def test_what_is_left_without_escaped_white_space_is_what_one_by_one_leaves(
    pieces: list[bytes],
) -> None:
    data = b"".join(pieces)
    assert escapes._without_escaped_white_space(data) == _one_by_one(data)


@pytest.mark.parametrize(
    ("value", "repeated"),
    [
        ("Bearer sk-live-0123456789", "sk-live-0123456789"),
        ("sk-live-0123456789 \n", "sk-live-0123456789"),
        ("bearer  sk-live-0123456789 ", "sk-live-0123456789"),
        ("Token abcdefghijklmnop", "abcdefghijklmnop"),
        ("ApiKey abcdefghijklmnop", "abcdefghijklmnop"),
        ("Basic dXNlcjpjb3JyZWN0IGhvcnNlIGJhdHRlcnk=", "dXNlcjpjb3JyZWN0IGhvcnNlIGJhdHRlcnk="),
        ("Basic dXNlcjpjb3JyZWN0IGhvcnNlIGJhdHRlcnk=", "user:correct horse battery"),
        ("Basic dXNlcjpjb3JyZWN0IGhvcnNlIGJhdHRlcnk=", "correct horse battery"),
        ("session=0123456789abcdef; path=/", "0123456789abcdef"),
        ('Signature keyId="abc", signature="c2lnbmF0dXJlMTIz"', "c2lnbmF0dXJlMTIz"),
    ],
)
def test_a_key_in_the_value_of_a_header_is_found_where_it_stands_alone(
    monkeypatch: pytest.MonkeyPatch, value: str, repeated: str
) -> None:
    monkeypatch.setenv("GATEWAY_AUTH", value)
    redactor = Redactor(["GATEWAY_AUTH"])
    said = f"Incorrect key provided: {repeated}."
    assert redactor.redact(said) == "Incorrect key provided: [redacted:GATEWAY_AUTH]."
    assert redactor.for_event().body("body", said.encode()) == "[redacted:GATEWAY_AUTH]"


@pytest.mark.parametrize(
    "value", ["My Company Evaluations", "text/plain; charset=utf8", "Bearer x"]
)
def test_an_ordinary_word_of_a_headers_value_is_no_key(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("TITLE", value)
    said = "Evaluations of a company, in charset utf8 and plain text by its bearer x"
    assert Redactor(["TITLE"]).redact(said) == said
