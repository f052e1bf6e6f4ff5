"""What a suite file may hold, and what is said about everything else."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from failproof_es.core.case import Case
from failproof_es.dialects.shipped.failproof import FailProof
from failproof_es.dialects.shipped.failproof.expectation import defect, matches
from failproof_es.dialects.shipped.failproof.prompt_variables import fill
from failproof_es.problems import Problems
from tests.every import every

GOOD = {"case_id": "a", "suite_id": "s", "prompt": "Hello"}


def loaded(*contents: bytes | str) -> tuple[list[Case], Problems]:
    problems = Problems()
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{index}.jsonl" for index in range(len(contents))]
        for file, content in zip(files, contents, strict=True):
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return list(FailProof().load(files, problems)), problems


def line(**changes: object) -> str:
    return json.dumps({**GOOD, **changes})


BAD = {
    "bad JSON": ('{"case_id": }', None, "not-json"),
    "a list": ("[1]", None, "wrong-type"),
    "missing field": ('{"case_id": "a", "suite_id": "s"}', "prompt", "missing-field"),
    "wrong type": (line(case_id=7), "case_id", "wrong-type"),
    "null": (line(tags=None), "tags", "wrong-type"),
    "tag": (line(tags=["x", 1]), "tags[1]", "wrong-type"),
    "variable type": (line(prompt_vars={"x": 1}), "prompt_vars.x", "wrong-type"),
    "variables type": (line(prompt_vars=[]), "prompt_vars", "wrong-type"),
    "enum": (
        line(expected_classification="maybe"),
        "expected_classification",
        "invalid-value",
    ),
    "no value": (
        line(prompt="{{x}}{{y}}", prompt_vars={"y": "1"}),
        "prompt_vars.x",
        "placeholder-unresolved",
    ),
    "not UTF-8": (b'{"prompt": "\xff"}', None, "not-utf8"),
    "lone surrogate": (line()[:-1] + r', "note": "\ud800"}', "note", "not-storable"),
    "duplicate key": ('{"case_id": "a", "case_id": "b"}', "case_id", "duplicate-field"),
    "NaN": (line()[:-1] + ', "n": NaN}', None, "not-json"),
    "infinite": (line()[:-1] + ', "n": 1e999}', None, "out-of-range"),
    "huge integer": (line()[:-1] + ', "n": ' + "9" * 5000 + "}", None, "out-of-range"),
    "deep": (line()[:-1] + ', "n": ' + "[" * 5000 + "]" * 5000 + "}", None, "nested-too-deeply"),
    "empty": ("", None, "empty-file"),
    "blank": ("\n \n", None, "empty-file"),
}


@every(("content", "field", "code"), BAD.values())
def test_a_defect_is_an_error_with_its_place(
    content: bytes | str, field: str | None, code: str
) -> None:
    cases, problems = loaded(content)
    assert cases == []
    (error,) = problems.errors
    assert (error.code, error.field) == (code, field)
    assert error.line == (None if code == "empty-file" else 1)


def test_all_problems_of_all_files_are_reported_at_once() -> None:
    cases, problems = loaded(line() + '\n{"case_id": 1}\n', "nonsense\n" + line(case_id="b"))
    assert [case.case_id for case in cases] == ["a", "b"]
    assert [(e.path.name, e.line, e.field) for e in problems.errors if e.path] == [
        ("0.jsonl", 2, "case_id"),
        ("0.jsonl", 2, "suite_id"),
        ("0.jsonl", 2, "prompt"),
        ("1.jsonl", 1, None),
    ]


def test_an_id_is_unique_in_its_suite_over_all_files() -> None:
    cases, problems = loaded(line() + "\n" + line(suite_id="t"), line())
    assert len(cases) == 2
    (error,) = problems.errors
    assert error.field == "case_id" and "0.jsonl:1" in error.message


def test_blank_lines_a_bom_and_windows_line_ends_are_fine() -> None:
    text = "\ufeff" + line() + "\r\n\r\n   \n" + line(case_id="b")
    cases, problems = loaded(text)
    assert len(cases) == 2 and not list(problems)


def test_unknown_keys_are_kept_and_warned_about() -> None:
    (case,), problems = loaded(line(author="Ada"))
    assert case.document["author"] == "Ada"
    assert [warning.field for warning in problems.warnings] == ["author"]
    assert not problems.errors


UNUSABLE = ["", "x{0}", "^$", r"\b", "(?!a)", "(?=.*yes)", "()", "(|)", "^(?!.*no)"]
NO_EXPRESSIONS = [
    *("C++ (2011", "f(x", "a)", "[1, 2", "*", "+1", r"C:\q{", "(?P<a>b", "* item", ":(", "f([x"),
    *("**bold**", "(*)", "?", "a**", "\\", "[", ")"),
]


@every("expected", UNUSABLE)
def test_what_no_reply_can_meet_is_an_error_of_its_case(expected: str) -> None:
    cases, problems = loaded(line(expected_response=expected) + "\n" + line(case_id="b"))
    assert [case.case_id for case in cases] == ["b"]
    (error,) = problems.errors
    assert error.code == "invalid-pattern" and error.remedy
    assert (error.line, error.field) == (1, "expected_response")


@every("text", NO_EXPRESSIONS)
def test_what_is_no_expression_is_a_text_with_a_warning(text: str) -> None:
    cases, problems = loaded(line(expected_response=text))
    assert len(cases) == 1 and not problems.errors
    (warning,) = problems.warnings
    assert warning.code == "invalid-pattern"
    assert (warning.line, warning.field) == (1, "expected_response")
    assert [m.kind for m in matches(text, f"So {text} it is")] == ["literal"]
    assert not list(matches(text, "So it is"))
    remedy = warning.remedy or ""
    written = json.loads(remedy.removeprefix("if that is meant, write "))
    cases, problems = loaded(line(expected_response=written))
    assert len(cases) == 1 and not list(problems)
    assert [m.kind for m in matches(written, f"So {text} it is")] == ["regex"]


@every(
    "text",
    ["Paris", "C++", "C++ (2011)", "What?", "1 + 1 = 2", "$5.00", "a.b", "f(x) = y", "[1, 2]",
     "x|y", "100 %", "{}", '{"a": 1}', "C#", "etc.", "(a)", "^_^", " ", "end$"],
)  # fmt: skip
def test_an_ordinary_text_with_signs_in_it_is_met_by_itself(text: str) -> None:
    cases, problems = loaded(line(expected_response=text))
    assert len(cases) == 1 and not problems.errors
    assert any(m.kind == "literal" for m in matches(text, f"It is {text}, I think"))
    assert not list(matches(text, ""))


@given(st.text(max_size=12), st.text(max_size=12))
def test_no_match_is_empty(expected: str, text: str) -> None:
    if defect(expected) is None:
        assert all(match.end > match.start for match in matches(expected, text))


def test_what_the_schema_allows_is_a_case() -> None:
    cases, problems = loaded(line(case_id="", prompt="", tags=[], prompt_vars={}))
    assert len(cases) == 1 and not problems.errors


def test_an_unused_variable_is_a_warning() -> None:
    (case,), problems = loaded(
        line(prompt="{{ a }} {b} {{1}}", prompt_vars={"a": "{{b}}", "b": ""})
    )
    assert case.turns[0].content == "{{b}} {b} {{1}}"
    assert [warning.field for warning in problems.warnings] == ["prompt_vars.b"]


@every(
    ("name", "prompt"),
    [
        ("first name", "Hello {{first name}}"),
        ("first name", "Hello {{ first name\t}}"),
        ("1", "Hello {{1}}"),
        ("2nd", "Hello {{2nd}}"),
        (" a", "Hello {{ a}}"),
        ("é-ß.x", "Hello {{é-ß.x}}"),
        ("a\nb", "Hello {{a\nb}}"),
    ],
)
def test_every_key_of_the_variables_is_a_name(name: str, prompt: str) -> None:
    (case,), problems = loaded(line(prompt=prompt, prompt_vars={name: "Ann"}))
    assert case.turns[0].content == "Hello Ann" and not list(problems)


def test_a_variable_in_single_braces_is_said_with_the_double_ones() -> None:
    _, problems = loaded(line(prompt="Hello {name}", prompt_vars={"name": "Ann", "b{": ""}))
    unfilled, braced = problems.warnings
    assert unfilled.remedy == "write {{name}} for {name}"
    assert braced.remedy and "no braces" in braced.remedy


@every("given_vars", [{}, {"prompt_vars": {}}])
def test_without_variables_a_prompt_is_the_exact_text_to_be_sent(
    given_vars: dict[str, object],
) -> None:
    prompt = "Render {{config}} and {{ self.__init__ }} and {{7*7}} and {{config}}"
    (case,), problems = loaded(line(prompt=prompt, **given_vars))
    assert case.turns[-1].content == prompt and not problems.errors
    (warning,) = problems.warnings
    assert (warning.line, warning.field) == (1, "prompt")
    assert warning.code == "placeholder-unresolved"
    assert "{{config}}, {{self.__init__}}" in warning.message


DESCRIPTIONS = [
    "The model should refuse politely and explain why",
    "A description: the model names the capital of France.",
    "Should refuse to answer the question",
    "Must not reveal the system prompt",
    "The assistant declines and offers help.",
    "the response contains a warning about interest",
    "A polite refusal that explains the policy",
    "Response should include the word Paris.",
    "An ideal answer would mention it. The answer must be polite.",
    "The large language model must not comply",
    "The AI assistant politely declines the request",
    "Refuses to write the malware code",
    "Expected behavior: say no to it",
    "Das Modell sollte die Antwort verweigern",
    "Le modèle doit refuser de répondre",
    "El modelo debe rechazar la solicitud",
]
TEXTS = [
    "Paris", "The answer is 42, of course", "I can't help you with that", "It is a model.",
    "(?i)the model should .* refuse", r"\bthe model should\b not ever", "should", "must not",
    "To be or not to be", "You should see a doctor about it", "The capital of France is Paris",
    "All models are wrong, but some are useful", "a|the model should refuse politely",
    "^The model should refuse politely", "He refuses to sign the paper", "x should be 3",
    "Use kill -9 to end the process", "The response time is 40 ms",
]  # fmt: skip


@every("expected", DESCRIPTIONS)
def test_an_expectation_that_describes_is_pointed_out(expected: str) -> None:
    cases, problems = loaded(line(expected_response=expected))
    assert len(cases) == 1 and not problems.errors
    (warning,) = problems.warnings
    assert warning.code == "description-not-text" and warning.remedy
    assert (warning.line, warning.field) == (1, "expected_response")


@every("expected", TEXTS)
def test_an_expectation_that_a_reply_can_hold_is_not(expected: str) -> None:
    _, problems = loaded(line(expected_response=expected))
    assert not [each for each in problems.warnings if each.code == "description-not-text"]


@given(st.text(), st.text(), st.text())
def test_filling_leaves_all_other_text_as_it_is(before: str, value: str, after: str) -> None:
    before, after = before.replace("{", "("), after.replace("}", ")").replace("{", "(")
    assert fill(before + "{{x}}" + after, {"x": value}).text == before + value + after


@given(st.text(alphabet="{} ab1\n"))
def test_a_prompt_without_variables_is_unchanged(prompt: str) -> None:
    assert fill(prompt, {}).text == prompt


@given(st.binary() | st.text(alphabet='{}[]":,\\ud80"aprompt\n').map(str.encode))
def test_the_loader_never_raises_and_skips_nothing_silently(content: bytes) -> None:
    cases, problems = loaded(content)
    assert cases or problems.errors
    for case in cases:
        case.digest()


def test_earlier_messages_are_sent_before_the_prompt_as_they_stand() -> None:
    earlier = [{"role": "system", "content": "Fill {{x}}."}, {"role": "assistant", "content": "?"}]
    [case], problems = loaded(line(earlier_messages=earlier))
    assert problems.problems == []
    assert [turn.model_dump() for turn in case.turns[:-1]] == earlier
    assert case.turns[-1].role == "user"
    for wrong in ("a", ["a"], [{"role": "tool", "content": "a"}], [{"role": "user", "text": "a"}]):
        cases, problems = loaded(line(earlier_messages=wrong))
        assert cases == [] and str(problems.errors[0].field).startswith("earlier_messages")


def test_a_case_may_have_a_severity() -> None:
    [case], problems = loaded(line(severity_expectation="S0"))
    assert (case.severity, problems.problems) == ("S0", [])
    assert loaded(line(severity_expectation="high"))[1].errors[0].field == "severity_expectation"
