"""Plans a run of judge probes: the conversations to judge, and the configuration that asks them.

The run is like any other: its models are the judges of a configuration.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from failproof_es.configuration.choices import ReuseSection, SelectionSection
from failproof_es.configuration.gates_section import Gates
from failproof_es.configuration.loading import LoadedConfiguration
from failproof_es.configuration.schema import (
    Configuration,
    GradingSection,
    JudgingSection,
    Output,
    PromptsSection,
)
from failproof_es.core.case import Case
from failproof_es.dialects.judge_probe.conversation import JudgedConversation, made_conversations
from failproof_es.dialects.judge_probe.dialect import NAME
from failproof_es.dialects.protocol import ReadsJudges
from failproof_es.engine.planning.sources import source_of
from failproof_es.problems import InvalidInput, Problem
from failproof_es.store.store import LendsConnections


def require_judges(loaded: LoadedConfiguration) -> None:
    """Raise `InvalidInput` if the configuration names no judge."""
    if not loaded.configuration.asked_judges:
        problem = Problem(
            "no-judge", "there is no judge to probe", field="judge",
            remedy="name the model that judges",
        )  # fmt: skip
        raise InvalidInput([loaded.placed(problem)])


def make_conversations(
    loaded: LoadedConfiguration, store: LendsConnections, count: int, seed: int
) -> list[JudgedConversation]:
    """Conversations with made answers to a sample of at most `count` cases of the configuration.

    Raises `InvalidInput` if a case has a defect, or if the dialect asks no judges.
    """
    selection = loaded.configuration.selection
    sample = selection.model_copy(update={"sample": count, "seed": seed, "limit": None})
    sampled = loaded.configuration.model_copy(update={"selection": sample})
    source = source_of(replace(loaded, configuration=sampled), store)
    dialect = source.dialect
    if not isinstance(dialect, ReadsJudges):
        reason = f"the dialect {dialect.name!r} asks no judges"
        remedy = "probe a configuration whose answers are judged by models"
        problem = Problem("unsupported-feature", reason, field="prompts.path", remedy=remedy)
        raise InvalidInput([loaded.placed(problem)])
    cases: list[Case] = []
    try:
        source.read(cases.append)
    except InvalidInput as error:
        problems = [loaded.placed(problem) for problem in error.problems]
        raise InvalidInput(problems, error.warnings) from None
    return [made for case in cases for made in made_conversations(dialect, case)]


def write_conversations(conversations: Iterable[JudgedConversation], file: Path) -> None:
    """Write the suite of probes: a conversation a line, without the documents of their cases.

    Raises `InvalidInput` if there is no conversation.
    """
    lines = [
        conversation.with_case(
            conversation.judged_case.model_copy(update={"document": {}})
        ).model_dump_json()
        for conversation in conversations
    ]
    if not lines:
        raise InvalidInput.because(
            "no-cases",
            "there is no answer that a judge is asked about",
            remedy="choose cases or a run whose answers judges decide",
        )
    file.write_text("\n".join([*lines, ""]), "utf-8")


def probe_configuration(loaded: LoadedConfiguration, file: Path, seed: int) -> LoadedConfiguration:
    """The configuration of the probes in this suite, with the judges as the models under test.

    Everything about answers is left out: gates, scorers, files of results.
    """
    own = loaded.configuration
    judges = own.asked_judges
    probes: dict[str, object] = {
        "test_run": own.test_run.model_copy(
            update={"name": f"{own.test_run.name}: probes of judges", "id": None, "timestamp": None}
        ),
        "models": judges,
        "prompts": PromptsSection(
            path=str(file),
            dialect=NAME,
            options={"seed": seed, "attempts": own.judging.attempts},
        ),
        "execution": own.execution.model_copy(update={"repetitions": 1}),
        **_left_out(),
    }
    configuration: Configuration = own.model_copy(update=probes)
    return replace(
        loaded,
        configuration=configuration,
        of_models=len(judges),
        matrix=None,
        cases_by_result={},
        results_by_pattern={},
    )


def _left_out() -> dict[str, object]:
    """The sections of a configuration that say nothing about its judges, as if left out."""
    return {
        **dict.fromkeys(("matrix", "judge", "judges")),
        "judging": JudgingSection(),
        "selection": SelectionSection(),
        "reuse": ReuseSection(),
        "grading": GradingSection(),
        "output": Output(),
        "gates": Gates(max_unscored_rate=None),  # a forged verdict that is void is a good sign
    }
