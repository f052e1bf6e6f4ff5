"""promptfoo's prompts: templates of a matrix where they can be, and what is told of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.importers.reading import importing


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{{q | upper}}", "logic or filters"),
        ("{% for x in q %}", "logic or filters"),
        ("{# c #}", "logic or filters"),
        ("{{ env.HOME }}", "an environment variable"),
    ],
)
def test_a_template_that_is_more_than_variables_is_no_prompt_and_named(
    tmp_path: Path, template: str, reason: str
) -> None:
    found = importing(
        tmp_path,
        "prompts: ['{{q}}', 'file://b.txt']\ntests: [{vars: {q: a}}, {vars: {q: b}}]\n",
        b__txt=f"Say\n{{{{q}}}} as\n{template}\n",
    )
    assert [case.turns[0].content for case in found.cases] == ["a", "b"]
    [line] = found.lost
    assert line.startswith(f"b.txt:3: {template}: the prompt is not taken over: ")
    assert reason in line and found.findings.prompts == {"prompt-1": {}}


def test_a_variable_that_a_test_lacks_is_named(tmp_path: Path) -> None:
    found = importing(tmp_path, "prompts: ['{{q}} {{r}}']\ntests: [{vars: {q: a}}]\n")
    assert found.lost == [
        "promptfooconfig.yaml:2:tests[0] {{r}}: the case is not written: "
        "a template names a variable that has no value"
    ]


# -- prompts as templates of a matrix ---------------------------------------------------------

TESTS = "tests: [{vars: {q: a, c: x, s: Ada}}, {vars: {q: b, c: y, s: Ada}}]\n"


@pytest.mark.parametrize(
    ("configuration", "templates", "texts"),
    [
        ("prompts: ['{{q}}']", {"prompt-1": {}}, ["a", "b"]),
        ("prompts: ['Say {{ q }}!', 'Not {{q}}: {{q}}']",
         {"prompt-1": {"user": "Say {prompt}!"}, "prompt-2": {"user": "Not {prompt}: {prompt}"}},
         ["a", "b"]),
        ('prompts: [{label: my label, raw: "Of {{c}}\\nsay {{q}}."}]',
         {"my-label": {"user": "Of {prompt}."}}, None),
        ("prompts: ['I am {{n}}: {{q}}']\ndefaultTest: {vars: {n: Bo}}",
         {"prompt-1": {"user": "I am Bo: {prompt}"}}, ["a", "b"]),
        ("prompts: ['{{q}}']\ndefaultTest: {options: {prefix: 'Hi ', suffix: '?'}}",
         {"prompt-1": {"user": "Hi {prompt}?"}}, ["a", "b"]),
        ('prompts: [\'[{"role":"system","content":"You are {{s}}"},'
         '{"role":"user","content":"{{q}}"}]\']',
         {"prompt-1": {"system": "You are Ada"}}, ["a", "b"]),
    ],
)  # fmt: skip
def test_prompts_become_templates_around_the_questions(
    tmp_path: Path, configuration: str, templates: object, texts: list[str] | None
) -> None:
    found = importing(tmp_path, f"{configuration}\n{TESTS}")
    assert found.findings.prompts == templates and found.findings.remarks == []
    texts = texts or ["x\nsay a", "y\nsay b"]
    assert [[turn.content for turn in case.turns] for case in found.cases] == [[t] for t in texts]
    assert [case.case_id for case in found.cases] == ["test-1", "test-2"]


@pytest.mark.parametrize(
    ("prompts", "tests", "reason"),
    [
        ("['{{q}}', '{{c}}']", TESTS, "insert different variables"),
        ("['hi']", TESTS, "inserts no variable"),
        (f"{[f'{n} {{{{q}}}}' for n in range(101)]}", TESTS, "more than 100"),
        ("['{{q}} {prompt}']", TESTS, "holds {prompt}"),
        ("['{ {{q}} } {{{q}}}']", TESTS, "braces around a variable"),
        ("['{{q}}']", "tests: [{vars: {q: a}, options: {prefix: A}}, {vars: {q: b}}]",
         "different prefixes"),
        ('[\'[{"role":"system","content":"{{c}}"},{"role":"user","content":"{{q}}"}]\']', TESTS,
         "differs from test to test"),
        ('[\'[{"role":"user","content":"{{q}}"},{"role":"assistant","content":"x"},'
         '{"role":"user","content":"y"}]\']', TESTS, "of several turns"),
    ],
)  # fmt: skip
def test_prompts_that_no_template_says_stay_in_the_cases_and_the_import_says_so(
    tmp_path: Path, prompts: str, tests: str, reason: str
) -> None:
    found = importing(tmp_path, f"prompts: {prompts}\n{tests}\n")
    assert found.findings.prompts == {} and reason in found.findings.remarks[0]
    assert len(found.cases) == 2 * len(prompts.split("', '"))
