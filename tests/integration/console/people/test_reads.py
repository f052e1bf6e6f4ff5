"""By choice the console records who looks at what, in a file beside the log."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import orjson

from failproof_es.console.settings import PeopleSettings
from failproof_es.store.store import Store
from tests.console import console, settings_for
from tests.console_people import logged_in, write_accounts


def recorded(file: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in file.read_bytes().splitlines()]


def test_each_request_of_a_person_is_recorded_before_it_is_answered(
    store: Store, tmp_path: Path
) -> None:
    file = tmp_path / "reads.jsonl"
    people = PeopleSettings(
        sessions=tmp_path / "sessions.sqlite",
        accounts=write_accounts(tmp_path / "accounts"),
        reads=file,
    )
    begun = datetime.now(UTC)
    with console(people=people, **settings_for(store.url)) as url:
        httpx.get(f"{url}/static/console.css")
        httpx.get(f"{url}/runs")
        with logged_in(url, "ann") as ann, logged_in(url, "bob") as bob:
            ann.get("/runs?status=failed")
            bob.get("/runs/999")
            bob.get("/runs.csv")
            own = [(line["person"], line["path"], line["query"]) for line in recorded(file)]
            assert own == [
                ("ann", "/runs", "status=failed"), ("bob", "/runs/999", ""),
                ("bob", "/runs.csv", ""),
            ]  # fmt: skip
            ended = datetime.now(UTC)
            assert all(
                begun <= datetime.fromisoformat(line["at"]) <= ended for line in recorded(file)
            )
            assert file.stat().st_mode & 0o777 == 0o600
            file.unlink()  # as a rotation of logs does
            assert ann.get("/runs").status_code == 200 and len(recorded(file)) == 1

            file.unlink()
            file.mkdir()
            refused = ann.get("/runs.json")
            assert refused.status_code == 503 and refused.json()["code"] == "reads-unrecorded"
