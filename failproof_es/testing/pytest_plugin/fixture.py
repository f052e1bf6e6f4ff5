"""The fixture `failproof`: evaluates a configuration in a test, and asserts its gates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from uuid import UUID

import pytest

from failproof_es.configuration.loading import LoadedConfiguration
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.library.evaluating import ConfigurationSource, OnRunStarted, evaluate, load
from failproof_es.library.opened_run import OpenedRun
from failproof_es.testing.pytest_plugin.shared_runs import SharedRuns, shared_runs


class FailproofFixture:
    """The value of the fixture `failproof`: runs configurations, each once in a test session."""

    def __init__(self, config: pytest.Config) -> None:
        self._runs = shared_runs(config)

    def run(self, configuration: ConfigurationSource, *, settings: Sequence[str] = ()) -> OpenedRun:
        """The run of this configuration: a file, the name of one that ships, or a mapping.

        The run is recorded like any other. The same configuration is run once in a session, also
        with several processes. `settings` are those of `start --set`. Raises `InvalidInput` with
        all problems of the configuration, and `CouldNotRun` if the run failed in another process.
        """
        __tracebackhide__ = True  # pytest then shows the line of the test
        loaded = load(configuration, settings)
        name = str(configuration) if isinstance(configuration, str) else str(loaded.path)
        key = f"{loaded.path.absolute()}\n{loaded.digest()}"
        drive = partial(drive_once, loaded, self._runs)
        run = self._runs.opened(name, key, drive)
        assert isinstance(run, OpenedRun)
        return run

    def open(self, run: int | str | UUID = "latest") -> OpenedRun:
        """A recorded run, by its number or id, as from `failproof_es.open`.

        The caller closes it.
        """
        return OpenedRun.open(str(run), database_url=self._runs.database_url)


def drive_once(loaded: LoadedConfiguration, runs: SharedRuns, on_start: OnRunStarted) -> Outcome:
    """Run a configuration with the session's database and permissions; return the outcome.

    `on_start` is called when the run is recorded.
    """
    return evaluate(loaded, database_url=runs.database_url, on_start=on_start, allow=runs.allow)
