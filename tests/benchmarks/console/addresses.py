"""The console's addresses over the log that `log.py` makes, and the same questions in SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from failproof_es.console.paging import cursor
from failproof_es.reading.chosen_results import ResultKey
from failproof_es.store.reading.reader import Connection
from failproof_es.store.writing.recorder import query


@dataclass(frozen=True)
class Address:
    """A page, and statements that answer the same question from the same database."""

    name: str
    path: str
    sql: Sequence[str] = ()
    values: dict[str, Any] | None = None


_PLACE = (
    "(CASE WHEN NOT passed THEN 0 WHEN lost THEN 1 WHEN awaiting_review THEN 3 WHEN "
    "status = 'abandoned' THEN 2 WHEN status <> 'scored' THEN 6 WHEN passed IS NULL THEN 4 "
    "ELSE 5 END)"
)
_CASE = "SELECT prompt_id FROM projections.prompts WHERE case_id = %s"
_RUNS = (
    "WITH page AS (SELECT * FROM projections.runs WHERE {} ORDER BY run_number DESC LIMIT 50) "
    "SELECT page.*, (SELECT json_agg(g) FROM (SELECT model_key, sum(passed), sum(failed), "
    "sum(finished), sum(cases) FROM projections.run_groups AS g WHERE g.run_id = page.run_id "
    "GROUP BY model_key) AS g), (SELECT json_agg(c) FROM projections.cost AS c "
    "WHERE c.run_id = page.run_id) FROM page",
    "SELECT status, count(*) FROM projections.runs GROUP BY status",
    "SELECT model_key, count(*) FROM projections.run_asking GROUP BY model_key",
    "SELECT count(*) FROM failproof.run_list",
)
_RUN = (
    "SELECT * FROM projections.runs WHERE run_id = %(run)s",
    "SELECT * FROM projections.run_groups WHERE run_id = %(run)s",
    "SELECT * FROM projections.run_classes WHERE run_id = %(run)s",
    "SELECT * FROM projections.run_asking WHERE run_id = %(run)s",
    "SELECT * FROM projections.cost WHERE run_id = %(run)s",
    "SELECT asked, kind, message::text, requests FROM projections.run_errors "
    "WHERE run_id = %(run)s ORDER BY requests DESC LIMIT 100",
    "SELECT * FROM projections.run_unscored WHERE run_id = %(run)s",
    "SELECT * FROM projections.run_latencies WHERE run_id = %(run)s",
    "SELECT count(*) FROM projections.reviews WHERE run_id = %(run)s",
)
_PROTECTED = (
    query("layers"),
    query("definitions").replace("%(schemas)s", "ARRAY['failproof', 'failproof_guard']"),
)
"""What protects the log: a run's page has its badge, the ledger's page says it in words."""
_RESULTS = (
    "SELECT e.*, p.case_id, p.suite_id FROM projections.evaluations AS e "
    "JOIN projections.prompts AS p USING (prompt_id) WHERE run_id = %(run)s AND {} "
    f"ORDER BY {_PLACE}, last_position, evaluation_id LIMIT 50"
)
_FACETS = (
    "SELECT model_key, suite_id, category, severity, sum(finished) FROM projections.run_groups "
    "WHERE run_id = %(run)s "
    "GROUP BY GROUPING SETS ((model_key), (suite_id), (category), (severity))"
)
_COUNT = f"SELECT {_PLACE}, count(*) FROM projections.evaluations WHERE run_id = %(run)s GROUP BY 1"
_TREND = (
    "SELECT run_number, model_key, sum(passed), sum(failed) FROM projections.run_groups "
    "JOIN projections.runs USING (run_id) WHERE run_number IN (SELECT run_number FROM "
    "projections.runs AS r WHERE r.name = (SELECT name FROM projections.runs WHERE "
    "run_id = %(run)s) ORDER BY run_number DESC LIMIT 30) GROUP BY 1, 2 ORDER BY 1, 2"
)
_SPREAD = (
    "SELECT model_key, percentile_disc(array[0.1, 0.5, 0.9]) WITHIN GROUP (ORDER BY latency_ms), "
    "percentile_disc(array[0.1, 0.5, 0.9]) WITHIN GROUP (ORDER BY cost_usd) "
    "FROM projections.evaluations WHERE run_id = %(run)s GROUP BY model_key"
)
_PAIRS = (
    "SELECT e.passed, f.passed, count(*) FROM projections.evaluations AS e "
    "JOIN projections.evaluations AS f USING (prompt_id, repetition) WHERE e.run_id = %(base)s "
    "AND f.run_id = %(other)s AND e.model_key = %(model)s AND f.model_key = %(model)s GROUP BY 1, 2"
)


_AS_DATA: dict[str, tuple[str, ...]] = {
    "run, large": ("json",), "cost, large": ("json",), "results": ("json",),
    "results, middle page": ("json",), "evaluation, large run": ("json",),
    "stream, large run": ("json", "jsonl", "csv"), "event, middle": ("json",),
    "ledger": ("json",), "compare": ("json", "csv"), "suites": ("json", "jsonl", "csv"),
    "cases": ("json", "jsonl", "csv"), "case, in most runs": ("json", "jsonl", "csv"),
    "review": ("json", "jsonl", "csv"), "runs": ("json", "csv"),
}  # fmt: skip
"""The pages that are asked as data, too: the same statements answer."""


def addresses(connection: Connection) -> Iterator[Address]:
    """Every page of the log that `log.py` makes, and some of them as data."""
    for each in _pages(connection):
        yield each
        for extension in _AS_DATA.get(each.name, ()):
            path, mark, query = each.path.partition("?")
            name, comma, part = each.name.partition(",")
            yield replace(
                each,
                name=f"{name}.{extension}{comma}{part}",
                path=f"{path}.{extension}{mark}{query}",
            )


def _pages(connection: Connection) -> Iterator[Address]:

    def one(statement: str, *values: Any) -> Any:
        row = connection.execute(statement.encode(), values or None).fetchone()
        assert row is not None, statement
        return row[0] if len(row) == 1 else row

    numbered = "SELECT run_id FROM projections.runs WHERE run_number = %s"
    large, base, other = (one(numbered, n) for n in (1, 2, 3))
    runs = one("SELECT max(run_number) FROM projections.runs")
    often = one(_CASE, "nightly-000003")
    nightly, nightly_id = one(
        "SELECT run_number, run_id FROM projections.runs WHERE name LIKE 'nightly%%' "
        "AND status = 'completed' AND run_number > %s / 2 ORDER BY run_number LIMIT 1",
        runs,
    )
    going = one("SELECT max(run_number) FROM projections.runs WHERE status = 'running'")
    head = one("SELECT max(notification_id) FROM failproof.stored_events")
    events = "SELECT * FROM failproof.stored_events WHERE notification_id = %(position)s"

    def key_of(run_id: Any, share: float) -> tuple[Any, ...]:
        count = one("SELECT count(*) FROM projections.evaluations WHERE run_id = %s", run_id)
        found: tuple[Any, ...] = one(
            f"SELECT {_PLACE}, last_position, evaluation_id FROM projections.evaluations WHERE "
            f"run_id = %s ORDER BY {_PLACE}, last_position, evaluation_id OFFSET %s LIMIT 1",
            run_id,
            max(int(count * share) - 60, 0),
        )
        return found

    every = tuple(each.format("true") for each in _RUNS)
    yield Address("runs", "/runs", every)
    for name, number in (("middle", runs // 2), ("last", 41)):
        below = (_RUNS[0].format(f"run_number < {number}"), *_RUNS[1:])
        yield Address(f"runs, {name} page", f"/runs?after={number}", below)
    for name, path, where in (
        ("of a status", "status=failed", "status = 'failed'"),
        ("of a model", "model=model-b", "true"),
        ("of a name", "text=team+7", "name ILIKE '%team 7%'"),
    ):
        yield Address(f"runs, {name}", f"/runs?{path}", (_RUNS[0].format(where), *_RUNS[1:]))
    yield Address("runs.jsonl", "/runs.jsonl", every)
    for name, number, run_id in (
        ("large", 1, large),
        ("small", nightly, nightly_id),
        ("going", going, None),
    ):
        values = {"run": run_id or one(numbered, number)}
        yield Address(f"run, {name}", f"/runs/{number}", (*_RUN, *_PROTECTED), values)
        yield Address(f"cost, {name}", f"/runs/{number}/cost", _RUN, values)
        yield Address(f"charts, {name}", f"/runs/{number}/charts", (*_RUN, _SPREAD), values)
        yield Address(f"live numbers, {name}", f"/runs/{number}/live", _RUN, values)
        yield Address(f"trend, {name}", f"/runs/{number}/trend", (_TREND,), values)
    values = {"run": large}
    whole = (_RESULTS.format("true"), _FACETS, _COUNT)
    yield Address("results", "/runs/1/results", whole, values)
    cells = (_RESULTS.format("true"), _COUNT)
    yield Address("results, by model", "/runs/1/matrix", cells, values)
    yield Address("results, failed by model", "/runs/1/matrix?status=failed", cells, values)
    for name, share in (("middle", 0.5), ("last", 1.0)):
        key = key_of(large, share)
        of = f"({_PLACE}, last_position, evaluation_id) > ({key[0]}, {key[1]}, '{key[2]}'::uuid)"
        yield Address(
            f"results, {name} page", f"/runs/1/results?after={quote(cursor(*ResultKey(*key)))}",
            (_RESULTS.format(of), _FACETS, _COUNT), values,
        )  # fmt: skip
    for name, path, where in (
        ("failed", "status=failed", "NOT passed"),
        ("of a category", "category=large-03%2F2", "p.category = 'large-03/2'"),
        (
            "of a suite, passed",
            "suite=large-19&status=passed",
            "p.suite_id = 'large-19' AND passed",
        ),
        ("of a tag", "tag=area%3A7", "p.tags::text LIKE '%%\"area:7\"%%'"),
        ("of an error", "error=timeout", "error_kind = 'timeout'"),
        ("slow ones", "latency=10000-", "latency_ms >= 10000"),
        ("words, rare", "text=large-000017", "lower(answer::text) LIKE '%%large-000017%%'"),
        ("words, common", "text=follows+from", "lower(answer::text) LIKE '%%follows from%%'"),
        ("words, nowhere", "text=nobody+says+this", "lower(answer::text) LIKE '%%nobody says%%'"),
    ):
        yield Address(
            f"results, {name}", f"/runs/1/results?{path}",
            (_RESULTS.format(where), _FACETS, _COUNT), values,
        )  # fmt: skip
    yield Address("results of a small run", f"/runs/{nightly}/results", whole, {"run": nightly_id})
    yield Address("results.jsonl", "/runs/1/results.jsonl", (_RESULTS.format("true"),), values)
    yield Address("results.csv", "/runs/1/results.csv", (_RESULTS.format("true"),), values)
    for name, run_id in (("large", large), ("small", nightly_id)):
        evaluation = key_of(run_id, 0.5)[2]
        yield Address(
            f"evaluation, {name} run", f"/evaluations/{evaluation}",
            (
                "SELECT * FROM failproof.stored_events WHERE originator_id = %(of)s",
                "SELECT f.* FROM projections.evaluations AS e JOIN projections.evaluations AS f "
                "USING (prompt_id) WHERE e.evaluation_id = %(of)s ORDER BY f.last_position DESC "
                "LIMIT 20",
            ), {"of": evaluation},
        )  # fmt: skip
        yield Address(
            f"stream, {name} run", f"/streams/{run_id}",
            ("SELECT * FROM failproof.stored_events WHERE originator_id = %(of)s LIMIT 50",),
            {"of": run_id},
        )  # fmt: skip
    versions = one(
        "SELECT max(originator_version) FROM failproof.stored_events WHERE originator_id = %s",
        large,
    )
    for name, version in (("middle", versions // 2), ("last", max(versions - 50, 0))):
        yield Address(
            f"stream, {name} page", f"/streams/{large}?after={version}",
            (
                "SELECT * FROM failproof.stored_events WHERE originator_id = %(of)s "
                "AND originator_version > %(after)s ORDER BY originator_version LIMIT 50",
                "SELECT topic, count(*) FROM failproof.stored_events WHERE originator_id = %(of)s "
                "GROUP BY topic",
            ), {"of": large, "after": version},
        )  # fmt: skip
    for name, position in (("first", 1), ("middle", head // 2), ("last", head)):
        yield Address(f"event, {name}", f"/events/{position}", (events,), {"position": position})
    yield Address(
        "ledger",
        "/ledger",
        ("SELECT * FROM failproof.checkpoint_list ORDER BY 1 DESC LIMIT 20", *_PROTECTED),
        {},
    )
    both = {"base": base, "other": other, "model": "model-a"}
    yield Address("compare", "/compare?base=2&other=3", (_PAIRS,), both)
    yield Address("compare, all pairs", "/compare?base=2&other=3&show=all", (_PAIRS,), both)
    yield Address("compare, large", "/compare?base=1&other=3", (_PAIRS,), both | {"base": large})
    yield Address("compare, small", f"/compare?other={nightly}", (_PAIRS,),
                  {"base": nightly_id, "other": nightly_id, "model": "model-a"})  # fmt: skip
    yield Address("compare.jsonl", "/compare.jsonl?base=2&other=3", (_PAIRS,), both)
    suites = (
        "SELECT suite_id, count(*), count(DISTINCT case_id) FROM projections.prompts GROUP BY 1 "
        "ORDER BY 1 LIMIT 50",
        "SELECT suite_id, count(DISTINCT run_id) FROM projections.run_groups GROUP BY 1",
    )
    yield Address("suites", "/suites", suites)
    cases = (
        "SELECT * FROM projections.prompts WHERE {} ORDER BY case_id, suite_id, prompt_id LIMIT 50"
    )
    count = "SELECT count(*) FROM projections.prompts"
    yield Address("cases", "/cases", (cases.format("true"), count))
    named = "case_id > 'large-1'"
    deep = one(
        "SELECT case_id, suite_id, prompt_id FROM projections.prompts "
        "ORDER BY case_id, suite_id, prompt_id OFFSET %s LIMIT 1",
        one(count) // 2,
    )
    yield Address("cases, middle page", f"/cases?after={quote(cursor(*deep))}",
                  (cases.format(named), count))  # fmt: skip
    last = one(
        "SELECT case_id, suite_id, prompt_id FROM projections.prompts "
        "ORDER BY case_id DESC, suite_id DESC, prompt_id DESC OFFSET 50 LIMIT 1"
    )
    yield Address("cases, last page", f"/cases?after={quote(cursor(*last))}",
                  (cases.format(named), count))  # fmt: skip
    yield Address(
        "cases, of a suite", "/cases?suite=large-03", (cases.format("suite_id = 'large-03'"), count)
    )
    yield Address(
        "cases, of a name", "/cases?text=000321", (cases.format("case_id LIKE '%000321%'"), count)
    )
    case = (
        "SELECT * FROM projections.evaluations WHERE prompt_id = %(of)s "
        "ORDER BY last_position DESC LIMIT 50",
        "SELECT model_key, count(*), count(*) FILTER (WHERE passed) FROM projections.evaluations "
        "WHERE prompt_id = %(of)s GROUP BY 1",
    )
    yield Address("case, in most runs", f"/cases/{often}", case, {"of": often})
    deep_case = one(
        "SELECT last_position FROM projections.evaluations WHERE prompt_id = %s "
        "ORDER BY 1 DESC OFFSET (SELECT count(*) / 2 FROM projections.evaluations "
        "WHERE prompt_id = %s) LIMIT 1", often, often,
    )  # fmt: skip
    yield Address("case, middle page", f"/cases/{often}?after={deep_case}", case, {"of": often})
    yield Address(
        "case, in three runs",
        f"/cases/{one(_CASE, 'large-000001')}",
        case,
        {"of": often},
    )
    left = (
        "SELECT e.*, (SELECT count(DISTINCT verdict) FROM projections.reviews AS v WHERE "
        "v.evaluation_id = e.evaluation_id) FROM projections.evaluations AS e "
        "WHERE awaiting_review "
        "ORDER BY last_position LIMIT 50",
        "SELECT run_id, count(*) FROM projections.evaluations WHERE awaiting_review GROUP BY 1",
    )
    yield Address("review", "/review", left)
    yield Address("review, of a run", "/review?run=1", left)
    yield Address("review, of a rare state", "/review?state=disputed", left)
    deep_review = one(
        "SELECT last_position FROM projections.evaluations WHERE awaiting_review "
        "ORDER BY 1 "
        "OFFSET (SELECT count(*) / 2 FROM projections.evaluations WHERE awaiting_review) "
        "LIMIT 1"
    )
    yield Address("review, middle page", f"/review?after={deep_review}", left)
    digest = one(
        "SELECT encode(leaf_hash, 'hex') FROM failproof.stored_events WHERE notification_id = %s",
        head // 2,
    )
    words = (
        "SELECT evaluation_id FROM projections.evaluations WHERE answer::text ILIKE '%{}%' LIMIT 20"
    )
    for name, asked in (
        ("a run", "run 12"), ("an event", "event 12"), ("a case", "nightly-000003"),
        ("a case's beginning", "large-0000"), ("a digest", digest),
        ("a request id", f"req-{str(key_of(large, 0.5)[2]).replace('-', '')[:20]}"),
        ("words, common", "follows from what"), ("words, nowhere", "nobody says this"),
    ):  # fmt: skip
        yield Address(f"search, {name}", f"/search?q={quote(asked)}", (words.format(asked),))
