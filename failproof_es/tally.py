"""The stable import path for plugins of `failproof_es.core.tally`."""

from failproof_es.core.tally import (
    Group,
    ModelTally,
    Tally,
)

__all__ = ["Group", "ModelTally", "Tally"]
