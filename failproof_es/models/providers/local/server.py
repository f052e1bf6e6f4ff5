"""The embedded model's server: a process of its own, `python -P` with this file.

It imports nothing of this program, which would take longer than the model's own start. It
serves one GGUF file on a loopback port that the system chooses, prints `listening <url>` on
its first line, and ends when its standard input ends: when the process that started it is
gone, by whatever means, so is the server.
"""

from __future__ import annotations

import argparse
import os
import sys

import xllamacpp

SEED = 1


def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser(prog="server")
    parser.add_argument("weights")
    parser.add_argument("--name", required=True)
    parser.add_argument("--slots", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--context", type=int, default=2048, help="tokens for each slot")
    arguments = parser.parse_args()
    # The library writes to file descriptor 1 as well: keep the pipe for our one line.
    announce = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    server = _serve(arguments)
    announce.write(f"listening {server.listening_address}\n")
    announce.flush()
    sys.stdin.buffer.read()
    os._exit(0)


def _serve(arguments: argparse.Namespace) -> xllamacpp.Server:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = arguments.weights
    parameters.model_alias = {arguments.name}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_parallel = arguments.slots
    parameters.n_ctx = arguments.context * arguments.slots
    for threads in (parameters.cpuparams, parameters.cpuparams_batch):
        threads.n_threads = arguments.threads
        threads.poll = 0  # as `process` says, for a library that is built without OpenMP
    # An answer must not depend on what the slot answered before.
    parameters.cache_prompt = False
    parameters.sampling.seed = SEED
    parameters.ui = False
    return xllamacpp.Server(parameters)


if __name__ == "__main__":
    main()
