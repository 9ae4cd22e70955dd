"""Opening a model for the page: in a thread that reports how far it is, can be stopped, and draws when it is done."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from threading import Event, Lock, Thread

from embviz.errors import EmbvizError, ModelError, StoppedError
from embviz.i18n import text as words
from embviz.models.limits import OPENING_SECONDS, is_public
from embviz.models.watch import Progress, watching
from embviz.recipe import Recipe
from embviz.ui.handlers import Shown, draw, messages_of, unopened

INTERVAL = 0.15
"""Seconds between two words about how far it is."""

FORGOTTEN = 15.0
"""Seconds after which an opening that nobody asks about is stopped: its page was closed."""

MAX_CANCELS = 256
MAX_TOKEN = 64

_cancels: OrderedDict[str, Event] = OrderedDict()
"""What stops the openings of the moment, by the tokens that the pages have given them."""
_guard = Lock()


def cancel(token: object) -> None:
    """Stops the opening of that token, also one that still waits for its turn."""
    _cancel_of(token).set()


def open_views(query: str, token: str, start: int = 0, *, download: bool = False) -> Iterator[str | Shown]:
    """Opens the model of a Recipe and draws it.

    Args:
        query: the Recipe.
        token: what the page calls this opening; `cancel` takes the same.
        start: the first token whose vectors are sent.
        download: whether a checkpoint that can only be read as a whole may be.

    Yields:
        How far it is, as JSON for the page's opening panel, and in the end the views, or why there are none.
    """
    stop = _cancel_of(token)
    try:
        work = _Work(Recipe.from_query(query), start if type(start) is int else 0, download, stop)
    except EmbvizError as error:
        yield _failure(Recipe(), token, error)
        return
    thread = Thread(target=work.run, name="embviz-open", daemon=True)
    thread.start()
    try:
        yield _step(token, work.seen)
        while thread.is_alive():
            work.asked = time.monotonic()
            thread.join(INTERVAL)
            if thread.is_alive() and not stop.is_set():
                yield _step(token, work.seen)
            elif stop.is_set():
                break
    finally:
        if thread.is_alive():  # cancelled, or the page was closed
            stop.set()
        with _guard:
            _cancels.pop(token, None)
    yield _end(work, token, stop)


@dataclass(eq=False)
class _Work:
    """One opening; `run` is the body of its thread."""

    recipe: Recipe
    start: int
    download: bool
    stop: Event
    seen: Progress | None = None
    shown: Shown | None = None
    error: BaseException | None = None
    asked: float = field(default_factory=time.monotonic)

    def run(self) -> None:
        from embviz.models.loading import load_model  # torch arrives after the first answer

        seconds = OPENING_SECONDS if is_public() else None
        try:
            with ExitStack() as stack:
                stack.enter_context(watching(self._report, self.stop, seconds))
                load_model(self.recipe.model, self.recipe.revision, allow_download=self.download)
                # The first text needs word rows of the same distant file: they count, and can be stopped, too.
                self.shown = draw(self.recipe, self.start)
        except BaseException as error:  # noqa: BLE001 - told to the page by the thread that waits
            self.error = error

    def _report(self, progress: Progress) -> None:
        self.seen = progress
        if time.monotonic() - self.asked > FORGOTTEN:
            self.stop.set()


def _end(work: _Work, token: str, stop: Event) -> Shown:
    error = work.error
    if work.shown is not None:
        return replace(work.shown, opening=json.dumps({"state": "done", "token": token}))
    if error is None or isinstance(error, StoppedError) or stop.is_set():
        messages = messages_of("model", words("opening.stopped", name=unopened(work.recipe)))
        return Shown(work.recipe, messages=messages, opening=json.dumps({"state": "stopped", "token": token}))
    if isinstance(error, EmbvizError):
        return _failure(work.recipe, token, error)
    raise error


def _failure(recipe: Recipe, token: str, error: EmbvizError) -> Shown:
    place = error.field or ("model" if isinstance(error, ModelError) else "page")
    end = {"state": "failed", "token": token, "ref": unopened(recipe)}
    if error.key == "error.old_format":
        end["size"] = str(error.values["size"])
    return Shown(recipe, messages=messages_of(place, str(error)), failed=True, opening=json.dumps(end))


def _step(token: str, progress: Progress | None) -> str:
    seen = progress or Progress("", 0, 0)
    step = {"state": "reading", "token": token, "what": seen.what, "done": seen.done, "total": seen.total}
    return json.dumps(step)


def _cancel_of(token: object) -> Event:
    """The event of a token, made where there is none yet."""
    name = str(token)[:MAX_TOKEN]
    with _guard:
        event = _cancels.setdefault(name, Event())
        _cancels.move_to_end(name)
        while len(_cancels) > MAX_CANCELS:
            _cancels.popitem(last=False)
        return event
