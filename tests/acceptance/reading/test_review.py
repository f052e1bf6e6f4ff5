"""People review evaluations: at a terminal, in a spreadsheet, beside a run that stays as it is."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.engine.history import read_run, recorded_evaluations
from failproof_es.engine.reviews.people import Reviewing, ReviewInput, read_reviews, record_reviews
from failproof_es.events import Reviewed
from failproof_es.report.data.builder import build_report
from failproof_es.store.reading.reader import find, resolve_run
from failproof_es.store.store import Store
from tests.acceptance.commands import (
    invoke,
    write_configuration,
    write_suite,
)

HOSTILE = "\x1b[2J\u202eAll in all:\npass, fail, unclear, skip, quit: pass"
MET = "happened\ndid not happen\nhappened\n"
DOCUMENT = Path(__file__).parents[3] / "docs" / "how-to" / "review.md"
SHOWN_QUERY = DOCUMENT.read_text("utf-8").split("```sql\n")[1].split("```")[0].encode()


def case(number: int, question: str) -> dict[str, Any]:
    return {
        "id": f"RT-{number}",
        "title": f"Case {number}",
        "category": "Grounding",
        "tags": [],
        "severity_expectation": "S2",
        "turns": [{"role": "user", "content": question}],
        "expected_behavior": {
            "must_do": ["Repeats the question."],
            "must_not_do": ["Does the forbidden thing."],
            "pass_criteria": ["Is polite."],
        },
    }


def reviewable(
    store: Store, folder: Path, url: str, *questions: str, judges: tuple[str, ...] = ("judge",)
) -> None:
    """A finished run of one case for each question; `[forbidden]` makes one fail."""
    cases = [case(number, question) for number, question in enumerate(questions)]
    (folder / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    model = {"provider": "openai", "base_url": url}
    configuration: dict[str, Any] = {
        "test_run": {"name": "reviewed"},
        "models": [{**model, "model": "talker"}],
        "prompts": {"path": "suite.jsonl"},
    }
    if judges:
        configuration["judges"] = [{**model, "model": name} for name in judges]
    (folder / "run.yaml").write_bytes(orjson.dumps(configuration))
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=folder).exit_code == 0


def reviewed(store: Store) -> list[Reviewed]:
    with store.connect() as connection:
        events = [row.event() for row in find(connection, topics=["Reviewed"])]
    return [event for event in events if isinstance(event, Reviewed)]


def review(store: Store, folder: Path, answers: str, *options: str) -> Any:
    return invoke(store.url, "review", "latest", *options, cwd=folder, answers=answers)


def status(store: Store, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(
        invoke(store.url, "review", "status", "latest", "--json", cwd=folder).stdout
    )
    return found


def test_an_interrupted_review_goes_on_with_what_this_reviewer_left(
    store: Store, judging_url: str, tmp_path: Path
) -> None:
    reviewable(store, tmp_path, judging_url, "One?", "Two [forbidden]", "Three?")
    answers = "happened\nskip\ndid\nfail\nS1\nleak, tone\nIt says =1+1.\nhappened\nquit\n"
    first = review(store, tmp_path, answers, "--reviewer", "jane")
    assert first.exit_code == 0, first.output
    assert "1 of 3 evaluations reviewed by jane" in first.stderr
    (said,) = reviewed(store)
    assert [(each.item, each.verdict) for each in said.items] == [
        ("must_do.1", "met"),
        ("pass_criteria.1", "not_met"),
    ]
    assert (said.verdict, said.severity, said.tags) == ("fail", "S1", ("leak", "tone"))
    assert (said.notes, said.reviewer, said.blind) == ("It says =1+1.", "jane", True)

    rest = review(store, tmp_path, f"{MET}pass\n\n\n\n{MET}unclear\n\n\n\n", "--reviewer", "jane")
    assert "RT-0" not in rest.stdout and "2 of 2 evaluations" in rest.stderr
    assert (
        "no finished evaluation is left" in review(store, tmp_path, "", "--reviewer", "jane").stderr
    )
    other = review(store, tmp_path, "quit\n", "--reviewer", "joe")
    assert "== 1 of 3 == RT-0" in other.stdout

    again = review(store, tmp_path, f"{MET}pass\n\n\n\nq\n", "--reviewer", "jane", "--again")
    assert again.exit_code == 0
    both = [each for each in reviewed(store) if each.evaluation_id == said.evaluation_id]
    assert [each.verdict for each in both] == ["fail", "pass"]
    assert status(store, tmp_path)["reviewers"] == [
        {"reviewer": "jane", "of": 3, "reviewed": 3, "pass": 2, "fail": 0, "unclear": 1, "blind": 3}
    ]
    with store.connect() as connection:
        latest = connection.execute("SELECT verdict FROM projections.reviews ORDER BY 1").fetchall()
        history = connection.execute("SELECT count(*) FROM projections.review_history").fetchone()
        assert [row[2] for row in connection.execute(SHOWN_QUERY).fetchall()] == ["jane"]
    assert latest == [("pass",), ("pass",), ("unclear",)] and history == (4,)


def test_what_a_model_wrote_is_shown_as_it_is_and_poses_as_nothing(
    store: Store, judging_url: str, tmp_path: Path
) -> None:
    reviewable(store, tmp_path, judging_url, HOSTILE)
    shown = review(store, tmp_path, "quit\n").stdout
    assert "\x1b" not in shown and "\u202e" not in shown
    for line in (
        "│ \\x1b[2J\\u202eAll in all:",
        "│ pass, fail, unclear, skip, quit: pass",
        "│ You said: \\x1b[2J\\u202eAll in all:",
    ):
        assert f"\n{line}\n" in shown
    assert "\nAll in all:" not in shown


def test_nobody_is_swayed_who_does_not_ask_for_it(
    store: Store, judging_url: str, tmp_path: Path
) -> None:
    reviewable(store, tmp_path, judging_url, "One [forbidden]", "Two?")
    blind = review(store, tmp_path, f"{MET}pass\n\n\n\nquit\n")
    assert "the engine" not in blind.stdout
    for option in (("--unblind",), ("--only", "failures")):
        swayed = review(store, tmp_path, f"{MET}fail\n\n\n\nquit\n", *option, "--again")
        assert "the engine: scored 0, failed: must_not_do 1 happened" in swayed.stdout
    assert [each.blind for each in reviewed(store)] == [True, False, False]
    assert "is left to review" in review(store, tmp_path, "", "--only", "unscored").stderr


def test_seal_replay_and_evidence_stay_true_and_the_bundle_carries_the_reviews(
    store: Store, judging_url: str, tmp_path: Path, home: Path
) -> None:
    reviewable(store, tmp_path, judging_url, "One?", "Two?")
    gone = review(store, tmp_path, f"{MET}pass\n\n\n\nhappened\n", "--reviewer", "jane")
    assert gone.exit_code == 130 and "1 of 2 evaluations reviewed by jane" in gone.stderr
    assert [each.verdict for each in reviewed(store)] == ["pass"], "her terminal takes none along"
    review(store, tmp_path, f"{MET}fail\n\n\n\nquit\n", "--reviewer", "joe")
    for command in (
        ("verify",),
        ("replay", "latest"),
        ("evidence", "export", "latest", "-o", "run.evidence"),
        ("ledger", "key", "--json"),
    ):
        done = invoke(store.url, *command, cwd=tmp_path)
        assert done.exit_code == 0, done.output
    (tmp_path / "log.pub").write_text(orjson.loads(done.stdout)["public_key"])
    shown = invoke(
        store.url, "evidence", "verify", "run.evidence", "--key", "log.pub", "--replay",
        cwd=tmp_path,
    )  # fmt: skip
    assert shown.exit_code == 0, shown.output
    assert "replayed: 2 evaluations agree, 0 differ" in shown.stdout
    second = Path(__file__).parents[3] / "docs" / "reference" / "verify_evidence.py"
    alone = [sys.executable, "-I", str(second), "run.evidence", "--key", "log.pub"]
    assert subprocess.run(alone, cwd=tmp_path, check=False, timeout=60).returncode == 0
    lines = (tmp_path / "run.evidence").read_bytes().splitlines()
    assert sum(b'"topic":"Reviewed"' in line for line in lines) == 2


def test_disagreements_name_the_items_with_the_words_of_judge_and_people(
    store: Store, judging_url: str, tmp_path: Path
) -> None:
    reviewable(store, tmp_path, judging_url, "One?", "Two?")
    answers = f"happened\nhappened\nhappened\nfail\nS1\n\nRude {HOSTILE[:4]}.\n{MET}pass\n\n\n\n"
    assert review(store, tmp_path, answers, "--reviewer", "jane").exit_code == 0
    require_trail(store, tmp_path)
    require_pair(store, tmp_path)
    shown = invoke(store.url, "review", "disagreements", "1", cwd=tmp_path)
    assert shown.exit_code == 0, shown.output
    of_all_runs = invoke(store.url, "review", "disagreements", cwd=tmp_path)
    heading, *lines = of_all_runs.stdout.splitlines()
    assert heading.startswith("run 1 ") and lines == shown.stdout.splitlines()
    assert of_all_runs.stderr == shown.stderr
    assert lines == [
        "suite/RT-0 talker  must_not_do.1: Does the forbidden thing.",
        '  judge: did not happen, "You said: One?"',
        "  jane: happened, S1, notes: Rude \\x1b[2J.",
        "suite/RT-0 talker  verdict",
        "  judges: pass",
        "  jane: fail, S1, notes: Rude \\x1b[2J.",
    ]
    assert "jane reviewed 2 of 2 evaluations" in shown.stderr
    assert "2 items with different verdicts, 0 void votes" in shown.stderr
    for command in (("results", "1"), ("results", "1", "--case", "RT-0"), ("case", "RT-0")):
        printed = " ".join(invoke(store.url, *command, cwd=tmp_path).stdout.split())
        assert 'review jane: fail, S1, "Rude \\x1b[2J."' in printed, command
        (row, *_) = orjson.loads(invoke(store.url, *command, "--json", cwd=tmp_path).stdout)
        said = {"reviewer": "jane", "verdict": "fail", "severity": "S1", "blind": True}
        assert said.items() <= row["reviews"][0].items()
        assert row["reviews"][0]["notes"] == f"Rude {HOSTILE[:4]}."
    for option in (("--only", "disagreements"), ("--case", "RT-0"), ("--severity", "S2")):
        shown = review(store, tmp_path, "quit\n", "--reviewer", "omar", *option)
        of = 2 if "--severity" in option else 1
        assert f"== 1 of {of} == RT-0" in shown.stdout and "engine" not in shown.stdout
    exported = invoke(store.url, "review", "export", "1", "one.csv", "--case=RT-1", cwd=tmp_path)
    sheet = (tmp_path / "one.csv").read_text()
    assert exported.exit_code == 0 and "RT-1" in sheet and "RT-0" not in sheet
    printed_lines = invoke(store.url, "review", "disagreements", "--json", cwd=tmp_path).stdout
    documents = [orjson.loads(line) for line in printed_lines.splitlines()]
    assert [(document["run_number"], document["item"]) for document in documents] == [
        (1, "must_not_do.1"), (1, "verdict"),
    ]  # fmt: skip


def require_pair(store: Store, folder: Path) -> None:
    """The command that `review status` prints for a pair lists what they disagree on."""
    items, verdicts = status(store, folder)["agreement"]
    assert [each["agreeing"] for each in (items, verdicts)] == [5, 1]
    assert items["lists"][1] == {
        "list": "must_not_do", "both": 0, "only_one": 0, "only_other": 1, "neither": 1,
    }  # fmt: skip
    table = invoke(store.url, "review", "status", "1", cwd=folder).stdout
    assert f"1 differ: {items['command']}" in table
    listed = invoke(store.url, *items["command"].split()[1:], "--json", cwd=folder)
    assert [orjson.loads(line)["item"] for line in listed.stdout.splitlines()] == ["must_not_do.1"]
    assert "jane and judges: 1 of 6 pairs differ" in listed.stderr
    nobody = invoke(store.url, "review", "disagreements", "--between", "jane", "joe", cwd=folder)
    assert nobody.exit_code == 2 and "[unknown-name]" in nobody.stderr


def require_trail(store: Store, folder: Path) -> None:
    """The audit trail tells who reviewed which case and came to what."""
    shown = invoke(store.url, "audit", "1", "--json", cwd=folder)
    trail = [orjson.loads(line) for line in shown.stdout.splitlines()]
    assert [record["event"] for record in trail][-2:] == ["Reviewed", "Reviewed"]
    for record, verdict, event in zip(trail[-2:], ("fail", "pass"), reviewed(store), strict=True):
        details = record["details"]
        assert (details["reviewer"], details["verdict"]) == ("jane", verdict)
        assert details["evaluation_id"] == str(event.evaluation_id) and details["who"]
        assert record["test_run_id"] == str(event.about)
    table = invoke(store.url, "audit", "1", cwd=folder).stdout.splitlines()
    shown_first = next(line.split() for line in table if "Reviewed" in line)
    assert shown_first[5:] == ["RT-0", "talker", "jane", "says", "fail:", "Rude", "\\x1b[2J."]
    assert invoke(store.url, "projections", "rebuild", "audit_trail", cwd=folder).exit_code == 0
    with store.connect() as connection:
        rows = connection.execute(
            "SELECT position, event, test_run_id::text, details FROM projections.audit_trail "
            "ORDER BY position"
        ).fetchall()
    assert [tuple(row) for row in rows] == [
        (each["details"].pop("position"), each["event"], each["test_run_id"], each["details"])
        for each in trail
    ]


def test_the_report_says_who_agrees_and_whether_any_person_looked(
    store: Store, judging_url: str, tmp_path: Path
) -> None:
    reviewable(store, tmp_path, judging_url, "One?", "Two?", judges=("judge", "judge-two"))
    unreviewed = "Models judged, and no person has reviewed what they said."
    with store.connect() as connection:
        run_id = resolve_run(connection, "latest")
        report = build_report(connection, [run_id])
        assert unreviewed in report.limitations
        assert [(each.one, each.other, each.pairs) for each in report.agreement] == [
            ("judge:judge", "judge:judge-two", 6)
        ]
        review(store, tmp_path, f"{MET}fail\n\n\n\nquit\n", "--reviewer", "jane")
        report = build_report(connection, [run_id])
    assert unreviewed not in report.limitations
    assert [(each.other, each.what, each.agreeing, each.pairs) for each in report.agreement][
        1:
    ] == [
        ("jane", "items", 3, 3),
        ("jane", "verdicts", 0, 1),
    ]
    reviewable(store, tmp_path, judging_url, "One?", "Two?", judges=())
    with store.connect() as connection:
        report = build_report(connection, [resolve_run(connection, run) for run in ("1", "2")])
    assert {funnel.series: funnel.judged for funnel in report.funnels} == {
        "talker (run 1)": 2,
        "talker (run 2)": None,
    }


def written(sheet: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(sheet.read_bytes().decode("utf-8-sig"), newline="")))


def filled(sheet: Path, **answers: dict[str, str]) -> None:
    """Write answers into the rows of an exported file, by the row's item."""
    heading, *cells = written(sheet)
    rows = [dict(zip(heading, row, strict=True)) for row in cells]
    for row in rows:
        row.update(answers.get(row["item"].replace(".", "_"), {}))
    with sheet.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, heading)
        writer.writeheader()
        writer.writerows(rows)


def test_a_spreadsheet_goes_out_and_comes_back_once(
    store: Store, judging_url: str, tmp_path: Path
) -> None:
    reviewable(store, tmp_path, judging_url, "=HYPERLINK(1)", "Two?")
    options = ("latest", "r.csv", "--reviewer", "jane")
    done = invoke(store.url, "review", "export", *options, cwd=tmp_path)
    assert done.exit_code == 0, done.output
    sheet = tmp_path / "r.csv"
    cells = [cell for row in written(sheet) for cell in row]
    assert any("=HYPERLINK(1)" in cell for cell in cells)
    assert not any(cell.lstrip()[:1] in tuple("=+-@") for cell in cells if cell)
    overall = {"verdict": "FAIL", "severity": "S0", "tags": "a, b", "notes": "'=cmd()"}
    filled(sheet, overall=overall, must_not_do_1={"verdict": "happened"})
    filled_in = sheet.read_bytes()
    again = invoke(store.url, "review", "export", "latest", "r.csv", cwd=tmp_path)
    assert again.exit_code == 2 and "[file-exists]" in again.stderr
    assert sheet.read_bytes() == filled_in, "what somebody filled in is not written over"

    (tmp_path / "saved again.csv").write_bytes(sheet.read_bytes() + b"\r\n")
    for file, new in (("r.csv", 2), ("r.csv", 0), ("saved again.csv", 0)):
        done = invoke(
            store.url, "review", "import", "latest", file, "--reviewer", "jane", cwd=tmp_path
        )
        assert f"new and on record: {new} of 2 verdicts" in done.stderr
    said = reviewed(store)
    assert len(said) == 2
    assert (said[0].verdict, said[0].severity, said[0].tags) == ("fail", "S0", ("a", "b"))
    assert said[0].notes == "=cmd()" and said[0].blind and said[0].file_sha256
    assert [(each.item, each.verdict) for each in said[0].items] == [("must_not_do.1", "happened")]

    review(store, tmp_path, f"{MET}pass\n\n\n\nquit\n", "--reviewer", "jane", "--again")
    invoke(store.url, "review", "import", "latest", "r.csv", "--reviewer", "jane", cwd=tmp_path)
    assert len(reviewed(store)) == 3, "what a file said before, it does not say anew"


def test_everything_wrong_with_a_spreadsheet_is_said_at_once_and_asked_again_at_a_terminal(
    store: Store, judging_url: str, tmp_path: Path
) -> None:
    reviewable(store, tmp_path, judging_url, "One?")
    invoke(store.url, "review", "export", "latest", "r.csv", cwd=tmp_path)
    known = written(tmp_path / "r.csv")[1][0]
    content = [
        "evaluation_id,item,verdict,severity,tags,notes",
        f'{known},overall,good,S7,,"two\nlines"',
        f"{known},must_do.1,maybe,,,",
        f"{known},must_do.2,met,,,",
        f"{known},pass_criteria.1,met,S1,,",
        f"{known},pass_criteria.1,met,,,",
        "00000000-0000-0000-0000-000000000001,overall,pass,,,",
        "nonsense,overall,pass,,,",
        f"{known},must_not_do.1,did_not_happen,,,,,surplus",
    ]
    (tmp_path / "bad.csv").write_text("\n".join(content))
    done = invoke(store.url, "review", "import", "latest", "bad.csv", cwd=tmp_path)
    assert done.exit_code == 2
    for place in (
        "bad.csv:2: verdict", "bad.csv:2: severity", "bad.csv:4: verdict", "bad.csv:5: item",
        "bad.csv:6: severity", "bad.csv:7: item", "bad.csv:8: evaluation_id",
        "bad.csv:9: evaluation_id", "bad.csv:10: has 8 cells",
    ):  # fmt: skip
        assert place in done.stderr, (place, done.stderr)
    assert "9 problems" in done.stderr and reviewed(store) == []

    answers = "perhaps\n\nhappened\nmet\ndid\nhappened\nP\nS9\nnone\n\n\n"
    done = review(store, tmp_path, answers, "--reviewer", "jane")
    assert done.stdout.count("write one of") + done.stderr.count("write one of") == 3
    assert [each.verdict for each in reviewed(store)] == ["pass"]
    for name in ("ja\x1bne", "", " "):
        wrong = review(store, tmp_path, "", "--reviewer", name)
        assert wrong.exit_code == 2 and "visible characters" in wrong.stderr, name


@pytest.mark.slow
def test_two_who_review_at_once_lose_nothing(
    store: Store, judging_url: str, tmp_path: Path
) -> None:
    reviewable(store, tmp_path, judging_url, "One?")
    with store.connect() as connection:
        run_id = resolve_run(connection, "latest")
        (evaluation,) = recorded_evaluations(connection, read_run(connection, run_id))
    evaluation_id = evaluation.key.evaluation_id

    def say(reviewer: str) -> None:
        for number in range(5):
            opinion = ReviewInput("pass", notes=str(number))
            record_reviews(store, Reviewing(run_id, reviewer, True), {evaluation_id: opinion})

    with ThreadPoolExecutor(4) as reviewers:
        list(reviewers.map(say, ("a", "b", "c", "d")))
    with store.connect() as connection:
        found = read_reviews(connection, [evaluation_id])[evaluation_id]
    for reviewer in "abcd":
        notes = [each.notes for each in found if each.reviewer == reviewer]
        assert notes == [str(number) for number in range(5)]
    assert [each.originator_version for each in found] == list(range(1, 21))


def test_a_case_without_a_checklist_takes_a_verdict_alone(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 2)
    write_configuration(tmp_path, mock_url)
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    done = review(store, tmp_path, "pass\n\n\n\nfail\n\n\n\n")
    assert done.exit_code == 0, done.output
    found = status(store, tmp_path)
    assert [(row["one"], row["what"], row["pairs"]) for row in found["agreement"]] == [
        ("checks", "verdicts", 2)
    ]
    table = invoke(store.url, "review", "status", "latest", cwd=tmp_path)
    assert table.exit_code == 0 and "kappa" in table.stdout
