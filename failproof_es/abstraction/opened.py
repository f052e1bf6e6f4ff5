"""Builds a `BenchmarkApi` from a configuration, a log, the models and the report."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from failproof_es.abstraction.implementation.benchmark import BenchmarkSession
from failproof_es.abstraction.implementation.data_manager import DataManager
from failproof_es.abstraction.implementation.dataset_loader import DataSetLoader
from failproof_es.abstraction.implementation.dispatcher import Dispatcher, logger
from failproof_es.abstraction.implementation.engine_loop import EngineLoop
from failproof_es.abstraction.implementation.llm_manager import LLMManager
from failproof_es.abstraction.implementation.prompts import Prompts
from failproof_es.abstraction.implementation.run_report import write_report
from failproof_es.abstraction.implementation.task_manager import TaskManager
from failproof_es.assurance.signing.opened_store import open_store
from failproof_es.configuration.loading import LoadedConfiguration, load_configuration
from failproof_es.dialects.shipped.benchmark.options import read_options
from failproof_es.models.trust.permissions import Permissions
from failproof_es.models.trust.remembered import permissions_here
from failproof_es.problems import InvalidInput, Problem
from failproof_es.reading.cases_by_result import with_cases_by_result
from failproof_es.reading.signing_following import sign_and_follow
from failproof_es.store.store import Store


@dataclass(frozen=True, slots=True)
class BenchmarkParts:
    """Implementations of the specification's six interfaces, connected to each other."""

    benchmark: BenchmarkSession
    data: DataManager
    loader: DataSetLoader
    models: LLMManager
    prompts: Prompts
    tasks: TaskManager


@contextlib.contextmanager
def open_benchmark(
    configuration: Path | str,
    database_url: str | None = None,
    *,
    reports: Path | str = "reports",
    slow_callback_s: float = 5.0,
    follow: bool = True,
    allow: Sequence[str] = (),
) -> Iterator[BenchmarkParts]:
    """The benchmark of a configuration: the path of a file, or the name of a shipped one.

    The log is the database at `database_url`, by default the one of the command line. Reports
    are written into the folder `reports`. A callback that takes longer than `slow_callback_s`
    seconds is logged. A vendor's API key goes to the vendor's own host only; `allow` permits
    other hosts, each as `VARIABLE=HOST`. The log is signed and the projections follow the log,
    unless `follow` is false. Leaving the context stops a run in progress, which can be resumed.
    Raises `InvalidInput` with every problem. Leaving raises `LedgerBroken` or `Forked` if the
    log was changed; no checkpoint is signed then.
    """
    loaded = load_configuration(Path(configuration))
    permissions = permissions_here(allow, own=True)
    permissions.require(loaded.configuration)
    with open_store(database_url, logger.warning) as store, contextlib.ExitStack() as stack:
        if follow:
            stack.enter_context(sign_and_follow(store, logger.warning))
        loaded = with_cases_by_result(loaded, store)
        parts = stack.enter_context(
            _build_parts(loaded, store, permissions, Path(reports), slow_callback_s)
        )
        yield parts


@contextlib.contextmanager
def _build_parts(
    loaded: LoadedConfiguration,
    store: Store,
    permissions: Permissions,
    reports: Path,
    slow_s: float,
) -> Iterator[BenchmarkParts]:
    dataset = _dataset_path(loaded)
    prompts = loaded.configuration.prompts
    with contextlib.ExitStack() as closing:
        for_tasks, for_runs, flow = (Dispatcher(slow_s=slow_s) for _ in range(3))
        loop = EngineLoop()
        closing.callback(for_runs.close)
        closing.callback(flow.close)
        closing.callback(for_tasks.close)
        closing.callback(loop.close)
        models = LLMManager(loaded.configuration, loop)
        closing.callback(models.close)
        tasks = TaskManager(store, loop, for_tasks)
        closing.callback(tasks.close)
        data = DataManager(
            store, loaded, models, loop, tasks.borrow_lease, permissions, tasks.end_run
        )
        options = read_options(prompts.options)
        skipping = prompts.on_invalid == "skip"
        loader = DataSetLoader(skip_invalid=skipping, folder=loaded.folder, options=options)
        benchmark = BenchmarkSession(
            models,
            data,
            loader,
            tasks,
            dataset_path=dataset,
            report=partial(write_report, store, folder=reports),
            dispatcher=for_runs,
            flow=flow,
            prompts=Prompts(options),
        )
        yield BenchmarkParts(benchmark, data, loader, models, Prompts(options), tasks)


def _dataset_path(loaded: LoadedConfiguration) -> str:
    """The path of the tasks. Raises `InvalidInput` for settings that this interface lacks."""
    configuration = loaded.configuration
    prompts = configuration.prompts
    names = [model.model for model in configuration.models]
    wrong = {
        "prompts.dialect": prompts.dialect not in (None, "benchmark"),
        "prompts.path": not isinstance(prompts.path, str),
        "prompts.filters": prompts.filters.model_dump(exclude_none=True),
        "execution.repetitions": configuration.execution.repetitions != 1,
        "matrix": configuration.matrix is not None,
        "models": configuration.matrix is None and len(set(names)) < len(names),
    }
    remedies = {
        "prompts.dialect": "must be `benchmark`",
        "prompts.path": "must be one folder or file of tasks",
        "prompts.filters": "has no word in this interface: `failproof-es start` knows it",
        "execution.repetitions": "must be 1: results of this interface have no repetition",
        "matrix": "has no word in this interface: `failproof-es start` knows it",
        "models": "must not name a model twice: results of this interface have only its name",
    }
    problems = [
        Problem("unsupported-feature", remedies[name], field=name)
        for name, is_wrong in wrong.items()
        if is_wrong
    ]
    problems += [
        Problem(
            "unsupported-feature",
            "must be `prompts.options.generation_template`: `PromptApi` knows no model",
            field=f"models[{place}].prompt_template",
        )
        for place, model in enumerate(configuration.models)
        if model.prompt_template is not None and configuration.matrix is None
    ]
    if problems:
        raise InvalidInput([loaded.placed(problem) for problem in problems])
    return str(prompts.path)
