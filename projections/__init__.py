"""Read models computed from the log. They can all be thrown away and rebuilt."""

from projections.audit_trail import AuditTrail
from projections.command_results import CommandResults
from projections.protocol import Projection
from projections.reviews import Reviews
from projections.run_results import RunResults

PROJECTIONS: tuple[Projection, ...] = (
    RunResults(),
    AuditTrail(),
    CommandResults(),
    Reviews(),
)
"""Every projection. Tests, the follower and `rebuild` go through this list."""

__all__ = ["PROJECTIONS", "Projection"]
