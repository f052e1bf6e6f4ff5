"""Signs requests by AWS's Signature Version 4, with `botocore` (extra `aws`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failproof_es.models.http import OutgoingRequest

_SERVICE = "bedrock"


def signed(
    request: OutgoingRequest,
    *,
    region: str,
    access_key: str,
    secret_key: str,
    session_token: str | None,
) -> Mapping[str, str]:
    """The authentication headers: a signature over the request's URL, body and time.

    `session_token` belongs to temporary credentials; `None` for others.
    """
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    credentials = Credentials(access_key, secret_key, session_token)
    sent: Any = AWSRequest(
        method=request.method,
        url=request.url,
        data=request.body,
        headers={name: value for name, value in request.headers.items() if name == "content-type"},
    )
    SigV4Auth(credentials, _SERVICE, region).add_auth(sent)
    header_names = ("authorization", "x-amz-date", "x-amz-security-token")
    return {name: sent.headers[name] for name in header_names if name in sent.headers}
