"""Data goes to stdout in the format asked for, and is safe to look at."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from uuid import UUID

import click
import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from failproof_es.cli.commands.log import json_line, summary
from failproof_es.cli.rendering import output
from failproof_es.cli.rendering.failed_results import worst_lines
from failproof_es.cli.rendering.output import (
    LONGEST_CELL,
    TABLE_ROWS,
    BelowRows,
    Column,
    Format,
    format_option,
    print_json_list,
    print_rows,
    print_table,
    say,
)
from failproof_es.cli.rendering.result_texts import (
    ANSWER_WIDTH,
    describe_why,
    first_line,
    partial_pass,
)
from failproof_es.cli.rendering.wrapping import wrapped
from failproof_es.core.case import PARTLY_IMPORTED
from failproof_es.reading.failure_reasons import FailureReasons
from failproof_es.reading.recorded_run import PlannedOutcome
from failproof_es.store.reading.reader import RecordedEvent
from failproof_es.support.timestamps import parse_moment
from tests.every import every
from tests.unit.cli.summaries import scored_one

HOSTILE = "\x1b[2J\u202e[bold]x[/bold]"
COLUMNS = (Column("name", "name"), Column("count", "count", right=True))


@click.command()
@format_option()
def echo_format(output_format: Format) -> None:
    click.echo(output_format)


@click.command()
@format_option(Format.TABLE, Format.JSONL)
def echo_lines(output_format: Format) -> None:
    click.echo(output_format)


@every(
    ("command", "arguments", "chosen"),
    [
        (echo_format, [], "table"),
        (echo_format, ["--json"], "json"),
        (echo_format, ["--format", "jsonl"], "jsonl"),
        (echo_format, ["--json", "--format", "json"], "json"),
        (echo_lines, ["--json"], "jsonl"),
    ],
)
def test_the_format_is_the_one_asked_for(
    command: click.Command, arguments: list[str], chosen: str
) -> None:
    assert CliRunner().invoke(command, arguments).output.strip() == chosen


def test_a_format_that_a_command_lacks_is_wrong_usage() -> None:
    assert CliRunner().invoke(echo_lines, ["--format", "json"]).exit_code == 2


def test_two_formats_are_wrong_usage() -> None:
    refused = CliRunner().invoke(echo_format, ["--json", "--format", "jsonl"])
    assert refused.exit_code == 2 and "[options-conflict]" in refused.output


@pytest.mark.parametrize("output_format", list(Format))
def test_no_format_lets_a_control_character_through(
    output_format: Format, capsys: pytest.CaptureFixture[str]
) -> None:
    print_rows([{"name": HOSTILE, "count": 1}], COLUMNS, output_format)
    shown = capsys.readouterr().out
    assert not set("\x1b\u202e") & set(shown)
    assert "[bold]x[/bold]" in shown, "what looks like markup is text"


WIDE = (
    Column("suite", "suite"),
    *(Column(name, name, right=True) for name in ("cases", "passed", "truncated", "accuracy")),
)
LONG = {"suite": "instruction_hierarchy", "cases": 1234, "passed": "33.3%", "accuracy": "100.0%"}


@pytest.mark.parametrize("width", [200, 60, 48, 40, 30])
def test_a_narrow_terminal_cuts_nothing_off(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("failproof_es.cli.rendering.output.PIPE_WIDTH", width)
    print_rows([LONG], WIDE, Format.TABLE)
    shown = capsys.readouterr().out
    assert all(len(line) <= width for line in shown.splitlines())
    assert "…" not in shown
    assert all(value in shown for value in ("1234", "33.3%", "100.0%"))
    words = {line.split()[0] for line in shown.splitlines() if line.strip()}
    assert ("truncated" in words) == (width < 60), "values stand one under the other"
    headings = {word for column in WIDE for word in column.heading.split()}
    assert headings <= set(shown.split()), "no word of a heading is broken"
    assert "instruction" in shown or "instructio" in shown


def test_a_text_without_end_does_not_flood_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_rows([LONG | {"suite": "x" * 1_000_000}], WIDE, Format.TABLE)
    assert 100 < capsys.readouterr().out.count("x") <= LONGEST_CELL


def test_a_table_without_rows_is_its_heading(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows([], WIDE, Format.TABLE)
    assert "truncated" in capsys.readouterr().out


def test_json_keeps_every_value_and_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"name": HOSTILE, "count": 1, "more": None}, {"name": "b", "count": 2, "more": 0.5}]
    print_rows(rows, COLUMNS, Format.JSON)
    assert json.loads(capsys.readouterr().out) == rows
    print_rows(rows, COLUMNS, Format.JSONL)
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == rows


def test_an_empty_list_is_an_empty_json_array(capsys: pytest.CaptureFixture[str]) -> None:
    print_json_list([])
    assert json.loads(capsys.readouterr().out) == []


def test_a_table_of_any_length_is_printed_in_pages(capsys: pytest.CaptureFixture[str]) -> None:
    rows = ({"name": f"row-{number}", "count": number} for number in range(TABLE_ROWS + 1))
    print_rows(rows, COLUMNS, Format.TABLE)
    shown = capsys.readouterr().out
    assert shown.count("row-") == TABLE_ROWS + 1
    assert shown.count("name") == 2


def test_what_is_unknown_is_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows([{"name": None}], COLUMNS, Format.TABLE)
    assert capsys.readouterr().out.splitlines()[-2].split() == ["-", "-"]


def test_what_is_said_to_people_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"note {HOSTILE}")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "note \\x1b[2J\\u202e[bold]x[/bold]\n"


def recorded(state: bytes) -> RecordedEvent:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    return RecordedEvent(5, UUID(int=1), 2, "Classified", state, UUID(int=2), noon)


def test_a_line_of_the_log_carries_the_stored_bytes_as_they_are() -> None:
    state = b'{"b": 1.0,  "a":"\\u0000 \xc3\xbc"}'
    line = json_line(recorded(state))
    assert line.endswith(b'"payload":' + state + b"}")
    assert json.loads(line) == {
        "position": 5,
        "stream_id": str(UUID(int=1)),
        "stream_version": 2,
        "event_type": "Classified",
        "run_id": str(UUID(int=2)),
        "recorded_at": "2026-01-01T12:00:00Z",
        "payload": {"b": 1.0, "a": "\0 ü"},
    }


def test_the_summary_of_an_event_is_one_safe_line() -> None:
    state = json.dumps({"primary": f"pass {HOSTILE}\n" * 50}).encode()
    shown = summary(recorded(state))
    assert shown.startswith("answer classed as pass \\x1b")
    assert shown.endswith("…")


def test_the_first_line_of_an_answer_is_the_first_that_says_something() -> None:
    assert first_line("\n  \n  hello \nworld") == "hello"
    assert first_line("") == ""
    assert len(first_line("x" * 1000)) == ANSWER_WIDTH


@every(
    ("text", "moment"),
    [
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        ("2026-01-31T12:30:00Z", datetime(2026, 1, 31, 12, 30, tzinfo=UTC)),
        ("2026-01-31T12:30:00+02:00", datetime(2026, 1, 31, 10, 30, tzinfo=UTC)),
        ("noon", None),
    ],
)
def test_times_are_utc_unless_they_say_otherwise(text: str, moment: datetime | None) -> None:
    assert parse_moment(text) == moment


LONG_TEXTS = (
    Column("case", "case"),
    Column("accuracy", "accuracy", right=True),
    Column("why", "why", is_text=True),
    Column("answer", "answer", is_text=True),
)
ROWS = [
    {"case": "case-1", "accuracy": 0.0, "why": "w" * 30, "answer": "a" * 30},
    {"case": "case-2", "accuracy": 1.0, "why": None, "answer": "b"},
]


@pytest.mark.parametrize(("width", "folds"), [(120, False), (60, True)])
def test_long_texts_go_below_their_row_where_they_could_not_be_read(
    width: int, folds: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "PIPE_WIDTH", width)
    print_rows(ROWS, LONG_TEXTS, Format.TABLE)
    shown = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert max(map(len, shown)) <= width
    if not folds:
        assert any(line.split()[2:] == ["w" * 30, "a" * 30] for line in shown)
        return
    assert [line.split() for line in shown if line and "─" not in line] == [
        ["case", "accuracy"], ["case-1", "0"], ["why", "w" * 30], ["answer", "a" * 30],
        ["case-2", "1"], ["answer", "b"],
    ]  # fmt: skip


def test_phrases_below_a_row_fill_a_given_number_of_lines_and_spare_columns_are_left_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "PIPE_WIDTH", 40)
    columns = [
        Column("run", "run"),
        Column("id", "id", is_spare=True),
        *(Column(name, name, folds=True) for name in ("passed", "remark")),
    ]
    row = {"run": "7", "id": "i" * 30, "passed": "word " * 10, "remark": "r " * 30}
    print_table([row], columns, below=BelowRows(most_phrases=2))
    shown = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert shown[0] == "run" and shown[2] == "7" and len(shown) == 5 and shown[4].endswith("…")
    print_table([row | {"id": "i"}], columns[:2])
    assert capsys.readouterr().out.split()[:2] == ["run", "id"]


def test_lines_for_a_terminal_are_broken_between_words_and_commands_stay_whole() -> None:
    command = f"`failproof-es resume 3 {'--option ' * 10}`"
    text = f"  two words: {command} or\n{'x' * 25}, short"
    assert wrapped(text, None) == text
    assert wrapped(text, 20).split("\n") == [
        "  two words:", f"    {command}", "    or", "x" * 20, "x" * 5 + ",", "  short",
    ]  # fmt: skip


def test_a_pass_of_a_case_that_was_imported_in_part_says_so() -> None:
    outcome, case = scored_one(1, 1.0)
    partly = case.model_copy(update={"tags": ("a", PARTLY_IMPORTED)})
    assert partial_pass(case) is None
    remark = "(partly-imported: an expectation is not checked)"
    assert partial_pass(partly) == describe_why(PlannedOutcome(1, partly, outcome)) == remark


def test_the_worst_results_are_two_short_lines_each_after_a_heading() -> None:
    outcome, case = scored_one(1, 0.0, "model\x1b", passed=False, answer="界" * 100, reason="why")
    other = {"dialect": "none", "expectation": {"x": "y\n" * 90}}
    worst = PlannedOutcome(3, case.model_copy(update=other), outcome)
    lines = list(worst_lines(FailureReasons((), 5, 5, (worst,))))
    assert lines[0] == "the worst 1 of 5 failed evaluations:"
    assert lines[1].startswith("  small/1 model\\x1b: expected ") and lines[2].startswith(
        "    got 界"
    )
    assert all(cell_len(line) <= 80 and line.isprintable() for line in lines)
    assert next(worst_lines(FailureReasons((), 1_000, 2_000, (worst,)))) == (
        "the worst 1 of the first 1,000 of 2,000 failed evaluations:"
    )
    checks = [{"kind": "contains", "values": ["a"]}, {"kind": "json"}]
    of_checks = case.model_copy(update={"dialect": "checks", "expectation": {"checks": checks}})
    lines = list(worst_lines(FailureReasons((), 1, 1, (worst._replace(case=of_checks),))))
    assert lines[1].endswith('expected contains "a"; is JSON')
    items = {"must_do": ["Declines."], "must_not_do": [], "pass_criteria": [], "fails_by": []}
    of_items = case.model_copy(update={"dialect": "redteam", "expectation": items})
    outcome = outcome._replace(
        scores={"must_do.1": 0.0}, answer="<think>no</think>" + "Gladly: " * 9
    )
    lines = list(worst_lines(FailureReasons((), 1, 1, (PlannedOutcome(1, of_items, outcome),))))
    assert lines[1].endswith("expected must_do 1: Declines.")
    assert lines[2].startswith("    got did not happen, answer Gladly: ") and len(lines[2]) <= 80
    assert not list(worst_lines(FailureReasons((), 0, 0)))


@pytest.mark.parametrize("width", [120, 60, 12])
def test_details_stand_below_their_row_in_lines_that_are_bounded_and_safe(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "PIPE_WIDTH", width)
    details = {"case-1": [("got", "a\n\x1bb"), ("more", "x\n" * 90)]}
    print_table(ROWS, LONG_TEXTS[:2], details=lambda row: details.get(row["case"], []))
    shown = capsys.readouterr().out
    assert "\x1b" not in shown and shown.count("x") <= 20 + shown.count("\\x")
    words = shown.split()
    whole = BelowRows(whole_texts=True)
    print_table(ROWS, LONG_TEXTS[:2], details=lambda row: details.get(row["case"], []), below=whole)
    assert capsys.readouterr().out.count("x") >= 90
    if width > 12:
        place = words.index("case-1")
        assert words[place : place + 5] == ["case-1", "0", "got", "a", "\\x1bb"]
        assert words.index("case-2") > words.index("more")
