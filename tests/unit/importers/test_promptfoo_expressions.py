"""promptfoo's regular expressions decide as in JavaScript, or not at all."""

from __future__ import annotations

from failproof_es.dialects.reply_checks import ReplyCheck, met
from failproof_es.importers.promptfoo.expressions import NotTranslated, python_expression
from tests.every import every


@every(
    ("expression", "found_in", "not_in"),
    [
        ("^Paris$", ["Paris"], ["Paris\n", "\nParis"]),
        (r"^\d$", ["7"], ["٣"]),
        (r"^\D$", ["٣", "x"], ["7"]),
        (r"^\w+$", ["a_9"], ["čaj", "a b"]),
        (r"^\W+$", ["č!"], ["a"]),
        (r"\bve", ["naïve"], ["save"]),
        (r"a\Bé", [], ["aé"]),
        (r"^[\w-.]+$", ["a-b.c"], ["é", "a,b"]),
        (r"^[^\W_]+$", ["a1"], ["a_", "é"]),
        (r"^[\D]$", ["٣"], ["3"]),
        (r"^[a-c\-]$", ["b", "-"], ["d"]),
        (r"^[[&&]$", ["[", "&"], ["a"]),
        (r"^[\s\S]$", ["\n", "é"], [""]),
        (r"^[^]$", ["\n", "é"], [""]),
        ("x[]", [], ["x", "x[]"]),
        (r"^a{,2}$", ["a{,2}"], ["aa"]),
        (r"^(?<y>\d+)\/\u0041\x42\v\cJ\0$", ["12/AB\v\n\0"], ["12/A"]),
        (r"^\e\Z\p{1}$", ["eZp"], ["e"]),
        (r"(a)\1", ["aa"], ["a"]),
        ("^😀.$", ["😀!"], ["😀"]),
    ],
)
def test_an_expression_finds_what_it_finds_in_javascript(
    expression: str, found_in: list[str], not_in: list[str]
) -> None:
    check = ReplyCheck(kind="regex", values=[python_expression(expression)])
    assert [text for text in [*found_in, *not_in] if met(check, text)] == found_in


@every(
    "expression",
    ["(?i)a", "(?i:a)", "(?P<n>a)", "(?>a)", "(?#a)", "a++", "a*+", "a{2}+", "{2}", "a**", "[a",
     "a\\", r"\1(a)", r"(a)|b\1", r"(a)?\1", r"\12", r"\07", r"\k<n>", "😀+", "[😀]", r"\ud83d",
     "\ud83d", r"[\B]", r"\c!", r"\b?", "^*a", "(?<!b)+"],
)  # fmt: skip
def test_an_expression_that_means_something_else_here_is_none(expression: str) -> None:
    try:
        translated = python_expression(expression)
    except NotTranslated as error:
        assert error.expression
    else:
        raise AssertionError(translated)


@every(
    "expression", ["^(Santiago|Lima)", r"\$\d{1,3}?(?:a|b)*", "(?=a)(?!b)(?<=c)(?<!d)é+?", "a.b"]
)
def test_all_else_stays_as_it_is_written(expression: str) -> None:
    assert python_expression(expression) == expression.replace(r"\d", "[0-9]")
