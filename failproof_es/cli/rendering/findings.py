"""The findings of a run's validation, as lines of text for people."""

from __future__ import annotations

from collections.abc import Iterator

from failproof_es.dialects.fixed_outcomes import FIXED_OUTCOME
from failproof_es.events import RunValidated
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import one_line


def finding_lines(validation: RunValidated) -> Iterator[str]:
    """The lines to print: the verdict of the validation, then every finding, errors first."""
    checked = validation.checked.items()
    looked_at = ", ".join(plural(count, what.removesuffix("s")) for what, count in checked)
    verdict = "no problems found" if validation.passed else "problems found"
    yield f"checked {looked_at}: {verdict}"
    for finding in sorted(validation.findings, key=lambda finding: not finding.integrity):
        where = f" (evaluation {finding.evaluation_id})" if finding.evaluation_id else ""
        yield one_line(f"  {finding.kind}: {finding.message}{where}")
    for kind, count in validation.more.items():
        yield f"  {kind}: {count:,} more"


def fixed_outcomes(validation: RunValidated | None) -> str:
    """Sentences on the evaluations whose outcome no answer could change, for a headline.

    Empty without such evaluations, or without a validation.
    """
    findings = () if validation is None else validation.findings
    return "; ".join(finding.message for finding in findings if finding.kind == FIXED_OUTCOME)
