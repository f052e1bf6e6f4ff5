"""Events of plans that are registered before a run follows them."""

from typing import Any, ClassVar

from failproof_es.events.runs import Experiment, ModelSnapshot, Selection, SuiteSnapshot
from failproof_es.events.side_streams import OperationEvent


class PlanRegistered(OperationEvent):
    """A plan was registered before any run followed it. No model was asked.

    `about` is the registration's id. At most `runs` runs may follow the plan. `cases` is the
    `set_digest` (`failproof_es.core.experiment`) of the digests of the whole cases. The other
    fields are those of the `RunStarted` of a run that follows it.
    """

    says: ClassVar[str] = "{name}, evaluations: {planned_evaluations}, runs: {runs}"

    runs: int
    name: str
    experiment: Experiment
    configuration: dict[str, Any]
    configuration_digest: str
    models: tuple[ModelSnapshot, ...]
    judges: tuple[ModelSnapshot, ...] = ()
    suites: tuple[SuiteSnapshot, ...]
    dialect: str
    cases: str
    planned_cases: int
    planned_evaluations: int
    code_version: str
    packages: dict[str, str]
    selection: Selection | None = None
