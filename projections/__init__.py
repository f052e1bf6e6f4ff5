"""Read models computed from the log. They can all be thrown away and rebuilt."""

from projections.audit_trail import AuditTrail
from projections.command_results import CommandResults
from projections.cost import Cost
from projections.progress import Progress
from projections.protocol import Projection
from projections.reviews import Reviews
from projections.run_results import RunResults

PROJECTIONS: tuple[Projection, ...] = (
    RunResults(),
    Progress(),
    Cost(),
    AuditTrail(),
    CommandResults(),
    Reviews(),
)
"""Every projection. Tests, the follower and `rebuild` go through this list."""

__all__ = ["PROJECTIONS", "Projection"]
