"""Runs one attempt of any provider: one `Answer` or one `ModelError`, whatever its code does."""

from __future__ import annotations

import asyncio

from failproof_es.models.protocol import Answer, ModelError, OnText, PreparedRequest, Provider


async def send_once(
    provider: Provider, request: PreparedRequest, on_text: OnText | None, longest_s: float
) -> Answer:
    """Call `send` and enforce its contract. `stuck_after_s` may be infinite.

    A provider ends an attempt itself. One that has not by then has broken its promise, and so has
    one that raises anything but `ModelError`; neither holds up the run or ends it.
    """
    limit_s = None if longest_s == float("inf") else longest_s
    try:
        async with asyncio.timeout(limit_s) as deadline:
            return await provider.send(request, on_text)
    except ModelError:
        raise
    except TimeoutError as error:
        if not deadline.expired():
            raise _raised(error) from error
        message = f"the provider did not come back within {longest_s:g} s"
        raise ModelError("timeout", message, "transient") from None
    except Exception as error:  # another package's code
        raise _raised(error) from error


def _raised(error: Exception) -> ModelError:
    message = f"the provider raised {type(error).__name__}: {error}"
    return ModelError("client_exception", message, "final")
