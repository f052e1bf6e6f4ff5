"""Classes as users write them, with the packages `openai` and `anthropic` as they are published.

They are over `httpx2`; a small client is over `httpx`. They import their package when they ask: it
takes 1.5 s, which every process that collects the tests would wait for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import httpx2

from failproof_es.models.providers.sdk.transport import RecordingTransport

Messages = Sequence[Mapping[str, str]]
Params = Mapping[str, Any]


class Client:
    """What all of them are given."""

    def __init__(
        self, *, api_key: str, model_id: str, base_url: str, transport: RecordingTransport
    ) -> None:
        self.api_key, self.model, self.base_url = api_key, model_id, base_url
        self.transport: Any = transport


class OpenAIChat(Client):
    """Its retries are left on: they never send anything."""

    def ask(self, messages: Messages, params: Params) -> str | None:
        import openai

        client = openai.OpenAI(
            api_key=self.api_key,
            base_url=self.base_url,
            http_client=httpx2.Client(transport=self.transport),
        )
        chat: Any = client.chat.completions
        reply = chat.create(model=self.model, messages=messages, **params)
        text: str | None = reply.choices[0].message.content
        return text


class AsyncOpenAIChat(Client):
    async def ask(self, messages: Messages, params: Params) -> str | None:
        import openai

        client = openai.AsyncOpenAI(
            api_key=self.api_key,
            base_url=self.base_url,
            max_retries=0,
            http_client=httpx2.AsyncClient(transport=self.transport),
        )
        chat: Any = client.chat.completions
        reply = await chat.create(model=self.model, messages=messages, **params)
        text: str | None = reply.choices[0].message.content
        return text


class OpenAIResponses(Client):
    def ask(self, messages: Messages, params: Params) -> str:
        import openai

        client = openai.OpenAI(
            api_key=self.api_key,
            base_url=self.base_url,
            max_retries=0,
            http_client=httpx2.Client(transport=self.transport),
        )
        given = dict(params)
        given["max_output_tokens"] = given.pop("max_tokens")
        given.pop("seed", None)
        responses: Any = client.responses
        text: str = responses.create(model=self.model, input=messages, **given).output_text
        return text


class Claude(Client):
    def ask(self, messages: Messages, params: Params) -> str:
        import anthropic

        client = anthropic.Anthropic(
            api_key=self.api_key,
            base_url=self.base_url,
            max_retries=0,
            http_client=httpx2.Client(transport=self.transport),
        )
        system = [each["content"] for each in messages if each["role"] == "system"]
        said: Any = [each for each in messages if each["role"] != "system"]
        # The extra body is what the package offers for parameters that it knows no more.
        more = {key: value for key, value in params.items() if key != "max_tokens"}
        create: Any = client.messages.create
        reply = create(
            model=self.model,
            max_tokens=params["max_tokens"],
            messages=said,
            extra_body=more,
            **({"system": "\n\n".join(system)} if system else {}),
        )
        return "".join(each.text for each in reply.content if each.type == "text")


class OverHttpx(Client):
    def ask(self, messages: Messages, params: Params) -> str:
        with httpx.Client(transport=self.transport) as client:
            reply = client.post(
                f"{self.base_url}/chat/completions",
                headers={"authorization": f"Bearer {self.api_key}"},
                json={"model": self.model, "messages": messages, **params},
            )
        reply.raise_for_status()
        text: str = reply.json()["choices"][0]["message"]["content"]
        return text


class OpenAIChatStreams(Client):
    """Streams, as the package does it."""

    def ask(self, messages: Messages, params: Params) -> str:
        import openai

        client = openai.OpenAI(
            api_key=self.api_key,
            base_url=self.base_url,
            max_retries=0,
            http_client=httpx2.Client(transport=self.transport),
        )
        chat: Any = client.chat.completions
        pieces = chat.create(model=self.model, messages=messages, stream=True, **params)
        said = [each.choices[0].delta.content for each in pieces if each.choices]
        return "".join(filter(None, said))


class OpenAIResponsesStreams(Client):
    async def ask(self, messages: Messages, params: Params) -> str:
        import openai

        client = openai.AsyncOpenAI(
            api_key=self.api_key,
            base_url=self.base_url,
            max_retries=0,
            http_client=httpx2.AsyncClient(transport=self.transport),
        )
        responses: Any = client.responses
        limit = params["max_tokens"]
        asked = responses.stream(model=self.model, input=messages, max_output_tokens=limit)
        async with asked as stream:
            whole = await stream.get_final_response()
        text: str = whole.output_text
        return text


class ClaudeStreams(Client):
    def ask(self, messages: Messages, params: Params) -> str:
        import anthropic

        client = anthropic.Anthropic(
            api_key=self.api_key,
            base_url=self.base_url,
            max_retries=0,
            http_client=httpx2.Client(transport=self.transport),
        )
        said: Any = messages
        limit = params["max_tokens"]
        with client.messages.stream(model=self.model, messages=said, max_tokens=limit) as stream:
            text: str = stream.get_final_text()
            return text


def class_name(kind: type) -> str:
    """As a configuration names it."""
    return f"{kind.__module__}:{kind.__name__}"
