"""What a process costs: time until it answers, memory, and a class of thirty that asks at once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.table import Row, alternate
from tests.browser.serving import Served, serve

BARE = ("-m", "benchmarks.bare", "{port}")

# What the serving process has imported once a model is open and its mark is there.
SAME_LIBRARIES = """
import sys
import gradio
import numpy
import safetensors
import tokenizers
import torch
from sklearn.decomposition import PCA
from transformers.models.bert import modeling_bert
print("ready", flush=True)
sys.stdin.readline()
"""

CLASS = 30


def start(runs: int) -> Row:
    """Time from the start of the process to the first HTTP 200."""
    ours, bare = alternate(runs, lambda: _first_answer(()), lambda: _first_answer(BARE))
    return Row("first HTTP 200", ours, bare, 1.15, "s", "a bare Gradio page with one textbox")


def _first_answer(command: tuple[str, ...]) -> float:
    with serve(command) if command else serve() as served:
        return served.seconds


def seconds_to_import() -> float:
    """Time of a fresh Python that imports torch and scikit-learn, less what Python itself takes."""
    return _seconds("import torch; from sklearn.decomposition import PCA") - _seconds("pass")


def _seconds(code: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - started


def memory(served: Served) -> Row:
    """Resident memory of the page's process after it was used, and of one that only imported the same."""
    with subprocess.Popen(
        [sys.executable, "-c", SAME_LIBRARIES], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as bare:
        if bare.stdout is None or bare.stdout.readline() != b"ready\n":
            message = "the libraries could not be imported"
            raise RuntimeError(message)
        baseline = _resident(bare.pid)
        bare.communicate(b"\n")
    against = "a process that imported the same libraries"
    return Row("memory of the server", _resident(served.pid), baseline, 1.2, "MB", against)


def _resident(pid: int) -> float:
    """Resident memory in MB."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1000
    message = f"process {pid} has no VmRSS line"
    raise RuntimeError(message)


def classroom(served: Served, runs: int) -> Row:
    """How long a class of thirty waits that asks at the same moment, each a sentence of its own.

    The baseline is one person who asks the same thirty, one after another. A server whose threads get in each
    other's way takes many times as long.
    """
    texts = [f"pupil {number} asks for the river bank number {number}" for number in range(CLASS)]
    _explain(served, texts[0])

    def together() -> float:
        started = time.perf_counter()
        with ThreadPoolExecutor(CLASS) as pool:
            list(pool.map(lambda text: _explain(served, text), texts))
        return time.perf_counter() - started

    def one_by_one() -> float:
        started = time.perf_counter()
        for text in texts:
            _explain(served, text)
        return time.perf_counter() - started

    ours, alone = alternate(runs, together, one_by_one)
    against = "the same 30 asked one after another by one person"
    return Row("30 clients at once, last answer", ours, alone, 1.2, "s", against)


def _explain(served: Served, text: str) -> None:
    """Asks the public endpoint, as `gradio_client` would, and waits for the answer.

    Raises:
        RuntimeError: the server refused, or answered with an error.
    """
    connection = HTTPConnection(urlsplit(served.url).netloc, timeout=120)
    body = json.dumps({"data": [text, "", "bundled", False]})
    connection.request("POST", "/gradio_api/call/explain", body, {"Content-Type": "application/json"})
    event = json.loads(connection.getresponse().read())["event_id"]
    connection.request("GET", f"/gradio_api/call/explain/{event}")
    answer = connection.getresponse().read()
    connection.close()
    if b"event: complete" not in answer:
        message = f"/explain answered {answer[:200]!r}"
        raise RuntimeError(message)
