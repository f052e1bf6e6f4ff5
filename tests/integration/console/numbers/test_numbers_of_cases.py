"""Comparisons, suites and cases: SQL says the same."""

from __future__ import annotations

from collections import Counter
from typing import Any

import httpx
import pytest

from failproof_es.console.pages import compare
from tests.integration.console.numbers.explained import EXPLAINED
from tests.integration.console.numbers.log import (
    Ask,
    again,
    look,
    paged,
    rate,
)

PAIRS = (
    "SELECT a.model, a.prompt_id, a.repetition, a.passed AS base, b.passed AS other, "
    "a.class AS base_class, b.class AS other_class, a.latency_ms AS base_ms, "
    "b.latency_ms AS other_ms, suite, category FROM evaluation AS a "
    "JOIN evaluation AS b USING (model, prompt_id, repetition) JOIN stored_case USING (prompt_id) "
    "WHERE a.number = 1 AND b.number = 2 AND a.scored AND b.scored"
)
"""What runs 1 and 2 both scored."""


def test_compare(served: str, ask: Ask) -> None:
    n = look("compare", f"{served}/compare?base=1&other=2&show=all", ask)
    counted = ask(
        "SELECT model, count(*) FILTER (WHERE base AND other) AS both_passed, "
        "count(*) FILTER (WHERE NOT base AND NOT other) AS both_failed, "
        "count(*) FILTER (WHERE base AND NOT other) AS worse, "
        "count(*) FILTER (WHERE NOT base AND other) AS better, "
        "avg(other::int)::float8 - avg(base::int)::float8 AS difference, "
        "count(DISTINCT prompt_id) AS clusters "
        f"FROM ({PAIRS}) AS pairs GROUP BY model ORDER BY model"
    )
    assert counted[0]["worse"] and counted[0]["better"] and counted[0]["both_failed"]
    both = [
        each
        | rate(
            {"passed": each["both_passed"] + each["worse"],
             "failed": each["both_failed"] + each["better"]}, "base."
        )
        | rate(
            {"passed": each["both_passed"] + each["better"],
             "failed": each["both_failed"] + each["worse"]}, "other."
        )
        for each in counted
    ]  # fmt: skip
    for each in both:
        each["other_model"] = each.pop("model")
    n.rows("models", both, key=("other_model",))
    [chosen] = [e for e in both if e["other_model"] == n.document["chosen"]["other_model"]]
    n.same("chosen", {name: value for name, value in chosen.items() if name != "other_model"})
    left = ask(
        "SELECT count(*) FILTER (WHERE number = 1 AND abandoned) AS first, "
        "count(*) FILTER (WHERE number = 2 AND abandoned) AS second "
        "FROM evaluation WHERE model = %s", chosen["other_model"]
    )  # fmt: skip
    n.rows("models[].unpaired", [*left, *left])
    n.rows("chosen.unpaired", left)
    [cases] = ask("SELECT count(DISTINCT prompt_id) AS same FROM evaluation WHERE number IN (1, 2)")
    same = cases["same"]
    n.same(
        "",
        {
            "same_cases": same,
            "cases.same": same,
            "only_base_cases": 0,
            "only_other_cases": 0,
            "compared_cases": same,
        },
    )
    n.same("", {"base.run_number": 1, "other.run_number": 2})
    rows = ask(f"{PAIRS} AND model = %s", chosen["other_model"])
    of_model = f"FROM ({PAIRS}) AS pairs WHERE model = %s"
    paged(n, len(rows))
    assert all(each["base_ms"] and each["other_ms"] for each in rows)
    found: list[Any] = []
    after = None
    while True:
        url = f"{served}/compare?base=1&other=2&show=all&limit=50"
        again(n, url + (f"&after={after}" if after else ""), ask)
        found += [each["pair"] for each in n.document["rows"]]
        if (after := n.document["paging"]["next"]) is None:
            break
    told = sorted((each["repetition"], each["base_ms"], each["other_ms"]) for each in found)
    assert told == sorted((each["repetition"], each["base_ms"], each["other_ms"]) for each in rows)
    for name in ("repetition", "base_ms", "other_ms"):
        n.one(f"rows[].pair.{name}", [each["pair"][name] for each in n.document["rows"]])
    again(n, f"{served}/compare?base=1&other=2", ask)
    n.rows(
        "classes",
        ask(f"SELECT base_class AS base, other_class AS other, count(*) AS pairs {of_model} "
            "AND base <> other GROUP BY 1, 2", chosen["other_model"]),
        key=("base", "other"),
    )  # fmt: skip
    n.rows(
        "groups",
        ask("SELECT suite, category, count(*) AS pairs, "
            "count(*) FILTER (WHERE base AND NOT other) AS worse, "
            f"count(*) FILTER (WHERE NOT base AND other) AS better {of_model} GROUP BY 1, 2 "
            "HAVING bool_or(base <> other)", chosen["other_model"]),
        key=("suite", "category"),
    )  # fmt: skip
    n.finish(EXPLAINED["compare"])


def test_suites(served: str, ask: Ask) -> None:
    n = look("suites", f"{served}/suites", ask)
    told = ask(
        "SELECT suite, count(DISTINCT name) AS cases, count(*) AS versions, "
        "min(position) AS first_position, (SELECT count(DISTINCT number) FROM evaluation "
        "JOIN stored_case AS c USING (prompt_id) WHERE c.suite = s.suite) AS runs, "
        "(SELECT max(number) FROM evaluation JOIN stored_case AS c USING (prompt_id) "
        "WHERE c.suite = s.suite) AS newest_run FROM stored_case AS s GROUP BY suite ORDER BY suite"
    )
    n.rows("rows", told)
    paged(n, len(told))
    n.finish(EXPLAINED["suites"])


def test_cases(served: str, ask: Ask) -> None:
    n = look("cases", f"{served}/cases?suite=language", ask)
    told = ask(
        "SELECT prompt_id::text, position FROM stored_case WHERE suite = 'language' ORDER BY name"
    )
    [every] = ask("SELECT count(*) AS cases FROM stored_case")
    n.rows("rows", told)
    paged(n, len(told), every["cases"])
    n.finish(EXPLAINED["cases"])


@pytest.mark.parametrize("case", ["case-04", "case-07"])
def test_case(served: str, ask: Ask, case: str) -> None:
    [stored] = ask("SELECT * FROM stored_case WHERE name = %s", case)
    prompt = stored["prompt_id"]
    n = look("case", f"{served}/cases/{prompt}", ask)
    n.one("position", stored["position"])
    grouped = (
        "count(*) FILTER (WHERE passed) AS passed, count(*) FILTER (WHERE NOT passed) AS failed, "
        "count(DISTINCT number) AS runs, count(*) AS evaluations, "
        "count(*) FILTER (WHERE abandoned) AS abandoned FROM evaluation WHERE prompt_id = %s"
    )
    counted = ask(f"SELECT model, {grouped} GROUP BY 1 ORDER BY 1", prompt)
    n.rows(
        "models",
        [
            {name: each[name] for name in ("model", "runs", "evaluations", "abandoned")}
            | {"awaiting_review": 0}
            | rate(each)
            for each in counted
        ],
    )
    trend = ask(
        f"SELECT model, number AS run_number, {grouped} GROUP BY 1, 2 ORDER BY 1, 2", prompt
    )
    places: Counter[str] = Counter()
    for each in trend:
        places[each["model"]] += 1
        each["attempt"] = places[each["model"]]
        each["rate"] = rate(each)["passed.rate"]
    names = ("run_number", "attempt", "passed", "failed", "rate")
    n.rows("models[].trend", [{name: each[name] for name in names} for each in trend])
    rows = ask(
        "SELECT id::text AS evaluation_id, number AS run_number, repetition, latency_ms, "
        "last_position FROM evaluation WHERE prompt_id = %s", prompt
    )  # fmt: skip
    n.rows("rows", rows, key=("evaluation_id",))
    paged(n, len(rows))
    n.finish(EXPLAINED["case"])


def test_a_model_that_changed_is_listed_before_one_that_did_not(
    served: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against a model without evaluations the first model has no pair that differs."""
    first, second = "mock", "mock-large"
    monkeypatch.setattr(compare, "counterparts", lambda *_: [(first, "nobody"), (second, second)])
    url = f"{served}/compare.json?base=1&other=2"
    page = httpx.get(url, timeout=60).json()
    assert [each["other_model"] for each in page["models"]] == [second, first]
    assert page["chosen"] == page["models"][0]
    assert page["paging"]["matching"] == page["chosen"]["worse"] + page["chosen"]["better"] > 0
    assert page["rows"] and page["groups"] and page["classes"]
    every = httpx.get(url.replace(".json", ".jsonl"), timeout=60).text.splitlines()
    assert len(every) == page["paging"]["matching"]
    quiet = httpx.get(f"{url}&model={first}", timeout=60).json()
    assert (quiet["chosen"]["other_model"], quiet["rows"]) == (first, [])
    tabs = httpx.get(url.replace(".json", ""), timeout=60).text
    assert f"model={second}&amp;show=worse" in tabs
