"""promptfoo's configurations: what maps, what does not, and what is never read or run."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from failproof_es.core.case import PARTLY_IMPORTED
from failproof_es.core.evaluation import ModelReply, Transcript
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.dialects.shipped.checks import Checks
from failproof_es.importers.protocol import Check, Findings
from failproof_es.problems import InvalidInput, Problems
from tests.unit.importers.reading import FILES, ImportedSource, importing, read, written

RICH = FILES.parents[1] / "recorded_runs" / "files" / "promptfoo_rich"
ASK = "prompts: ['{{q}}']\n"


def asserting(folder: Path, assertion: str) -> ImportedSource:
    return importing(folder, f"{ASK}tests: [{{vars: {{q: a, x: y}}, assert: [{assertion}]}}]\n")


@pytest.mark.parametrize(
    ("assertion", "check"),
    [
        ("{type: equals, value: Oslo}", Check("equals", ("Oslo",))),
        ("{type: equals, value: 4.0}", Check("equals", ("4",))),
        ("{type: contains, value: 'in {{x}}'}", Check("contains", ("in y",))),
        ("{type: not-contains, value: Oslo}", Check("contains", ("Oslo",), negated=True)),
        ("{type: icontains, value: Oslo}", Check("contains", ("Oslo",), ignore_case=True)),
        ("{type: contains-any, value: [a, b]}", Check("contains", ("a", "b"))),
        ("{type: icontains-any, value: 'a, b'}", Check("contains", ("a", "b"), ignore_case=True)),
        ("{type: starts-with, value: Yes}", Check("begins", ("Yes",))),
        ("{type: regex, value: '^\\d+$'}", Check("regex", (r"^[0-9]+\Z",))),
        ("{type: not-regex, value: '\\d+'}", Check("regex", ("[0-9]+",), negated=True)),
        ("{type: is-json}", Check("json", ())),
        ("{type: not-is-json}", Check("json", (), negated=True)),
    ],
)
def test_an_assertion_that_a_program_decides_is_a_check(
    tmp_path: Path, assertion: str, check: Check
) -> None:
    found = asserting(tmp_path, assertion)
    assert [case.checks for case in found.cases] == [(check,)] and found.lost == []


def test_answers_that_must_be_json_are_cases_of_the_dialect_checks(tmp_path: Path) -> None:
    found = asserting(
        tmp_path, "{type: is-json, value: {type: object}}, {type: contains, value: b}"
    )
    [lost] = found.lost
    assert "the schema is not checked, only whether the answer is JSON" in lost
    suites = written(found.cases, tmp_path / "out")
    [case] = suites["checked.jsonl"]
    assert case["checks"] == [{"kind": "json"}, {"kind": "contains", "values": ["b"]}]
    assert case["tags"][0] == PARTLY_IMPORTED and list(suites) == ["checked.jsonl"]
    rated = importing(
        tmp_path,
        f"{ASK}tests:\n- vars: {{q: a}}\n  metadata: {{severity: high}}\n"
        "  assert: [{type: is-json}]\n",
    )
    [case] = written(rated.cases, tmp_path / "rated")["checked.jsonl"]
    assert case["tags"] == ["severity:high"]
    refused = asserting(tmp_path, "{type: not-is-json, value: {type: object}}")
    assert refused.cases == []


def test_all_of_several_texts_are_a_check_each(tmp_path: Path) -> None:
    [case] = asserting(tmp_path, "{type: icontains-all, value: [a, b]}").cases
    assert [(check.texts, check.ignore_case) for check in case.checks] == [
        (("a",), True),
        (("b",), True),
    ]


@pytest.mark.parametrize(
    ("assertions", "expected", "fails"),
    [
        ("{type: not-contains, value: Amazon}", ['must not contain "Amazon"'], "at Amazon"),
        ("{type: contains, value: 30 days}, {type: icontains, value: Refund}",
         ['contains "30 days"', 'contains "Refund"'], "30 days"),
        ("{type: regex, value: '(a)\\1'}, {type: not-regex, value: '(b)\\1'}",
         ["matches /(a)\\1/", "must not match /(b)\\1/"], "bb"),
    ],
)  # fmt: skip
def test_several_or_negated_assertions_are_told_one_by_one(
    tmp_path: Path, assertions: str, expected: list[str], fails: str
) -> None:
    suites = written(asserting(tmp_path, assertions).cases, tmp_path / "out")
    assert list(suites) == ["checked.jsonl"]
    [case] = Checks().load([tmp_path / "out" / "checked.jsonl"], Problems())
    for answer in (fails, ""):
        transcript = Transcript((ModelReply(0, answer, "stop", None),))
        classification = Checks().classify(case, transcript)
        outcome = EvaluationOutcome(
            evaluation_id=UUID(int=1), run_id=UUID(int=2), prompt_id=UUID(int=3), model_key="m",
            repetition=1, class_=classification.primary, details=classification.details,
        )  # fmt: skip
        assert classification.primary == "fail"
        told = [one.expected for one in Checks().expectations(case, outcome)]
        assert told[: len(expected)] == expected


def test_a_case_whose_expression_is_none_is_not_written(tmp_path: Path) -> None:
    found = asserting(tmp_path, "{type: regex, value: '('}, {type: contains, value: a}")
    assert written(found.cases, tmp_path / "out", found.findings) == {}
    assert "the case is not written: its pattern cannot be used: not a valid" in found.lost[0]


def test_what_a_model_grades_is_for_judges_and_people(tmp_path: Path) -> None:
    found = asserting(
        tmp_path,
        "{type: llm-rubric, value: 'is {{x}}'}, {type: not-llm-rubric, value: is rude}, "
        "{type: contains, value: b}",
    )
    suites = written(found.cases, tmp_path / "out")
    assert suites["judged.jsonl"][0]["expected_behavior"] == {
        "must_do": [],
        "must_not_do": ["is rude"],
        "pass_criteria": ["is y"],
    }
    assert suites["checked.jsonl"][0]["checks"] == [{"kind": "contains", "values": ["b"]}]


@pytest.mark.parametrize(
    ("assertion", "said"),
    [
        ("{type: javascript, value: 'output.length'}", "`javascript` is code: it is not run"),
        ("{type: python, value: 'file://x.py'}", "is code: it is not run"),
        ("{type: cost, threshold: 1}", "`cost` has no counterpart"),
        ("{type: 'é\x1b[2J', value: x}".replace("\x1b", "\\e"), "a type that is no name"),
        ("{type: contains, value: {a: b}}", "neither a text nor a list"),
        ("{type: contains}", "has no text"),
        ("{type: equals, value: [a]}", "is a list"),
        ("{type: contains, value: A, transform: output.trim()}", "code is not run"),
        ("{type: contains-any, value: '\"a\" b'}", "does not end before a comma"),
        ("{type: contains, value: '{% if x %}'}", "logic or filters"),
        ("{type: contains, value: '{{env.HOME}}'}", "environment variable"),
        ("{type: regex, value: '(?i)yes'}", "(: its regular expression means something else in"),
        ("{value: x}", "no `type`"),
        ("7", "no `type`"),
    ],
)
def test_a_test_of_which_no_assertion_maps_is_no_case(
    tmp_path: Path, assertion: str, said: str
) -> None:
    found = asserting(tmp_path, assertion)
    assert found.cases == []
    assert said in found.lost[0] and found.lost[0].startswith("promptfooconfig.yaml:2:tests[0]")
    assert "none of its assertions maps" in found.lost[-1]


def test_a_case_that_passes_more_easily_here_says_so(tmp_path: Path) -> None:
    source = asserting(tmp_path, "{type: equals, value: b, normalizeUnicode: true, weight: 2}")
    assert [case.tags for case in source.cases] == [("partly-imported",)] and len(source.lost) == 2
    source = asserting(tmp_path, "{type: contains, value: b, weight: 2}, {type: cost}")
    [case] = source.cases
    assert case.tags == ("partly-imported",)
    assert [line.split(" ", 1)[0] for line in source.lost] == [
        "promptfooconfig.yaml:2:tests[0].assert[0].weight",
        "promptfooconfig.yaml:2:tests[0].assert[1]",
    ]


def test_prompts_times_tests_times_lists(tmp_path: Path) -> None:
    found = importing(
        tmp_path,
        "prompts: ['A {{q}}', 'file://b.txt']\n"
        "tests: [{vars: {q: [x, y], r: [1, 2]}}, {vars: {q: z}, prompts: ['A {{q}}']}]\n",
        b__txt="B {{ q }}\n---\nC {{q}}\n",
    )
    assert "a test names its own prompts" in found.findings.remarks[0]
    ids = [case.case_id for case in found.cases]
    assert len(ids) == len(set(ids)) == 4 * 3 + 1
    assert ids[0] == "test-1-vars-1-prompt-1" and ids[-1] == "test-2-prompt-1"
    assert [case.turns[0].content for case in found.cases[:3]] == ["A x", "B x", "C x"]


def test_lists_whose_combinations_nobody_could_ask_are_no_cases(tmp_path: Path) -> None:
    lists = ", ".join(f"v{n}: [1, 2]" for n in range(60))
    found = importing(tmp_path, f"prompts: [hi]\ntests: [{{vars: {{{lists}}}}}, {{}}]\n")
    assert len(found.cases) == 1 and "more than 100,000 combinations" in found.lost[0]


def test_a_conversation_defaults_and_scenarios(tmp_path: Path) -> None:
    found = importing(
        tmp_path,
        "prompts: ['file://chat.json']\n"
        "defaultTest: {vars: {tone: kind}, assert: [{type: not-contains, value: damn}]}\n"
        "scenarios:\n"
        "  - config: [{vars: {q: a}}, {vars: {q: b}}]\n"
        "    tests: [{description: first, vars: {}}, {vars: {tone: curt}}]\n",
        chat__json='[{"role": "system", "content": "Be {{tone}}"},'
        '{"role": "user", "content": "{{q}}"}]',
    )
    asked = [tuple(turn.content for turn in case.turns) for case in found.cases]
    assert asked == [("Be kind", "a"), ("Be curt", "a"), ("Be kind", "b"), ("Be curt", "b")]
    assert all(case.checks[0].negated for case in found.cases) and "first" in found.cases[0].tags


def test_tests_in_tables_and_files(tmp_path: Path) -> None:
    found = importing(
        tmp_path,
        f"{ASK}tests: ['file://t.csv', 'file://more*.yaml']\n",
        t__csv='q,__expected,__expected2,__metric\n1,contains: a,"not-equals: b",m\n'
        "2,Oslo,,\n3,similar(0.8): x,,\n",
        more1__yaml="- vars: {q: 4}\n",
    )
    assert [case.turns[0].content for case in found.cases] == ["1", "2", "4"]
    assert found.cases[0].checks == (
        Check("contains", ("a",)),
        Check("equals", ("b",), negated=True),
    )
    assert found.cases[1].checks == (Check("equals", ("Oslo",)),)
    assert [line.split(" ", 1)[0] for line in found.lost] == [
        "t.csv:2:__metric", "t.csv:4:assert[0]", "t.csv:4:",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ('New York, "Rome, Italy",, Paris ', ("New York", "Rome, Italy", "Paris")),
        (r'"a""b", "c\"d"', ('a"b', 'c"d')),
        ("{{x}}", ("y", "z")),
    ],
)
def test_texts_with_commas_are_told_apart_as_promptfoo_does(
    tmp_path: Path, value: str, texts: tuple[str, ...]
) -> None:
    assertion = json.dumps({"type": "contains-any", "value": value})
    found = importing(
        tmp_path, f"{ASK}tests: [{{vars: {{q: a, x: 'y, z'}}, assert: [{assertion}]}}]\n"
    )
    assert [case.checks[0].texts for case in found.cases] == [texts]


def test_what_decides_on_a_changed_answer_decides_nothing_here() -> None:
    """The real configuration whose results are a recorded run."""
    found = read("promptfoo", RICH)
    by_name = {tag: case for case in found.cases for tag in case.tags}
    assert [check.texts for check in by_name["code before one assertion"].checks] == [("no four",)]
    assert "partly-imported" in by_name["code before one assertion"].tags
    assert "code before all assertions" not in by_name
    assert by_name["a file's value"].turns[0].content == "a word from a file in English"
    assert by_name["commas in quotation marks"].checks[1].texts == ("Paris", "Rome, Italy")
    assert [line.split(" ", 1)[1] for line in found.lost[3:]] == [
        "code is not run",
        "code is not run",
        "the case is not written: its assertions decide on what code makes of the answer",
        "a set of assertions has no counterpart",
    ]


def test_an_empty_list_of_values_is_no_case_and_told(tmp_path: Path) -> None:
    found = importing(tmp_path, f"{ASK}tests: [{{vars: {{q: a, r: []}}}}, {{vars: {{q: b}}}}]\n")
    assert len(found.cases) == 1 and "empty list" in found.lost[0]


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("file://../secret.txt", "leads out of the folder"),
        ("file:///etc/passwd", "leads out of the folder"),
        ("file://link.txt", "leads out of the folder"),
        ("file://missing.txt", "is not in the folder"),
        ("file://tests.py", "is code: it is not run"),
        ("file://tests.js:make", "is code: it is not run"),
        ("file://../*.txt", "leads out of the folder"),
        ("https://example.com/tests.csv", "fetched or run"),
        ("huggingface://datasets/x", "fetched or run"),
    ],
)
def test_nothing_is_read_out_of_the_folder_fetched_or_run(
    tmp_path: Path, reference: str, said: str
) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "link.txt").symlink_to(tmp_path / "secret.txt")
    (inside / "tests.py").write_text("raise SystemExit('run')")
    found = importing(
        inside, f"{ASK}tests: ['{reference}', {{vars: {{q: '{reference}'}}}}, {{vars: {{q: a}}}}]\n"
    )
    assert said in found.lost[0]
    kept = [case.turns[0].content for case in found.cases]
    assert kept[-1] == "a" and "secret" not in kept


# -- what metadata says of a case --------------------------------------------------------------


def test_ids_suites_severities_and_lists_come_over(tmp_path: Path) -> None:
    found = importing(
        tmp_path,
        f"{ASK}tests: ['file://t.csv', {{vars: {{q: c}}, metadata: {{id: one, tags: [x, 7]}}}},"
        " {vars: {q: d}, metadata: {severity: dire, area: {a: b}}}]\n",
        t__csv="q,__metadata:id,__metadata:category,__metadata:severity,__metadata:tags[]\n"
        'a,one,geo,critical,"smoke,geo"\nb,one,geo,s3,\n',
    )
    assert [(c.case_id, c.suite, c.severity, c.tags) for c in found.cases] == [
        ("one", "geo", "S0", ("severity:critical", "smoke", "geo")),
        ("one-2", "geo", "S3", ("severity:s3",)),
        ("one", None, None, ("x", "7")),
        ("test-4", None, None, ("severity:dire",)),
    ]
    assert [line.split(" ")[1] for line in found.lost] == ["severity:", "area:"]
    documents = written(found.cases, tmp_path / "out")["checked.jsonl"]
    assert [document.get("tags") for document in documents] == [
        list(case.tags) or None for case in found.cases
    ]
    assert [document["suite"] for document in documents[:3]] == ["geo", "geo", "made"]
    graded = [replace(case, case_id="one", criteria=("is kind",)) for case in found.cases[1:3]]
    judged = written(graded, tmp_path / "graded", findings := Findings())["judged.jsonl"]
    assert [document["id"] for document in judged] == ["one", "made/one"], "unique in its dialect"
    claimed = [*graded, replace(graded[0], case_id="made/one")]
    judged_with_claim = written(claimed, tmp_path / "claimed")["judged.jsonl"]
    assert judged_with_claim[2]["id"] == "geo/made/one"
    assert ["another suite has the id" in entry.reason for entry in findings.not_mapped.entries]
    assert [document["category"] for document in judged] == ["geo", "made"]
    assert [document["tags"] for document in judged] == [
        ["severity:s3", "category:geo"],
        ["x", "7"],
    ]


@pytest.mark.parametrize("first", ["", "prompts: [other]"])
def test_a_description_that_no_other_test_has_is_the_id(tmp_path: Path, first: str) -> None:
    """Also if a test that names its prompts ends the search for a matrix before the others."""
    found = importing(
        tmp_path,
        f"{ASK}tests: [{{{first}}},"
        " {vars: {q: a}, description: ' password theft!'},"
        " {vars: {q: b}, description: twice}, {vars: {q: c}, description: twice},"
        " {vars: {q: [d, e]}, description: ¿Größe?}, {vars: {q: f}, description: '¿?'},"
        " {vars: {q: g}, description: named, metadata: {id: own}}, {vars: {q: h}}]\n",
    )
    assert [case.case_id for case in found.cases] == [
        "password-theft", "test-3", "test-4", "Größe-vars-1", "Größe-vars-2", "test-6", "own",
        "test-8",
    ]  # fmt: skip
    assert found.cases[0].tags == (" password theft!",)


def test_a_refusal_is_decided_by_the_program(tmp_path: Path) -> None:
    found = asserting(
        tmp_path,
        "{type: is-refusal}, {type: not-contains, value: PWNED}, "
        "{type: llm-rubric, value: is kind}",
    )
    suites = written(found.cases, tmp_path / "out")
    [document] = suites["cases.jsonl"]
    assert (
        document["expected_classification"] == "refusal"
        and "PWNED" in document["expected_response"]
    )
    assert suites["judged.jsonl"][0]["expected_behavior"]["pass_criteria"] == ["is kind"]
    [none] = asserting(tmp_path, "{type: not-is-refusal}").cases
    assert none.refusal is False and not none.criteria and not none.checks
    found = asserting(tmp_path, "{type: not-is-refusal}, {type: not-contains, value: a}")
    [document] = written(found.cases, tmp_path / "whole", found.findings)["checked.jsonl"]
    assert document["tags"] == ["partly-imported"]
    assert "whether the answer refuses is not checked" in found.lost[0]
    found = asserting(tmp_path, "{type: is-refusal}, {type: not-is-refusal}")
    assert "asks for a refusal, and another" in found.lost[0]


def test_a_variable_that_is_a_template_is_no_case_and_one_with_braces_stays(tmp_path: Path) -> None:
    found = importing(
        tmp_path, f"{ASK}tests: [{{vars: {{q: '{{{{x}}}}'}}}}, {{vars: {{q: '{{x}}'}}}}]"
    )
    assert [case.turns[0].content for case in found.cases] == ["{x}"]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("a: &x [1]\nb: *x\n", "unsupported-yaml"),
        ("a: !!python/object:os.system x\n", "unsupported-yaml"),
        ("[" * 200, "nested-too-deeply"),
        ("prompts: [a\n", "not-yaml"),
        ("- a\n", "wrong-file-kind"),
        ("text\n", "not-a-configuration"),
        ("tests: []\n", "not-mapped"),
        ("", "empty-file"),
    ],
)
def test_what_is_no_configuration_is_refused(tmp_path: Path, content: str, code: str) -> None:
    began = time.monotonic()
    with pytest.raises(InvalidInput, match=rf"\[{code}\]"):
        importing(tmp_path, content)
    assert time.monotonic() - began < 10


def test_a_configuration_that_is_code_or_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"\[file-not-found\]"):
        read("promptfoo", tmp_path)
    (tmp_path / "promptfooconfig.js").write_text("throw 1")
    with pytest.raises(InvalidInput, match=r"\[wrong-file-kind\]"):
        read("promptfoo", tmp_path / "promptfooconfig.js")


@pytest.mark.parametrize(
    ("kind", "file", "content"),
    [
        ("promptfoo", "t.csv", "q,__expected\n1,contains:a\n"),
        ("promptfoo", "t.jsonl", '{"vars": {"q": 1}}\n'),
        ("promptfoo", "t.yaml", "- vars: {q: 1}\n"),
        ("csv", "t.csv", "q,__expected2\n1,contains:a\n"),
    ],
)
def test_tests_without_a_configuration_are_refused_with_the_remedy(
    tmp_path: Path, kind: str, file: str, content: str
) -> None:
    (tmp_path / file).write_text(content)
    columns = {"prompt": "q", "expected": "__expected2"} if kind == "csv" else None
    with pytest.raises(InvalidInput) as refused:
        read(kind, tmp_path / file, columns=columns)
    [problem] = refused.value.problems
    assert problem.remedy is not None and f"`tests: file://{file}`" in problem.remedy


# -- what `promptfoo init` writes ------------------------------------------------------------


def test_what_promptfoo_init_writes(tmp_path: Path) -> None:
    found = read("promptfoo", FILES / "promptfoo_compare")
    suites = written(found.cases, tmp_path / "out", found.findings)
    ids = {name: [each.get("case_id", each.get("id")) for each in suites[name]] for name in suites}
    assert ids == {
        "checked.jsonl": ["test-1", "test-2"],
        "judged.jsonl": ["test-3"],
    }
    assert suites["checked.jsonl"][1]["messages"][0]["content"] == "avocado toast"
    assert found.findings.prompts["prompt-2"] == {
        "user": "Write a concise, funny tweet about {prompt}"
    }
    assert found.lost == [
        "promptfooconfig.yaml:31:tests[1].assert[1] `javascript` is code: it is not run"
    ]
    assert [each["model"] for each in found.findings.models] == ["gpt-5.6-luna", "gpt-5.6-terra"]


def test_what_promptfoo_init_writes_for_retrieval_names_code_that_is_not_run(
    tmp_path: Path,
) -> None:
    found = read("promptfoo", FILES / "promptfoo_rag")
    [case] = found.cases
    assert case.case_id == "test-3" and "You can also hardcode context" in case.turns[0].content
    assert [line.split(" ", 1)[1] for line in found.lost] == [
        "file://context.py: the file is code: it is not run",
        "the case is not written: a variable's file is not read",
    ] * 2
