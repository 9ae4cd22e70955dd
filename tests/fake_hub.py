"""A fake Hugging Face Hub on loopback: two origins (the Hub and its CDN), ranges, faults, and a log of all requests.

    with FakeHub() as hub:
        os.environ["HF_ENDPOINT"] = hub.url     # before huggingface_hub is imported
        hub.repos["org/name"] = Repo(folder)
        hub.log                                 # what was asked for, and how many bytes were sent

It answers as the real one was measured to (huggingface_hub 2.4): small files by a redirect on its own origin,
large ones by a signed address of the CDN, which refuses requests that bear a token.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

TOKEN = "hf_fakefakefakefakefakefakefakefakefa"  # noqa: S105 - of the fake Hub
LARGE = (".safetensors", ".bin", ".h5", ".model", ".gguf", ".msgpack")
CHUNK = 16_384


@dataclass
class Repo:
    """A repository.

    Attributes:
        folder: its files on `main`.
        gated: /resolve refuses without the token.
        private: nothing is told without the token.
        renamed_from: ids that redirect to it.
        revisions: other revisions and their folders, like "refs/pr/1".
    """

    folder: Path
    gated: bool = False
    private: bool = False
    renamed_from: tuple[str, ...] = ()
    revisions: Mapping[str, Path] = field(default_factory=dict)


@dataclass
class Request:
    """One request and its answer."""

    origin: str
    method: str
    path: str
    range: str | None
    authorized: bool
    status: int = 0
    sent: int = 0


@dataclass
class Faults:
    """What goes wrong.

    Attributes:
        status: patterns of paths, what they answer instead, and how many times.
        ignore_range: all of a file is sent, whatever part was asked for.
        shift_range: another part is sent than was asked for, and the answer says so.
        cut: bodies end after half of what was promised.
        silent: patterns of paths that are never answered.
        html: a network's login page answers everything.
    """

    status: list[tuple[str, int, int]] = field(default_factory=list)
    ignore_range: bool = False
    shift_range: bool = False
    cut: bool = False
    silent: tuple[str, ...] = ()
    html: bool = False


class FakeHub:
    """The two servers.

    Args:
        latency: seconds that each request waits.
        bandwidth: bytes a second that all answers share; 0 means no limit.
    """

    def __init__(self, latency: float = 0.0, bandwidth: float = 0.0) -> None:
        self.latency, self.bandwidth = latency, bandwidth
        self.repos: dict[str, Repo] = {}
        self.log: list[Request] = []
        self.faults = Faults()
        self.signature = 0
        self.blobs: dict[str, Path] = {}
        self.released = threading.Event()
        self._lock, self._free_at = threading.Lock(), 0.0
        self._servers: list[ThreadingHTTPServer] = []

    def __enter__(self) -> FakeHub:
        for origin in ("hub", "cdn"):
            handler = type("Handler", (_Handler,), {"hub": self, "origin": origin})
            server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            self._servers.append(server)
        self.url, self.cdn_url = (f"http://127.0.0.1:{server.server_port}" for server in self._servers)
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def reset(self) -> None:
        """Forgets the repositories, the log and all faults; who waits for an answer gets none."""
        self.released.set()
        self.released = threading.Event()
        self.repos, self.log, self.faults = {}, [], Faults()
        self.latency = self.bandwidth = 0.0

    def expire_links(self) -> None:
        """All signed addresses that were given out are refused from now on."""
        self.signature += 1

    def sent(self, pattern: str = "") -> int:
        """Bytes of all bodies whose path matches a pattern."""
        return sum(request.sent for request in self.requests(pattern))

    def requests(self, pattern: str = "", origin: str | None = None) -> list[Request]:
        """The requests whose path matches a pattern."""
        return [r for r in self.log if re.search(pattern, r.path) and origin in {None, r.origin}]

    def wait_for_turn(self, count: int) -> None:
        """Waits until the line that all answers share has carried `count` bytes more."""
        if not self.bandwidth:
            return
        with self._lock:
            self._free_at = max(self._free_at, time.monotonic()) + count / self.bandwidth
            until = self._free_at
        time.sleep(max(0.0, until - time.monotonic()))

    def find(self, repo_id: str) -> tuple[str, Repo] | None:
        """The present name of a repository, and the repository."""
        for name, repo in self.repos.items():
            if repo_id == name or repo_id in repo.renamed_from:
                return name, repo
        return None


def commit(name: str, revision: str = "main") -> str:
    """The commit of a revision."""
    return hashlib.sha1(f"{name}@{revision}".encode(), usedforsecurity=False).hexdigest()


def _etag(path: Path) -> str:
    """A stand-in for the SHA-256 of a file, which would take long to compute for the largest."""
    status = path.stat()
    return hashlib.sha256(f"{path} {status.st_size} {status.st_mtime_ns}".encode()).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    hub: FakeHub
    origin: str
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for an acknowledgement

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def do_HEAD(self) -> None:
        self._route()

    def do_GET(self) -> None:
        self._route()

    def _route(self) -> None:
        authorization = self.headers.get("Authorization")
        self.request_log = Request(
            self.origin, self.command, self.path, self.headers.get("Range"), authorization is not None
        )
        self.hub.log.append(self.request_log)
        self.authorized = authorization == f"Bearer {TOKEN}"
        time.sleep(self.hub.latency)
        url = urlsplit(self.path)
        path, query = unquote(url.path), parse_qs(url.query)
        if self._fault(path):
            return
        if self.origin == "cdn":
            self._cdn(path, query)
        elif match := re.fullmatch(r"/api/models/(.+?)(?:/revision/(.+))?", path):
            self._info(match[1], match[2] or "main", sizes="blobs" in query)
        elif match := re.fullmatch(r"/api/resolve-cache/models/(.+?)/([0-9a-f]{40})/(.+)", path):
            self._resolve_cache(match[1], match[2], match[3])
        elif match := re.fullmatch(r"/(.+?)/resolve/(.+)", path):
            self._resolve(match[1], match[2])
        else:
            self._refuse(404, "NotFound")

    def _fault(self, path: str) -> bool:
        faults = self.hub.faults
        if any(re.search(pattern, path) for pattern in faults.silent):
            self.hub.released.wait(60)
            self.close_connection = True
            return True
        for at, (pattern, status, times) in enumerate(faults.status):
            if times and re.search(pattern, path):
                faults.status[at] = (pattern, status, times - 1)
                self._answer(status, b"fault")
                return True
        if faults.html:
            self._answer(200, b"<html>Please log in</html>", {"Content-Type": "text/html"})
            return True
        return False

    def _cdn(self, path: str, query: Mapping[str, list[str]]) -> None:
        blob = self.hub.blobs.get(path.removeprefix("/"))
        if blob is None or query.get("signature") != [str(self.hub.signature)] or self.request_log.authorized:
            self._answer(403, b"Forbidden")
        else:
            self._file(blob, {"ETag": f'"{path[1:]}"'})

    def _lookup(self, repo_id: str, rest: str) -> tuple[str, Repo, str, Path, str] | None:
        """Name, repository, commit, folder and file of `revision/file`; None if that was refused already."""
        found = self.hub.find(repo_id)
        if found is None or (found[1].private and not self.authorized):
            self._refuse(401, "RepoNotFound", "Repository not found")
            return None
        name, repo = found
        if name != repo_id:
            self._answer(307, headers={"Location": self.path.replace(repo_id, name, 1)})
            return None
        for revision, folder in {"main": repo.folder, **repo.revisions}.items():
            for known in (revision, commit(name, revision)):
                if rest == known or rest.startswith(f"{known}/"):
                    return name, repo, commit(name, revision), folder, rest[len(known) + 1 :]
        self._refuse(404, "RevisionNotFound", f"Invalid rev id: {rest}")
        return None

    def _info(self, repo_id: str, revision: str, *, sizes: bool) -> None:
        found = self._lookup(repo_id, revision)
        if found is None:
            return
        name, repo, sha, folder, _ = found
        siblings = [_sibling(folder, path, sizes=sizes) for path in sorted(_files(folder))]
        body = {"id": name, "sha": sha, "private": repo.private, "gated": "manual" if repo.gated else False}
        self._answer(200, json.dumps({**body, "siblings": siblings, "tags": []}).encode())

    def _resolve(self, repo_id: str, rest: str) -> None:
        found = self._lookup(repo_id, rest)
        if found is None:
            return
        name, repo, sha, folder, file = found
        path = folder / file
        headers = {"X-Repo-Commit": sha}
        if repo.gated and not self.authorized:
            self._refuse(403 if self.request_log.authorized else 401, "GatedRepo", "Access is restricted")
        elif path not in set(_files(folder)):
            self._refuse(404, "EntryNotFound", "Entry not found", headers)
        elif file.endswith(LARGE):
            etag = _etag(path)
            self.hub.blobs[etag] = path
            location = f"{self.hub.cdn_url}/{etag}?signature={self.hub.signature}"
            linked = {"X-Linked-Size": str(path.stat().st_size), "X-Linked-Etag": f'"{etag}"'}
            self._answer(302, headers={**headers, **linked, "Location": location, "ETag": f'"{etag}"'})
        else:
            location = f"/api/resolve-cache/models/{name}/{sha}/{quote(file)}"
            self._answer(307, headers={**headers, "Location": location, "ETag": f'"{_etag(path)}"'})

    def _resolve_cache(self, name: str, sha: str, file: str) -> None:
        found = self._lookup(name, f"{sha}/{file}")
        if found is not None:
            path = found[3] / found[4]
            self._file(path, {"ETag": f'"{_etag(path)}"', "X-Repo-Commit": sha})

    def _file(self, path: Path, headers: Mapping[str, str]) -> None:
        """A file or a part of it."""
        faults, size = self.hub.faults, path.stat().st_size
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        start, stop, status = 0, size, 200
        headers = {**headers, "Accept-Ranges": "bytes"}
        if match and not faults.ignore_range:
            start, stop = int(match[1]), min(int(match[2] or size - 1) + 1, size)
            if faults.shift_range:
                start, stop = start + 4, stop + 4
            if start >= size:
                self._answer(416, headers={"Content-Range": f"bytes */{size}"})
                return
            status, headers["Content-Range"] = 206, f"bytes {start}-{stop - 1}/{size}"
        self._head(status, {**headers, "Content-Length": str(stop - start)})
        if self.command == "HEAD":
            return
        if faults.cut:
            stop -= (stop - start + 1) // 2
        with path.open("rb") as stream:
            stream.seek(start)
            self._send(iter(lambda: stream.read(min(CHUNK, stop - stream.tell())), b""))
        self.close_connection = faults.cut

    def _refuse(
        self, status: int, code: str, message: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        said = {"X-Error-Code": code, "X-Error-Message": message or code, **(headers or {})}
        self._answer(status, json.dumps({"error": message or code}).encode(), said)

    def _answer(self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        self._head(
            status, {"Content-Type": "application/json", **(headers or {}), "Content-Length": str(len(body))}
        )
        if self.command != "HEAD":
            self._send([body])

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.request_log.status = status
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()

    def _send(self, chunks: Iterable[bytes]) -> None:
        for chunk in chunks:
            self.hub.wait_for_turn(len(chunk))
            self.request_log.sent += len(chunk)
            self.wfile.write(chunk)


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _sibling(folder: Path, path: Path, *, sizes: bool) -> dict[str, Any]:
    """A file in the Hub's answer about a repository."""
    entry: dict[str, Any] = {"rfilename": path.relative_to(folder).as_posix()}
    if sizes:
        entry |= {"size": path.stat().st_size, "blobId": _etag(path)[:40]}
        if path.name.endswith(LARGE):
            entry["lfs"] = {"size": entry["size"], "sha256": _etag(path), "pointerSize": 134}
    return entry
