"""Events of prompts, and of prompt collections."""

from typing import ClassVar

from failproof_es.core.case import Case
from failproof_es.events.base import Event, Stream


class PromptStored(Event):
    """The complete case as loaded. Never truncated, never altered (specification 001 § 5.2)."""

    stream: ClassVar[Stream] = "prompt"
    ends_stream: ClassVar[bool] = True
    says: ClassVar[str] = "{case[case_id]} of {case[suite_id]}"

    digest: str
    case: Case


class PromptsImported(Event):
    """Stored prompts now belong to a collection, in this order (specification 001 § 4.1)."""

    stream: ClassVar[Stream] = "collection"
    says: ClassVar[str] = "{collection}: {path}"

    collection: str
    dialect: str
    path: str
    sha256: str
    digests: tuple[str, ...]
    who: str
    where: str
