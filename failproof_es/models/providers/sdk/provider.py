"""Sends requests through a user's class that uses a vendor's client library."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import quote, quote_plus

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.models import sent_parameters
from failproof_es.models.catalog.listing import CheckCache
from failproof_es.models.catalog.packages import describe_class
from failproof_es.models.completion import complete, with_parameters
from failproof_es.models.credentials import SHORTEST_KEY
from failproof_es.models.http import HttpProvider
from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.protocol import (
    DEFAULT_RESPONSE_OPTIONS,
    Answer,
    ModelError,
    OnText,
    PreparedRequest,
    ResponseOptions,
)
from failproof_es.models.providers.sdk.transport import (
    RecordingTransport,
    RequestCaptured,
    SdkReply,
    SdkRequest,
    UnexpectedRequest,
    answering,
    capture_request,
)
from failproof_es.models.replies.half_characters import join_halves
from failproof_es.models.user_code.class_type import key_of_class
from failproof_es.models.user_code.finding import find_class
from failproof_es.models.user_code.loading import load_class
from failproof_es.models.user_code.threads import UserCodeError, in_a_thread
from failproof_es.problems import InvalidInput

MOST_PREPARED = 4_096
"""The most prepared requests that are kept until they are sent."""
METHOD = "ask"
"""The method that a user's class must have."""
_MAKING_S = 60.0
"""Seconds after which a library that has made no request counts as stuck. Loading it for the first
request takes 1 s, and 30 s on a busy machine."""


class SdkClient(Protocol):
    """The class that a configuration names. It must send one request, through `transport`."""

    def __init__(
        self, *, api_key: str, model_id: str, base_url: str, transport: RecordingTransport
    ) -> None:
        """Construct the library's client with `http_client=httpx2.Client(transport=transport)`."""

    def ask(self, messages: Sequence[Mapping[str, str]], params: Mapping[str, Any]) -> str | None:
        """Send one request through the library; return the text of the reply as the library has it.

        May be a coroutine function. `messages` have `role` and `content`; `params` are
        `max_tokens`, `temperature` and the like. It is called twice for each answer, and must make
        the same request each time.
        """


class SdkProvider:
    """Lets the class build the request and read the reply; sends the request like an HTTP provider.

    The text that the class returns must equal the text in the reply.
    """

    def __init__(
        self,
        read_by: HttpProviderType,
        model: Model,
        *,
        timeout_ms: int,
        connections: int,
        key: str | None = None,
    ) -> None:
        """`read_by` is the provider type over HTTP that sends the requests and reads the replies.

        `key` is passed to the class if the model names no variable for its key.
        """
        self._read_by = read_by
        self._model = model
        self._timeout_ms = timeout_ms
        self._connections = connections
        self._given_key = key
        self._client: SdkClient | None = None
        self._prepared: OrderedDict[tuple[str, bytes], tuple[SdkRequest, list[dict[str, str]]]] = (
            OrderedDict()
        )
        made = read_by.create(model, timeout_ms=timeout_ms, connections=connections, key=key)
        assert isinstance(made, HttpProvider)
        self._wire = made

    def get_completion(self, prompt: str, params: Mapping[str, Any]) -> str:
        """The text of one answer of the class to `prompt`. Blocks.

        `params` override the model's parameters. Raises `ModelError` if the request fails, and
        `InvalidInput` if the class cannot be used.
        """
        model = with_parameters(self._model, params)
        once = SdkProvider(
            self._read_by, model, timeout_ms=self._timeout_ms, connections=1, key=self._given_key
        )
        return complete(once, model, prompt)

    async def open(self) -> None:
        """Load and construct the class. Raises `InvalidInput` if that fails."""
        self._construct_client()

    async def close(self) -> None:
        """Close every connection."""
        await self._wire.close()

    async def available_models(self) -> list[str]:
        """Always empty: the class is for one model."""
        return []

    async def check(self, *, offline: bool = False, looks: CheckCache | None = None) -> str | None:
        """Construct the class and let it build a request, which is not sent; `offline`: find it.

        Returns `None`. Raises `InvalidInput` if the class or its request cannot be used.
        """
        if offline:
            key_of_class(self._model, self._given_key)
            find_class(self._model.class_ or "", METHOD, self._model.place.class_folder)
            return None
        self.prepare([Turn(role="user", content="Hello?")])
        return None

    def prepare(
        self, messages: Sequence[Turn], response_options: ResponseOptions = DEFAULT_RESPONSE_OPTIONS
    ) -> PreparedRequest:
        """The request that the class builds with its library. Sends nothing.

        Raises `InvalidInput` if the class builds no POST request below the base URL, or a request
        with its key in the URL or the body.
        """
        turns = [{"role": turn.role, "content": turn.content} for turn in messages]
        request = self._capture_request(turns)
        if request.method != "POST":
            raise self._unfit(
                "class-unfit", f"makes a {request.method} request", "let the library send a POST"
            )
        base_url = (self._model.base_url or "").rstrip("/")
        if not request.url.startswith(f"{base_url}/"):
            message = f"asks {request.url}, which is not below its base_url {base_url}"
            raise self._unfit("class-unfit", message, "give `base_url` to the library's client")
        try:
            request.body.decode("utf-8")
        except UnicodeDecodeError:
            raise self._unfit("class-unfit", "makes a request whose body is no text") from None
        self._require_no_key(request)
        recorded = (request.url, request.body)
        self._prepared[recorded] = request, turns
        self._prepared.move_to_end(recorded)
        while len(self._prepared) > MOST_PREPARED:
            self._prepared.popitem(last=False)
        return PreparedRequest(request.url, request.body)

    def _require_no_key(self, request: SdkRequest) -> None:
        """Raises `InvalidInput` for a key in the URL or the body: both are recorded."""
        key = key_of_class(self._model, self._given_key)
        if len(key) < SHORTEST_KEY:
            return
        for where, text in (("URL", request.url), ("body", request.body.decode())):
            if any(form in text for form in (key, quote(key, safe=""), quote_plus(key))):
                message = f"puts its key into the {where} of a request, which would be on record"
                raise self._unfit("key-exposed", message, "have the library send it in a header")

    async def send(self, request: PreparedRequest, on_text: OnText | None = None) -> Answer:
        """Send the request once; return the answer in the reply.

        Raises `ModelError`, with all bytes that were received, if there is no answer or if the
        class reads another text from the reply.
        """
        prepared = self._prepared.get((request.endpoint, request.body))
        if prepared is None:
            raise ModelError("client_exception", "this request was not prepared here", "final")
        made, turns = prepared
        answer = await self._wire.relay(request, made.headers, on_text)
        if answer.status != 200:  # withheld by a filter, which a library reports as an error
            return answer
        reply = SdkReply(answer.status, answer.headers, answer.body)
        text = await self._read_with_class(made, reply, turns)
        if join_halves(text or "") not in (answer.text, answer.library_text):
            raise self._error("does not return the text of the reply as it came", reply)
        return answer

    async def _read_with_class(
        self, made: SdkRequest, reply: SdkReply, turns: list[dict[str, str]]
    ) -> str | None:
        ask = self._bind_ask(turns)

        def call() -> Any:
            with answering(made, reply):
                return ask()

        try:
            async with asyncio.timeout(self._timeout_ms / 1000):
                text = await in_a_thread(call)
        except TimeoutError:
            raise self._error("does not return after the reply has come", reply) from None
        except UserCodeError as raised:
            error = raised.error
            if isinstance(error, UnexpectedRequest):
                raise self._error(str(error), reply) from None
            raise self._error(f"raised {type(error).__name__}: {error}", reply) from error
        if not isinstance(text, str | None):
            raise self._error(f"returned {type(text).__name__}, and no text", reply)
        return text

    def _capture_request(self, turns: list[dict[str, str]]) -> SdkRequest:
        """The request that one call of the class builds; the call ends before it is sent.

        Raises `InvalidInput` if the class builds none.
        """
        ask = self._bind_ask(turns)
        made: list[SdkRequest] = []
        raised: list[BaseException] = []

        def call() -> None:
            with capture_request() as capture:
                try:
                    ask()
                except RequestCaptured:
                    pass
                except BaseException as error:
                    raised.append(error)
                if capture.made is not None:
                    made.append(capture.made)

        # A new thread: a coroutine function needs an event loop, and this thread's already runs.
        thread = threading.Thread(target=call, name="sdk-request", daemon=True)
        thread.start()
        thread.join(_MAKING_S)
        if thread.is_alive():
            raise self._unfit("class-failed", f"has made no request after {_MAKING_S:g} s")
        if made:
            return made[0]
        if raised and isinstance(raised[0], UnexpectedRequest):
            raise self._unfit("class-unfit", str(raised[0]))
        if raised:
            message = f"raised {type(raised[0]).__name__}: {raised[0]}"
            raise self._unfit("class-failed", f"{message}, before it asked")
        raise self._unfit("class-unfit", "asks nothing through `transport`")

    def _bind_ask(self, turns: list[dict[str, str]]) -> Callable[[], Any]:
        client = self._construct_client()

        def ask() -> Any:
            messages = [dict(message) for message in turns]
            came = client.ask(messages, dict(sent_parameters(self._model)))
            return asyncio.run(_await_result(came)) if inspect.isawaitable(came) else came

        return ask

    def _construct_client(self) -> SdkClient:
        if self._client is None:
            kind: Callable[..., SdkClient] = load_class(
                self._model.class_ or "", METHOD, self._model.place.class_folder
            )
            key = key_of_class(self._model, self._given_key)
            try:
                self._client = kind(
                    api_key=key,
                    model_id=self._model.model,
                    base_url=self._model.base_url,
                    transport=RecordingTransport(),
                )
            except (Exception, UnexpectedRequest) as error:
                message = f"cannot be constructed: {type(error).__name__}: {error}"
                remedy = "it is called with api_key=, model_id=, base_url= and transport="
                # The error's text may hold the key.
                raise self._unfit("class-failed", message, remedy) from None
        return self._client

    def _error(self, problem: str, reply: SdkReply) -> ModelError:
        return ModelError(
            "client_exception", f"class {self._label} {problem}", "final",
            status=reply.status, headers=dict(reply.headers), body=reply.body,
        )  # fmt: skip

    def _unfit(self, code: str, message: str, remedy: str | None = None) -> InvalidInput:
        return InvalidInput.because(code, f"class {self._label} {message}", remedy=remedy)

    @property
    def _label(self) -> str:
        return describe_class(self._model.class_ or "")


async def _await_result(came: Any) -> Any:
    return await came
