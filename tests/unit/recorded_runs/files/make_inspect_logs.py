"""python mk.py FOLDER: capitals.eval and trouble.eval, by Inspect's own mock model."""

# mypy: ignore-errors
# It runs in an environment of Inspect's own, which is not this one.

import sys
from pathlib import Path

from inspect_ai import Task, eval, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes, match
from inspect_ai.solver import generate, solver, system_message

out = sys.argv[1]


def said(text, stop="stop"):
    made = ModelOutput.from_content("mockllm/model", text, stop_reason=stop)
    made.usage = ModelUsage(
        input_tokens=12, output_tokens=len(text.split()), total_tokens=12 + len(text.split())
    )
    made.time = 0.25
    return made


def run(made, name, *texts, **options):
    model = get_model("mockllm/model", custom_outputs=list(texts))
    log = eval(
        made,
        model=model,
        log_dir=out,
        log_format=options.pop("log_format", "eval"),
        display="none",
        max_samples=1,
        max_connections=1,
        **options,
    )[0]
    print(log.location, log.status, log.error)
    Path(log.location.removeprefix("file://")).rename(Path(out) / name)


@task
def capitals():
    return Task(
        dataset=MemoryDataset(
            [
                Sample(
                    id="norway",
                    input="What is the capital of Norway?",
                    target="Oslo",
                    metadata={"continent": "Europe"},
                ),
                Sample(
                    id="france",
                    input=[
                        ChatMessageSystem(content="Answer with one word."),
                        ChatMessageUser(content="What is the capital of France?"),
                    ],
                    target=["Paris", "Lutetia"],
                ),
                Sample(id=3, input="What is the capital of Chile?", target="Santiago"),
            ],
            name="capitals",
        ),
        solver=[generate()],
        scorer=[includes()],
        epochs=2,
    )


@solver
def breaks():
    async def solve(state, generate):
        if state.sample_id == "broken":
            raise ValueError("the solver broke")
        return await generate(state)

    return solve


@task
def trouble():
    return Task(
        dataset=MemoryDataset(
            [
                Sample(id="broken", input="Break.", target="x"),
                Sample(id="cut", input="Count to a thousand.", target="1000"),
                Sample(id="whole", input="Say 42", target="42"),
            ],
            name="trouble",
        ),
        solver=[system_message("Be short."), breaks()],
        scorer=[match(location="exact")],
        fail_on_error=False,
    )


run(
    capitals(),
    "capitals.eval",
    *map(said, ["It is Oslo.", "oslo!", "Paris", "I do not know.", "Lima", "Santiago de Chile"]),
)
run(trouble(), "trouble.eval", said("1 2 3", "max_tokens"), said("42."))
run(
    capitals(),
    "capitals.json",
    *map(said, ["It is Oslo.", "oslo!", "Paris", "I do not know.", "Lima", "Santiago de Chile"]),
    log_format="json",
    epochs=1,
    limit=1,
)
