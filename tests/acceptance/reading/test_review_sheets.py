"""A sheet knows its reviewer, its position and its blindness, whatever happens to its columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from failproof_es.events import Reviewed
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.reading.reader import find
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke
from tests.acceptance.reading.test_review import MET, review, reviewable, reviewed, status
from tests.acceptance.recording import Recording, recorded_once

Rows = list[dict[str, str]]


class Desk:
    """A folder in which sheets of the newest run are exported, changed and imported."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store, self._folder = store, folder

    def export(self, name: str, reviewer: str, *options: str) -> Rows:
        done = self._invoke("export", name, "--reviewer", reviewer, *options)
        assert done.exit_code == 0, done.output
        assert f"review import 1 {name}" in done.stderr, "`latest` may be another run by then"
        text = (self._folder / name).read_bytes().decode("utf-8-sig")
        return list(csv.DictReader(io.StringIO(text, newline="")))

    def submit(self, name: str, rows: Rows, reviewer: str, *options: str) -> Any:
        with (self._folder / name).open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return self._invoke("import", name, "--reviewer", reviewer, *options)

    def _invoke(self, verb: str, name: str, *options: str) -> Any:
        url = self._store.url
        return invoke(url, "review", verb, "latest", name, *options, cwd=self._folder)


@pytest.fixture(scope="module")
def recording(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    judging_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Recording:
    """A run of two cases, which nobody has reviewed."""

    def record(url: str, folder: Path) -> None:
        with Store.open(url) as store:
            reviewable(store, folder, judging_url, "One?", "Two?")

    return recorded_once(postgres_server, migrated_database, tmp_path_factory, record)


@pytest.fixture
def template(recording: Recording) -> str:
    return recording.database


@pytest.fixture
def desk(recording: Recording, store: Store, home: Path, tmp_path: Path) -> Desk:
    recording.copy_files(home, tmp_path)
    return Desk(store, tmp_path)


def overall(rows: Rows, case: str) -> dict[str, str]:
    return next(row for row in rows if row["item"] == "overall" and row["case"] == case)


def last_verdicts(store: Store, reviewer: str) -> list[str]:
    """The last verdict of each evaluation, in the order of the first ones."""
    found: dict[Any, str] = {}
    for event in reviewed(store):
        if event.reviewer == reviewer:
            found[event.evaluation_id] = event.verdict
    return list(found.values())


@pytest.mark.slow
def test_an_older_sheet_reverts_no_later_verdict(store: Store, desk: Desk, tmp_path: Path) -> None:
    review(store, tmp_path, f"{MET}pass\n\n\nWell done.\nquit\n", "--reviewer", "ann")
    rows = desk.export("old.csv", "ann", "--again")
    assert overall(rows, "RT-0")["verdict"] == "pass", "pre-filled"
    review(store, tmp_path, f"{MET}fail\n\n\n\nquit\n", "--reviewer", "ann", "--again")

    overall(rows, "RT-1")["verdict"] = "unclear"
    done = desk.submit("new.csv", rows, "ann")
    assert "new and on record: 1 of 2 verdicts" in done.stderr
    assert last_verdicts(store, "ann") == ["fail", "unclear"]

    overall(rows, "RT-0")["verdict"] = "unclear"
    overall(rows, "RT-1")["notes"] = "This is changed, too."
    for _ in range(2):
        refused = desk.submit("conflict.csv", rows, "ann")
        assert refused.exit_code == 2, "and the second time, too"
        for place, verdict in (("2: verdict of RT-0", "fail"), (r"\d+: verdict of RT-1", "un")):
            pattern = rf"conflict\.csv:{place}, overall: .*'{verdict}.*\[newer-verdict\]"
            assert re.search(pattern, refused.stderr)
        assert last_verdicts(store, "ann") == ["fail", "unclear"], "all or nothing"
    both = desk.submit("conflict.csv", rows, "ann", "--keep-newer", "--overwrite")
    assert both.exit_code == 2
    kept = desk.submit("conflict.csv", rows, "ann", "--keep-newer")
    assert kept.exit_code == 0 and last_verdicts(store, "ann") == ["fail", "unclear"]
    done = desk.submit("conflict.csv", rows, "ann", "--overwrite")
    assert done.exit_code == 0 and last_verdicts(store, "ann") == ["unclear", "unclear"]
    assert reviewed(store)[-1].notes == "This is changed, too."


def test_a_sheet_is_imported_for_the_reviewer_it_was_made_for(
    store: Store, desk: Desk, tmp_path: Path
) -> None:
    rows = desk.export("empty.csv", "ann")
    text = overall(rows, "RT-0")["text"]
    assert text.startswith("user:") and "\n\nmodel under test:\n" in text, (
        "which turns are scripted"
    )
    shown = review(store, tmp_path, "quit\n", "--reviewer", "ann").stdout
    assert "\nmodel under test:\n" in shown
    assert "must not do: did it happen?" in review(store, tmp_path, "happened\nquit\n").stdout
    assert [row["reviewed"] for row in status(store, tmp_path)["reviewers"]] == []
    for row in rows:
        row["verdict"] = "pass" if row["item"] == "overall" else ""
    refused = desk.submit("handed.csv", rows, "carl")
    assert refused.exit_code == 2
    assert re.search(r"handed\.csv:2: sheet: .*\[wrong-reviewer\]", refused.stderr)
    assert reviewed(store) == []
    done = desk.submit("handed.csv", rows, "carl", "--handed-on")
    assert done.exit_code == 0 and last_verdicts(store, "carl") == ["pass", "pass"]
    assert {event.sheet for event in reviewed(store)} == {rows[0]["sheet"]}

    review(store, tmp_path, f"{MET}fail\n\n\n\nquit\n", "--reviewer", "ann")
    rows = desk.export("filled.csv", "ann", "--again")
    for options in ((), ("--handed-on",), ("--overwrite",)):
        refused = desk.submit("copied.csv", rows, "dora", *options)
        assert refused.exit_code == 2 and "[wrong-reviewer]" in refused.stderr
    assert last_verdicts(store, "dora") == []


def without(rows: Rows, column: str) -> Rows:
    return [{name: cell for name, cell in row.items() if name != column} for row in rows]


def with_sheet(rows: Rows, sheet: Callable[[int], str]) -> Rows:
    return [{**row, "sheet": sheet(number)} for number, row in enumerate(rows)]


def test_blindness_comes_from_the_record_of_the_export(
    store: Store, desk: Desk, tmp_path: Path
) -> None:
    def sheets_of(reviewer: str, *options: str) -> Rows:
        rows = desk.export(f"{reviewer}.csv", reviewer, *options)
        for row in rows:
            row["verdict"] = "pass" if row["item"] == "overall" else ""
        return rows

    blind, unblinded = sheets_of("ann"), sheets_of("bob", "--unblind")
    by_hand, both = sheets_of("carl"), sheets_of("dora", "--unblind")
    after = desk.export("after.csv", "dora")
    for row, other in zip(after, both, strict=True):
        row["verdict"] = other["verdict"]
    for rows, reviewer, expected in (
        (blind, "ann", True),
        (without(unblinded, "engine"), "bob", False),
        (without(by_hand, "sheet"), "carl", None),
        (after, "dora", False),
    ):
        done = desk.submit("filled.csv", rows, reviewer)
        assert done.exit_code == 0, done.output
        assert {e.blind for e in reviewed(store) if e.reviewer == reviewer} == {expected}, reviewer
    with store.connect() as connection:
        exported = [row.event() for row in find(connection, topics=["ReviewExported"])]
        written = list(find(connection, topics=["FileWritten"]))
    assert len(exported) == 5
    assert sum(row.upcast_payload()["kind"] == "review_sheet" for row in written) == 5
    assert all(not isinstance(event, Reviewed) for event in exported)

    own, others = blind[0]["sheet"], unblinded[0]["sheet"]
    for sheet, pattern in (
        (lambda _: "sheet-" + "0" * 32, r"of this run.*\[unknown-sheet\]"),
        (lambda n: own if n else others, r"\[mixed-sheets\]"),
        (lambda n: "" if n == 3 else own, r"filled\.csv:9: sheet: .*\[empty-value\]"),
    ):
        refused = desk.submit("filled.csv", with_sheet(blind, sheet), "ann")
        assert refused.exit_code == 2 and re.search(pattern, refused.stderr), refused.stderr

    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    refused = desk.submit("filled.csv", blind, "ann")
    assert re.search(r"is a sheet of run 1.*review import 1 filled\.csv", refused.stderr)
    assert refused.stderr.count("[") == 1, "the rows of the sheet are no errors of their own"
