"""A model of the Hugging Face Hub, pinned to one commit; what the local Hub cache holds is not fetched again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from embviz.errors import ModelError
from embviz.models.files import File, LocalFile
from embviz.models.folder import Folder
from embviz.models.hub_errors import explained, suggestion
from embviz.models.hub_file import TIMEOUT, RangeFile, RemoteFile, download, patiently
from embviz.models.limits import is_public
from embviz.models.repository import Repository
from embviz.models.watch import in_background

if TYPE_CHECKING:
    from huggingface_hub.hf_api import ModelInfo

REVISION = re.compile(r"[A-Za-z0-9_][\w.\-]*(/[A-Za-z0-9_][\w.\-]*)*", re.ASCII)
"""Branches, tags, commits and refs/pr/N; huggingface_hub itself would follow `../..` out of its cache."""

KEPT = 2_000_000
"""Files of fewer bytes are not put into the Hub cache: they come sooner than the answers that it asks for first."""

_COMMIT = re.compile(r"[0-9a-f]{40}")


def check_id(ref: str) -> None:
    """Looks at an id before anything is asked of the Hub.

    Raises:
        ModelError: it is not one.
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(ref)
    except HFValidationError as error:
        raise ModelError("repo_id", field="model", ref=ref, hint=suggestion(ref)) from error


def check_revision(revision: str) -> None:
    """Looks at a revision before anything is asked of the Hub.

    Raises:
        ModelError: it is not one.
    """
    if len(revision) > 200 or ".." in revision or not REVISION.fullmatch(revision):
        raise ModelError("revision", field="model", revision=revision)


def open_repository(ref: str, revision: str | None) -> tuple[Repository, str]:
    """A repository of the Hub, or what the local Hub cache holds of it, and its commit.

    Without an answer of the Hub a shared server gives nothing out of its cache, which may hold private models,
    unless it was put offline on purpose (`HF_HUB_OFFLINE`).

    Raises:
        ModelError: there is none, the Hub refuses, or it cannot be reached and nothing is cached.
    """
    from huggingface_hub import constants

    check_id(ref)
    if revision is not None:
        check_revision(revision)
    try:
        info = in_background(lambda: _ask(ref, revision))()
    except ModelError as error:
        unreachable = error.key in {
            f"error.{key}" for key in ("offline", "no_network", "hub_silent", "hub_down")
        }
        if not unreachable or (is_public() and not constants.HF_HUB_OFFLINE):
            raise
        cached = _cached(ref, revision)
        if cached is None:
            raise
        return cached
    repository = HubRepository(ref, info)
    return repository, repository.commit


def _ask(ref: str, revision: str | None) -> ModelInfo:
    """The Hub's answer about a repository: its commit, and its files with their sizes. One request."""
    from huggingface_hub import HfApi

    with explained(ref, revision):
        api = HfApi(token=token())
        try:
            info = patiently(
                lambda: api.model_info(ref, revision=revision, files_metadata=True, timeout=TIMEOUT)
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ModelError("hub_answer", field="model", ref=ref, status="200") from error
    if not isinstance(info.sha, str) or not _COMMIT.fullmatch(info.sha):
        raise ModelError("hub_answer", field="model", ref=ref, status="200")
    return info


def token() -> bool | None:
    """Whose rights a request has: on one's own machine the user's, on a shared server nobody's."""
    return False if is_public() else None


def _cached(ref: str, revision: str | None) -> tuple[Repository, str] | None:
    """What the local Hub cache holds of a repository, without a request."""
    from huggingface_hub import HfApi, try_to_load_from_cache
    from huggingface_hub.errors import RevisionResolutionError

    try:
        commit = HfApi().resolve_revision(ref, revision=revision, local_files_only=True).resolved
    except RevisionResolutionError:
        return None
    config = try_to_load_from_cache(ref, "config.json", revision=commit)
    if not isinstance(config, str):
        return None
    folder = Folder(Path(config).parent)
    folder.name = ref
    return folder, commit


class HubRepository:
    """The files of a repository of the Hub at one commit.

    Args:
        ref: the id that was asked for; the Hub may have renamed it.
        info: the Hub's answer about it.
    """

    def __init__(self, ref: str, info: ModelInfo) -> None:
        from huggingface_hub.utils import build_hf_headers

        self.name, self.commit = ref, str(info.sha)
        self._id = info.id or ref
        self._headers = build_hf_headers(token=token())
        self.sizes: Mapping[str, int] = {
            file.rfilename: file.size for file in info.siblings or () if isinstance(file.size, int)
        }

    def open(self, name: str) -> File:
        """A file that is read in pieces: the cached one, or the one on the Hub in ranges."""
        cached = self._cached_path(name)
        return LocalFile(cached, name) if cached else RangeFile(self._remote(name))

    def read(self, name: str, *, keep: bool = False) -> bytes:
        """A small file as a whole.

        Raises:
            ModelError: the Hub refuses, or cannot be reached.
        """
        path = self._cached_path(name)
        if path is None and keep and self.sizes[name] > KEPT and not is_public():
            path = in_background(lambda: self._fetch(name))()
        return download(self._remote(name)) if path is None else path.read_bytes()

    def _fetch(self, name: str) -> Path:
        """Puts a file into the local Hub cache."""
        from huggingface_hub import hf_hub_download

        with explained(self.name):
            return Path(hf_hub_download(self._id, name, revision=self.commit, token=token()))

    def _cached_path(self, name: str) -> Path | None:
        from huggingface_hub import try_to_load_from_cache

        for ref in dict.fromkeys((self._id, self.name)):
            path = try_to_load_from_cache(ref, name, revision=self.commit)
            if isinstance(path, str):
                return Path(path)
        return None

    def _remote(self, name: str) -> RemoteFile:
        from huggingface_hub import hf_hub_url

        url = hf_hub_url(self._id, name, revision=self.commit)
        return RemoteFile(self.name, url, name, self.sizes[name], self._headers)
