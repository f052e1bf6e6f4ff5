"""The service that telemetry is of."""

from __future__ import annotations

import orjson
import pytest

from failproof_es.exports.otel.encoding import json_lines
from failproof_es.exports.otel.telemetry import EvaluationResultEvent, Span

TELEMETRY = (
    Span("run", "internal", 1, 2, None, 0, 1, {}),
    EvaluationResultEvent(1, 2, 1, {}),
)


@pytest.mark.parametrize(
    ("variable", "service"), [(None, "failproof-es"), ("", "failproof-es"), ("evals", "evals")]
)
def test_the_environment_names_the_service(
    monkeypatch: pytest.MonkeyPatch, variable: str | None, service: str
) -> None:
    monkeypatch.delenv("OTEL_SERVICE_NAME", raising=False)
    if variable is not None:
        monkeypatch.setenv("OTEL_SERVICE_NAME", variable)
    spans, events = map(orjson.loads, json_lines(TELEMETRY))
    expected = [{"key": "service.name", "value": {"stringValue": service}}]
    assert spans["resourceSpans"][0]["resource"]["attributes"] == expected
    assert events["resourceLogs"][0]["resource"]["attributes"] == expected
