"""The queue of what needs a person is that of `review` and of SQL over the log, run by run."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

from failproof_es.reading.overviews import review_queue
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke
from tests.acceptance.dialects.test_redteam import judging_server, written_case
from tests.acceptance.reading.test_people_judge import FAIL, PASS, facts, write
from tests.console import console, settings_for
from tests.integration.console.numbers.log import AskingLog
from tests.integration.console.numbers.test_numbers_of_events import compare_review
from tests.integration.console.test_pages import Text


def require_disagreements(url: str) -> None:
    """Each number of disagreements leads to so many rows, each with the votes of both."""
    text = httpx.get(url + "/runs/1/agreement", timeout=60).text
    numbers = re.findall(r'href="([^"]+)#votes"[^>]*>(\d+)</a>', text)
    assert numbers and "disagree on" not in text
    for href, number in numbers:
        link = unescape(href)
        shown = Text(httpx.get(url + link, timeout=60).text).text
        assert "ann and bob disagree on" in shown and shown.count("bob :") == int(number)
        page = httpx.get(url + link.replace("?", ".json?"), timeout=60).json()
        assert len(page["disagreements"]) == int(number)
        for item in page["disagreements"]:
            first, second = item["votes"]
            assert (first["by"], second["by"]) == ("ann", "bob")
            assert first["verdict"] != second["verdict"]


def test_the_queue_is_what_is_left_to_people(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with judging_server() as server:
        write(tmp_path, server, written_case(1), written_case(2), written_case(4))
        assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    ann = ("review", "latest", "--reviewer", "ann")
    assert invoke(store.url, *ann, cwd=tmp_path, answers=PASS + FAIL + "quit\n").exit_code == 0
    bob = ("review", "latest", "--reviewer", "bob")
    invoke(store.url, *bob, cwd=tmp_path, answers=FAIL + "quit\n")
    told = facts(store, tmp_path)["reviews"]
    with console(**settings_for(store.url)) as url, AskingLog(store.url) as ask:
        compare_review(url, ask)
        page = httpx.get(url + "/review.json?state=all", timeout=60).json()
        states = {each["state"]: each["evaluations"] for each in page["states"]}
        assert {name: states[name] for name in told} == told
        assert states["open"] == told["awaiting"] + told["disputed"] + told["unclear"] == 2
        assert sorted(each["state"] for each in page["rows"]) == ["awaiting", "disputed", "fail"]
        positions = [each["position"] for each in page["rows"]]
        assert positions == sorted(positions)
        opened = httpx.get(url + "/review.json", timeout=60).json()
        assert sorted(each["state"] for each in opened["rows"]) == ["awaiting", "disputed"]
        assert (opened["paging"]["matching"], opened["paging"]["total"]) == (2, 3)
        (run,) = opened["runs"]
        assert (run["open"], run["command"]) == (2, "failproof-es review 1 --only unscored")
        text = httpx.get(url + "/review", timeout=60).text
        assert run["command"] in text and "1 hidden by this filter" in text
        first = httpx.get(url + "/review.json?limit=1", timeout=60).json()
        after = first["paging"]["next"]
        second = httpx.get(url + f"/review.json?limit=1&after={after}", timeout=60).json()
        assert first["rows"] + second["rows"] == opened["rows"]
        lines = httpx.get(url + "/review.jsonl?state=fail", timeout=60).text.splitlines()
        assert [json.loads(line)["reviewers"] for line in lines] == [1]
        assert httpx.get(url + "/review.json?run=2", timeout=60).json()["rows"] == []
        assert (
            httpx.get(url + "/review.json?run=1&state=all", timeout=60).json()["rows"]
            == (page["rows"])
        )
        require_disagreements(url)
        results = Text(httpx.get(url + "/runs/1/results", timeout=60).text).text
        assert "failed by people answer awaiting_review ann: fail, S1" in results
        own = next(row for row in page["rows"] if row["state"] == "fail")["evaluation_id"]
        evaluation = Text(httpx.get(f"{url}/evaluations/{own}", timeout=60).text).text
        assert re.search(r"Class answer Severity S\d Latency", evaluation)
        monkeypatch.setattr(review_queue, "LOOKED_AT", 1)
        for chosen in ("state=fail", "state=disputed&run=1", "state=all", "state=unclear"):
            state = chosen.partition("&")[0].partition("=")[2]
            found: list[Any] = []
            following, pages = "0", 0
            while following is not None:
                asked = f"{url}/review.json?{chosen}&after={following}"
                told = httpx.get(asked, timeout=60).json()
                pages, found = pages + 1, found + told["rows"]
                following = told["paging"]["next"]
            assert found == [each for each in page["rows"] if state in ("all", each["state"])]
            assert pages == 4 and told["looked_at"] is None
        text = httpx.get(url + "/review?state=unclear", timeout=60).text
        assert "None among the 1 evaluations from here on." in text
        lines = httpx.get(url + "/review.jsonl?state=all", timeout=60).text.splitlines()
        assert [json.loads(line) for line in lines] == page["rows"]
