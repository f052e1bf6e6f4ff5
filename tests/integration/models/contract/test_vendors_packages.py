"""The examples, read by the vendors' own packages: they are what these vendors' servers write.

Their lists of finish reasons and of errors are those of the packages that are installed, so a new
version with a new word fails here until somebody has decided what it means.

Types of `openai` and `anthropic` are named: to import the packages takes 1.5 s, which every process
that collects the tests would wait for.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator
from pkgutil import resolve_name
from typing import Any

import botocore.eventstream
import botocore.loaders
import botocore.model
import botocore.parsers
import orjson
import pytest
from pydantic import TypeAdapter

from tests.every import every
from tests.integration.models.contract.speaking import anthropic as messages
from tests.integration.models.contract.speaking import azure, bedrock, openai_responses
from tests.integration.models.contract.speaking import openai as chat
from tests.integration.models.contract.speaking.example import Example, Speaks

# Each package gives a type for a whole reply and for an event of a stream.
TYPES: dict[str, tuple[Speaks, str, str]] = {
    "openai": (
        chat.SPEAKS,
        "openai.types.chat:ChatCompletion",
        "openai.types.chat:ChatCompletionChunk",
    ),
    "azure": (
        azure.SPEAKS,
        "openai.types.chat:ChatCompletion",
        "openai.types.chat:ChatCompletionChunk",
    ),
    "openai-responses": (
        openai_responses.SPEAKS,
        "openai.types.responses:Response",
        "openai.types.responses:ResponseStreamEvent",
    ),
    "anthropic": (
        messages.SPEAKS,
        "anthropic.types:Message",
        "anthropic.types:RawMessageStreamEvent",
    ),
}
GOOD = [
    pytest.param(name, example, id=f"{name}-{what}")
    for name, (speaks, _, _) in TYPES.items()
    for what, example in speaks.examples.items()
    if example.kind is None and example.reply.status == 200 and not what.startswith("later_")
]
NOT_EVENTS = ("ping",)
"""What the package takes from a stream before it makes events of the rest."""


def data_of(example: Example) -> Iterator[dict[str, Any]]:
    for line in example.reply.body.splitlines():
        if line.startswith(b"data: {"):
            yield orjson.loads(line.removeprefix(b"data: "))


@every(("name", "example"), GOOD)
def test_the_vendors_package_reads_every_field_of_it(name: str, example: Example) -> None:
    _, *names = TYPES[name]
    whole, event = (resolve_name(each) for each in names)
    if not example.stream:
        TypeAdapter(whole).validate_python(orjson.loads(example.reply.body))
        return
    for said in data_of(example):
        if said.get("type") not in NOT_EVENTS and said.get("object") != "":  # Azure's first one
            TypeAdapter(event_type(event, said.get("type"))).validate_python(said)


def event_type(event: Any, kind: str | None) -> Any:
    """The type of this kind of event; the one that there is where events have no kinds."""
    if kind is None:
        return event
    [union, *_] = typing.get_args(event)
    [found] = [
        each
        for each in typing.get_args(union)
        if kind in words_of(each.model_fields["type"].annotation)
    ]
    return found


# -- Bedrock: the service's own model, and the reader of its frames --------------------------------


def service() -> botocore.model.ServiceModel:
    loader = botocore.loaders.Loader()
    return botocore.model.ServiceModel(loader.load_service_model("bedrock-runtime", "service-2"))


@every(
    "example",
    [
        pytest.param(example, id=name)
        for name, example in bedrock.EXAMPLES.items()
        if example.kind is None and not example.stream
    ],
)
def test_botocore_reads_the_same_answer(example: Example) -> None:
    parser = botocore.parsers.create_parser("rest-json")
    shape = service().operation_model("Converse").output_shape
    replied = {
        "status_code": 200,
        "headers": example.reply.headers,
        "body": example.reply.body,
    }
    read = parser.parse(replied, shape)
    blocks = read["output"]["message"]["content"]
    texts = [
        each["text"]
        for block in blocks
        for each in block.get("citationsContent", {}).get("content", [block])
        if "text" in each
    ]
    assert "".join(texts) == example.text
    assert [block["toolUse"]["name"] for block in blocks if "toolUse" in block] == [
        call.name for call in example.tool_calls
    ]
    assert read["usage"] == orjson.loads(example.reply.body)["usage"], "no field is made up"


@every(
    "example",
    [
        pytest.param(example, id=name)
        for name, example in bedrock.EXAMPLES.items()
        if example.stream and name != "damaged"
    ],
)
def test_botocore_reads_the_same_frames(example: Example) -> None:
    buffer = botocore.eventstream.EventStreamBuffer()
    buffer.add_data(example.reply.body)
    shape = service().operation_model("ConverseStream").output_shape.members["stream"]
    parser = botocore.parsers.EventStreamJSONParser()
    text = ""
    for frame in buffer:
        said = frame.to_response_dict()
        if said["headers"][":message-type"] == "exception":
            assert said["headers"][":exception-type"] in shape.members
            continue
        [(kind, event)] = parser.parse(said, shape).items() or [("", {})]
        if kind == "contentBlockDelta":
            text += event["delta"].get("text", "")
    assert text == example.text or example.kind is not None


# -- every word that there is ----------------------------------------------------------------------


def words_of(annotation: Any) -> set[str]:
    """The literals in a type, however deep they stand in unions."""
    if typing.get_origin(annotation) is typing.Literal:
        return {str(word) for word in typing.get_args(annotation)}
    return {word for part in typing.get_args(annotation) for word in words_of(part)}


def incomplete_reasons() -> set[str]:
    details = resolve_name("openai.types.responses.response:IncompleteDetails")
    return words_of(details.model_fields["reason"].annotation)


def finish_reasons() -> set[str]:
    choice = resolve_name("openai.types.chat.chat_completion:Choice")
    return words_of(choice.model_fields["finish_reason"].annotation)


@every(
    ("speaks", "words"),
    [
        pytest.param(chat.SPEAKS, finish_reasons, id="openai"),
        pytest.param(openai_responses.SPEAKS, incomplete_reasons, id="openai-responses"),
        pytest.param(
            messages.SPEAKS,
            lambda: words_of(resolve_name("anthropic.types:StopReason")),
            id="anthropic",
        ),
        pytest.param(
            bedrock.SPEAKS, lambda: set(service().shape_for("StopReason").enum), id="bedrock"
        ),
    ],
)
def test_every_finish_reason_of_the_package_has_a_meaning(
    speaks: Speaks, words: Callable[[], set[str]]
) -> None:
    assert words() and words() <= set(speaks.ends)


def test_every_error_within_a_stream_of_bedrock_is_known() -> None:
    from failproof_es.models.providers.bedrock.reply import _EXCEPTIONS

    shape = service().operation_model("ConverseStream").output_shape.members["stream"]
    named = {name for name, each in shape.members.items() if each.metadata.get("exception")}
    assert named - set(_EXCEPTIONS) == {"validationException"}, "which is final"


def test_every_error_code_of_a_response_is_a_block_or_an_error() -> None:
    """The policies that OpenAI names are blocks, and nothing else is."""
    from failproof_es.models.replies.openai_family import is_block

    error = resolve_name("openai.types.responses:ResponseError")
    codes = words_of(error.model_fields["code"].annotation)
    blocks = {code for code in codes if is_block({"code": code, "message": "no"})}
    assert blocks == {code for code in codes if "policy" in code} != set()


def test_every_kind_of_error_of_anthropic_means_a_status() -> None:
    from failproof_es.models.http_reply import _STATUS_OF_WORD

    errors = typing.get_args(resolve_name("anthropic.types:ErrorObject"))
    kinds = {
        word
        for kind in typing.get_args(errors[0])
        for word in words_of(kind.model_fields["type"].annotation)
    }
    assert kinds and kinds <= set(_STATUS_OF_WORD)
