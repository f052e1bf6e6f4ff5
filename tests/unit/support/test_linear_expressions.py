"""RE2 finds what `regex` finds, wherever an expression is given to it."""

from __future__ import annotations

import warnings

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from failproof_es.support.bounded.linear_expressions import translate
from failproof_es.support.bounded.untrusted_patterns import _linear

_ALPHABET = (
    "aAbBkKsSiIzZ019_ .,-:;\"'{}()[]\\/\n\r\t\x0b\x1c\x85\u00a0\u2028"
    "éÉßẞſıİ\u212aДд漢٣—“😀ǅⅧⓐ\u0345\u200d"
)
_ATOMS = st.one_of(
    st.sampled_from(_ALPHABET).map(regex.escape),
    st.sampled_from([
        ".", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", "[a-k]", "[^a-k]", r"[\d_]", r"[^\s,]",
        "[A-z]", r"[\w-]", r"[^\W\d]", r"\b", "^", "$", r"\A", r"\Z", r"\x41", r"\u00e9", r"\012",
        r"\101", "é", "[é-ф]", "[]a]", "[^]a]", r"[\]\\-]", "[ -~]", "[^ -~]", "(?i:k)", "(?s:.)",
        "(?m:^)", "(?m:$)", "(?-i:a)", "[.]", "[$^]", r"\t", r"\.", "[+--]", r"[\x00-\x1f]", "[k]",
        "[^k]", r"[\D]", "(?i:[^K])", "(?i:[a-z])", "(?i:é)", "(?P<name>a)", "{", "}", "a{e}",
        "[[:alpha:]]", "(?#x)", "(?:a|ab)", r"(?a:\b)", r"(?a:\w)", r"(?a:[^\s\d])",
        r"(?a:\d(?u:\w))", r"(?a:(?i:\wk))",
    ]),
)  # fmt: skip
_COUNTS = st.sampled_from(
    ["*", "+", "?", "{2}", "{1,2}", "{,2}", "{1,}", "*?", "+?", "??", "{1,2}?", "*+", "++"]
)


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.tuples(inner, _COUNTS).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
        st.tuples(_ATOMS, _COUNTS).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda each: f"({'|'.join(each)})"),
        st.lists(inner, min_size=1, max_size=2).map(lambda each: f"(?:{'|'.join(each)}|)"),
    )


_PATTERNS = st.tuples(
    st.sampled_from(["", "", "(?i)", "(?s)", "(?m)", "(?im)", "(?is)"]),
    st.recursive(_ATOMS, _grow, max_leaves=6),
).map("".join)
_TEXTS = st.lists(
    st.text(st.sampled_from(_ALPHABET) | st.sampled_from("aAkK \n-9_"), max_size=12),
    min_size=4, max_size=4,
)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(_PATTERNS, _TEXTS, st.booleans())
@pytest.mark.long
def test_both_engines_find_the_same_spans(
    pattern: str, texts: list[str], ignore_case: bool
) -> None:
    linear = _linear(pattern, ignore_case)
    if linear is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
    for text in filter(linear.can_read, texts):
        wanted = [match.span() for match in compiled.finditer(text)]
        assert list(linear.spans(text)) == wanted, (pattern, linear.translation, text)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\bOslo\b",
        "^42$",
        r"(?i)yes|no",
        r"\$\d+(?:\.\d{2})?",
        r'(?s)\{.*"a".*\}',
        "größe",
        "[^,]+,",
        r"(?a:\b)Oslo",
    ],
)
def test_ordinary_expressions_are_matched_by_re2(pattern: str) -> None:
    assert translate(pattern) is not None


@pytest.mark.parametrize(
    "pattern",
    ["(?=a)b", r"(a)\1", "(?>a)b", "a++b", "a{1001}", "a*", "(?:a*)+b", "[[:alpha:]]",
     "(?:a){e<=1}", "(?x) a", r"\Bx", "(?i)\u212a", "\ud800"],
)  # fmt: skip
def test_what_the_engines_read_otherwise_is_left_to_regex(pattern: str) -> None:
    assert translate(pattern) is None
