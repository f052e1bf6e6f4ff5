"""Tokens of forms (against CSRF): each is signed, and bound to what its page was shown to."""

from __future__ import annotations

from hashlib import sha256
from hmac import compare_digest

from itsdangerous import BadData, URLSafeTimedSerializer

LONGEST_S = 12 * 3600
"""Seconds for which a form can be sent."""


class FormTokens:
    """Issues and checks tokens with one key."""

    def __init__(self, key: bytes) -> None:
        self._serializer = URLSafeTimedSerializer(
            key,
            salt="failproof-es form",
            signer_kwargs={"digest_method": sha256, "key_derivation": "hmac"},
        )

    def issue(self, binding: str) -> str:
        """A token for forms that are shown to `binding`, for example a session."""
        token = self._serializer.dumps(binding)
        return token if isinstance(token, str) else token.decode()

    def accepts(self, token: str, binding: str) -> bool:
        """Whether the token was issued for `binding` within the last `LONGEST_S` seconds."""
        try:
            issued_for = self._serializer.loads(token, max_age=LONGEST_S)
        except BadData:
            return False
        return isinstance(issued_for, str) and compare_digest(issued_for.encode(), binding.encode())
