"""An Analysis as plain values: JSON, a NumPy archive, a CSV table, and the lines of the readable table."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embviz.embedding.decomposition import ALL_PARTS, PARTS, Floats
from embviz.embedding.movement import STAGES, Movement
from embviz.i18n import text

if TYPE_CHECKING:
    from embviz.analysis import Analysis

ARRAYS = (*ALL_PARTS, "output")
"""The arrays of a Decomposition by name."""


def explain_dict(analysis: Analysis, *, vectors: bool = False) -> dict[str, Any]:
    """What `explain --json` prints and the endpoint `/explain` returns: plain values, valid JSON whatever they are.

    Args:
        analysis: the changes of its Recipe are in.
        vectors: adds `token`, `segment`, `position`, `constant`, `summed`, `normalized` and `output`, lists of
            one list a token; every number is the float32 itself; null stands for a NaN, an infinity or a part
            that is absent.

    Where `verified` is null, the last note says why. Where something was changed, `what_if` has the changes and
    `moved` says how far each token went from before to after; see `embviz.embedding.movement`.
    """
    shown = analysis.after
    answer: dict[str, Any] = {
        "model": analysis.model.as_dict(),
        "tokens": list(shown.tokens),
        "input_ids": shown.input_ids.tolist(),
        "token_type_ids": shown.token_type_ids.tolist(),
        "position_ids": shown.position_ids.tolist(),
        "shape": list(shown.summed.shape),
        "verified": None if shown.verified is None else _plain(np.array(shown.verified)),
        "absent": dict(shown.absent),
        "notes": [*notes(analysis), *([shown.verified_note] if shown.verified is None else ())],
    }
    if analysis.moved is not None:
        answer["what_if"] = analysis.recipe.to_dict()["what_if"]
        answer["moved"] = _moved(analysis.moved)
    if vectors:
        arrays = {name: getattr(shown, name) for name in ARRAYS}
        if shown.constant is None:  # few models have one, and most readers need not know of it
            del arrays["constant"]
        answer |= {name: None if array is None else _plain(array) for name, array in arrays.items()}
    return answer


def _moved(moved: Movement) -> dict[str, Any]:
    """How far each token moved, stage by stage; null for a stage that is gone, and for what is not a number."""
    answer: dict[str, Any] = {"changed": moved.changed}
    for name in STAGES:
        stage = moved.stage(name)
        answer[name] = stage and {
            "cosine_distance": _plain(stage.cosine_distance),
            "distance": _plain(stage.distance),
            "mean_cosine_distance": _plain(np.array(stage.mean_cosine_distance)),
            "mean_distance": _plain(np.array(stage.mean_distance)),
            "most_moved": stage.most_moved,
            "share_of_most_moved": stage.share_of_most_moved,
            "dimensions": stage.dimensions.tolist(),
            "dimension_change": stage.dimension_change.tolist(),
        }
    return answer


def _plain(array: NDArray[np.floating]) -> Any:
    """Lists of numbers; JSON has no NaN and no infinity, so they become null."""
    finite = np.isfinite(array)
    return array.tolist() if finite.all() else np.where(finite, array.astype(object), np.array(None)).tolist()


def notes(analysis: Analysis) -> list[str]:
    """What a reader should know about the text and its tokens, one sentence each."""
    return [str(note) for note in analysis.after.notes]


def table(analysis: Analysis) -> tuple[list[str], list[list[str]]]:
    """The tokens as a header and a row each: index, piece, ids, and the length of each part's vector."""
    shown, norms = analysis.after, analysis.metrics.norms
    names = ("index", "piece", "id", "segment", "position")
    header = [text(f"export.column.{name}") for name in names]
    header += [text("export.column.norm", part=text(f"part.{part}")) for part in PARTS]
    lengths = [
        [f"{norm:.4f}" for norm in norms[part]] if part in norms else ["–"] * len(shown) for part in PARTS
    ]
    columns = (range(len(shown)), shown.tokens, shown.input_ids, shown.token_type_ids, shown.position_ids)
    rows = [[str(cell) for cell in row] for row in zip(*columns, *lengths, strict=True)]
    return header, rows


def model_line(analysis: Analysis) -> str:
    """One sentence about the model: its name, sizes, and where its numbers come from."""
    return text("export.model", **analysis.model.as_dict())


def verified_line(analysis: Analysis) -> str:
    """The verified mark as a sentence."""
    from embviz.embedding.verification import TOLERANCE

    verified, note = analysis.after.verified, analysis.after.verified_note
    if verified is None:
        return text("export.unverified", note=note)
    key = "export.verified" if verified <= TOLERANCE else "export.differs"
    return text(key, difference=verified, note=note)


def to_npz(analysis: Analysis) -> bytes:
    """All arrays as a NumPy archive, which `numpy.load` reads without pickle.

    It holds `tokens` (text), `input_ids`, `token_type_ids`, `position_ids`, `special_tokens_mask`, the parts that
    the model has and `output` (float32), the operands of the LayerNorm (`layer_norm_weight`, `_bias`, `_eps`,
    `_mean`, `_std`, `_centred`) where it has one, and `recipe`, the JSON that `Recipe.from_json` reads. Where
    something was changed, it holds of `summed`, `normalized` and `output` `moved_<stage>_delta` (after − before),
    `moved_<stage>_cosine_distance` and `moved_<stage>_distance`.
    """
    shown, step = analysis.after, analysis.after.layer_norm
    arrays: dict[str, Any] = {"recipe": np.array(analysis.recipe.to_json()), "tokens": np.array(shown.tokens)}
    arrays |= {
        name: getattr(shown, name)
        for name in ("input_ids", "token_type_ids", "position_ids", "special_tokens_mask", *ARRAYS)
        if getattr(shown, name) is not None
    }
    if step is not None:
        arrays |= {f"layer_norm_{name}": np.asarray(value) for name, value in vars(step).items()}
    for name in STAGES if analysis.moved is not None else ():
        if (stage := analysis.moved and analysis.moved.stage(name)) is not None:
            for kind in ("delta", "cosine_distance", "distance"):
                arrays[f"moved_{name}_{kind}"] = getattr(stage, kind)
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def to_csv(analysis: Analysis) -> bytes:
    """The parts as a table (RFC 4180, UTF-8), a row for each token and part, a column for each dimension.

    Numbers have as many digits as their float32 needs. A spreadsheet takes a cell that begins with = + - or @ for
    a formula, and a vocabulary may come from a stranger: such a piece has an apostrophe before it, as one would
    type it there. `input_id` says which piece it is, and the npz and the JSON have it as it is.
    """
    shown = analysis.after
    ids = (shown.input_ids.tolist(), shown.token_type_ids.tolist(), shown.position_ids.tolist())
    digits = {part: _digits(array) for part in ALL_PARTS if (array := shown.part(part)) is not None}
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    columns = ("token_index", "token", "input_id", "token_type_id", "position_id", "part")
    writer.writerow([*columns, *(f"dim_{dim}" for dim in range(shown.summed.shape[1]))])
    for index, (token, *numbers) in enumerate(zip(shown.tokens, *ids, strict=True)):
        for part, rows in digits.items():
            writer.writerow([index, _no_formula(token), *numbers, part, *rows[index]])
    return file.getvalue().encode()


def _digits(array: Floats) -> list[list[str]]:
    digits: list[list[str]] = array.astype(str).tolist()
    return digits


def _no_formula(cell: str) -> str:
    # Spreadsheets in East Asian languages take the wide forms too; a tab or a line break before it is passed over.
    return f"'{cell}" if cell.lstrip().startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠")) else cell
