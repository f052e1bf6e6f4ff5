"""Runs one attempt of any provider: one `Answer` or one `ModelError`, whatever its code does."""

from __future__ import annotations

import asyncio

from failproof_es.models.protocol import Answer, ModelError, OnText, PreparedRequest, Provider


async def send_once(
    provider: Provider, request: PreparedRequest, on_text: OnText | None, longest_s: float
) -> Answer:
    """Call `provider.send` once, and enforce its contract: an `Answer` or a `ModelError`.

    The provider itself enforces its time-out. A call that takes more than `longest_s` seconds
    (`stuck_after_s`: twice the time-out, or infinite), or that raises another exception, ends in a
    `ModelError`, and the run goes on.
    """
    limit_s = None if longest_s == float("inf") else longest_s
    try:
        async with asyncio.timeout(limit_s) as deadline:
            return await provider.send(request, on_text)
    except ModelError:
        raise
    except TimeoutError as error:
        if not deadline.expired():
            raise _client_exception(error) from error
        message = f"the provider did not come back within {longest_s:g} s"
        raise ModelError("timeout", message, "transient") from None
    except Exception as error:  # another package's code
        raise _client_exception(error) from error


def _client_exception(error: Exception) -> ModelError:
    message = f"the provider raised {type(error).__name__}: {error}"
    return ModelError("client_exception", message, "final")
