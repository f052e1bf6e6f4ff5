"""python make_more_inspect_logs.py FOLDER: roles.eval and stopped.eval, by Inspect's mock model."""

# mypy: ignore-errors
# It runs in an environment of Inspect's own, which is not this one.

import os
import signal
import sys
import threading
import time
from pathlib import Path

import anyio
from inspect_ai import Task, eval, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessageSystem,
    ChatMessageUser,
    ContentImage,
    ContentText,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import includes, match, model_graded_qa
from inspect_ai.solver import generate, solver, use_tools
from inspect_ai.tool import tool

out = Path(sys.argv[1])
PIXEL = "data:image/png;base64,iVBORw0KGgo="


def said(text):
    made = ModelOutput.from_content("mockllm/model", text)
    made.usage = ModelUsage(input_tokens=10, output_tokens=2, total_tokens=12)
    return made


def called(name, **arguments):
    made = ModelOutput.for_tool_call("mockllm/model", name, arguments)
    made.usage = ModelUsage(input_tokens=10, output_tokens=2, total_tokens=12)
    return made


@tool
def add():
    async def execute(x: int, y: int):
        """Add two numbers.

        Args:
            x: The first.
            y: The second.
        """
        return x + y

    return execute


@task
def roles():
    image = [ContentText(text="What is 1 + 1, and what is this?"), ContentImage(image=PIXEL)]
    sample = Sample(
        id="sum",
        input=[ChatMessageSystem(content="Use the tool."), ChatMessageUser(content=image)],
        target="2",
    )
    return Task(
        dataset=MemoryDataset([sample], name="roles"),
        solver=[use_tools(add()), generate()],
        scorer=[includes(), match(), model_graded_qa(model_role="grader")],
        message_limit=20,
    )


@solver
def waits():
    async def solve(state, generate):
        if state.sample_id == "waits":
            threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT)).start()
            await anyio.sleep(60)
        return await generate(state)

    return solve


@task
def stopped():
    samples = [Sample(id=each, input=f"Say {each}", target=each) for each in ("a", "waits", "z")]
    return Task(
        dataset=MemoryDataset(samples, name="stopped"),
        solver=[waits()],
        scorer=[includes()],
        epochs=2,
    )


def run(made, *outputs, **options):
    model = get_model("mockllm/model", custom_outputs=list(outputs))
    roles = {"grader": get_model("mockllm/model", custom_outputs=[said("GRADE: C")], memoize=False)}
    eval(
        made(), model=model, model_roles=roles, log_dir=str(out), display="none", max_samples=1,
        **options,
    )  # fmt: skip


def keep(name):
    [log] = out.glob(f"*_{name}_*.eval")
    log.rename(out / f"{name}.eval")


run(roles, called("add", x=1, y=1), said("It is 2"))
keep("roles")
try:
    run(stopped, said("a"), said("a"))
except KeyboardInterrupt:
    time.sleep(0)
finally:
    keep("stopped")
