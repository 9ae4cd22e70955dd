"""Progress, cancelling and the time limit of a reading: set once at the top, obeyed by every read below it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from threading import Event, Lock
from typing import TypeVar

from embviz.errors import ModelError, StoppedError

WORKERS = 8
"""Parallel reads of one opening: enough to hide the latency of a distant server."""

_POLL = 0.05
"""How often, in seconds, a waiting reader looks whether it was cancelled."""

T = TypeVar("T")


@dataclass(frozen=True)
class Progress:
    """How far a reading is.

    Attributes:
        what: the file that is being read.
        done: bytes so far.
        total: bytes that are known to be wanted so far; it grows while headers tell what else is needed.
    """

    what: str
    done: int
    total: int


class Watch:
    """Counts what a reading has read, and stops it when it is cancelled or takes too long.

    Args:
        progress: called with every piece that arrives, from whichever thread reads it; what it raises stops
            the reading.
        cancel: set from outside to stop the reading.
        seconds: the longest that it may take; None means for ever.
        outer: the watch of a reading that this one is a part of; it is told everything too, and may stop it.
    """

    def __init__(
        self,
        progress: Callable[[Progress], None] | None = None,
        cancel: Event | None = None,
        seconds: float | None = None,
        outer: Watch | None = None,
    ) -> None:
        self._progress, self._cancel, self._seconds, self._outer = progress, cancel, seconds, outer
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._lock = Lock()
        self.done = self.total = 0

    @property
    def stoppable(self) -> bool:
        """Whether it may end before the reading does."""
        limited = self._cancel is not None or self._deadline is not None
        return limited or (self._outer is not None and self._outer.stoppable)

    def expect(self, count: int) -> None:
        """Says that `count` more bytes are wanted."""
        with self._lock:
            self.total += count
        if self._outer is not None:
            self._outer.expect(count)

    def received(self, what: str, count: int) -> None:
        """Says that `count` bytes of the file `what` have arrived.

        Raises:
            StoppedError: the reading was cancelled.
            ModelError: its time is over.
        """
        self.check()
        with self._lock:
            self.done += count
            self.total = max(self.total, self.done)
            if self._progress is not None:
                self._progress(Progress(what, self.done, self.total))
        if self._outer is not None:
            self._outer.received(what, count)

    def check(self) -> None:
        """Raises if the reading has to stop.

        Raises:
            StoppedError: the reading was cancelled.
            ModelError: its time is over.
        """
        if self._cancel is not None and self._cancel.is_set():
            raise StoppedError("cancelled", field="model")
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise ModelError("too_slow", field="model", seconds=f"{self._seconds:g}")
        if self._outer is not None:
            self._outer.check()


_current: ContextVar[Watch] = ContextVar("watch")


def current_watch() -> Watch:
    """The watch of the reading that goes on here; one without limits where nobody set one."""
    return _current.get(None) or Watch()


@contextmanager
def watching(
    progress: Callable[[Progress], None] | None = None,
    cancel: Event | None = None,
    seconds: float | None = None,
) -> Iterator[Watch]:
    """All reads within this block report to one watch, and to those of the blocks around it.

    The arguments are those of `Watch`.
    """
    watch = Watch(progress, cancel, seconds, outer=_current.get(None))
    token = _current.set(watch)
    try:
        yield watch
    finally:
        _current.reset(token)


def in_parallel(jobs: Sequence[Callable[[], T]]) -> list[T]:
    """The results of all jobs, run in at most `WORKERS` threads under the caller's watch.

    The first error ends it, and so does the watch: a thread that waits for a silent server is left behind.
    """
    if len(jobs) <= 1 and not current_watch().stoppable:
        return [job() for job in jobs]
    executor = ThreadPoolExecutor(max(1, min(WORKERS, len(jobs))), thread_name_prefix="embviz-read")
    try:
        futures = [executor.submit(copy_context().run, job) for job in jobs]
        _wait(futures)
        return [future.result() for future in futures]
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def in_background(job: Callable[[], T]) -> Callable[[], T]:
    """Starts a job under the caller's watch; what comes back waits for it and gives its result or its error."""
    executor = ThreadPoolExecutor(1, thread_name_prefix="embviz-read")
    future = executor.submit(copy_context().run, job)
    executor.shutdown(wait=False)

    def result() -> T:
        _wait([future])
        return future.result()

    return result


def _wait(futures: Sequence[Future[T]]) -> None:
    """Waits for all, and raises the first error as soon as it is there."""
    watch = current_watch()
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=_POLL, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
        watch.check()
