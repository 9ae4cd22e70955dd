"""What opening a model costs: bytes, requests and seconds, beside the whole file and beside transformers.

The checkpoints are stand-ins of true size. Those behind the fake Hub are sparse files; the one on disk is
written out, since a cold cache can only be measured where there is something to read.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.table import Row, alternate
from embviz.models.sources import bundled_folder
from tests.fake_hub import FakeHub, Repo
from tests.models.stand_ins import BERT_BASE, BERT_LARGE, bert_shapes, write_sparse

LATENCY = 0.05
BANDWIDTH = 100e6 / 8
WEIGHTS = r"safetensors|^/[0-9a-f]{64}"
TEXT, SECOND = ("my dog is cute", "he likes playing"), ("the capital of france", "is cute")

# On a page that serves, the libraries are imported, the default model is open, and huggingface_hub has asked the
# question that it asks once a day (build_hf_headers); the opening itself is what counts.
OPEN = """
import json, sys, time
import huggingface_hub.utils
import embviz
from transformers.models.bert import modeling_bert
embviz.load_model().decompose("warm", "up").verified
from benchmarks.opening import io_and_memory
huggingface_hub.utils.build_hf_headers()
ref, text, second = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
read, resident = io_and_memory()
started = time.perf_counter()
model = embviz.load_model(ref)
seconds = time.perf_counter() - started
d = model.decompose(*text)
now, after = io_and_memory()
answer = {"seconds": seconds, "read": now - read, "added": after - resident}
answer |= {"tokens": len(set(d.input_ids.tolist()))}
print(json.dumps(answer), flush=True)
sys.stdin.readline()
model.decompose(*second)
print("second", flush=True)
"""

AUTO_MODEL = """
import json, sys, time
import torch
from transformers import AutoModel
from transformers.models.bert import modeling_bert
from benchmarks.opening import io_and_memory
ids = torch.tensor([list(range(10))])
read, resident = io_and_memory()
started = time.perf_counter()
model = AutoModel.from_pretrained(sys.argv[1])
with torch.inference_mode():
    model.embeddings(ids)
seconds = time.perf_counter() - started
now, after = io_and_memory()
print(json.dumps({"seconds": seconds, "read": now - read, "added": after - resident}), flush=True)
"""


def io_and_memory() -> tuple[int, float]:
    """Bytes that this process has read from the disk, and its resident memory in MB."""
    counters = dict(
        line.split(": ") for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    )
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))
    return int(counters["read_bytes"]), resident / 1000


@dataclass(frozen=True)
class Opening:
    """One opening from the fake Hub."""

    seconds: float
    moved: int
    resolves: int
    second: int
    tokens: int


def measure(runs: int) -> Iterator[Row]:
    """The rows of issue 3."""
    with tempfile.TemporaryDirectory(prefix="embviz-bench-") as folder:
        yield from _from_the_hub(Path(folder), runs)
        yield from _from_the_disk(Path(folder), runs)


def _from_the_hub(folder: Path, runs: int) -> Iterator[Row]:
    """BERT-base, 438 MB, behind 50 ms and 100 Mbit/s."""
    size = write_sparse(folder / "base", bert_shapes(768, 12), **BERT_BASE)
    shutil.copy(bundled_folder() / "tokenizer.json", folder / "base")  # BERT-base's own, 466 kB
    with (folder / "base" / "model.safetensors").open("rb") as stream:
        header = 8 + int.from_bytes(stream.read(8), "little")
    with FakeHub(LATENCY, BANDWIDTH) as hub:
        hub.repos["org/base"] = Repo(folder / "base")
        openings = [_open(hub) for _ in range(runs)]
    shown = header + 4 * 768 * (512 + 2 + 2 + openings[0].tokens)
    moved = median(opening.moved for opening in openings)
    seconds = median(opening.seconds for opening in openings)
    resolves = max(opening.resolves for opening in openings)
    second = max(opening.second for opening in openings)
    hub_text = "50 ms, 100 Mbit/s"
    yield Row("open BERT-base from the Hub, bytes", moved / 1000, shown / 1000, 1.1, "kB", "what is shown")
    yield Row("the same", moved / 1000, size / 1000, 1 / 200, "kB", "the whole file")
    yield Row("open BERT-base from the Hub", seconds, 0.5, 1, "s", f"0.5 s at {hub_text}")
    yield Row("questions to the Hub for the weights file", resolves, 1, 1, "", "one")
    yield Row("a second text, bytes", second / 1000, 60, 1, "kB", "60 kB")


def _open(hub: FakeHub) -> Opening:
    """Opens `org/base` in a process of its own, which has an empty cache."""
    hub.log.clear()
    with tempfile.TemporaryDirectory() as home:
        changes = {"HF_ENDPOINT": hub.url, "HF_HOME": home, "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0"}
        process = subprocess.Popen(
            [sys.executable, "-c", OPEN, "org/base", json.dumps(TEXT), json.dumps(SECOND)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **changes},
        )  # fmt: skip
        with process:
            if process.stdin is None or process.stdout is None:
                message = "the process has no pipes"
                raise RuntimeError(message)
            answer: dict[str, Any] = json.loads(process.stdout.readline())
            moved, before = hub.sent(WEIGHTS), hub.sent()
            resolves = len(hub.requests(r"/resolve/.*/model\.safetensors"))
            process.stdin.write("\n")
            process.stdin.flush()
            process.stdout.readline()
            return Opening(answer["seconds"], moved, resolves, hub.sent() - before, answer["tokens"])


def _from_the_disk(folder: Path, runs: int) -> Iterator[Row]:
    """BERT-large, 1.34 GB, with nothing of it in the page cache."""
    write_sparse(folder / "large", bert_shapes(1024, 24, prefix=""), **BERT_LARGE)
    path = folder / "large" / "model.safetensors"
    _fill(path)
    results: dict[str, list[dict[str, float]]] = {OPEN: [], AUTO_MODEL: []}

    def cold(code: str) -> float:
        _drop_from_cache(path)
        arguments = [str(folder / "large"), json.dumps(TEXT), json.dumps(SECOND)]
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], input="\n", capture_output=True, text=True, check=True
        )
        results[code].append(json.loads(done.stdout.splitlines()[0]))
        return results[code][-1]["seconds"]

    ours, official = alternate(runs, lambda: cold(OPEN), lambda: cold(AUTO_MODEL))
    read, official_read = (median(one["read"] for one in results[code]) / 1e6 for code in (OPEN, AUTO_MODEL))
    added = median(one["added"] for one in results[OPEN])
    against = "AutoModel.from_pretrained"
    yield Row("open 1.34 GB on disk, cold cache", ours, official, 1 / 50, "s", against)
    yield Row("the same, read from the disk", read, official_read, 1 / 50, "MB", against)
    yield Row("the same, memory added", added, 20, 1, "MB", "20 MB")


def _fill(path: Path) -> None:
    """Puts bytes into the holes of a sparse file; its header stays."""
    block = os.urandom(1 << 20)
    with path.open("r+b") as stream:
        stream.seek(8 + int.from_bytes(stream.read(8), "little"))
        left = path.stat().st_size - stream.tell()
        while left > 0:
            left -= stream.write(block[: min(left, len(block))])
        stream.flush()
        os.fsync(stream.fileno())


def _drop_from_cache(path: Path) -> None:
    with path.open("rb") as stream:
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
