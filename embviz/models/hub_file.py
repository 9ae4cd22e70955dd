"""A file of the Hub at one commit: in ranges, or, if it is small, as a whole."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import urlsplit

from embviz.errors import ModelError
from embviz.models.files import size_text
from embviz.models.hub_errors import explained
from embviz.models.watch import current_watch

TIMEOUT = 10.0
"""Seconds that the Hub may be silent."""

_EXPIRED = {401, 403, 404, 410}
_CHUNK = 65_536

PAUSES = (0.5, 1.0)
"""Seconds between the attempts of a request."""

T = TypeVar("T")


@dataclass(frozen=True)
class RemoteFile:
    """A file of a repository.

    Attributes:
        ref: the repository, for sentences.
        url: the address of the file on the Hub, commit included.
        name: what to call it.
        size: its length in bytes, as the Hub says.
        headers: what authorises the requests to the Hub.
    """

    ref: str
    url: str
    name: str
    size: int
    headers: dict[str, str]


def download(remote: RemoteFile) -> bytes:
    """All bytes of a small file.

    Raises:
        ModelError: the Hub refuses, cannot be reached, or sends another number of bytes than it had said.
    """
    from huggingface_hub.utils import get_session, hf_raise_for_status

    headers = {"Accept-Encoding": "identity", **remote.headers}

    def request() -> bytes:
        with get_session().stream("GET", remote.url, headers=headers, timeout=TIMEOUT) as response:
            hf_raise_for_status(response)
            return _receive(response, remote, remote.size)

    with explained(remote.ref):
        return patiently(request)


class RangeFile:
    """The first range is asked of the Hub, which answers with a signed address; later ones go straight there.

    The signed address gets no token. When it has expired, the Hub is asked again, by one thread for all.
    """

    over_network = True

    def __init__(self, remote: RemoteFile) -> None:
        self.remote, self.url, self.name, self.size = remote, remote.url, remote.name, remote.size
        self._direct, self._lock = remote.url, Lock()

    def read(self, start: int, stop: int) -> bytes:
        """The bytes `start <= i < stop`.

        Raises:
            OSError: the file ends before `stop`.
            ModelError: the Hub refuses, cannot be reached, or does not send this range.
        """
        if start >= stop:
            return b""
        if stop > self.size:
            raise OSError(f"it ends at byte {self.size:,}, before {stop:,}")
        direct = self._direct
        if direct != self.url:
            data = self._get(direct, start, stop)
            if data is not None:
                return data
        with self._lock:
            if self._direct == direct:  # no other thread has asked the Hub meanwhile
                return self._resolve(start, stop)
            direct = self._direct
        data = self._get(direct, start, stop)
        return self._resolve(start, stop) if data is None else data

    def _resolve(self, start: int, stop: int) -> bytes:
        data = self._get(self.url, start, stop)
        if data is None:
            raise ModelError("link_refused", field="model", ref=self.remote.ref, file=self.name)
        return data

    def _get(self, url: str, start: int, stop: int) -> bytes | None:
        with explained(self.remote.ref):
            return patiently(lambda: self._request(url, start, stop))

    def _request(self, url: str, start: int, stop: int) -> bytes | None:
        """One range from one address; None means that the signed address has expired.

        Raises:
            ModelError: the server does not send this range.
        """
        from huggingface_hub.utils import get_session, hf_raise_for_status

        headers = {"Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
        if _origin(url) == _origin(self.url):
            headers |= self.remote.headers
        with get_session().stream("GET", url, headers=headers, timeout=TIMEOUT) as response:
            signed = _origin(str(response.url)) != _origin(self.url)
            if url != self.url and response.status_code in _EXPIRED:
                return None
            if response.status_code == 416:
                raise ModelError("wrong_range", field="model", ref=self.remote.ref, file=self.name)
            hf_raise_for_status(response)
            self._check_range(response, start, stop)
            data = _receive(response, self.remote, stop - start)
            if signed or self._direct == self.url:
                self._direct = str(response.url)
        return data

    def _check_range(self, response: Any, start: int, stop: int) -> None:
        """Looks at the answer before its body is read: a server may send all of the file, or another part."""
        match = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", response.headers.get("content-range", ""))
        about = {"ref": self.remote.ref, "file": self.name}
        if response.status_code != 206 or match is None:
            raise ModelError("no_ranges", field="model", size=size_text(self.size), **about)
        if [int(number) for number in match.groups()] != [start, stop - 1, self.size]:
            raise ModelError("wrong_range", field="model", **about)


def _receive(response: Any, remote: RemoteFile, size: int) -> bytes:
    """The body of an answer, which must have `size` bytes."""
    watch, data = current_watch(), bytearray()
    for chunk in response.iter_raw(_CHUNK):
        data += chunk
        watch.received(remote.name, len(chunk))
        if len(data) > size:
            break
    if len(data) != size:
        raise ModelError("wrong_range", field="model", ref=remote.ref, file=remote.name)
    return bytes(data)


def patiently(request: Callable[[], T]) -> T:
    """The result of a request, which is made again where the line broke or the server had a short fault.

    huggingface_hub's `http_stream_backoff` cannot be used: it fails where a line breaks within a body, and waits
    up to five minutes when there were too many requests.
    """
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    for pause in PAUSES:
        try:
            return request()
        except httpx2.TimeoutException:
            raise
        except httpx2.TransportError:
            time.sleep(pause)
        except HfHubHTTPError as error:
            if error.response.status_code < 500:
                raise
            time.sleep(pause)
        current_watch().check()
    return request()


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
