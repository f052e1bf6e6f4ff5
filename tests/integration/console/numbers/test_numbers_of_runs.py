"""The lists of runs and results, a run, its cost and its charts: SQL says the same."""

from __future__ import annotations

from collections import Counter
from typing import Any

import httpx
import orjson
import pytest

from tests.integration.console.numbers.explained import EXPLAINED
from tests.integration.console.numbers.log import (
    BY_MODEL,
    COST,
    TREND,
    Ask,
    look,
    paged,
    rate,
)


def test_runs(served: str, ask: Ask) -> None:
    n = look("runs", f"{served}/runs", ask)
    runs = ask(
        "SELECT run.*, (p #>> '{experiment,overlapping}')::int AS overlapping, "
        "(SELECT count(*) FROM run AS r WHERE r.experiment = run.experiment) AS attempts, "
        f"(SELECT {COST} FROM answer WHERE answer.run_id = run.run_id) AS cost_usd, finished, "
        f"{CHARGED}) AS possibly_charged "
        "FROM run JOIN counts USING (number) WHERE counts.model IS NULL ORDER BY number DESC"
    )
    names = (
        "attempt", "attempts", "overlapping", "planned", "finished", "repetitions", "cost_usd",
        "possibly_charged",
    )  # fmt: skip
    n.rows(
        "rows",
        [
            {"run.run_number": each["number"]} | {f"run.{name}": each[name] for name in names}
            for each in runs
        ],
    )
    counted = ask(f"{BY_MODEL} ORDER BY number DESC, model")
    of_group = ("passed", "failed", "scored")
    n.rows(
        "rows[].run.passed",
        [
            {name: each[name] for name in of_group}
            | {"rate": rate(each)["passed.rate"], "bounds": rate(each)["passed.bounds"]}
            | {"unscored": each["abandoned"]}
            for each in counted
        ],
    )
    rates = {(each["number"], each["model"]): rate(each) for each in counted}
    changes = {  # run 2 is the attempt after run 1
        key: told["passed.rate"] - rates[1, key[1]]["passed.rate"]
        for key, told in rates.items()
        if key[0] == 2
    }
    n.rows("rows[].models", [told | {"change": changes.get(key)} for key, told in rates.items()])
    n.one("hidden_runs", 0)
    n.rows("rows[].models[].trend", [*ask(TREND), *ask(TREND)])
    told = ask(
        "SELECT count(*) FILTER (WHERE e.topic = s) AS runs FROM unnest(ARRAY['x', 'RunPaused', "
        "'RunCompleted', 'RunFailed', 'RunGivenUp', 'RunArchived']) WITH ORDINALITY "
        "AS s (s, place), log AS e GROUP BY s, place ORDER BY place"
    )
    n.rows("statuses", told)
    n.rows(
        "models",
        ask(
            "SELECT m ->> 'key' AS model, count(*) AS runs FROM run, "
            "jsonb_array_elements(p -> 'models') AS m GROUP BY 1"
        ),
        key=("model",),
    )
    paged(n, len(runs))
    n.finish(EXPLAINED["runs"])


UNTOLD = (
    "count(*) FILTER (WHERE input_tokens IS NULL) AS input_tokens_unknown, "
    "count(*) FILTER (WHERE output_tokens IS NULL) AS output_tokens_unknown"
)
STANDING = (
    "planned", "finished", "scored", "passed", "failed", "abandoned", "lost", "in_flight",
    "requests", "answers", "retries", "failed_requests", "orphaned_requests", "awaiting_review",
    "carried_over",
)  # fmt: skip


@pytest.mark.parametrize("number", [1, 2, 3])
def test_run(served: str, ask: Ask, number: int) -> None:
    n = look("run", f"{served}/runs/{number}", ask)
    [run] = ask("SELECT * FROM run WHERE number = %s", number)
    [more] = ask(
        "SELECT count(*) FILTER (WHERE abandoned_by = 'awaiting_review') AS awaiting_review, "
        "(SELECT count(*) FROM log WHERE topic = 'CarriedOver' AND run_id = %s) AS carried_over, "
        "0 AS nothing FROM evaluation WHERE number = %s", run["run_id"], number
    )  # fmt: skip
    models = ask(f"{BY_MODEL} AND number = %s ORDER BY model", number)
    [whole] = ask("SELECT * FROM counts WHERE model IS NULL AND number = %s", number)

    def standing(row: dict[str, Any], planned: int) -> dict[str, Any]:
        told = row | more | {"planned": planned}
        return {f"counts.{name}": told[name] for name in STANDING} | rate(row)

    def accuracies(model: str) -> dict[str, Any]:
        [told] = ask(
            "SELECT avg(of_suite) AS mean_of_suites, sum(total) / nullif(sum(measured), 0) "
            "AS by_case FROM (SELECT avg(accuracy) AS of_suite, sum(accuracy) AS total, "
            "count(accuracy) AS measured FROM evaluation JOIN stored_case USING (prompt_id) "
            "WHERE number = %s AND model = %s GROUP BY suite) AS by_suite", number, model
        )  # fmt: skip
        return {f"accuracy.{name}": value for name, value in told.items()}

    together = standing(whole, run["planned"])
    [planned] = ask(
        "SELECT count(DISTINCT prompt_id) AS planned_cases FROM evaluation WHERE number = %s",
        number,
    )
    n.same("", planned | {"repetitions": run["repetitions"]})
    together |= accuracies(models[0]["model"])
    if len(models) > 1:
        together |= dict.fromkeys(accuracies(models[0]["model"]))
        together |= {name: None for name in together if "passed" in name or name == "counts.failed"}
    n.same("", together)
    n.rows(
        "by_model",
        [
            {"model": each["model"]}
            | standing(each, run["planned"] // len(models))
            | accuracies(each["model"])
            | ask(f"SELECT {COST} AS cost_usd, {CHARGED} AND charged.model = run.model) "
                  "AS possibly_charged FROM answer AS run WHERE run_id = %s AND model = %s "
                  "GROUP BY run_id, model", run["run_id"], each["model"])[0]
            for each in models
        ],
        key=("model",),
    )  # fmt: skip
    for shown in n.document["by_model"]:
        classes = ask(
            "SELECT coalesce(class, 'error') AS class, count(*) AS found FROM evaluation "
            "WHERE number = %s AND model = %s GROUP BY 1", number, shown["model"]
        )  # fmt: skip
        assert shown["classes"] == {each["class"]: each["found"] for each in classes}
    n.one("by_model[].classes{}", [each["classes"] for each in n.document["by_model"]])
    alone = n.document["by_model"][0]["classes"] if len(models) == 1 else None
    n.one("classes{}", alone)
    n.rows(
        "by_suite",
        [
            {name: each[name] for name in ("model", "suite", "cases", "finished", "abandoned",
                                           "accuracy", "scored")} | rate(each)
            for each in ask(
                "SELECT e.model, suite, count(DISTINCT prompt_id) AS cases, count(*) AS finished, "
                "count(*) FILTER (WHERE passed) AS passed, "
                "count(*) FILTER (WHERE NOT passed) AS failed, "
                "count(*) FILTER (WHERE abandoned) AS abandoned, avg(accuracy) AS accuracy, "
                "count(*) FILTER (WHERE scored) AS scored "
                "FROM evaluation AS e JOIN stored_case USING (prompt_id) WHERE number = %s "
                "GROUP BY 1, 2", number)
        ],
        key=("model", "suite"),
    )  # fmt: skip
    [told] = ask(
        "SELECT count(DISTINCT (coalesce(p ->> 'judge', p ->> 'model_key'), p ->> 'kind', "
        "p ->> 'message')) AS messages FROM log WHERE topic = 'ErrorRecorded' AND run_id = %s",
        run["run_id"],
    )
    n.one("more_errors", told["messages"] - len(n.document["errors"]))
    n.rows(
        "errors",
        ask(
            "SELECT coalesce(p ->> 'judge', p ->> 'model_key') AS asked, p ->> 'kind' AS kind, "
            "p ->> 'message' AS message, count(*) AS requests FROM log "
            "WHERE topic = 'ErrorRecorded' AND run_id = %s GROUP BY 1, 2, 3", run["run_id"]
        ),
        key=("asked", "kind", "message"),
    )  # fmt: skip
    n.rows(
        "unscored_reasons",
        ask(
            "SELECT model, abandoned_by AS kind, reason, count(*) AS evaluations FROM evaluation "
            "WHERE number = %s AND abandoned GROUP BY 1, 2, 3", number
        ),
        key=("model", "kind", "reason"),
    )  # fmt: skip

    def unscored(model: str | None) -> dict[str, int]:
        groups: Counter[str] = Counter()
        for each in n.document["unscored_reasons"]:
            if model in (None, each["model"]):
                groups[each["group"]] += each["evaluations"]
        return dict(groups)

    n.one("unscored{}", unscored(None))
    n.one("by_model[].unscored{}", [unscored(each["model"]) for each in n.document["by_model"]])
    [spent] = ask(
        f"SELECT {COST} AS cost_usd, coalesce(sum(cost_usd), 0)::float8 AS known_usd, "
        "count(*) FILTER (WHERE cost_usd IS NULL) AS unpriced_answers, "
        "sum(input_tokens)::int AS input_tokens, sum(output_tokens)::int AS output_tokens, "
        f"{UNTOLD}, "
        "(%s::jsonb #>> '{configuration,execution,max_spend_usd}')::float8 AS max_spend_usd "
        "FROM answer WHERE run_id = %s", orjson.dumps(run["p"]).decode(), run["run_id"]
    )  # fmt: skip
    n.same("spending", spent | charged(ask, number))
    n.rows(
        "history",
        ask(
            "SELECT position, topic FROM log WHERE stream = %s "
            "AND topic ~ '^Run(Started|Completed|Validated|Sealed)$' ORDER BY position",
            run["run_id"],
        ),
    )
    attempts = ask(
        "SELECT c.number AS run_number, attempt, planned, finished, scored, abandoned, "
        "(SELECT count(DISTINCT e.prompt_id) FROM evaluation AS e WHERE e.number = c.number) "
        "AS shared_cases FROM counts AS c JOIN run USING (number) WHERE model IS NULL "
        "AND experiment = %s ORDER BY number", run["experiment"]
    )  # fmt: skip
    n.same("attempts", {"attempt": run["attempt"], "attempts": len(attempts), "others_before": 0})
    n.rows("attempts.others", [each for each in attempts if each["run_number"] != number])
    n.same("", {"run_number": number, "skipped_defects": more["nothing"]})
    n.one("contradictions", more["nothing"])
    assert set(n.document["reviews"].values()) == {0}
    n.one("reviews{}", n.document["reviews"])
    n.one(
        "validation.checked{}",
        ask("SELECT count(*) AS evaluations, sum(requests)::int AS requests, "
            "sum(answers)::int AS responses, "
            "(SELECT count(*) FROM log WHERE stream IN (SELECT id FROM evaluation "
            "WHERE number = %s)) AS events FROM evaluation WHERE number = %s",
            number, number)[0],
    )  # fmt: skip
    if attempts[1:]:
        n.finish(EXPLAINED["run"])


def test_results(served: str, ask: Ask) -> None:
    n = look("results", f"{served}/runs/1/results?limit=200", ask)
    told = ask(
        "SELECT id::text AS evaluation_id, repetition, accuracy, requests, retries, "
        "latency_ms, CASE WHEN answers > 0 THEN cost_usd END AS cost_usd, last_position "
        "FROM evaluation WHERE number = 1"
    )
    n.rows("rows", told, key=("evaluation_id",))
    [run] = ask("SELECT * FROM run WHERE number = 1")
    [head] = ask("SELECT max(position) AS head FROM log")
    n.same("", {"planned": run["planned"], "run_number": 1, "unfinished": 0, "newer": 0,
                "up_to": head["head"]})  # fmt: skip
    paged(n, len(told))
    assert facets_of(n.document) == expected_facets(ask, "true")
    values = [facet["values"] for facet in n.document["facets"]]
    n.one("facets[].values[].results", [[each["results"] for each in v] for v in values])
    n.one("facets[].more", [0 for _ in n.document["facets"]])
    n.finish(EXPLAINED["results"])
    every = facets_of(n.document)
    for names in (("status",), ("model", "status"), ("error", "requests"), ("class", "model")):
        chosen = {name: next(filter(None, every[name])) for name in names}
        found = httpx.get(f"{served}/runs/1/results.json", params=chosen, timeout=60).json()
        for name, left in facets_of(found).items():
            rest = [f"({FACETS[each]}) = '{chosen[each]}'" for each in names if each != name]
            expected = expected_facets(ask, " AND ".join(rest) or "true")[name]
            assert {value: count for value, count in left.items() if count} == expected, (
                name,
                chosen,
            )
        matching = found["paging"]["matching"]
        assert matching == facets_of(found)[names[0]][chosen[names[0]]]
        shown = httpx.get(f"{served}/runs/1/results", params=chosen, timeout=60).text
        assert f"<strong>{len(told) - matching} hidden by this filter.</strong>" in shown


def test_trend(served: str, ask: Ask) -> None:
    n = look("trend", f"{served}/runs/1/trend", ask)
    counted = ask(f"{BY_MODEL} AND number < 3 ORDER BY model, number")
    rates = {(each["model"], each["number"]): rate(each) for each in counted}
    n.rows(
        "models[].points",
        [
            {"run_number": number, "attempt": number, "place": number - 1, **told}
            | {
                "change": None
                if number == 1
                else told["passed.rate"] - rates[model, 1]["passed.rate"]
            }
            for (model, number), told in rates.items()
        ],
    )
    n.same("", {"run_number": 1, "attempts": 2, "shown": 2})
    n.finish(EXPLAINED["trend"])
    alone = httpx.get(f"{served}/runs/1/trend.json?attempts=1", timeout=60).json()
    assert {point["run_number"] for model in alone["models"] for point in model["points"]} == {1, 2}
    lines = httpx.get(f"{served}/runs/1/trend.jsonl", timeout=60).text.splitlines()
    assert [(row["run_number"], row["rate"]) for row in map(orjson.loads, lines)] == [
        (point["run_number"], point["passed"]["rate"])
        for model in n.document["models"]
        for point in model["points"]
    ]


def test_matrix(served: str, ask: Ask) -> None:
    n = look("matrix", f"{served}/runs/1/matrix?limit=200", ask)
    [run] = ask("SELECT * FROM run WHERE number = 1")
    [head] = ask("SELECT max(position) AS head FROM log")
    cells = ask(
        "SELECT DISTINCT ON (prompt_id, model) id::text AS evaluation_id, repetition, accuracy, "
        "requests, retries, latency_ms, CASE WHEN answers > 0 THEN cost_usd END AS cost_usd, "
        "last_position, count(*) OVER own AS begun, "
        "count(*) FILTER (WHERE passed) OVER own AS passed FROM evaluation WHERE number = 1 "
        "WINDOW own AS (PARTITION BY prompt_id, model) "
        f"ORDER BY prompt_id, model, {FACETS['status']} = 'passed', {FACETS['status']}, "
        "last_position"
    )
    of_cell = ("begun", "passed")
    n.rows(
        "rows[].cells",
        [
            {name if name in of_cell else f"first.{name}": value for name, value in cell.items()}
            for cell in cells
        ],
        key=("first.evaluation_id",),
    )
    models = {cell["first"]["model_key"] for row in n.document["rows"] for cell in row["cells"]}
    n.same("", {"run_number": 1, "repetitions": 2, "models": len(models), "unfinished": 0,
                "newer": 0, "up_to": head["head"]})  # fmt: skip
    paged(n, len(n.document["rows"]))
    assert len(n.document["rows"]) * len(models) * 2 == run["planned"]
    passed = httpx.get(f"{served}/runs/1.json", timeout=60).json()["by_model"]
    assert [column["passed"] for column in n.document["columns"]] == [
        model["passed"] for model in passed
    ]
    n.finish(EXPLAINED["matrix"])


@pytest.mark.parametrize(("number", "repeated"), [(1, True), (3, False)])
def test_each_page_of_results_has_repetitions_if_the_run_has(
    served: str, number: int, repeated: bool
) -> None:
    url = f"{served}/runs/{number}/results"
    rows = httpx.get(f"{url}.json?limit=200", timeout=60).json()["rows"]
    query: dict[str, Any] = {"limit": 1}
    repetitions = []
    for _ in range(6):
        page = httpx.get(f"{url}.json", params=query, timeout=60).json()
        assert page["repetitions"] is repeated
        shown = httpx.get(url, params=query, timeout=60).text
        assert (">Repetition</th>" in shown) is repeated
        repetitions += [row["repetition"] for row in page["rows"]]
        query["after"] = page["paging"]["next"]
    assert repetitions == [row["repetition"] for row in rows[:6]]
    assert set(repetitions) == ({1, 2} if repeated else {1})


def facets_of(document: Any) -> dict[str, dict[str | None, int]]:
    return {
        facet["name"]: {each["value"]: each["results"] for each in facet["values"]}
        for facet in document["facets"]
    }


FACETS = {
    "status": "CASE WHEN NOT passed THEN 'failed' WHEN abandoned THEN 'lost' ELSE 'passed' END",
    "model": "e.model",
    "suite": "suite",
    "class": "coalesce(class, 'error')",
    "error": "abandoned_by",
    "latency": "CASE WHEN latency_ms IS NULL THEN 'unknown' WHEN latency_ms < 500 THEN '0-500' "
    "WHEN latency_ms < 2000 THEN '500-2000' WHEN latency_ms < 10000 THEN '2000-10000' "
    "ELSE '10000-' END",
    "cost": "CASE WHEN cost_usd IS NULL THEN 'unknown' WHEN cost_usd < 0.001 THEN '0-0.001' "
    "ELSE '0.001-0.01' END",
    "requests": "CASE WHEN requests < 2 THEN '0-1' WHEN requests = 2 THEN '2' ELSE '3-5' END",
}
"""Each facet of run 1 as SQL over the log."""


def expected_facets(ask: Ask, condition: str) -> dict[str, dict[str | None, int]]:
    return {
        name: {
            each["value"]: each["results"]
            for each in ask(
                f"SELECT {value} AS value, count(*) AS results FROM evaluation AS e "
                f"JOIN stored_case USING (prompt_id) WHERE number = 1 AND ({condition}) GROUP BY 1"
            )
            if each["value"] is not None
        }
        for name, value in FACETS.items()
    }


CHARGED = "(SELECT count(*) FROM charged WHERE charged.run_id = run.run_id"


def charged(ask: Ask, number: int) -> dict[str, Any]:
    """What requests without an answer may have cost beside the answers of the run."""
    [told] = ask(
        "SELECT count(charged.run_id) AS possibly_charged, ((SELECT CASE WHEN count(*) = "
        "count(cost_usd) THEN sum(cost_usd) END FROM answer WHERE answer.run_id = run.run_id) "
        "+ sum(charged.usd))::float8 AS most_usd FROM run LEFT JOIN charged USING (run_id) "
        "WHERE number = %s GROUP BY run.run_id", number
    )  # fmt: skip
    return told


SPENT = (
    f"{COST} AS cost_usd, count(*) AS answers, sum(input_tokens)::int AS input_tokens, "
    "sum(output_tokens)::int AS output_tokens, "
)
UNPRICED = "count(*) FILTER (WHERE cost_usd IS NULL) AS unpriced "


@pytest.mark.parametrize("number", [1, 3])
def test_cost(served: str, ask: Ask, number: int) -> None:
    n = look("cost", f"{served}/runs/{number}/cost", ask)
    of_run = "FROM answer JOIN run USING (run_id) WHERE number = %s"
    n.rows(
        "by_asked",
        ask(
            f"SELECT number AS run_number, asked AS key, {SPENT}"
            "count(*) FILTER (WHERE input_tokens IS NULL) AS input_unknown, "
            "count(*) FILTER (WHERE output_tokens IS NULL) AS output_unknown, "
            f"{CHARGED} AND charged.asked = answer.asked) AS possibly_charged "
            f"{of_run} GROUP BY 1, 2, run.run_id", number
        ),
        key=("key",),
    )  # fmt: skip
    n.rows(
        "uses",
        ask(f"SELECT asked AS model, purpose, {SPENT}{UNPRICED}, "
            f"NULL::int AS cached_input_tokens {of_run} GROUP BY 1, 2", number),
        key=("model", "purpose"),
    )  # fmt: skip
    n.rows(
        "waste",
        ask("SELECT model, requests, answers, failed_requests, retries, orphaned_requests, "
            "lost AS lost_evaluations, in_flight FROM counts WHERE number = %s "
            "AND model IS NOT NULL", number),
        key=("model",),
    )  # fmt: skip
    n.rows(
        "attempts",
        ask(f"SELECT number AS run_number, attempt, count(*) AS answers, {COST} AS cost_usd, "
            "coalesce(sum(cost_usd), 0)::float8 AS known_usd, "
            f"{UNPRICED}, (SELECT retries FROM counts WHERE counts.number = run.number "
            f"AND model IS NULL) AS retries, {CHARGED}) AS possibly_charged "
            "FROM answer JOIN run USING (run_id) "
            "WHERE experiment = (SELECT experiment FROM run WHERE number = %s) "
            "GROUP BY 1, 2, run.run_id ORDER BY 1", number),
    )  # fmt: skip
    [total] = ask(
        f"SELECT {SPENT}{UNTOLD}, count(*) FILTER (WHERE cost_usd IS NULL) AS unpriced_answers, "
        f"coalesce(sum(cost_usd), 0)::float8 AS known_usd {of_run}", number
    )  # fmt: skip
    [ceiling] = ask(
        "SELECT (p #>> '{configuration,execution,max_spend_usd}')::float8 AS max_spend_usd "
        "FROM run WHERE number = %s", number
    )  # fmt: skip
    n.one("answers", total.pop("answers"))
    n.same("total", total | ceiling | charged(ask, number))
    n.same("", {"run_number": number, "carried_over": 0})
    n.finish(EXPLAINED["cost"])


def test_charts(served: str, ask: Ask) -> None:
    n = look("charts", f"{served}/runs/1/charts", ask)
    [run] = ask("SELECT * FROM run WHERE number = 1")
    n.same("", {"run_number": 1, "planned_of_a_model": run["planned"] // 2})
    grouped = (
        "count(*) FILTER (WHERE passed) AS passed, count(*) FILTER (WHERE NOT passed) AS failed, "
        "count(*) FILTER (WHERE abandoned) AS abandoned "
        "FROM evaluation AS e JOIN stored_case USING (prompt_id) WHERE number = 1 GROUP BY 1, 2"
    )
    overall = ask(f"{BY_MODEL} AND number = 1")
    n.rows("overall", [{"model": each["model"]} | rate(each) for each in overall], key=("model",))
    n.rows(
        "suites",
        [
            {"model": each["model"], "suite": each["suite"]} | rate(each)
            for each in ask(f"SELECT e.model, suite, {grouped}")
        ],
        key=("model", "suite"),
    )
    n.rows(
        "failures",
        [
            {"model": each["model"], "category": each["category"], "failed": each["failed"],
             "total": each["passed"] + each["failed"]}
            for each in ask(f"SELECT e.model, category, {grouped}")
        ],
        key=("model", "category"),
    )  # fmt: skip
    shares = "(SELECT array_agg(s / 100.0::float8 ORDER BY s) FROM generate_series(0, 100) AS s)"
    n.rows(
        "spreads",
        ask(
            "SELECT model, count(latency_ms) AS answers, "
            f"percentile_disc({shares}) WITHIN GROUP (ORDER BY latency_ms) AS latency_ms, "
            "count(cost_usd) FILTER (WHERE answers > 0) AS priced, "
            f"percentile_disc({shares}) WITHIN GROUP (ORDER BY cost_usd) "
            "FILTER (WHERE answers > 0) AS cost_usd FROM evaluation WHERE number = 1 GROUP BY model"
        ),
        key=("model",),
    )
    n.rows(
        "costs",
        ask(f"SELECT asked, count(*) AS answers, {COST} AS cost_usd, {UNPRICED}, "
            f"{CHARGED} AND charged.asked = answer.asked) AS possibly_charged "
            "FROM answer JOIN run USING (run_id) WHERE number = 1 GROUP BY 1, run.run_id"),
        key=("asked",),
    )  # fmt: skip
    for shown in n.document["progress"]:
        ends = ask(
            "SELECT extract(epoch FROM ended_at - %s)::float8 AS s FROM evaluation "
            "WHERE number = 1 AND model = %s", run["at"], shown["model"]
        )  # fmt: skip
        for seconds, finished in shown["points"]:  # moments to the millisecond
            sooner, later = (
                sum(each["s"] <= seconds + more for each in ends) for more in (-0.001, 0.001)
            )
            assert sooner <= finished <= later
        assert shown["points"][-1][1] == len(ends)
    n.one("progress[].points[][]", [each["points"] for each in n.document["progress"]])
    n.finish(EXPLAINED["charts"])
