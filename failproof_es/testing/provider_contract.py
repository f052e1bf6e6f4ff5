"""The contract of providers, as tests for any provider.

    class TestMine(ProviderContract):
        provider = "mine"

        def server(self) -> ProviderServer:
            return FakeServer(MineWire())       # the vendor's wire format

        def settings(self, side: ProviderServer) -> dict[str, Any]:
            return {"model": "m-1", "base_url": side.url}

The provider has to be installed: the contract loads it by its name, as a run does. Every test has a
new server and a new event loop.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from unittest import SkipTest

import orjson

from failproof_es.configuration.providers import PROVIDERS
from failproof_es.core.case import Turn
from failproof_es.models import snapshot
from failproof_es.models.catalog.listing import CheckCache
from failproof_es.models.protocol import ModelError, Provider, ResponseOptions, UnlistedModel
from failproof_es.models.replies.model_name_check import require_model
from failproof_es.models.replies.parse_check import find_parse_mismatch
from failproof_es.problems import InvalidInput
from failproof_es.testing.kit import (
    KEY,
    KEY_VARIABLE,
    ODD,
    SCHEMA,
    ask,
    error_text,
    recorded,
)
from failproof_es.testing.other_side import Fault, ProviderServer
from failproof_es.testing.provider_under_test import PATIENCE_MS, ProviderUnderTest


class ProviderContract(ProviderUnderTest):
    """Contract tests of a provider.

    Subclass it, define the abstract methods, and let `pytest` collect the subclass.
    """

    # -- interface -------------------------------------------------------------------------

    def test_it_is_found_under_its_name(self) -> None:
        assert self.type.name == self.provider in PROVIDERS
        needed = self.type.needs - self.type.takes
        assert not needed, f"it needs {needed} and does not take it"

    def test_what_is_recorded_of_it_is_the_same_each_time_and_holds_no_key(self) -> None:
        async def work(side: ProviderServer, provider: Provider) -> None:
            model = self.model(side)
            first, second = snapshot(model, "k"), snapshot(model, "k")
            assert first == second
            assert KEY not in first.model_dump_json()
            assert KEY not in self.type.destination(model)
            for offline in (True, False):
                assert KEY not in self.type.describe_check(model, offline=offline)
            assert self.type.server(model)

        self._run_with_server(work)

    # -- preparing -------------------------------------------------------------------------

    def test_preparing_is_pure_and_the_same_each_time(self) -> None:
        async def work(side: ProviderServer, provider: Provider) -> None:
            turns = ask(ODD)
            first = provider.prepare(turns)
            assert first == provider.prepare(turns)
            other = self.create(side, self.model(side), PATIENCE_MS)
            assert first == other.prepare(turns)
            await other.close()
            assert not side.requests
            assert KEY.encode() not in first.body and KEY not in first.endpoint
            first.body.decode("utf-8")

        self._run_with_server(work)

    def test_a_request_is_seen_to_hold_all_that_was_to_be_asked_and_nothing_less(self) -> None:
        async def work(side: ProviderServer, provider: Provider) -> None:
            turns = [
                Turn(role="system", content="Be brief."),
                *ask(ODD),
                Turn(role="assistant", content="Yes?"),
                *ask("Go on."),
            ]
            body = provider.prepare(turns).body
            assert self.type.request_is_complete(body, turns)
            for number, turn in enumerate(turns):
                longer = turn.model_copy(update={"content": f"{turn.content}!?"})
                altered = [*turns[:number], longer, *turns[number + 1 :]]
                assert not self.type.request_is_complete(body, altered), f"turn {number}"
            for unreadable in (b"", b"[]", b"{}", b'{"messages": 7}', b"\xff"):
                assert not self.type.request_is_complete(unreadable, turns)

        self._run_with_server(work)

    def test_tools_are_offered_as_far_as_it_says_that_it_can(self) -> None:
        async def work(side: ProviderServer, provider: Provider) -> None:
            prepared = provider.prepare(ask("hi"), ResponseOptions(tools=("zyzzyva",)))
            can = self.type.capabilities.tools
            assert prepared.tools == (("zyzzyva",) if can else ())
            assert (b"zyzzyva" in prepared.body) == can

        self._run_with_server(work)

    def test_a_reply_is_held_to_a_schema_as_far_as_it_says_that_it_can(self) -> None:
        async def work(side: ProviderServer, provider: Provider) -> None:
            response_options = ResponseOptions(schema=SCHEMA)
            assert b"zyzzyva" not in provider.prepare(ask("hi"), response_options).body, (
                "nobody wants that"
            )
            if self.type.capabilities.schema:
                model = self.model(side, structured_output=True)
                held = self.create(side, model, PATIENCE_MS)
                assert b"zyzzyva" in held.prepare(ask("hi"), response_options).body
                await held.close()

        self._run_with_server(work)

    def test_a_seed_and_parameters_are_sent(self) -> None:
        async def work(side: ProviderServer, provider: Provider) -> None:
            seed = {"seed": 90817263} if self.type.capabilities.seed else {}
            model = self.model(side, **seed, max_tokens=4711, parameters={"top_p": 0.8125})
            seeded = self.create(side, model, PATIENCE_MS)
            body = seeded.prepare(ask("hi")).body
            await seeded.close()
            assert b"4711" in body and b"0.8125" in body
            assert (b"90817263" in body) == self.type.capabilities.seed

        self._run_with_server(work)

    # -- one answer ------------------------------------------------------------------------

    def test_one_call_is_one_request_and_one_answer(self) -> None:
        async def work(side: ProviderServer, provider: Provider) -> None:
            side.answer_with(text := f"\n {ODD} \n")
            request = provider.prepare(ask("What?"))
            answer = await provider.send(request)
            assert answer.text == text
            assert answer.body == side.sent
            assert [received.body for received in side.requests] == [request.body]
            assert answer.latency_ms > 0
            assert KEY not in repr(answer), "a key stands in the answer"

        self._run_with_server(work)

    def test_what_is_asked_side_by_side_is_not_mixed_up(self) -> None:
        async def work(side: ProviderServer, provider: Provider) -> None:
            side.answer_with("yes")
            requests = [provider.prepare(ask(f"Number {number}?")) for number in range(4)]
            await asyncio.gather(*(provider.send(request) for request in requests))
            came = sorted(request.body for request in side.requests)
            assert came == sorted(request.body for request in requests)

        self._run_with_server(work)

    def test_who_gives_it_up_gets_no_answer_and_no_error(self) -> None:
        """A cancelled request is no `ModelError`: a run that stops records it in another way."""

        async def work(side: ProviderServer, provider: Provider) -> None:
            side.answer_with("yes", Fault.SILENT)
            sending = asyncio.create_task(provider.send(provider.prepare(ask("hi"))))
            while not side.requests and not sending.done():  # noqa: ASYNC110  # the server has no signal for it
                await asyncio.sleep(0.01)
            sending.cancel()
            await asyncio.wait([sending])
            assert sending.cancelled()

        self._run_with_server(work, Fault.SILENT)

    def test_an_answer_says_what_it_used_or_that_it_is_not_known(self) -> None:
        async def work(side: ProviderServer, provider: Provider) -> None:
            side.answer_with("yes")
            used = (await provider.send(provider.prepare(ask("hi")))).usage
            assert used.input_tokens in (10, None) and used.output_tokens in (5, None)
            side.answer_with("yes", Fault.WITHOUT_USAGE)
            answer = await provider.send(provider.prepare(ask("hi")))
            assert answer.usage.input_tokens is None and answer.usage.output_tokens is None

        self._run_with_server(work, Fault.WITHOUT_USAGE)

    def test_another_model_is_seen_by_its_name(self) -> None:
        async def work(side: ProviderServer, provider: Provider) -> None:
            model = self.model(side).model
            side.answer_with("yes")
            require_model(model, None, (await provider.send(provider.prepare(ask("hi")))).model)
            side.answer_with("yes", Fault.WRONG_MODEL)
            answer = await provider.send(provider.prepare(ask("hi")))
            try:
                require_model(model, None, answer.model)
            except ModelError:
                return
            raise AssertionError("an answer of another model is taken")

        self._run_with_server(work, Fault.WRONG_MODEL)

    def test_a_tool_call_is_an_answer(self) -> None:
        async def work(side: ProviderServer, provider: Provider) -> None:
            side.call_tool("zyzzyva", {"q": ODD})
            answer = await provider.send(
                provider.prepare(ask("hi"), ResponseOptions(tools=("zyzzyva",)))
            )
            [called] = answer.tool_calls
            assert called.name == "zyzzyva" and orjson.loads(called.arguments) == {"q": ODD}
            assert self._parse_mismatch(provider, answer) is None

        if not self.type.capabilities.tools:
            raise SkipTest("it offers no tools")
        self._run_with_server(work)

    def test_an_answer_can_come_piece_by_piece(self) -> None:
        async def work(side: ProviderServer, provider: Provider) -> None:
            side.answer_with(ODD)
            pieces: list[str] = []
            answer = await provider.send(provider.prepare(ask("hi")), pieces.append)
            assert "".join(pieces) == answer.text == ODD
            assert len(pieces) > 1 and answer.first_token_ms is not None
            assert answer.body == side.sent
            assert self._parse_mismatch(provider, answer) is None

        if not self.type.capabilities.streaming:
            raise SkipTest("it answers whole")
        self._run_with_server(work, stream=True)

    def test_what_is_on_record_reads_as_it_did_when_it_came(self) -> None:
        async def work(side: ProviderServer, provider: Provider) -> None:
            side.answer_with(ODD)
            answer = await provider.send(provider.prepare(ask("hi")))
            assert self._parse_mismatch(provider, answer) is None
            is_read_again = self.type.reparse(recorded(provider, answer)) is not None
            assert is_read_again == self.keeps_bodies
            if not is_read_again:
                return
            altered = recorded(provider, answer).model_copy(update={"text": "another"})
            mismatch = find_parse_mismatch(self.provider, altered)
            assert mismatch is not None and mismatch.field == "text"
            broken = altered.model_copy(update={"body": "no answer"})
            mismatch = find_parse_mismatch(self.provider, broken)
            assert mismatch is not None and mismatch.field == "body"

        self._run_with_server(work)

    def test_it_has_get_completion(self) -> None:
        async def work(side: ProviderServer, provider: Provider) -> None:
            side.answer_with(ODD)
            params = {"top_p": 0.8125}
            assert await asyncio.to_thread(provider.get_completion, "hi", params) == ODD
            [request] = side.requests
            assert b"0.8125" in request.body

        self._run_with_server(work)

    # -- one error -------------------------------------------------------------------------

    def test_an_error_object_under_status_200_is_an_error(self) -> None:
        self._expect_error(Fault.ERROR_OBJECT, "provider_error")

    def test_an_empty_reply_is_an_error(self) -> None:
        self._expect_error(Fault.EMPTY, "empty_choices", "missing_content", "malformed_response")

    def test_a_message_without_content_is_an_error(self) -> None:
        self._expect_error(Fault.WITHOUT_CONTENT, "missing_content", "malformed_response")

    def test_half_a_stream_is_no_answer(self) -> None:
        if not self.type.capabilities.streaming:
            raise SkipTest("it answers whole")
        self._expect_error(Fault.CUT_STREAM, "stream_broken", stream=True)

    def test_a_server_that_wants_to_be_left_alone_says_for_how_long(self) -> None:
        error = self._expect_error(Fault.RATE_LIMITED, "rate_limited")
        assert (error.disposition, error.retry_after_s) == ("deferred", 7.0)

    def test_a_wrong_key_stops_the_run(self) -> None:
        assert self._expect_error(Fault.UNAUTHORIZED, "authentication").disposition == "halting"

    def test_a_model_that_there_is_not_stops_the_run(self) -> None:
        assert self._expect_error(Fault.NOT_FOUND, "not_found").disposition == "halting"

    def test_a_broken_server_may_be_asked_again(self) -> None:
        assert self._expect_error(Fault.SERVER_ERROR, "server_error").disposition == "transient"

    def test_a_lost_connection_may_be_tried_again(self) -> None:
        assert self._expect_error(Fault.CUT, "connection").disposition == "transient"

    def test_what_does_not_come_is_not_waited_for(self) -> None:
        with suppress(SkipTest):  # loads modules, which must not count in the time-out below
            self._expect_error(Fault.SERVER_ERROR, "server_error")
        assert (
            self._expect_error(Fault.SILENT, "timeout", timeout_ms=1_500).disposition == "transient"
        )

    def test_what_is_no_document_is_no_answer(self) -> None:
        self._expect_error(Fault.NOT_JSON, "malformed_response")

    def test_what_is_too_long_is_no_answer(self) -> None:
        assert self._expect_error(Fault.TOO_LARGE, "malformed_response").disposition == "final"

    # -- before a run, and after it --------------------------------------------------------

    def test_the_check_finds_what_is_there(self) -> None:
        async def work(side: ProviderServer, provider: Provider) -> None:
            assert await provider.check() is None
            assert await provider.check(offline=True) is None
            assert not side.requests, "a check asks for no completion"
            if self.lists_models:
                side.offered = ["something-else"]
                try:
                    await provider.check()
                except UnlistedModel as refused:
                    assert self.model(side).model in str(refused)
                else:
                    raise AssertionError("a model that is not listed must be refused")

        self._run_with_server(work)

    def test_many_models_look_at_their_server_once(self) -> None:
        async def work(side: ProviderServer, provider: Provider) -> None:
            instances = [self.create(side, self.model(side), PATIENCE_MS) for _ in range(5)]
            looks = CheckCache()
            await asyncio.gather(
                *(instance.check(looks=looks) for instance in (provider, *instances))
            )
            await asyncio.gather(*(instance.close() for instance in instances))
            assert side.looked <= 1

        self._run_with_server(work)

    def test_a_check_offline_asks_nobody(self) -> None:
        async def work(side: ProviderServer, provider: Provider) -> None:
            await provider.check(offline=True)
            assert not side.requests and side.looked == 0

        self._run_with_server(work)

    def test_a_key_that_is_refused_or_not_set_is_said_without_being_shown(self) -> None:
        async def work(side: ProviderServer, provider: Provider) -> None:
            side.refuses_looks = True
            for offline in (False, True):
                if offline:
                    del os.environ[KEY_VARIABLE]
                elif not self.lists_models:
                    continue
                try:
                    await provider.check(offline=offline)
                except InvalidInput as error:
                    assert KEY not in error_text(error) and KEY_VARIABLE in str(error)
                else:
                    raise AssertionError("nothing is said")

        if "api_key_env" not in self.type.takes:
            raise SkipTest("it takes no key")
        self._run_with_server(work)

    def test_it_can_be_opened_and_closed_twice(self) -> None:
        async def work(side: ProviderServer, provider: Provider) -> None:
            await provider.open()
            await provider.close()
            await provider.close()

        self._run_with_server(work)
