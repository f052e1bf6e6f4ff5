"""Several people label a queue, at the terminal and with sheets; a third decides between them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import invoke
from tests.acceptance.reading.test_review import MET, review, reviewable, reviewed

PASS, FAIL = f"{MET}pass\n\n\n\n", f"{MET}fail\nS1\n\nIt gave in.\n"


def queue(store: Store, folder: Path, *arguments: str) -> Any:
    return invoke(store.url, "review", "queue", *arguments, cwd=folder)


def label(store: Store, folder: Path, person: str, answers: str, name: str = "audit") -> Any:
    return review(store, folder, answers, "--queue", name, "--reviewer", person)


def progress(store: Store, folder: Path, name: str = "audit") -> dict[str, Any]:
    shown = queue(store, folder, "status", "latest", name, "--json")
    assert shown.exit_code == 0, shown.stderr
    [own] = orjson.loads(shown.stdout)["queues"]
    document: dict[str, Any] = own
    return document


@pytest.mark.slow
def test_two_label_and_a_third_decides_where_they_differ(
    store: Store, judging_url: str, tmp_path: Path
) -> None:
    reviewable(store, tmp_path, judging_url, "One?", "Two?", "Three?", judges=())
    made = queue(store, tmp_path, "create", "latest", "audit", "--labels-each", "2")
    assert made.exit_code == 0 and made.stdout == "audit\n", made.stderr
    assert label(store, tmp_path, "ann", PASS * 3).exit_code == 0
    assert "3 waiting" in label(store, tmp_path, "ann", "").stderr, "nobody labels a case twice"
    second = label(store, tmp_path, "bob", PASS + FAIL + "quit\n")
    assert "ann said" not in second.stdout and "talker" not in second.stdout, "a label is blind"
    assert progress(store, tmp_path)["statuses"] == {"waiting": 1, "disputed": 1, "pass": 1}
    early = queue(store, tmp_path, "close", "latest", "audit")
    assert early.exit_code == 2 and "[labels-missing]" in early.stderr

    assert label(store, tmp_path, "cat", f"{MET}skip\n{PASS}quit\n").exit_code == 0
    settled = label(store, tmp_path, "dan", FAIL)
    assert "ann said pass" in settled.stdout and "bob said fail, S1" in settled.stdout
    assert "It gave in." in settled.stdout
    document = progress(store, tmp_path)
    assert document["statuses"] == {"pass": 2, "fail": 1}
    people = {person["person"]: person for person in document["people"]}
    assert {name: (own["labels"], own["decisions"]) for name, own in people.items()} == {
        "ann": (3, 0), "bob": (2, 0), "cat": (1, 0), "dan": (0, 1),
    }  # fmt: skip
    assert all(own["seconds"] >= 0 for own in people.values())
    with store.connect() as connection:
        outcomes = connection.execute(
            "SELECT outcome, reviewers FROM projections.people_results ORDER BY 1, 2"
        ).fetchall()
    assert outcomes == [("failed_by_people", 3), ("passed_by_people", 2), ("passed_by_people", 2)]

    closed = queue(store, tmp_path, "close", "latest", "audit")
    assert closed.exit_code == 0, closed.stderr
    late = label(store, tmp_path, "eve", PASS)
    assert late.exit_code == 2 and "[queue-closed]" in late.stderr
    assert len(reviewed(store)) == 7 and {one.queue for one in reviewed(store)} == {"audit"}


def test_a_sheet_holds_what_the_queue_gives_to_its_reviewer(
    store: Store, judging_url: str, tmp_path: Path
) -> None:
    reviewable(store, tmp_path, judging_url, "One?", "Two?", "Three?", judges=())
    assert queue(store, tmp_path, "create", "latest", "audit").exit_code == 0
    label(store, tmp_path, "ann", PASS + "quit\n")
    export = ("export", "latest", "s.csv", "--queue", "audit", "--reviewer", "bob")
    written = invoke(store.url, "review", *export, cwd=tmp_path)
    assert written.exit_code == 0 and "the label policy:" in written.stderr
    with (tmp_path / "s.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["case"] for row in rows} == {"RT-1", "RT-2"}
    assert {row["model"] for row in rows} == {""}, "a blind sheet names no model"
    for row in rows:
        row["verdict"] = "fail" if row["item"] == "overall" else ""
    with (tmp_path / "s.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    sheet = ("import", "latest", "s.csv", "--reviewer", "bob")
    assert invoke(store.url, "review", *sheet, cwd=tmp_path).exit_code == 0
    assert progress(store, tmp_path)["statuses"] == {"pass": 1, "fail": 2}


def test_a_queue_is_for_whom_it_names_and_of_what_was_chosen(
    store: Store, judging_url: str, tmp_path: Path
) -> None:
    reviewable(store, tmp_path, judging_url, "One?", "Two [forbidden]", "Three [forbidden]")
    made = queue(store, tmp_path, "create", "latest", "failed", "--only", "failures",
                 "--severity", "S2", "--reviewer", "ann", "--adjudicator", "eve")  # fmt: skip
    assert "2 of 2 evaluations" in made.stderr
    document = progress(store, tmp_path, "failed")
    assert document["chosen_by"] == "--only failures --severity S2"
    stranger = label(store, tmp_path, "bob", PASS, "failed")
    assert stranger.exit_code == 2 and "[not-assigned]" in stranger.stderr
    assert "it is for ann, eve" in stranger.stderr
    nothing = label(store, tmp_path, "eve", "", "failed")
    assert nothing.exit_code == 0 and "0 verdicts by eve; failed: 2 waiting" in nothing.stderr
    half = queue(store, tmp_path, "create", "latest", "half", "--random", "50", "--seed", "4")
    assert "2 of 3 evaluations" in half.stderr
    for refused, code in (
        (("create", "latest", "half"), "name-taken"),
        (("create", "latest", "a/b"), "invalid-name"),
        (("create", "latest", "none", "--only", "unscored"), "nothing-to-review"),
        (("status", "latest", "missing"), "unknown-queue"),
        (("close", "latest", "missing"), "unknown-queue"),
    ):
        answer = queue(store, tmp_path, *refused)
        assert answer.exit_code == 2 and f"[{code}]" in answer.stderr, answer.stderr
    both = (
        label(store, tmp_path, "ann", "", "failed"),
        review(store, tmp_path, "", "--queue", "failed", "--only", "failures"),
    )
    assert "[options-conflict]" in both[1].stderr


def test_whoever_saw_the_engine_labels_no_blind_queue(
    store: Store, judging_url: str, tmp_path: Path
) -> None:
    reviewable(store, tmp_path, judging_url, "One?", "Two?")
    assert queue(store, tmp_path, "create", "latest", "audit").exit_code == 0
    review(store, tmp_path, PASS + "quit\n", "--reviewer", "ann", "--unblind")
    label(store, tmp_path, "ann", PASS)
    assert [one.blind for one in reviewed(store)] == [False, True], "only the other evaluation"
    assert progress(store, tmp_path)["statuses"] == {"waiting": 1, "pass": 1}
    sheet = ("export", "latest", "s.csv", "--unblind", "--reviewer", "bob")
    assert invoke(store.url, "review", *sheet, cwd=tmp_path).exit_code == 0
    refused = label(store, tmp_path, "bob", PASS)
    assert refused.exit_code == 2 and "[not-blind]" in refused.stderr
    both = ("--labels-each", "2", "--unblind")
    assert queue(store, tmp_path, "create", "latest", "open", *both).exit_code == 0
    assert "the engine: scored" in label(store, tmp_path, "bob", PASS, "open").stdout
