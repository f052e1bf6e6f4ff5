"""What each provider asks, in its vendor's words: the whole body of a request."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.models import create_provider, provider_type, snapshot
from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.protocol import ResponseOptions
from failproof_es.testing.kit import SCHEMA
from tests.every import every
from tests.integration.models.contract.speaking.all import SPOKEN
from tests.integration.models.contract.speaking.example import Speaks

TURNS = [
    Turn(role="system", content="Be brief."),
    Turn(role="user", content="One?"),
    Turn(role="assistant", content="1"),
    Turn(role="user", content="Two?"),
]
MESSAGES = [{"role": turn.role, "content": turn.content} for turn in TURNS]
ANYTHING = {"type": "object", "properties": {}, "additionalProperties": True}
FUNCTION = {"name": "find", "description": "The tool find.", "parameters": ANYTHING}
SETTINGS = {"temperature": 0.5, "max_tokens": 9, "api_key_env": None}


def body(entry: dict[str, Any]) -> Any:
    model = Model.model_validate({**SETTINGS, "base_url": "http://x", **entry})
    provider = create_provider(model, timeout_ms=1, connections=1)
    return orjson.loads(provider.prepare(TURNS, BOTH).body)


BOTH = ResponseOptions(tools=("find",), schema=SCHEMA)
HELD = {"name": "reply", "strict": True, "schema": SCHEMA}
GEMINI_ASKED = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "One?"}]},
        {"role": "model", "parts": [{"text": "1"}]},
        {"role": "user", "parts": [{"text": "Two?"}]},
    ],
    "generationConfig": {
        "maxOutputTokens": 9,
        "temperature": 0.5,
        "seed": 7,
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
        "topP": 0.9,
    },
    "tools": [
        {
            "functionDeclarations": [
                {
                    "name": "find",
                    "description": "The tool find.",
                    "parametersJsonSchema": ANYTHING,
                }
            ]
        }
    ],
    "safetySettings": [],
}
GEMINI = {
    "model": "gemini-x",
    "seed": 7,
    "structured_output": True,
    "parameters": {"topP": 0.9, "safetySettings": []},
}


@every(
    ("entry", "expected"),
    [
        pytest.param(
            {
                "provider": "openai-responses",
                "model": "gpt-5",
                "stream": True,
                "structured_output": True,
                "options": {"leave_out": ["temperature"]},
                "parameters": {"reasoning": {"effort": "low"}, "text": {"verbosity": "low"}},
            },
            {
                "model": "gpt-5",
                "input": MESSAGES,
                "max_output_tokens": 9,
                "store": False,
                "stream": True,
                "reasoning": {"effort": "low"},
                "text": {"verbosity": "low", "format": {"type": "json_schema", **HELD}},
                "tools": [{"type": "function", **FUNCTION, "strict": False}],
            },
            id="openai-responses",
        ),
        pytest.param(
            {
                "provider": "openai",
                "model": "gpt-5",
                "base_url": "http://127.0.0.1:9/v1",
                "options": {
                    "leave_out": ["temperature"],
                    "max_tokens_as": "max_completion_tokens",
                },
                "parameters": {"reasoning_effort": "low"},
            },
            {
                "model": "gpt-5",
                "messages": MESSAGES,
                "max_completion_tokens": 9,
                "reasoning_effort": "low",
                "tools": [{"type": "function", "function": FUNCTION}],
            },
            id="openai, reasoning",
        ),
        pytest.param(
            {"provider": "mistral", "model": "m", "seed": 7, "stream": True},
            {
                "model": "m",
                "messages": MESSAGES,
                "max_tokens": 9,
                "temperature": 0.5,
                "random_seed": 7,
                "stream": True,
                "tools": [{"type": "function", "function": FUNCTION}],
            },
            id="mistral",
        ),
        pytest.param(
            {"provider": "anthropic", "model": "c", "stream": True},
            {
                "model": "c",
                "system": "Be brief.",
                "messages": MESSAGES[1:],
                "max_tokens": 9,
                "temperature": 0.5,
                "stream": True,
                "tools": [
                    {"name": "find", "description": "The tool find.", "input_schema": ANYTHING}
                ],
            },
            id="anthropic",
        ),
        pytest.param({"provider": "gemini", **GEMINI}, GEMINI_ASKED, id="gemini"),
        pytest.param(
            {"provider": "vertex", **GEMINI, "options": {"project": "p", "location": "global"}},
            GEMINI_ASKED,
            id="vertex",
        ),
        pytest.param(
            {
                "provider": "bedrock",
                "model": "c",
                "options": {"region": "us-east-1"},
                "parameters": {"topP": 0.9, "guardrailConfig": {"guardrailIdentifier": "g"}},
            },
            {
                "system": [{"text": "Be brief."}],
                "messages": [
                    {"role": turn.role, "content": [{"text": turn.content}]} for turn in TURNS[1:]
                ],
                "inferenceConfig": {"maxTokens": 9, "temperature": 0.5, "topP": 0.9},
                "guardrailConfig": {"guardrailIdentifier": "g"},
                "toolConfig": {
                    "tools": [
                        {
                            "toolSpec": {
                                "name": "find",
                                "description": "The tool find.",
                                "inputSchema": {"json": ANYTHING},
                            }
                        }
                    ]
                },
            },
            id="bedrock",
        ),
    ],
)
def test_a_request_is_in_the_words_of_the_vendor(
    entry: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert body(entry) == expected


@every(
    ("entry", "url"),
    [
        (
            {"provider": "vertex", "options": {"project": "p", "location": "europe-west4"}},
            "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4"
            "/publishers/google/models/m:generateContent",
        ),
        (
            {"provider": "vertex", "options": {"project": "p", "location": "global"}},
            "https://aiplatform.googleapis.com/v1/projects/p/locations/global"
            "/publishers/google/models/m:generateContent",
        ),
        (
            {"provider": "vertex", "options": {"project": "p", "location": "eu"}},
            "https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu"
            "/publishers/google/models/m:generateContent",
        ),
        (
            {"provider": "bedrock", "options": {"region": "eu-central-1"}},
            "https://bedrock-runtime.eu-central-1.amazonaws.com/model/m/converse",
        ),
        (
            {"provider": "azure", "base_url": "https://r.openai.azure.com"},
            "https://r.openai.azure.com/openai/deployments/m/chat/completions"
            "?api-version=2024-10-21",
        ),
    ],
)
def test_a_vendor_is_asked_where_it_is(entry: dict[str, Any], url: str) -> None:
    model = Model.model_validate({"model": "m", **SETTINGS, **entry})
    assert create_provider(model, timeout_ms=1, connections=1).prepare(TURNS).endpoint == url


@every("speaks", SPOKEN)
def test_a_vendors_key_goes_to_the_vendor_and_to_nobody_else(speaks: Speaks) -> None:
    entry = {"provider": speaks.provider, **speaks.entry}
    kind = provider_type(speaks.provider)
    assert isinstance(kind, HttpProviderType) and kind.vendor is not None
    model = Model.model_validate({**SETTINGS, **entry})
    has_server = speaks.provider not in ("azure", "ollama", "openai")
    if has_server:
        url = create_provider(model, timeout_ms=1, connections=1).prepare(TURNS).endpoint
        assert kind.vendor.owns(url) and url.endswith(speaks.asked_at)
    known = kind.vendor.variable if has_server else None
    assert Model.model_validate(entry).api_key_env == known
    if speaks.provider != "anthropic":  # its entries name the variable; permissions keep it back
        elsewhere = {**entry, "base_url": "https://evil.example/v1"}
        assert Model.model_validate(elsewhere).api_key_env is None


@every(
    ("provider", "url", "known"),
    [
        ("azure", "https://mine.openai.azure.com", True),
        ("azure", "https://mine.openai.azure.com.evil.example", False),
        ("azure", "http://mine.openai.azure.com", False),
        ("bedrock", "https://bedrock-runtime-fips.us-east-1.amazonaws.com", True),
        ("bedrock", "https://ec2-203-0-113-1.compute-1.amazonaws.com", False),
        ("bedrock", "http://bedrock-runtime.us-east-1.amazonaws.com", False),
    ],
)
def test_a_key_is_known_only_at_hosts_that_nobody_else_can_have(
    provider: str, url: str, known: bool
) -> None:
    model = Model.model_validate({"provider": provider, "model": "m", "base_url": url})
    assert (model.api_key_env is not None) == known


SDKS = ("openai-sdk", "openai-responses-sdk", "anthropic-sdk")


@every("provider", ["openai", "openai-responses", "azure", "anthropic", "bedrock", *SDKS])
def test_what_is_left_out_of_a_request_is_not_on_record(provider: str) -> None:
    url = "https://gateway.example"
    entry: dict[str, Any] = {"provider": provider, "model": "gpt-5", "base_url": url}
    entry |= {"parameters": {"top_p": 0.9}, "api_key_env": "K"}
    if provider in SDKS:
        entry["class"] = "mine:Chat"  # gets the recorded parameters, and makes the request
    for left_out, expected in (
        ([], {"max_tokens": 1000, "temperature": 0.0, "top_p": 0.9}),
        (["temperature"], {"max_tokens": 1000, "top_p": 0.9}),
    ):
        model = Model.model_validate({**entry, "options": {"leave_out": left_out}})
        assert snapshot(model, "k").parameters == expected
        assert not any(provider_type(provider).problems(model))
        if provider not in SDKS:
            request = create_provider(model, timeout_ms=1, connections=1).prepare(TURNS).body
            assert (b"temperature" in request) == ("temperature" in expected)


@every(
    ("provider", "variable"),
    [
        ("openai-responses", "OPENAI_API_KEY"),
        ("gemini", "GEMINI_API_KEY"),
        ("vertex", "GOOGLE_ACCESS_TOKEN"),
        ("bedrock", "AWS_BEARER_TOKEN_BEDROCK"),
        ("mistral", "MISTRAL_API_KEY"),
        ("openrouter", "OPENROUTER_API_KEY"),
    ],
)
def test_the_variable_of_a_vendors_key_is_the_one_that_its_users_know(
    provider: str, variable: str
) -> None:
    assert Model.model_validate({"provider": provider, "model": "m"}).api_key_env == variable
