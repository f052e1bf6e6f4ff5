"""The FailProof dialect: specification 000, whole."""

from failproof_es.dialects.failproof.dialect import FailProof

__all__ = ["FailProof"]
