"""Tables and data sets: real files of the tools, and files that are wrong, hostile or large."""

from __future__ import annotations

import json
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from failproof_es.core.case import Turn
from failproof_es.importers import suites
from failproof_es.importers.protocol import MOST_LISTED, Check
from failproof_es.problems import InvalidInput
from tests.every import every
from tests.unit.importers.reading import FILES, counted, read, written

QA = {"prompt": "question", "expected": "answer"}


def table(folder: Path, content: str | bytes, name: str = "q.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# -- files that the tools made ---------------------------------------------------------------


def test_a_data_set_of_inspect(tmp_path: Path) -> None:
    found = read("inspect", FILES / "inspect.jsonl")
    assert [case.case_id for case in found.cases] == ["river", "prime", "opposite"]
    river, prime, opposite = found.cases
    assert river.checks == (Check("contains", ("Danube",), ignore_case=True),)
    assert river.tags == ("topic:rivers", "level:1")
    assert "B) 23" in prime.turns[-1].content and "ANSWER:" in prime.turns[-1].content
    assert opposite.turns == (
        Turn(role="system", content="Answer in one word."),
        Turn(role="user", content="What is the opposite of hot?"),
    )
    assert opposite.checks[0].texts == ("cold", "cool")
    [lost] = found.lost  # a sandbox and a file: nothing is run here
    assert lost.startswith("inspect.jsonl:4:") and "runs nothing" in lost
    documents = written(found.cases, tmp_path / "out")["cases.jsonl"]
    assert documents[2]["earlier_messages"] == [
        {"role": "system", "content": "Answer in one word."}
    ]


@every(
    ("answer", "chosen"),
    [("So\nANSWER: B", True), ("answer: **b**", True), ("ANSWER: A\nANSWER: B", True),
     ("ANSWER: B or rather ANSWER: C", False), ("B", False), ("ANSWER: Both", False)],
)  # fmt: skip
def test_a_choice_is_what_is_named_last(answer: str, chosen: bool) -> None:
    import regex

    [check] = read("inspect", FILES / "inspect.jsonl").cases[1].checks
    assert bool(regex.search(check.texts[0], answer)) == chosen


def test_a_data_set_of_hugging_face_as_it_was_saved() -> None:
    columns = {"prompt": "question", "expected": "answers.text"}
    with pytest.raises(InvalidInput, match=r"test, train.*\[missing-option\]"):
        read("hf", FILES / "hf_saved", columns=columns)
    found = read("hf", FILES / "hf_saved", columns=columns, split="test")
    assert [case.checks[0].texts for case in found.cases] == [("0",), ("8",)]
    assert found.lost == ["data-00000-of-00001.arrow::source the column is not mapped"]


def test_a_data_set_of_hugging_face_as_parquet_and_a_table() -> None:
    columns = {"prompt": "question", "expected": "answers.text"}
    found = read("hf", FILES / "hf_parquet", columns=columns)
    assert len(found.cases) == 5 and found.cases[4].turns[0].content == "What is 4 plus 4?"
    several = read("parquet", FILES / "table.parquet").cases[1]
    assert several.checks == (Check("contains", ("argon", "neon")),)


def test_classes_have_names_and_other_columns_hinder_nobody() -> None:
    """A real data set with a class label, times in nanoseconds, NaN, and a cache beside it."""
    columns = {"prompt": "msgs", "expected": "label", "choices": "answers.start"}
    path = FILES / "hf_classes"
    found = read("hf", path, columns=columns | {"choices": "answers.text"})
    assert found.cases == [] and "is not the letter" in found.lost[-1]
    several = {"prompt": "text", "expected": "answer", "choices": "choices", "id": "when"}
    [first, *_] = read("hf", path, columns=several).cases
    assert first.case_id == "2024-01-01 00:00:00.000000000" and "ANSWER" in first.checks[0].texts[0]
    prices = read("hf", path, columns={"prompt": "text", "expected": "price", "choices": "when"})
    assert prices.findings.read == 7
    assert any(":2:price" in line and "no number (NaN)" in line for line in prices.lost)
    assert any("cache-" in line and "`state.json`" in line for line in prices.lost)


def test_a_class_is_expected_by_its_name_and_a_decimal_as_it_is(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    labels = {"label": {"_type": "ClassLabel", "names": ["no", "yes"]}, "prompt": {}, "x": 1}
    rows = pa.table(
        {
            "prompt": ["a", "b", "c", "d"],
            "label": [1, 0, -1, 7],
            "price": pa.array([Decimal("1.50"), None, Decimal(3), Decimal(4)], pa.decimal128(9, 2)),
            "broken": pa.array([b"\xff"] * 4).view(pa.string()),  # it is not asked for
        }
    ).replace_schema_metadata({"huggingface": json.dumps({"info": {"features": labels}})})
    parquet.write_table(rows, tmp_path / "t.parquet")
    found = read("parquet", tmp_path / "t.parquet", columns={"expected": "label"})
    assert [case.checks[0].texts for case in found.cases] == [("yes",), ("no",), ("7",)]
    assert found.lost[-1].startswith("t.parquet:3:label ")
    found = read("parquet", tmp_path / "t.parquet", columns={"expected": "price"})
    assert [case.checks[0].texts[0] for case in found.cases] == ["1.50", "3.00", "4.00"]


def test_a_shard_that_is_missing_is_named(tmp_path: Path) -> None:
    real = FILES / "hf_parquet" / "data" / "train-00000-of-00001.parquet"
    shutil.copy(real, tmp_path / "train-00001-of-00003.parquet")
    with pytest.raises(InvalidInput) as caught:
        read("hf", tmp_path, columns={"prompt": "question"})
    assert [each.path.name for each in caught.value.problems if each.path] == [
        "train-00000-of-00003.parquet", "train-00002-of-00003.parquet",
    ]  # fmt: skip


def test_samples_of_openais_evals(tmp_path: Path) -> None:
    shot = {"role": "system", "content": "2+2?", "name": "example_user"}
    lines = [
        {"input": [shot, {"role": "user", "content": "3+3?"}], "ideal": "6"},
        {"input": "Capital of Norway?", "ideal": ["Oslo", "oslo"]},
        {"input": [{"role": "assistant", "content": "Hm"}], "ideal": "6"},
    ]
    path = table(tmp_path, "\n".join(map(json.dumps, lines)), "samples.jsonl")
    found = read("openai-evals", path)
    assert [case.checks for case in found.cases] == [
        (Check("begins", ("6",)),),
        (Check("begins", ("Oslo", "oslo")),),
    ]
    assert found.lost == [
        "samples.jsonl:1: a message's `name` is not sent",
        "samples.jsonl:3: the case is not written: the conversation does not end with the user",
    ]


# -- CSV -------------------------------------------------------------------------------------


def test_quoted_lines_a_byte_order_mark_and_windows_ends(tmp_path: Path) -> None:
    path = table(tmp_path, '\ufeffquestion,answer\r\n"What is\n2+2?",4\r\n\r\n"a ""b""?",c\r\n')
    found = read("csv", path, columns=QA)
    assert [(case.turns[0].content, case.place.line) for case in found.cases] == [
        ("What is\n2+2?", 2),
        ('a "b"?', 5),
    ]


@pytest.mark.parametrize("rows", [1, 255, 256, 257])
def test_every_row_is_a_case(tmp_path: Path, rows: int) -> None:
    path = table(tmp_path, "prompt,expected\n" + "".join(f"q{n},a{n}\n" for n in range(rows)))
    found = read("csv", path)
    assert [case.case_id for case in found.cases] == [str(n + 1) for n in range(rows)]
    assert len(written(found.cases, tmp_path / "out")["cases.jsonl"]) == rows


def test_what_is_lost_in_65_537_rows_is_listed_or_counted(tmp_path: Path) -> None:
    path = table(tmp_path, "prompt,expected\n" + "q,\n" * 65_537)
    found = read("csv", path)
    assert found.cases == [] and found.findings.read == 65_537
    lost = found.findings.not_mapped
    assert lost.count == counted(lost) == 65_537 and len(lost.entries) == MOST_LISTED


@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        ("", r"\[empty-file\]"),
        ("a,a\n1,2\n", r"q.csv:1: .*'a'.*\[duplicate-column\]"),
        (
            "question,answer\n1\n1,2,3\n",
            r"q.csv:2: .*\[wrong-cell-count\]\n.*:3: .*\[wrong-cell-count\]",
        ),
        (b"question,answer\n\xff,1\n", r"\[not-utf8\]"),
        ('question,answer\n"open,1\n', r"q.csv:2: .*\[not-csv\]"),
        ("frage,antwort\n1,2\n", r"--column prompt=question.*\[unknown-column\]"),
    ],
)
def test_a_table_that_is_wrong_is_refused_with_its_line(
    tmp_path: Path, content: str | bytes, pattern: str
) -> None:
    with pytest.raises(InvalidInput, match=f"(?s){pattern}"):
        read("csv", table(tmp_path, content), columns=QA)


def test_without_a_column_map_the_prompts_column_is_suggested(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"--column prompt=question.*\[missing-option\]"):
        read("csv", table(tmp_path, "question,answer\n1,2\n"))
    with pytest.raises(InvalidInput, match=r"'promt'.*\[invalid-option\]"):
        read("csv", table(tmp_path, "prompt\n1\n"), columns={"promt": "prompt"})


def test_ids_that_are_taken_are_all_told(tmp_path: Path) -> None:
    found = read("csv", table(tmp_path, "id,prompt\na,1\na,2\nb,3\nb,4\n"))
    with pytest.raises(
        InvalidInput, match=r"(?s):3: .*'a'.*\[duplicate-id\].*:5: .*'b'.*\[duplicate-id\]"
    ):
        written(found.cases, tmp_path / "out")


def test_a_prompt_that_looks_like_a_template_is_asked_as_it_stands(tmp_path: Path) -> None:
    found = read("csv", table(tmp_path, "prompt,expected\nWrite {{name}},a\n"))
    [document] = written(found.cases, tmp_path / "out")["cases.jsonl"]
    assert document["prompt_vars"] == {"prompt_text": "Write {{name}}"}


@pytest.mark.parametrize(
    ("given", "letter"), [("B", "B"), (1, "B"), ("two", "B"), ("D", None), (3, None), ("x", None)]
)
def test_the_right_choice_is_a_letter_a_number_or_its_text(
    tmp_path: Path, given: Any, letter: str | None
) -> None:
    line = {"input": "Which?", "choices": ["one", "two", "three"], "target": given}
    found = read("inspect", table(tmp_path, json.dumps(line), "s.jsonl"))
    assert [rf"ANSWER\W{{0,10}}{letter}\b(" in case.checks[0].texts[0] for case in found.cases] == (
        [True] if letter else []
    )


def test_a_list_of_json_has_the_number_of_the_record(tmp_path: Path) -> None:
    path = table(
        tmp_path, '[{"input": "a", "target": "b"}, {"input": "", "target": "b"}]', "s.json"
    )
    found = read("inspect", path)
    assert [case.turns[0].content for case in found.cases] == ["a"]
    assert found.lost[0].startswith("s.json::input")
    with pytest.raises(InvalidInput, match=r"\[wrong-type\]"):
        read("inspect", table(tmp_path, "[1]", "n.json"))


def test_bounds_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = read("csv", table(tmp_path, "prompt\na\nb\nc\n"))
    monkeypatch.setattr(suites, "MAX_CASES", 2)
    with pytest.raises(InvalidInput, match=r"2 cases.*\[limit-exceeded\]"):
        written(found.cases, tmp_path / "many")
    monkeypatch.setattr(suites, "MAX_CASES", 3)
    monkeypatch.setattr(suites, "MAX_BYTES", 100)
    with pytest.raises(InvalidInput, match=r"100 bytes.*\[limit-exceeded\]"):
        written(found.cases, tmp_path / "large")
    monkeypatch.setattr(suites, "MAX_BYTES", 1000)
    assert len(written(found.cases, tmp_path / "out")["cases.jsonl"]) == 3
    lines = table(tmp_path, "{}\n" + "[\n" * 1000, "s.jsonl")
    with pytest.raises(InvalidInput) as refused:
        read("openai-evals", lines)
    assert 1 <= len(refused.value.problems) <= 100


# -- folders ---------------------------------------------------------------------------------


def test_a_damaged_file_and_a_link_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"\[file-unreadable\]"):
        read("parquet", table(tmp_path, b"PAR1" * 20, "t.parquet"))
    saved = tmp_path / "saved"
    shutil.copytree(FILES / "hf_saved" / "test", saved)
    arrow = saved / "data-00000-of-00001.arrow"
    content = arrow.read_bytes()
    arrow.write_bytes(content[: len(content) // 2])
    with pytest.raises(InvalidInput, match=r"\[file-unreadable\]"):
        read("hf", saved, columns={"prompt": "question"})
    arrow.unlink()
    arrow.symlink_to(FILES / "hf_saved" / "test" / arrow.name)
    with pytest.raises(InvalidInput, match=r"\[link-not-followed\]"):
        read("hf", saved, columns={"prompt": "question"})


def test_what_a_saved_data_set_says_of_its_files_stays_in_its_folder(tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    shutil.copytree(FILES / "hf_saved" / "test", saved)
    state = json.loads((saved / "state.json").read_text())
    shutil.copy(saved / "data-00000-of-00001.arrow", tmp_path / "secret.arrow")
    state["_data_files"] = [{"filename": "../secret.arrow"}]
    (saved / "state.json").write_text(json.dumps(state))
    with pytest.raises(InvalidInput, match=r"secret\.arrow: leads out .*\[file-not-found\]"):
        read("hf", saved, columns={"prompt": "question"})


def test_a_folder_is_read_in_order_and_a_pipe_is_not(tmp_path: Path) -> None:
    import os

    (tmp_path / "b").mkdir()
    table(tmp_path / "b", "prompt\nsecond\n")
    table(tmp_path, "prompt\nfirst\n", "a.csv")
    assert {case.turns[0].content for case in read("csv", tmp_path).cases} == {"first", "second"}
    os.mkfifo(tmp_path / "p.csv")
    with pytest.raises(InvalidInput, match=r"\[file-unreadable\]"):
        read("csv", tmp_path / "p.csv")


def test_what_cannot_be_looked_at_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"x\.csv.*\[file-unreadable\]"):
        read("csv", tmp_path / f"{'x' * 300}.csv")
    inside = tmp_path / "in"
    inside.mkdir()
    table(inside, "prompt\na\n")
    (tmp_path / "other").mkdir()
    (inside / "linked").symlink_to(tmp_path / "other")
    with pytest.raises(InvalidInput, match=r"linked: .*\[link-not-followed\]"):
        read("csv", inside)


def test_the_names_of_columns_are_checked_before_they_are_read(tmp_path: Path) -> None:
    damaged = (FILES / "table.parquet").read_bytes().replace(b"prompt", b"\xff\xfe\xfd\xfc\xfb\xfa")
    path = tmp_path / "t.parquet"
    path.write_bytes(damaged)
    with pytest.raises(InvalidInput, match=r"\[file-unreadable\]"):
        read("parquet", path)


def test_a_table_with_tabs_needs_no_other_name(tmp_path: Path) -> None:
    path = table(tmp_path, "prompt\texpected\na, b; c\td\n")
    assert [case.turns[0].content for case in read("csv", path).cases] == ["a, b; c"]
