"""A model in a folder on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from embviz.errors import ModelError
from embviz.models.files import File, LocalFile


def is_path(ref: str) -> bool:
    """Whether a reference is written as a path; `name` and `owner/name` are always ids of the Hub.

    A path starts with `.`, `/`, `~` or a drive letter, or has more than one slash or a backslash. So a folder
    `models/mine` is opened by `./models/mine`, and creating it never changes what `models/mine` opens.
    """
    drive = len(ref) > 2 and ref[0].isalpha() and ref[1] == ":"
    return ref.startswith((".", "/", "~")) or drive or ref.count("/") > 1 or "\\" in ref or os.sep * 2 in ref


class Folder:
    """The files of a folder.

    Raises:
        ModelError: there is no such folder, or it is a file.
    """

    def __init__(self, ref: str | Path) -> None:
        try:
            path = Path(ref).expanduser()
            self.path, self.name = path, path.resolve().name
            if path.is_file():
                raise ModelError("not_a_folder", field="model", ref=ref)
            self._paths = {entry.name: entry for entry in path.iterdir() if entry.is_file()}
            self.sizes: Mapping[str, int] = {
                name: entry.stat().st_size for name, entry in sorted(self._paths.items())
            }
        except ModelError:
            raise
        except (OSError, ValueError, RuntimeError) as error:  # a NUL in the path; no such user
            raise ModelError("no_folder", field="model", ref=ref) from error

    def open(self, name: str) -> File:
        """A file of the folder."""
        return LocalFile(self._paths[name])

    def read(self, name: str, *, keep: bool = False) -> bytes:  # noqa: ARG002 - it is on the disk already
        """A small file as a whole."""
        return self._paths[name].read_bytes()
