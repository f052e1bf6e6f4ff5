"""The gate `min_hard_questions`: a rate that every model has to reach."""

from failproof_es.declared_gates import DeclaredGate
from failproof_es.tally import Group, ModelTally


def _hard(tally: ModelTally) -> Group:
    return tally.categories.get("hard", Group())


MIN_HARD_QUESTIONS = DeclaredGate(
    name="min_hard_questions",
    help="The share of hard questions answered right; what was never answered is wrong.",
    group=_hard,
    rate="success_rate",
)
