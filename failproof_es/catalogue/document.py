"""`Document`: the base of what is shown as one JSON object, by whichever surface."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Document(BaseModel):
    """A JSON object with known fields; it never changes."""

    model_config = ConfigDict(frozen=True, extra="forbid")
