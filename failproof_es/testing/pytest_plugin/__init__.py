"""The pytest plugin: `pytest --failproof CONFIG`, and the fixture `failproof`.

Every test run of an environment that has this package imports this module. So it imports nothing
of the program until the option is given or the fixture is asked for.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from failproof_es.testing.pytest_plugin.fixture import FailproofFixture

PREPARED = pytest.StashKey[Any]()
"""The `SharedRuns` of a session that uses the plugin."""
_FOLDER = pytest.StashKey[Path]()
_WORKER_FOLDER = "failproof_es_folder"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("failproof-es", "evaluations of language models")
    group.addoption(
        "--failproof",
        action="append",
        default=[],
        metavar="CONFIG",
        help="evaluate this configuration, a file or the name of one that ships: one test for each "
        "evaluation, and one for the run. Can be repeated.",
    )
    group.addoption(
        "--failproof-resume",
        action="append",
        default=[],
        metavar="RUN",
        help="the same of a recorded run, which is resumed if it has not ended. Can be repeated.",
    )
    group.addoption(
        "--failproof-allow",
        action="append",
        default=[],
        metavar="VARIABLE=HOST",
        help="let this variable's value go to HOST. A vendor's key may go to the vendor's own host "
        "without it. Can be repeated.",
    )
    group.addoption(
        "--failproof-database-url",
        metavar="URL",
        help="a PostgreSQL server; by default $FAILPROOF_ES_DATABASE_URL, else the embedded server",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and the collection of evaluations if the options name a run."""
    config.addinivalue_line("markers", "failproof: an evaluation of failproof-es")
    if config.getoption("--failproof") or config.getoption("--failproof-resume"):
        from failproof_es.testing.pytest_plugin.collecting import Collecting

        config.pluginmanager.register(Collecting(config), "failproof-es-evaluations")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Pass the folder with the session's shared runs to a worker of pytest-xdist."""
    node.workerinput[_WORKER_FOLDER] = str(folder_of(node.config))


def folder_of(config: pytest.Config) -> Path:
    """The folder in which the processes of this session share the notes about their runs.

    It may not exist yet.
    """
    folder = getattr(config, "workerinput", {}).get(_WORKER_FOLDER)
    if _FOLDER not in config.stash:
        name = f"failproof-es-pytest-{uuid4().hex}"  # unique: no other process can have created it
        config.stash[_FOLDER] = Path(folder or Path(tempfile.gettempdir(), name))
    return config.stash[_FOLDER]


def _owned_folder(config: pytest.Config) -> Path | None:
    """The session's shared folder, if it exists and this process has to remove it; else `None`.

    A worker of pytest-xdist never has to.
    """
    if hasattr(config, "workerinput") or _FOLDER not in config.stash:
        return None
    return config.stash[_FOLDER] if config.stash[_FOLDER].exists() else None


@pytest.fixture(scope="session")
def failproof(request: pytest.FixtureRequest) -> FailproofFixture:
    """Evaluates configurations: `failproof.run("run.yaml").assert_gates()`."""
    from failproof_es.testing.pytest_plugin.fixture import FailproofFixture

    return FailproofFixture(request.config)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the runs of the session, each with the next command."""
    if (folder := _owned_folder(config)) is not None:
        from failproof_es.testing.pytest_plugin.shared_runs import tell

        tell(folder, terminalreporter)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the connections and remove the shared folder."""
    if PREPARED in config.stash:
        config.stash[PREPARED].close()
        del config.stash[PREPARED]
    if (folder := _owned_folder(config)) is not None:
        shutil.rmtree(folder, ignore_errors=True)
