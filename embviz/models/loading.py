"""load_model(ref): opens a model, and keeps the last few open."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock
from weakref import WeakValueDictionary

from embviz.models.card import ModelCard
from embviz.models.limits import OPENING_SECONDS, is_public
from embviz.models.model import EmbeddingModel
from embviz.models.references import BUNDLED
from embviz.models.sources import SOURCES, open_model
from embviz.models.watch import Progress, Watch, watching

__all__ = ["EmbeddingModel", "ModelCard", "load_model"]

MAX_OPEN_MODELS = 4

_Key = tuple[str, str | None]
_open: OrderedDict[_Key, EmbeddingModel] = OrderedDict()
"""The models that are open, the one that was not used for longest first."""
_opening: WeakValueDictionary[_Key, Lock] = WeakValueDictionary()
_guard = Lock()


def load_model(
    ref: str = BUNDLED,
    revision: str | None = None,
    *,
    allow_download: bool = False,
    progress: Callable[[Progress], None] | None = None,
    cancel: Event | None = None,
) -> EmbeddingModel:
    """The model of a reference; the last few stay open.

    Args:
        ref: "bundled" (all-MiniLM-L6-v2, offline), "untrained:all-MiniLM-L6-v2" or "untrained:bert-base" (random
            weights), an id of the Hub or a folder; see
            `embviz.models.sources.open_model`.
        revision: a branch, tag or commit of the Hub; None means main.
        allow_download: whether a checkpoint that can only be read as a whole may be.
        progress: told what is read, the bytes so far and the bytes wanted, from whichever thread reads.
        cancel: set from another thread to stop the opening.

    Raises:
        ModelError: there is no such model, it cannot be shown exactly, or opening it took too long.
        StoppedError: `cancel` was set.
    """
    key = (ref, revision)
    with _guard:
        opening = _opening.setdefault(key, Lock())
    seconds = OPENING_SECONDS if is_public() else None
    # A second visitor waits for the model instead of loading it again.
    with watching(progress, cancel, seconds) as watch, _held(opening, watch):
        with _guard:
            if key in _open:
                _open.move_to_end(key)
                return _open[key]
        model = EmbeddingModel(ref, open_model(ref, revision, allow_download=allow_download))
        with _guard:
            _open[key] = model
            while len(_open) > MAX_OPEN_MODELS:
                _open.popitem(last=False)
        return model


def is_at_hand(ref: str, revision: str | None, text: str, text_pair: str | None) -> bool:
    """Whether these texts can be taken apart without waiting for a network: model open, word rows here.

    Raises:
        InputError: the texts cannot be encoded.
    """
    with _guard:
        model = _open.get((ref, revision))
    if model is None:
        return ref in SOURCES
    ids = model.encode(text, text_pair).input_ids.tolist()
    return model.tensors.is_at_hand(model.names["token"], ids)


@contextmanager
def _held(lock: Lock, watch: Watch) -> Iterator[None]:
    """Holds a lock, for which a visitor waits no longer than for the opening itself."""
    while not lock.acquire(timeout=0.1):
        watch.check()
    try:
        yield
    finally:
        lock.release()
