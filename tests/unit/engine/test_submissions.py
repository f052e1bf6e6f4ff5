"""Evaluations handed in while a run is driven: each lane gets its own, in order, as they come."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

from failproof_es.core.evaluation import EvaluationKey
from failproof_es.engine.drive.passes import Submissions

RUN = UUID(int=1)


def key(number: int, model: str) -> EvaluationKey:
    return EvaluationKey(RUN, UUID(int=number), model)


def with_submissions(work: Callable[[Submissions, asyncio.Event], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(5):
            await work(Submissions(), asyncio.Event())

    asyncio.run(main())


async def lane(
    submissions: Submissions, models: Sequence[str], stop: asyncio.Event
) -> list[EvaluationKey]:
    return [each async for each in submissions.keys(models, stop)]


def test_each_lane_gets_what_is_of_its_models_in_the_order_of_submission() -> None:
    async def work(submissions: Submissions, stop: asyncio.Event) -> None:
        early = [key(0, "b"), key(1, "a"), key(2, "c")]
        late = [key(3, "a"), key(4, "b"), key(5, "b"), key(6, "c"), key(7, "a")]
        for each in early:
            submissions.submit(each)
        lanes = [
            asyncio.create_task(lane(submissions, models, stop)) for models in (["a", "b"], ["c"])
        ]
        await asyncio.sleep(0.01)
        for each in late:
            submissions.submit(each)
        submissions.close()
        submissions.submit(key(8, "c"))
        both, alone = await asyncio.gather(*lanes)
        assert both == [each for each in early + late if each.model_key != "c"]
        assert alone == [each for each in early + late if each.model_key == "c"]

    with_submissions(work)


def test_a_lane_whose_models_nobody_asks_keeps_no_other_one_waiting() -> None:
    async def work(submissions: Submissions, stop: asyncio.Event) -> None:
        idle = asyncio.create_task(lane(submissions, ["a"], stop))
        submissions.submit(key(1, "b"))
        submitted = submissions.keys(["b"], stop)
        assert await anext(submitted) == key(1, "b")
        await submitted.aclose()
        assert not idle.done()
        stop.set()
        assert await idle == []

    with_submissions(work)
