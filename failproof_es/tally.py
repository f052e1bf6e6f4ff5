"""For plugins: what `failproof_es.core.tally` offers, under the name that stays."""

from failproof_es.core.tally import (
    Group,
    ModelTally,
    Tally,
)

__all__ = ["Group", "ModelTally", "Tally"]
