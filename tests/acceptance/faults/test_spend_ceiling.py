"""`execution.max_spend_usd`: what a run records as spent never exceeds it, whatever happens."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import orjson
import pytest
from click.testing import Result

from failproof_es.core.spend import HIDDEN_INPUT_TOKENS, usd_text
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.reading.reader import find, max_position, resolve_run
from failproof_es.store.store import Store
from tests.acceptance.commands import asked, invoke, mock_server, write_configuration, write_suite
from tests.acceptance.dialects.test_redteam import judging_server, write_run

CASES = 6
OUTPUT_TOKENS = 5
"""That the mock says it wrote, for each answer."""
LISTED = {"model": "mock", "input_usd_per_million": 0, "output_usd_per_million": 10_000}
"""Then an answer costs exactly what was reserved for it: 5 cents."""
ANSWER = Decimal("0.05")


class Untold:
    """A model without usage: nobody knows what its answers cost."""

    def __init__(self, api_key: str | None, model_id: str) -> None:
        """Nothing to keep."""

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        return prompt


def configured(
    folder: Path, url: str, ceiling: Any, *, listed: dict[str, Any] = LISTED, **model: Any
) -> None:
    write_suite(folder, CASES)
    mock = {"provider": "openai", "base_url": url, "model": "mock", "max_tokens": OUTPUT_TOKENS}
    write_configuration(
        folder,
        url,
        models=[{**mock, **model}],
        prices={"version": "2026-11-21", "models": [listed]},
        execution={"parallel_workers": 4, "retry_delay_ms": 1, "max_spend_usd": ceiling},
    )


def start(store: Store, folder: Path, *more: str) -> Result:
    return invoke(store.url, "start", "run.yaml", "--quiet", *more, cwd=folder)


def resume(store: Store, folder: Path, *more: str) -> Result:
    return invoke(store.url, "resume", "latest", "--quiet", *more, cwd=folder)


def spent(store: Store) -> Decimal:
    """What `show` says that the last run cost, exact."""
    with store.connect() as connection:
        run = RecordedRun.read(connection, resolve_run(connection, "latest"))
        return run.summary.spent.known_usd


def recorded(store: Store, *topics: str) -> list[dict[str, Any]]:
    with store.connect() as connection:
        return [row.payload() for row in find(connection, topics=topics)]


def test_a_cent_less_pauses_before_the_last_and_a_higher_ceiling_goes_on(
    store: Store, tmp_path: Path
) -> None:
    with mock_server(0) as url:
        configured(tmp_path, url, 0.29)
        done = start(store, tmp_path, "--junit", "junit.xml")
        assert done.exit_code == 1
        (error,) = ET.parse(tmp_path / "junit.xml").iterfind("testsuite/testcase/error")
        assert error.get("message", "").startswith("run 1 is paused: the spend ceiling of $0.29")
        assert (
            "paused: the spend ceiling of $0.29 is reached: $0.25 spent; "
            "the next request to mock may cost $0.05" in done.stderr
        )
        assert sum(asked(url).values()) == CASES - 1 == len(recorded(store, "RequestSent"))
        assert spent(store) == Decimal("0.25")

        more = resume(store, tmp_path, "--max-spend", "0.30", "--junit", "junit.xml")
        assert more.exit_code == 0, more.stderr
        assert ET.parse(tmp_path / "junit.xml").find("testsuite/testcase/error") is None
        assert "cost: $0.3000 for 6 evaluations, $50.00 for 1,000" in more.stdout
        assert sum(asked(url).values()) == CASES
    (changed,) = recorded(store, "SpendCeilingChanged")
    assert changed["max_spend_usd"] == "0.30" and changed["who"]
    assert spent(store) == Decimal("0.3")
    shown = invoke(store.url, "show", "latest", cwd=tmp_path)
    assert "$0.30 of $0.30" in shown.output
    told = orjson.loads(invoke(store.url, "show", "latest", "--json", cwd=tmp_path).stdout)
    spending = told["spending"]
    assert (spending["max_spend_usd"], spending["cost_usd"]) == (0.3, 0.3)
    reported = invoke(store.url, "report", "latest", "--format", "html", "-o", "-", cwd=tmp_path)
    assert "Run 1 spent $0.30 of $0.30 (its spend ceiling)." in reported.output
    proven = invoke(store.url, "verify", cwd=tmp_path)
    assert proven.exit_code == 0, proven.output
    audited = invoke(store.url, "audit", "latest", cwd=tmp_path)
    assert "SpendCeilingChanged" in audited.output


def test_a_run_at_its_ceiling_is_not_resumed_without_a_higher_one(
    store: Store, tmp_path: Path
) -> None:
    with mock_server(0) as url:
        configured(tmp_path, url, 0.29)
        assert start(store, tmp_path).exit_code == 1
        before = newest(store)
        for way in ((), ("--workers", "2"), ("--detach",)):
            refused = resume(store, tmp_path, *way)
            assert refused.exit_code == 2, (way, refused.output)
            assert "run 1 is paused: the spend ceiling of $0.29 is reached" in refused.stderr
            assert "--max-spend USD" in refused.stderr and refused.stdout == ""
            for amount in ("0.29", "0.24"):
                refused = resume(store, tmp_path, *way, "--max-spend", amount)
                assert refused.exit_code == 2, (way, amount, refused.output)
                said = f"--max-spend: ${amount} is not higher than the spend ceiling of $0.29"
                assert said in refused.stderr and refused.stdout == ""
        assert newest(store) == before, "something was recorded"
        assert sum(asked(url).values()) == CASES - 1


def newest(store: Store) -> int:
    with store.connect() as connection:
        return max_position(connection)


@pytest.mark.parametrize(
    "begins", ["with_each_answer", pytest.param("after_all_answers", marks=pytest.mark.slow)]
)
def test_judges_are_paid_from_the_same_ceiling(store: Store, tmp_path: Path, begins: str) -> None:
    """Cases of one turn and of two, each judged by two judges of their own price."""

    def configure(url: str, ceiling: Decimal) -> None:
        write_run(tmp_path, url, count=4)
        document = orjson.loads((tmp_path / "run.yaml").read_bytes())
        for asked_one in (*document["models"], *document["judges"]):
            asked_one["max_tokens"] = OUTPUT_TOKENS
        document["judging"] = {"begins": begins}
        document["execution"]["max_spend_usd"] = float(ceiling)
        prices = {"talker": 10_000, "judge": 20_000, "judge-two": 40_000}
        document["prices"] = {
            "version": "2026-11-23",
            "models": [
                {"model": name, "input_usd_per_million": 0, "output_usd_per_million": price}
                for name, price in prices.items()
            ],
        }
        (tmp_path / "run.yaml").write_bytes(orjson.dumps(document))

    turns, judged = 4 + 2, 4
    cost = turns * Decimal("0.05") + judged * (Decimal("0.10") + Decimal("0.20"))
    with judging_server() as url:
        configure(url, cost)
        assert start(store, tmp_path).exit_code == 0
        assert spent(store) == cost
        configure(url, cost - Decimal("0.01"))
        done = start(store, tmp_path)
        assert done.exit_code == 1
        assert "the next request to judge:judge-two may cost $0.20" in done.stderr
        assert spent(store) == cost - Decimal("0.20")
        assert resume(store, tmp_path, "--max-spend", str(cost)).exit_code == 0
        assert spent(store) == cost


def test_near_the_ceiling_requests_go_one_by_one_and_none_is_given_up_early(
    store: Store, tmp_path: Path
) -> None:
    """Ten are reserved for each answer, and one is charged: four at once do not fit to the end."""
    with mock_server(20) as url:
        configured(tmp_path, url, 0.78, max_tokens=50)
        done = start(store, tmp_path)
        assert done.exit_code == 0, done.stderr
        assert spent(store) == Decimal("0.3")


def test_a_branch_has_a_ceiling_and_spending_of_its_own(store: Store, tmp_path: Path) -> None:
    with mock_server(0) as url:
        configured(tmp_path, url, 0.29)
        assert start(store, tmp_path).exit_code == 1
        refused = resume(store, tmp_path, "--at", "1", "--max-spend", "1")
        assert refused.exit_code == 2 and "--set execution.max_spend_usd=1" in refused.stderr
        position = recorded_position(store)
        branched = resume(
            store, tmp_path, "--at", str(position), "--set", "execution.max_spend_usd=0.05"
        )
        assert branched.exit_code == 0, branched.stderr
        assert spent(store) == ANSWER, "the other five were paid for by the other run"


def recorded_position(store: Store) -> int:
    with store.connect() as connection:
        return max(row.position for row in find(connection, topics=["RunPaused"]))


def test_an_answer_without_usage_keeps_its_worst_case(store: Store, tmp_path: Path) -> None:
    listed = {**LISTED, "input_usd_per_million": 0}
    configured(
        tmp_path, "http://127.0.0.1:9/v1", 0.29, listed=listed,
        provider="python", base_url=None, **{"class": f"{__name__}:Untold"},
    )  # fmt: skip
    done = start(store, tmp_path)
    assert done.exit_code == 1
    assert "$0.00 spent, and up to $0.25 for 5 requests without a known cost" in done.stderr
    assert len(recorded(store, "RequestSent")) == CASES - 1
    again = resume(store, tmp_path)
    assert again.exit_code == 2 and "up to $0.25 for 5 requests" in again.stderr


def test_a_server_that_does_not_keep_to_max_tokens_stops_the_run(
    store: Store, tmp_path: Path
) -> None:
    with mock_server(0) as url:
        configured(tmp_path, url, 1, max_tokens=OUTPUT_TOKENS - 1)
        done = start(store, tmp_path)
        assert done.exit_code == 1
        said = (
            "the spend ceiling of $1.00 cannot be kept: an answer of mock cost $0.05, and could "
            "cost $0.04 at most"
        )
        assert said in done.stderr
        assert "wrote 5 of at most 4" in done.stderr
        assert sum(asked(url).values()) <= 4, "what was in flight, and no more"
        for way in ((), ("--detach",)):
            lower = resume(store, tmp_path, "--max-spend", "0.01", *way)
            assert lower.exit_code == 2 and "more than $0.01" in lower.stderr
    assert [said in each["reason"] for each in recorded(store, "RunPaused")] == [True]
    assert recorded(store, "RunResumed") == []


def test_refusals_cost_nothing_and_errors_that_may_have_been_billed_their_worst_case(
    store: Store, tmp_path: Path
) -> None:
    with mock_server(0) as url:
        configured(tmp_path, url, 0.15)
        write_suite(tmp_path, 2, prompt="{n} [fault:http400]")
        refused = start(store, tmp_path)
        assert refused.exit_code == 1 and "failed" in refused.stderr
        write_suite(tmp_path, 2, prompt="{n} [fault:http500]")
        broken = start(store, tmp_path)
        assert "up to $0.15 for 3 requests without a known cost" in broken.stderr


def test_what_is_no_amount_is_refused_with_its_place(store: Store, tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    for written in ("0", "-1", ".nan", ".inf", "1.0e+400", "1e400", "many"):
        (tmp_path / "run.yaml").write_text(
            "test_run: {name: spend}\n"
            "models: [{provider: openai, base_url: 'http://127.0.0.1:9/v1', model: mock}]\n"
            "prompts: {path: suite.jsonl, dialect: failproof}\n"
            "execution:\n"
            f"  max_spend_usd: {written}\n"
        )
        done = invoke(store.url, "validate", "run.yaml", "--offline", cwd=tmp_path)
        assert done.exit_code == 2, written
        assert "run.yaml:5: execution.max_spend_usd: " in done.stderr, written
    for written in ("0", "-1", "nan", "inf", "1e400", "many", "1e-60"):
        done = resume(store, tmp_path, f"--max-spend={written}")
        assert done.exit_code == 2 and "--max-spend" in done.stderr, written


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ({"model": "other"}, "models[0].model: the price of other is not known"),
        ({"parameters": {"web_search_options": {}}}, "models[0].parameters: nothing bounds what"),
    ],
    ids=["unpriced", "unbounded"],
)
def test_a_model_whose_cost_nothing_bounds_is_refused_before_anything_is_sent(
    store: Store, tmp_path: Path, model: dict[str, Any], said: str
) -> None:
    with mock_server(0) as url:
        configured(tmp_path, url, 1, **model)
        for command in (("start", "--quiet"), ("validate",)):
            done = invoke(store.url, *command, "run.yaml", cwd=tmp_path)
            assert done.exit_code == 2 and said in done.stderr
            assert "run.yaml:1: " in done.stderr
        assert asked(url) == {} and recorded(store, "RunStarted") == []


def test_an_unpriced_judge_is_refused(store: Store, tmp_path: Path) -> None:
    configured(tmp_path, "http://127.0.0.1:9/v1", 1)
    document = orjson.loads((tmp_path / "run.yaml").read_bytes())
    document["judge"] = {**document["models"][0], "model": "strict"}
    (tmp_path / "run.yaml").write_bytes(orjson.dumps(document))
    done = invoke(store.url, "validate", "run.yaml", "--offline", cwd=tmp_path)
    assert (
        done.exit_code == 2 and "[price-unknown]" in done.stderr and "judge.model: " in done.stderr
    )
    assert "input_usd_per_million" in done.stderr


def test_a_ceiling_for_a_run_without_prices_is_refused(store: Store, tmp_path: Path) -> None:
    with mock_server(0) as url:
        write_suite(tmp_path, 1, prompt="{n} [fault:http401]")
        write_configuration(tmp_path, url)
        assert start(store, tmp_path).exit_code == 1
        done = resume(store, tmp_path, "--max-spend", "1")
        assert done.exit_code == 2 and "[price-unknown]" in done.stderr
        assert len(recorded(store, "RunResumed")) == 0


def test_an_estimate_beyond_the_ceiling_is_told(store: Store, tmp_path: Path) -> None:
    with mock_server(0) as url:
        for ceiling, said in (
            (
                0.29,
                "the run may cost up to $0.3000 by the estimate, more than the ceiling of $0.29",
            ),
            (0.3, ""),
        ):
            configured(tmp_path, url, ceiling)
            done = invoke(store.url, "validate", "run.yaml", cwd=tmp_path)
            assert done.exit_code == 0
            assert (said in done.stderr) if said else ("ceiling" not in done.stderr)
        dear = {**LISTED, "input_usd_per_million": 1_000_000}
        configured(tmp_path, url, 0.01, listed=dear)
        done = invoke(store.url, "validate", "run.yaml", cwd=tmp_path)
        assert "[spend-ceiling-below-estimate]" in done.stderr


def test_the_body_bounds_what_is_read(store: Store, tmp_path: Path) -> None:
    """The input of a request is priced by its bytes, and what a server may add."""
    listed = {**LISTED, "input_usd_per_million": 100}
    with mock_server(0) as url:
        configured(tmp_path, url, 10, listed=listed)
        assert start(store, tmp_path).exit_code == 0
        bodies = [each["body"].encode() for each in recorded(store, "RequestSent")]
        assert len({len(body) for body in bodies}) == 1
        worst = ANSWER + (len(bodies[0]) + HIDDEN_INPUT_TOKENS) * Decimal("0.0001")
        configured(tmp_path, url, float(worst - Decimal("0.0001")), listed=listed)
        less = start(store, tmp_path)
        assert f"the next request to mock may cost {usd_text(worst)}" in less.stderr
        assert len(recorded(store, "RequestSent")) == CASES
        configured(tmp_path, url, float(worst), listed=listed)
        assert start(store, tmp_path).exit_code == 1
        assert len(recorded(store, "RequestSent")) == CASES + 1
