"""Benchmark folders: what is a task, and every defect of every file with its place."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from failproof_es.abstraction.implementation.dataset_loader import DataSetLoader, task_of
from failproof_es.abstraction.implementation.prompts import Prompts
from failproof_es.core.case import Case
from failproof_es.dialects import dialect_named, recognise
from failproof_es.dialects.shipped.benchmark.options import read_options
from failproof_es.problems import InvalidInput, Problems
from tests.coded import coded
from tests.every import every

GOOD = """\
task_id: colour
category: Knowledge
sub_category: Colours
question: What colour is the sky?
expected_answer:
  most_expected: Blue.
  good_answer: Azure.
  pass_option: A colour.
incorrect_direction: Green.
"""
BENCHMARK = dialect_named("benchmark")


def load(folder: Path, **files: str) -> tuple[list[Case], Problems]:
    """The cases of files given by name, `_` for the dot, and what is wrong with them."""
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    problems = Problems()
    paths = sorted(folder.iterdir())
    return list(BENCHMARK.load(paths, problems)), problems


def defect(folder: Path, text: str) -> str:
    """The one error that a file `t.yaml` with this text has: line, field, code."""
    cases, problems = load(folder, t_yaml=text)
    assert cases == []
    (problem,) = problems.errors
    assert problem.path == folder / "t.yaml"
    return f"{problem.line}: {problem.field}: {problem.code}"


def test_one_task_or_a_list_of_them_is_read_with_its_categories(tmp_path: Path) -> None:
    listed = "".join(
        f"- {GOOD.replace('colour', name, 1)}".replace("\n", "\n  ").rstrip() + "\n"
        for name in ("one", "two")
    )
    cases, problems = load(tmp_path, a_yml=GOOD, b_yaml=listed)
    assert [case.case_id for case in cases] == ["colour", "one", "two"]
    assert list(problems) == []
    case = cases[0]
    assert (case.category, case.tags, case.source) == ("Knowledge", ("Colours",), "a.yml")
    assert [turn.content for turn in case.turns] == ["What colour is the sky?"]
    assert case.document["expected_answer"]["good_answer"] == "Azure."


def test_a_folder_is_recognised_and_read_in_sorted_order(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yml", "c.yaml"):
        (tmp_path / name).write_text(GOOD.replace("colour", name, 1))
    dialect, files = recognise(str(tmp_path))
    assert dialect.name == "benchmark"
    assert [file.name for file in files] == ["a.yml", "b.yaml", "c.yaml"]


INNER = "  most_expected: Blue.\n  good_answer: Azure.\n  pass_option: A colour.\n"
DEFECTS = {
    "missing": (
        GOOD.replace("question: What colour is the sky?\n", ""),
        "1: question: missing-field",
    ),
    "missing inside": (
        GOOD.replace("  good_answer: Azure.\n", ""),
        "5: expected_answer.good_answer: missing-field",
    ),
    "no expected answer": (
        GOOD.replace("expected_answer:\n" + INNER, ""),
        "1: expected_answer: missing-field",
    ),
    "too deep": (
        GOOD.replace("incorrect_direction", "  incorrect_direction"),
        "9: expected_answer.incorrect_direction: misplaced-field",
    ),
    "not deep enough": (
        GOOD.replace("  pass_option", "pass_option"),
        "8: pass_option: misplaced-field",
    ),
    "category too deep": (
        GOOD.replace("category: Knowledge\n", "").replace(INNER, INNER + "  category: Knowledge\n"),
        "8: expected_answer.category: misplaced-field",
    ),
    "all of them not deep enough": (
        GOOD.replace("expected_answer:\n" + INNER, INNER.replace("  ", "")),
        "5: most_expected: misplaced-field",
    ),
    "number": (
        GOOD.replace("Blue.", "1984"),
        "6: expected_answer.most_expected: wrong-type",
    ),
    "truth": (GOOD.replace("Green.", "no"), None),
    "blank": (GOOD.replace("What colour is the sky?", '"  "'), "4: question: empty-value"),
    "null": (GOOD.replace("Green.", "~"), "9: incorrect_direction: wrong-type"),
    "list": (GOOD.replace("Green.", "[a]"), "9: incorrect_direction: wrong-type"),
    "text for a mapping": (
        GOOD.replace("expected_answer:\n" + INNER, "expected_answer: Blue.\n"),
        "5: expected_answer: wrong-type",
    ),
    "wrong category": (
        GOOD.replace("Knowledge", "[1]"),
        "2: category: wrong-type",
    ),
    "twice the key": (
        GOOD + "task_id: again\n",
        "10: task_id: duplicate-field",
    ),
    "a word": ("colour\n", "1: None: wrong-type"),
    "empty list": ("[]\n", "1: None: no-cases"),
    "python": (
        GOOD.replace("Green.", "!!python/object/apply:os.system [id]"),
        "9: None: unsupported-yaml",
    ),
    "anchor": (GOOD.replace("Green.", "&a Green."), "9: None: unsupported-yaml"),
}


@every("name", DEFECTS)
def test_a_defect_is_reported_with_its_line_and_field(tmp_path: Path, name: str) -> None:
    text, expected = DEFECTS[name]
    if expected is None:  # YAML 1.2: `no` is a text
        assert load(tmp_path, t_yaml=text)[1].errors == []
    else:
        assert defect(tmp_path, text) == expected


def test_yaml_that_is_none_is_reported_with_its_line(tmp_path: Path) -> None:
    assert defect(tmp_path, GOOD + "\tx: [\n") == "10: None: not-yaml"


@pytest.mark.long
def test_yaml_that_explodes_is_refused_at_once(tmp_path: Path) -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(20)
    )
    cases, problems = load(tmp_path, bomb_yaml=bomb, deep_yaml="x: " + "[" * 5000, ok_yaml=GOOD)
    assert [case.case_id for case in cases] == ["colour"]
    codes = {problem.code for problem in problems.errors}
    assert codes == {"unsupported-yaml", "nested-too-deeply"}


def test_an_id_that_stands_twice_names_the_place_where_it_stands_first(tmp_path: Path) -> None:
    cases, problems = load(tmp_path, a_yaml=GOOD, b_yaml=GOOD.replace("sky", "sea"))
    assert [case.source for case in cases] == ["a.yaml"]
    (problem,) = problems.errors
    assert (problem.path, problem.line, problem.field) == (tmp_path / "b.yaml", 1, "task_id")
    assert problem.code == "duplicate-id" and f"{tmp_path / 'a.yaml'}:1" in problem.message


def test_every_defect_of_a_folder_is_reported_at_once(tmp_path: Path) -> None:
    texts = [text for text, expected in DEFECTS.values() if expected]
    _, problems = load(tmp_path, **{f"{n:02}_yaml": text for n, text in enumerate(texts)})
    by_file = {problem.path for problem in problems.errors}
    assert len(by_file) == len(texts)


def test_the_input_of_a_task_is_asked_and_judged_with_its_question(tmp_path: Path) -> None:
    (case,), problems = load(tmp_path, a_yaml=GOOD + "input_text: |\n  {{answer}}\n   a: 1\n")
    whole = "What colour is the sky?\n\n{{answer}}\n a: 1\n"
    assert [turn.content for turn in case.turns] == [whole]
    assert case.expectation["question"] == whole
    assert task_of(case).question == whole
    assert DataSetLoader().load_tasks(str(tmp_path)) == [task_of(case)]
    assert Prompts().build_generation_prompt(task_of(case)) == whole
    assert case.document["input_text"] == "{{answer}}\n a: 1\n"
    assert list(problems) == []


@every(
    ("written", "said"),
    [
        ("context: The sea is calm.\n", "10: context: unknown-field"),
        ("data: [1, {x: [a]}]\n", "10: data: unknown-field"),
        ("notes: {by: me}\n", "10: notes: unknown-field"),
        ("input_text: 5\n", "10: input_text: wrong-type"),
        ('input_text: " "\n', "10: input_text: empty-value"),
    ],
)
def test_a_text_of_which_nothing_says_whether_it_is_asked_is_an_error(
    tmp_path: Path, written: str, said: str
) -> None:
    assert defect(tmp_path, GOOD + written) == said


def test_options_say_which_texts_of_a_task_are_asked_and_which_are_not(tmp_path: Path) -> None:
    text = GOOD + "context: Look up.\nnotes: mine\ndata: At noon.\n"
    (tmp_path / "a.yaml").write_text(text)
    written = {"input_keys": ["data", "context"], "unsent_keys": ["notes"]}
    problems = Problems()
    dialect = BENCHMARK.with_options(written)  # type: ignore[attr-defined]
    (case,) = dialect.load([tmp_path / "a.yaml"], problems)
    assert case.turns[0].content == "What colour is the sky?\n\nAt noon.\n\nLook up."
    assert [(p.severity, p.field) for p in problems] == [("warning", "notes")]
    loaded = DataSetLoader(options=read_options(written)).load_tasks(str(tmp_path))
    assert loaded == [task_of(case)]


def test_what_is_kept_and_not_sent_is_listed_once_over_all_files(tmp_path: Path) -> None:
    more = "difficulty: 3\nreviewed: yes\n"
    again = GOOD.replace("colour", "again", 1) + "difficulty: 4\nempty: ~\n"
    cases, problems = load(tmp_path, a_yaml=GOOD + more.replace("yes", "true"), b_yaml=again)
    assert cases[0].document["difficulty"] == 3
    assert [(p.severity, p.field, p.path and p.path.name, p.line) for p in problems] == [
        ("warning", "difficulty", "a.yaml", 10),
        ("warning", "reviewed", "a.yaml", 11),
        ("warning", "empty", "b.yaml", 11),
    ]
    assert "in 2 tasks" in problems.warnings[0].message


def test_a_key_that_stands_a_second_time_where_it_means_nothing_is_said(tmp_path: Path) -> None:
    again = GOOD.replace(INNER, INNER + "  question: Or this?\n  note: x\n") + "pass_option: Red.\n"
    (case,), problems = load(tmp_path, a_yaml=again)
    assert case.expectation["question"] == "What colour is the sky?"
    assert case.expectation["pass_option"] == "A colour."
    assert [problem.field for problem in problems.warnings] == [
        "pass_option", "expected_answer.question", "expected_answer.note",
    ]  # fmt: skip


def test_templates_are_replaced_by_options_and_filled_in_one_pass(tmp_path: Path) -> None:
    dialect = BENCHMARK.with_options(  # type: ignore[attr-defined]
        {
            "generation_template": "Answer: {{question}}",
            "judge_template": "{{answer}} {{delimiter}}",
        }
    )
    (tmp_path / "a.yaml").write_text(GOOD.replace("the sky", "{{question}} {{answer}}"))
    (case,) = dialect.load([tmp_path / "a.yaml"], Problems())
    assert case.turns[0].content == "Answer: What colour is {{question}} {{answer}}?"
    assert case.expectation["judge_template"] == "{{answer}} {{delimiter}}"


@every(
    ("options", "said"),
    [
        (
            {"judge_template": "Grade {{question}}"},
            ", ".join(["prompts.options.judge_template: invalid-template"] * 2),
        ),
        (
            {"generation_template": "Answer"},
            "prompts.options.generation_template: invalid-template",
        ),
        (
            {"generation_template": "{{question}} {{answer}}"},
            "prompts.options.generation_template: invalid-template",
        ),
        ({"judge_templat": "x"}, "prompts.options.judge_templat: unknown-field"),
        ({"judge_template": 5}, "prompts.options.judge_template: wrong-type"),
        ({"input_keys": "data"}, "prompts.options.input_keys: wrong-type"),
        ({"input_keys": ["question"]}, "prompts.options.input_keys: reserved-field"),
        ({"unsent_keys": ["good_answer"]}, "prompts.options.unsent_keys: reserved-field"),
        (
            {"input_keys": ["a"], "unsent_keys": ["a"]},
            "prompts.options.input_keys: duplicate-name, "
            "prompts.options.unsent_keys: duplicate-name",
        ),
        ({"unsent_keys": [5]}, "prompts.options.unsent_keys[0]: wrong-type"),
    ],
)
def test_options_that_can_not_be_used_are_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        BENCHMARK.with_options(options)  # type: ignore[attr-defined]
    assert coded(caught.value) == said


def test_a_template_of_many_lines_is_taken_as_it_stands(tmp_path: Path) -> None:
    text = dedent("""\
        task_id: t
        question: |
          One
            two
        expected_answer: {most_expected: a, good_answer: b, pass_option: c}
        incorrect_direction: d
        """)
    (case,), _ = load(tmp_path, t_yaml=text)
    assert case.turns[0].content == "One\n  two\n"
