"""Where telemetry goes: by option or environment; its headers go to no other host."""

from __future__ import annotations

import click
import pytest

from failproof_es.cli.starting.telemetry_beside import collector_of
from failproof_es.problems import InvalidInput

HERE, THERE = "http://127.0.0.1:4318", "https://collector.example"
ENDPOINT, HEADERS = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS"


@pytest.fixture(autouse=True)
def _no_telemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (ENDPOINT, HEADERS, "OTEL_SDK_DISABLED", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        monkeypatch.delenv(name, raising=False)


def test_the_option_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert collector_of(None, False, detach=False) is None
    monkeypatch.setenv(ENDPOINT, THERE)
    assert collector_of(None, True, detach=False) == THERE
    assert collector_of(HERE, False, detach=False) == HERE


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("OTEL_SDK_DISABLED", "true", ""), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "is grpc")],
)
def test_the_environment_is_no_obstacle(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    name: str, value: str, said: str,
) -> None:  # fmt: skip
    monkeypatch.setenv(ENDPOINT, THERE)
    monkeypatch.setenv(name, value)
    assert collector_of(None, False, detach=False) is None
    assert said in capsys.readouterr().err
    monkeypatch.delenv(name)
    assert collector_of(None, False, detach=True) is None


def test_an_address_that_is_none_and_options_that_do_not_fit_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(click.UsageError):
        collector_of(None, True, detach=False)
    with pytest.raises(click.UsageError):
        collector_of(HERE, False, detach=True)
    monkeypatch.setenv(ENDPOINT, "http://user:secret@collector.example")
    with pytest.raises(InvalidInput) as raised:
        collector_of(None, False, detach=False)
    (problem,) = raised.value.problems
    assert (problem.code, problem.field) == ("key-exposed", ENDPOINT) and "secret" not in str(
        problem
    )


@pytest.mark.parametrize("variable", [HEADERS, "OTEL_EXPORTER_OTLP_TRACES_HEADERS"])
def test_headers_for_one_host_go_to_no_other(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(ENDPOINT, THERE)
    monkeypatch.setenv(variable, "api-key=s3cret")
    assert collector_of(None, False, detach=False) == THERE
    assert collector_of(f"{THERE}/otlp", False, detach=False) == f"{THERE}/otlp"
    with pytest.raises(InvalidInput, match=f"{variable} would go to 127.0.0.1:4318"):
        collector_of(HERE, False, detach=False)
