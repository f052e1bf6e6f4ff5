"""An evaluation as JSON. The source's own verdicts on an imported one are under `imported`."""

from __future__ import annotations

from typing import Any

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Evaluation


def result(case: Case, evaluation: Evaluation) -> dict[str, Any]:
    """The evaluation so far, as JSON, without fields that are not known yet."""
    fields: dict[str, Any] = {
        "id": case.case_id,
        "suite": case.suite_id,
        "run_id": str(evaluation.run_id),
        "model": evaluation.model_key,
        "repetition": evaluation.repetition,
    }
    if evaluation.replies:
        fields["reply"] = evaluation.replies[-1].text_or_refusal
    if (classification := evaluation.classification) is not None:
        fields["class"] = classification.primary
        fields["details"] = classification.details
    if (score := evaluation.score) is not None:
        fields["passed"] = score.passed
        fields["scores"] = dict(score.scores)
    if (ended := evaluation.abandoned) is not None:
        fields["not_scored"] = f"{ended.kind}: {ended.reason}"
    if (imported := evaluation.imported) is not None:
        fields["imported"] = {
            "place": imported.source_place,
            "sample_sha256": imported.sample_sha256,
            "source_scores": imported.source_scores,
            "source_passed": imported.source_passed,
            "source_cost_usd": imported.source_cost_usd,
        }
    return fields
