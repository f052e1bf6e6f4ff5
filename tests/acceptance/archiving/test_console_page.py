"""The page of an archived run: what the log still holds of it, and where the rest is."""

from __future__ import annotations

import httpx
import pytest

from failproof_es.core.case import operations_id
from tests.acceptance.archiving.conftest import Archive
from tests.console import console, settings_for
from tests.integration.console.numbers.explained import EXPLAINED
from tests.integration.console.numbers.log import AskingLog, look
from tests.integration.console.test_pages import Text

_TOPICS = "SELECT topic, count(*)::int AS n FROM {} WHERE {} GROUP BY 1"


@pytest.mark.slow
def test_it_says_what_stayed_and_where_the_rest_is_and_every_number_is_of_the_log(
    archive: Archive,
) -> None:
    archive.does("archive", "1", "--to", "old it's")
    run_id = archive.run_id()
    with console(**settings_for(archive.admin)) as url, AskingLog(archive.admin) as ask:
        for path in ("", "/results", "/cost", "/charts"):
            led = httpx.get(f"{url}/runs/1{path}", timeout=60)
            if path in ("", "/cost", "/charts"):
                assert (led.status_code, led.headers["location"]) == (303, "/runs/1/archive")
        told = httpx.get(f"{url}/runs/1.json", timeout=60)
        assert told.status_code == 404 and "archived" in told.json()["error"]
        n = look("archive", f"{url}/runs/1/archive", ask)
        [said] = ask(
            "SELECT notification_id AS position, convert_from(state, 'UTF8')::jsonb AS p "
            "FROM failproof.events WHERE originator_id = %s AND topic = 'RunArchived'",
            operations_id(run_id),
        )
        of_run = ask("SELECT notification_id AS position, topic, "
                     "convert_from(state, 'UTF8')::jsonb AS p FROM failproof.events "
                     "WHERE originator_id = %s ORDER BY originator_version", run_id)  # fmt: skip
        [ended] = [each["p"]["counts"] for each in of_run if each["topic"] == "RunCompleted"]
        gone = ask("SELECT topic, count(*)::int AS n, min(notification_id) AS low, "
                   "max(notification_id) AS high FROM failproof.archived_events "
                   "WHERE run_id = %s GROUP BY 1", run_id)  # fmt: skip
        kept = {each["topic"]: 0 for each in of_run}
        for each in of_run:
            kept[each["topic"]] += 1
        n.one("kept{}", kept)
        n.one("topics{}", {each["topic"]: each["n"] for each in gone})
        n.same("", {
            "run_number": 1, "planned": ended["planned"], "finished": ended["finished"],
            "scored": ended["scored"], "abandoned": ended["abandoned"],
            "first_event": of_run[0]["position"], "archived_event": said["position"],
            "bytes": archive.file(folder="old it's").stat().st_size,
            "events": sum(each["n"] for each in gone), "streams": said["p"]["streams"],
            "first_position": min(each["low"] for each in gone),
            "last_position": max(each["high"] for each in gone),
            "first_index": said["p"]["first_index"], "last_index": said["p"]["last_index"],
            "tree_size": said["p"]["tree_size"],
        })  # fmt: skip
        n.finish(EXPLAINED["archive"])
        page = httpx.get(f"{url}/runs/1/archive", timeout=60)
        shown = Text(page.text).text
        assert n.document["attach"] in shown and "'\"'\"'" in n.document["attach"]
        assert said["p"]["sha256"] in shown
        for link in (f"/events/{said['position']}", f"/events/{of_run[0]['position']}",
                     f"/streams/{run_id}", f"/streams/{operations_id(run_id)}",
                     "/ledger"):  # fmt: skip
            assert f'href="{link}"' in page.text
            assert httpx.get(url + link, timeout=60).status_code == 200
        [listed] = httpx.get(f"{url}/runs.json", timeout=60).json()["rows"][-1:]
        assert listed["run"]["status"] == "archived"
        chosen = httpx.get(f"{url}/runs.json?status=archived&text=acceptance", timeout=60).json()
        assert [row["run"]["run_number"] for row in chosen["rows"]] == [1]
        assert (chosen["paging"]["matching"], chosen["paging"]["total"]) == (1, 2)
        assert chosen["statuses"][-1] == {"status": "archived", "runs": 1}
        none = httpx.get(f"{url}/runs.json?status=archived&hidden=only", timeout=60).json()
        assert (none["rows"], none["paging"]["matching"]) == ([], 0)
        assert "status=archived" in httpx.get(f"{url}/runs", timeout=60).text
        archive.does("attach", archive.file(folder="old it's"))
        assert httpx.get(f"{url}/runs/1", timeout=60).status_code == 200
        assert httpx.get(f"{url}/runs/1/archive", timeout=60).status_code == 404
