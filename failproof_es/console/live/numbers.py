"""The numbers of a run's page that change while the run goes, formatted as on the page."""

from __future__ import annotations

from failproof_es.catalogue.pass_rate import PassRate
from failproof_es.catalogue.run import ModelProgress, Spending, SuiteProgress
from failproof_es.catalogue.run_numbers import (
    errors_of,
    model_progress,
    spending_of,
    suites_of,
    unscored_of,
)
from failproof_es.console.links import live_key
from failproof_es.console.parts.run import MOST_LIVE_SUITES, cost_note
from failproof_es.console.rendering import in_thousandths, milliseconds, share_text, usd_text
from failproof_es.core.summary import RunSummary


class LivePage:
    """Texts and drawings of a run's page, by the keys that `run.html` gives its elements."""

    def __init__(self, summary: RunSummary) -> None:
        self.texts: dict[str, str] = {}
        self.paths: dict[str, str] = {}
        self._asked = summary.run.imported is None
        self._progress("all", summary.total.finished, summary.planned)
        for at, model in enumerate(summary.run.started.models):
            self._model(f"model-{at}", model_progress(summary, model))
        suites = tuple(suites_of(summary))
        for suite in suites if len(suites) <= MOST_LIVE_SUITES else ():
            self._suite(live_key("suite", suite.model, suite.suite), suite)
        for error in errors_of(summary):
            key = live_key("error", error.asked, error.kind, error.message)
            self.texts[key] = f"{error.requests:,}"
        for unscored in unscored_of(summary):
            names = (unscored.model, unscored.group, unscored.kind, unscored.reason)
            self.texts[live_key("unscored", *names)] = f"{unscored.evaluations:,}"
        asking, spending = summary.asking(), spending_of(summary)
        self.texts |= {
            "cost": self._cost(spending),
            "cost-note": cost_note(spending),
            "tokens-in": _count(spending.input_tokens),
            "tokens-out": _count(spending.output_tokens),
            "latency-50": milliseconds(summary.latency_ms(50)),
            "latency-95": milliseconds(summary.latency_ms(95)),
            "errors": f"{asking.errors:,}",
            "retries": f"{asking.retries:,}",
            "lost": f"{summary.total.lost:,}",
            "carried-over": f"{asking.carried_over:,}",
        }

    def _model(self, key: str, model: ModelProgress) -> None:
        counts = model.counts
        self._progress(key, counts.finished, counts.planned)
        for name in ("abandoned", "lost", "in_flight", "requests", "retries", "failed_requests"):
            self.texts[f"{key}-{name}"] = f"{getattr(counts, name):,}"
        for name, count in model.classes.items():
            self.texts[f"{key}-class-{name}"] = f"{count:,}"
        self.texts[f"{key}-cost"] = self._cost(model)
        self._rate(key, model.passed)

    def _cost(self, of: Spending | ModelProgress) -> str:
        if not self._asked:
            return "–"
        is_least = of.possibly_charged and of.cost_usd is not None
        return f"{'at least ' if is_least else ''}{usd_text(of.cost_usd)}"

    def _suite(self, key: str, suite: SuiteProgress) -> None:
        for name in ("cases", "finished", "abandoned"):
            self.texts[f"{key}-{name}"] = f"{getattr(suite, name):,}"
        self.texts[f"{key}-accuracy"] = share_text(suite.accuracy)
        self._rate(key, suite.passed)

    def _progress(self, key: str, done: int, whole: int) -> None:
        self.texts[f"{key}-done"] = f"{done:,}/{whole:,}"
        if done:
            self.paths[f"{key}-gauge"] = f"M0 5H{in_thousandths(done, whole)}"

    def _rate(self, key: str, passed: PassRate) -> None:
        if passed.bounds is not None:
            self.texts[f"{key}-bounds"] = " to ".join(map(share_text, passed.bounds))
        if passed.rate is None:
            return
        self.texts[f"{key}-of"] = f"{passed.passed:,}/{passed.total:,}"
        self.texts[f"{key}-rate"] = share_text(passed.rate)
        self.texts[f"{key}-says"] = passed.says
        self.paths[f"{key}-point"] = f"M{round(passed.rate * 1000)} 10V110"
        if passed.low is not None and passed.high is not None:
            low, high = round(passed.low * 1000), round(passed.high * 1000)
            self.paths[f"{key}-range"] = f"M{low} 60H{high}"
            interval = f"{share_text(passed.low)} to {share_text(passed.high)}"
            self.texts[f"{key}-interval"] = interval


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
