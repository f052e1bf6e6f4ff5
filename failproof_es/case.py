"""The stable import path for plugins of `failproof_es.core.case`."""

from failproof_es.core.case import (
    FAMILY,
    Case,
    Role,
    Turn,
    collection_id,
    digest_uuid,
    ledger_id,
    operations_id,
    prompt_id,
    review_id,
    run_id,
)

__all__ = [
    "FAMILY",
    "Case",
    "Role",
    "Turn",
    "collection_id",
    "digest_uuid",
    "ledger_id",
    "operations_id",
    "prompt_id",
    "review_id",
    "run_id",
]
