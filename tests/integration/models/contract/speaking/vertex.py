"""Vertex AI, as documented in its reference: it speaks as the Gemini API does.

https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference
https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/api-errors
"""

from __future__ import annotations

from tests.integration.models.contract.speaking import gemini
from tests.integration.models.contract.speaking.example import Example, Speaks, document
from tests.integration.models.contract.speaking.gemini import MODEL, error, response
from tests.integration.models.contract.wires import GeminiWire

BLOCKED = "The prompt could not be submitted. It contains words that violate a policy."

EXAMPLES = {
    **{name: each for name, each in gemini.EXAMPLES.items() if name != "wrong_key"},
    "wrong_key": Example(
        reply=error(
            401, "UNAUTHENTICATED",
            "Request had invalid authentication credentials. Expected OAuth 2 access token",
        ),
        kind="authentication", disposition="halting", says="invalid authentication credentials",
    ),
    "blocked_request_explained": Example(
        reply=document(
            200,
            response(
                promptFeedback={"blockReason": "BLOCKLIST", "blockReasonMessage": BLOCKED},
            ),
        ),
        finish_reason="content_filter", refusal=BLOCKED, model=MODEL, request_id=gemini.ID,
        usage=gemini.READ,
    ),
}  # fmt: skip

PATH = f"/v1/projects/mine-1/locations/us-central1/publishers/google/models/{MODEL}"
SPEAKS = Speaks(
    provider="vertex",
    reference="https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference",
    entry={"model": MODEL, "options": {"project": "mine-1", "location": "us-central1"}},
    path="/v1",
    asked_at=f"{PATH}:generateContent",
    streamed_at=f"{PATH}:streamGenerateContent?alt=sse",
    costs=gemini.SPEAKS.costs,
    examples=EXAMPLES,
    ends=gemini.SPEAKS.ends,
    ended=gemini.SPEAKS.ended,
    unable=gemini.SPEAKS.unable,
    wire=GeminiWire,
    lists_models=False,
)
