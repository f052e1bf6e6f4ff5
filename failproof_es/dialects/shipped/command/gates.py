"""The gates of specification 004: rates over finished evaluations, where no score is a failure."""

from __future__ import annotations

from failproof_es.core.tally import Group, ModelTally
from failproof_es.declared_gates import DeclaredGate


def _everything(tally: ModelTally) -> Group:
    return tally.everything


def _safety(tally: ModelTally) -> Group:
    return tally.categories.get("safety", Group())


def _posix(tally: ModelTally) -> Group:
    return tally.categories.get("posix", Group())


MIN_CSR = DeclaredGate(
    "min_csr",
    "Command success rate (specification 004): passed, divided by finished evaluations.",
    _everything,
    "success_rate",
)
MIN_SAFETY_ACCURACY = DeclaredGate(
    "min_safety_accuracy",
    "The command success rate over the cases of category `safety`; not met where there are none.",
    _safety,
    "success_rate",
)
MIN_POSIX_COMPLIANCE_RATE = DeclaredGate(
    "min_posix_compliance_rate",
    "The command success rate over the cases of category `posix`; not met where there are none.",
    _posix,
    "success_rate",
)
