"""What the Hub's refusals mean, one sentence each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches

from embviz.errors import ModelError
from embviz.models.known_models import KNOWN_IDS


@contextmanager
def explained(ref: str, revision: str | None = None) -> Iterator[None]:
    """Turns what huggingface_hub raises within this block into our errors.

    Args:
        ref: the repository that is asked for.
        revision: the branch, tag or commit that is asked for.

    Raises:
        ModelError: the Hub refuses, or cannot be reached.
    """
    import httpx2
    from huggingface_hub import errors

    try:
        yield
    except (errors.HfHubHTTPError, errors.EntryNotFoundError) as error:
        raise _refusal(error, ref, revision or "main") from error
    except errors.OfflineModeIsEnabled as error:
        raise ModelError("offline", field="model", ref=ref) from error
    except httpx2.TimeoutException as error:
        raise ModelError("hub_silent", field="model", ref=ref) from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ModelError("no_network", field="model", ref=ref) from error


def _refusal(error: Exception, ref: str, revision: str) -> ModelError:
    """The error of an answer of the Hub."""
    from huggingface_hub import errors

    if isinstance(error, errors.GatedRepoError):  # a kind of RepositoryNotFoundError, so it comes first
        return ModelError("gated", field="model", ref=ref)
    if isinstance(error, errors.RevisionNotFoundError):
        return ModelError("revision_not_found", field="model", ref=ref, revision=revision)
    if isinstance(error, errors.RepositoryNotFoundError):
        return ModelError("repo_not_found", field="model", ref=ref, hint=suggestion(ref))
    if isinstance(error, errors.EntryNotFoundError):
        return ModelError("hub_file_missing", field="model", ref=ref)
    status = getattr(getattr(error, "response", None), "status_code", 0)
    key = {401: "hub_refuses", 403: "hub_refuses", 429: "rate_limited"}.get(status, "hub_answer")
    return ModelError("hub_down" if status >= 500 else key, field="model", ref=ref, status=status)


def suggestion(ref: str) -> str:
    """The question “Did you mean …?” with the nearest well-known ids, or nothing."""
    by_name = {re.sub(r"^.*/", "", known).lower(): known for known in KNOWN_IDS}
    names = get_close_matches(re.sub(r"^.*/", "", ref).lower(), by_name, n=2, cutoff=0.75)
    known = list(dict.fromkeys(by_name[name] for name in names if by_name[name] != ref))
    return f" Did you mean {' or '.join(known)}?" if known else ""
