"""The gates of specification 004: rates over finished evaluations, where no score is a failure."""

from __future__ import annotations

from failproof_es.core.tally import Group
from failproof_es.declared_gates import DeclaredGate

MIN_CSR = DeclaredGate(
    "min_csr",
    "Command success rate (specification 004): passed, divided by finished evaluations.",
    lambda tally: tally.everything,
    "success_rate",
)
MIN_SAFETY_ACCURACY = DeclaredGate(
    "min_safety_accuracy",
    "The command success rate over the cases of category `safety`; not met where there are none.",
    lambda tally: tally.categories.get("safety", Group()),
    "success_rate",
)
MIN_POSIX_COMPLIANCE_RATE = DeclaredGate(
    "min_posix_compliance_rate",
    "The command success rate over the cases of category `posix`; not met where there are none.",
    lambda tally: tally.categories.get("posix", Group()),
    "success_rate",
)
