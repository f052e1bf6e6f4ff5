"""The embedded model's server: a separate process, `python -P` with this file.

It imports nothing of this program, which would take longer than the start of the model. It serves
one GGUF file on a loopback port that the system chooses, prints `listening <url>` as its first
line, and ends when its standard input ends, and so with its parent process, however that ends.
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
    # The library writes to file descriptor 1, too: keep the pipe for the line `listening`.
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
        threads.poll = 0  # waiting threads sleep, see `process`; for a library without OpenMP
    # An answer must not depend on the slot's earlier answers.
    parameters.cache_prompt = False
    parameters.sampling.seed = SEED
    parameters.ui = False
    return xllamacpp.Server(parameters)


if __name__ == "__main__":
    main()
