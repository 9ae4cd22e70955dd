"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from embviz.errors import InputError


def save(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes a file beside its place and then moves it there, so that a failure leaves no half file.

    Raises:
        InputError: it cannot be written there.
    """
    target = Path(path)
    partial = None
    try:
        if target.exists() and not target.is_file():  # a device or a pipe is not replaced
            target.write_bytes(content)
            return
        target = target.resolve()  # a link stays a link
        partial = target.with_name(f".{secrets.token_hex(8)}.part")
        with partial.open("xb") as file:
            file.write(content)
        partial.replace(target)
    except OSError as error:
        raise InputError("export_write", path=path, reason=error.strerror or error) from error
    finally:
        if partial is not None:
            with suppress(OSError):  # it is gone already when all went well
                partial.unlink()
