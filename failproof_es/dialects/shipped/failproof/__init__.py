"""The FailProof dialect: all of specification 000."""

from failproof_es.dialects.shipped.failproof.dialect import FailProof

__all__ = ["FailProof"]
