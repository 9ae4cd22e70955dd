"""What is exported: the numbers of the official module, bit by bit, in files that other programs read safely."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from plotly.graph_objects import Figure

import embviz
from embviz import figures
from embviz.analysis import Analysis
from embviz.exports import explain_dict, glyphs, save, to_csv, to_html, to_npz, to_png
from tests.reference import official

KEYS = {
    "model", "tokens", "input_ids", "token_type_ids", "position_ids", "shape", "verified", "absent", "notes",
}  # fmt: skip
VECTORS = {"token", "segment", "position", "summed", "normalized", "output"}

# Case EV056: the pair and its ids, computed with the official tokenizer.
PAIR = ("I ate a clock yesterday.", "It was very time consuming.")
PAIR_IDS = [101, 1045, 8823, 1037, 5119, 7483, 1012, 102, 2009, 2001, 2200, 2051, 15077, 1012, 102]
PAIR_TOKENS = "[CLS] i ate a clock yesterday . [SEP] it was very time consuming . [SEP]".split()
PAIR_TYPES = [0] * 8 + [1] * 7

HOSTILE = (
    "<script>document.title='hacked'</script> <img src=x onerror=\"document.title='hacked'\"> $x^2$ &lt;b&gt;"
)


@pytest.fixture(scope="module")
def pair() -> Analysis:
    return embviz.analyze(embviz.Recipe(*PAIR))


@pytest.fixture(scope="module")
def expected() -> dict[str, np.ndarray[Any, np.dtype[np.float32]]]:
    """The parts of PAIR out of the checkpoint, summed by torch, and what the official module makes of them."""
    names = ("word_embeddings", "token_type_embeddings", "position_embeddings")
    tables = official.bundled_tensors(*(f"embeddings.{name}.weight" for name in names))
    rows = (torch.tensor(PAIR_IDS), torch.tensor(PAIR_TYPES), torch.arange(15))
    token, segment, position = (table[index] for table, index in zip(tables.values(), rows, strict=True))
    output = official.run(
        official.bundled_embeddings(), input_ids=rows[0][None], token_type_ids=rows[1][None]
    )[0]
    parts = {"token": token, "segment": segment, "position": position, "summed": token + segment + position}
    return {
        name: tensor.numpy() for name, tensor in (parts | {"normalized": output, "output": output}).items()
    }


def test_json_has_the_ids_of_the_official_tokenizer(pair: Analysis) -> None:
    answer = explain_dict(pair)

    assert answer.keys() == KEYS
    assert answer["input_ids"] == PAIR_IDS
    assert answer["tokens"] == PAIR_TOKENS
    assert answer["token_type_ids"] == PAIR_TYPES
    assert answer["position_ids"] == list(range(15))
    assert answer["shape"] == [15, 384]
    assert answer["model"]["name"] == "all-MiniLM-L6-v2"
    assert answer["absent"] == {}
    assert 0 <= answer["verified"] <= 1e-5


def test_json_has_the_vectors_of_the_official_module(pair: Analysis, expected: dict[str, Any]) -> None:
    """Looked-up rows and sums to the last bit, the LayerNorm within rounding."""
    answer = json.loads(json.dumps(explain_dict(pair, vectors=True), allow_nan=False))

    assert answer.keys() == KEYS | VECTORS
    for name in ("token", "segment", "position", "summed"):
        assert np.array_equal(np.array(answer[name], np.float32), expected[name])
    for name in ("normalized", "output"):
        assert np.abs(np.array(answer[name], np.float32) - expected[name]).max() < 1e-6


def test_json_numbers_are_the_float32_themselves(pair: Analysis) -> None:
    """Not only near them: read as float64 they have no digit beyond the float32."""
    token = np.array(explain_dict(pair, vectors=True)["token"], np.float64)

    assert np.array_equal(token, token.astype(np.float32).astype(np.float64))


def test_json_has_the_numbers_after_a_change() -> None:
    """Scaled components cannot be compared with the official module: `verified` is null and a note says why."""
    recipe = embviz.Recipe("hello", what_if=(embviz.ShiftPositions(5), embviz.Scale("segment", 0.0)))
    answer = explain_dict(embviz.analyze(recipe), vectors=True)

    assert answer["position_ids"] == [5, 6, 7]
    assert not np.any(answer["segment"])
    assert answer["verified"] is None
    assert "not checked" in answer["notes"][-1]


def test_json_has_null_for_what_is_no_number(pair: Analysis) -> None:
    """A checkpoint may hold NaN or infinity (fp16 overflow); JSON has neither."""
    token = pair.after.token.copy()
    token[0, :3] = [np.nan, np.inf, -np.inf]
    broken = replace(pair, after=replace(pair.after, token=token, segment=None, absent={"segment": "none"}))

    answer = json.loads(json.dumps(explain_dict(broken, vectors=True), allow_nan=False))

    assert answer["token"][0][:3] == [None, None, None]
    assert answer["token"][0][3] == float(pair.after.token[0, 3])
    assert answer["segment"] is None
    assert answer["absent"] == {"segment": "none"}


def test_npz_loads_without_pickle(pair: Analysis, expected: dict[str, Any]) -> None:
    """Every array under its name, float32 to the last bit, and the operands of the LayerNorm."""
    with np.load(io.BytesIO(to_npz(pair)), allow_pickle=False) as archive:
        arrays = dict(archive)

    assert arrays["tokens"].tolist() == PAIR_TOKENS
    assert arrays["input_ids"].tolist() == PAIR_IDS
    assert arrays["token_type_ids"].tolist() == PAIR_TYPES
    assert arrays["position_ids"].tolist() == list(range(15))
    assert arrays["special_tokens_mask"].tolist() == [1, *[0] * 6, 1, *[0] * 6, 1]
    for name in ("token", "segment", "position", "summed"):
        assert np.array_equal(arrays[name], expected[name])
    assert embviz.Recipe.from_json(str(arrays["recipe"])) == pair.recipe


def test_npz_holds_the_arithmetic_of_the_layer_norm(pair: Analysis, expected: dict[str, Any]) -> None:
    """(sum − mean) / std · weight + bias, out of the archive alone, is what the official module says."""
    with np.load(io.BytesIO(to_npz(pair)), allow_pickle=False) as archive:
        step = {name: archive[f"layer_norm_{name}"] for name in ("weight", "bias", "mean", "std", "eps")}
        centred = archive["summed"] - step["mean"][:, None]

    made = centred / step["std"][:, None] * step["weight"] + step["bias"]
    assert np.abs(made - expected["output"]).max() < 1e-6
    assert step["eps"] == 1e-12


def test_npz_keeps_hostile_text() -> None:
    """A lone surrogate in the Recipe needs no encoding that could fail."""
    analysis = embviz.analyze(embviz.Recipe("ok\ud800bad"))
    with np.load(io.BytesIO(to_npz(analysis)), allow_pickle=False) as archive:
        assert archive["tokens"].tolist() == ["[CLS]", "ok", "##bad", "[SEP]"]  # case EV049
        assert embviz.Recipe.from_json(str(archive["recipe"])).text == "ok\ud800bad"


def test_csv_has_a_row_for_each_token_and_part(pair: Analysis, expected: dict[str, Any]) -> None:
    """Its digits give back the float32 to the last bit."""
    header, *rows = csv.reader(io.StringIO(to_csv(pair).decode(), newline=""))

    assert header[:6] == ["token_index", "token", "input_id", "token_type_id", "position_id", "part"]
    assert header[6:] == [f"dim_{dim}" for dim in range(384)]
    parts = ["token", "segment", "position", "summed", "normalized"]
    assert [(row[0], row[1], row[2], row[5]) for row in rows] == [
        (str(i), PAIR_TOKENS[i], str(PAIR_IDS[i]), part) for i in range(15) for part in parts
    ]
    for part in parts[:4]:
        numbers = np.array([row[6:] for row in rows if row[5] == part], np.float32)
        assert np.array_equal(numbers, expected[part])


def test_csv_quotes_as_rfc_4180_says() -> None:
    """Lines end with CR LF; a quote is doubled inside quotes, a comma stands inside them."""
    lines = to_csv(embviz.analyze(embviz.Recipe('a, "b"'))).decode().split("\r\n")

    assert lines[-1] == ""
    assert any(line.startswith('2,",",1010,') for line in lines)
    assert any(line.startswith('3,"""",1000,') for line in lines)
    assert "\n" not in "".join(lines)


@pytest.mark.parametrize("piece", ["=", "+", "-", "@", "=cmd|' /C calc'!A0", "\t=1+1", "\r-1", "＝1"])
def test_csv_has_no_formula(pair: Analysis, piece: str) -> None:
    """A spreadsheet runs a cell that begins like a formula; a vocabulary may come from a stranger."""
    encoded = replace(pair.after.encoded, tokens=(piece, *PAIR_TOKENS[1:]))
    answer = to_csv(replace(pair, after=replace(pair.after, encoded=encoded)))

    rows = list(csv.reader(io.StringIO(answer.decode(), newline="")))
    assert rows[1][1] == f"'{piece}"
    assert rows[6][1] == PAIR_TOKENS[1]


@pytest.fixture(scope="module")
def hostile() -> Analysis:
    return embviz.analyze(embviz.Recipe(HOSTILE, "a\x00\x1b[31m \u202e \ud800 __init__ **b**"))


@pytest.fixture(scope="module")
def drawn(hostile: Analysis) -> dict[str, Figure]:
    return {"<i>Map</i>": figures.pca(hostile), "Heatmaps": figures.heatmap(hostile)}


@pytest.fixture(scope="module")
def page(hostile: Analysis, drawn: dict[str, Figure]) -> str:
    return to_html(hostile, drawn).decode()


class _Elements(HTMLParser):
    """All elements of a page, and the text outside of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1][0] not in {"script", "style"}:
            self.text += data


def test_html_needs_nothing_else(page: str) -> None:
    """No element loads anything, plotly.js is there once, and there is no button that sends the data away."""
    elements = _Elements(page).elements

    assert [attributes for _, attributes in elements if "src" in attributes or "href" in attributes] == []
    assert page.count("plotly.js v") == 1
    assert "showSendToCloud: false" in page
    assert "displaylogo: false" in page


def test_html_shows_typed_text_as_text(page: str) -> None:
    """Cases EV042 and EV046: what was typed is visible character by character and makes no element."""
    seen = _Elements(page)

    assert HOSTILE in seen.text
    assert "__init__ **b**" in seen.text
    assert {tag for tag, _ in seen.elements}.isdisjoint({"img", "i", "b", "iframe"})
    assert not any(name.startswith("on") for _, attributes in seen.elements for name in attributes)


def test_html_has_no_control_characters(page: str) -> None:
    """HTML drops or forbids them: their pictures stand for them."""
    outside = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)

    assert re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", outside) is None
    assert "a␀␛[31m" in outside


def test_library_figure_is_standard_and_becomes_html(drawn: dict[str, Figure]) -> None:
    """Case EV134: a plain plotly Figure, whose own to_html with plotly.js inside needs no notebook extension."""
    for figure in drawn.values():
        assert type(figure) is Figure
        assert re.findall(r"<script[^>]*src=", figure.to_html(include_plotlyjs=True)) == []


@pytest.fixture(scope="module")
def tower() -> list[Figure]:
    """Case EV129: Japanese labels."""
    analysis = embviz.analyze(embviz.Recipe("東京タワー $x$"))
    return [figures.pca(analysis), figures.heatmap(analysis)]


def test_png_shows_the_figures_below_each_other(tower: list[Figure]) -> None:
    picture, missing = to_png(tower)
    image = Image.open(io.BytesIO(picture))

    assert image.format == "PNG"
    assert image.width == 2000
    assert image.height == 2 * (700 + tower[1].layout.height)
    assert len(image.getcolors(1 << 24) or []) > 100
    assert missing == ""  # the fonts that .ci/run installs have them all


def test_png_can_be_made_in_a_notebook(tower: list[Figure]) -> None:
    """Where an event loop is running already."""

    async def cell() -> bytes:
        return to_png(tower[:1])[0]

    # In a thread of its own: the browser tests leave a loop running in this one.
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(asyncio.run, cell()).result().startswith(b"\x89PNG")


def test_png_needs_no_network(tower: list[Figure], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser is started without a way out, and no formula library is fetched for `$x$`."""
    started: list[str] = []
    browser = tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/arguments\nexec chromium "$@"\n', encoding="utf-8"
    )
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER_PATH", str(browser))
    import kaleido

    class Watched(kaleido.Kaleido):  # type: ignore[misc]  # kaleido ships no types
        async def open(self) -> None:
            await super().open()
            started.append(Path(self._index.removeprefix("file://")).read_text(encoding="utf-8"))

    monkeypatch.setattr(kaleido, "Kaleido", Watched)

    to_png(tower[:1])

    assert "--proxy-server=http://127.0.0.1:9 " in (tmp_path / "arguments").read_text(encoding="utf-8")
    sources = re.findall(r'src="([^"]+)"', started[0])
    assert sources
    assert all(source.startswith("file:") for source in sources)


def test_png_names_characters_without_a_glyph(monkeypatch: pytest.MonkeyPatch, tower: list[Figure]) -> None:
    """Case EV129: where no font has them, code points stand in the labels instead of boxes, and they are reported."""
    monkeypatch.setattr(glyphs, "without_glyph", lambda typed: "".join(sorted(set(typed) & set("東京"))))

    spec, missing = glyphs.replace_missing(tower[0].to_plotly_json())

    assert missing == "京東"
    labels = json.dumps(spec, default=str)
    assert "U+6771" in labels
    assert "U+4EAC" in labels
    assert "\\u6771" not in labels


def test_glyphs_are_those_of_the_installed_fonts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As fontconfig lists them; U+10FFFE is a character of no font, and marks and controls need none of their own."""
    assert glyphs.without_glyph("é\u0301\u200d\n") == ""
    assert glyphs.without_glyph("aé\U0001f9ff\u1b83") in {"", "\u1b83", "\U0001f9ff", "\u1b83\U0001f9ff"}
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert glyphs.without_glyph("東") == ""


def test_png_without_kaleido_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tower: list[Figure]) -> None:
    """It names Chrome, the extra to install, and the way out that needs neither."""
    monkeypatch.setitem(sys.modules, "kaleido", None)

    with pytest.raises(embviz.EmbvizError, match=r"Chrome.*embviz\[png\].*--html"):
        to_png(tower)


@pytest.mark.parametrize("browser", ["/nowhere/chrome", "/bin/false", "/bin/true"])
def test_png_without_a_working_chrome_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tower: list[Figure], browser: str
) -> None:
    """Case EV131: a browser that is not there, and one that does not start."""
    monkeypatch.setenv("BROWSER_PATH", browser)

    with pytest.raises(embviz.EmbvizError, match=r"Chrome.*--html"):
        to_png(tower)


def test_save_writes_what_it_was_given(tmp_path: Path) -> None:
    """A file that was there is replaced, and nothing else is left beside it."""
    file = tmp_path / "out.csv"
    file.write_bytes(b"old and longer")

    save(file, b"new")

    assert file.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [file]


def test_save_follows_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)

    save(link, b"x")

    assert link.is_symlink()
    assert target.read_bytes() == b"x"


def test_save_gives_a_file_the_usual_rights(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        save(tmp_path / "x", b"x")
    finally:
        os.umask(mask)

    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o644


def test_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full in the middle: the old file is whole and no part of the new one is left."""
    file = tmp_path / "out.npz"
    file.write_bytes(b"old")
    monkeypatch.setattr(Path, "open", _full_disk(Path.open))

    with pytest.raises(embviz.InputError, match=r"out\.npz.*No space left"):
        save(file, b"new")

    monkeypatch.undo()
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def _full_disk(real: Any) -> Any:
    class Full(io.BytesIO):
        def write(self, _: Any) -> int:
            raise OSError(28, "No space left on device")

    def fake(self: Path, mode: str = "r", *rest: Any) -> Any:
        real(self, mode, *rest).close()
        return Full()

    return fake


@pytest.mark.parametrize("place", ["missing/out.csv", "folder", "file/out.csv", "x" * 300])
def test_save_names_the_place_that_cannot_be_written(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()

    with pytest.raises(embviz.InputError, match=re.escape(place)):
        save(tmp_path / place, b"x")

    assert {path.name for path in tmp_path.rglob("*")} == {"folder", "file"}


def test_save_does_not_replace_a_device() -> None:
    """`--csv /dev/null` as root leaves the device a device; a full one is a sentence."""
    save("/dev/null", b"x")

    assert Path("/dev/null").is_char_device()
    with pytest.raises(embviz.InputError, match="/dev/full"):
        save("/dev/full", b"x")
    assert Path("/dev/full").is_char_device()


# What a what-if moved.


def moved_by(*what_if: Any) -> Analysis:
    return embviz.analyze(embviz.Recipe(*PAIR, what_if=what_if))


def test_without_changes_nothing_is_said_about_movement(pair: Analysis) -> None:
    assert not {"what_if", "moved"} & set(explain_dict(pair))
    with np.load(io.BytesIO(to_npz(pair))) as file:
        assert not [name for name in file.files if name.startswith("moved")]


def test_json_says_how_far_each_token_moved() -> None:
    """Case EV164: a swap moves each sum by 0.162."""
    answer = json.loads(json.dumps(explain_dict(moved_by(embviz.SwapSegments())), allow_nan=False))

    assert answer["what_if"] == [{"type": "SwapSegments"}]
    assert answer["moved"]["changed"] is True
    np.testing.assert_allclose(answer["moved"]["summed"]["distance"], [0.162] * 15, atol=2e-4)
    for name in ("summed", "normalized", "output"):
        stage = answer["moved"][name]
        assert len(stage["cosine_distance"]) == 15
        assert stage["mean_cosine_distance"] == pytest.approx(np.mean(stage["cosine_distance"]))
        assert len(stage["dimensions"]) == len(stage["dimension_change"]) == 10


def test_json_of_what_has_no_direction_is_valid() -> None:
    everything = [embviz.Scale(name, 0) for name in ("token", "segment", "position")]
    answer = json.loads(
        json.dumps(explain_dict(moved_by(*everything, embviz.NoLayerNorm())), allow_nan=False)
    )

    assert answer["moved"]["summed"]["cosine_distance"] == [None] * 15
    assert answer["moved"]["summed"]["mean_cosine_distance"] is None
    assert answer["moved"]["normalized"] is None
    assert "switched off" in answer["absent"]["normalized"]


def test_npz_has_what_moved() -> None:
    analysis = moved_by(embviz.ShiftPositions(1), embviz.SetSegments((0,) * 15))

    with np.load(io.BytesIO(to_npz(analysis))) as file:
        for name in ("summed", "normalized", "output"):
            before, after = getattr(analysis.before, name), file[name]
            np.testing.assert_allclose(file[f"moved_{name}_delta"], after - before, atol=1e-6)
            np.testing.assert_allclose(
                file[f"moved_{name}_distance"], np.linalg.norm(after - before, axis=1), rtol=1e-4
            )
            assert file[f"moved_{name}_cosine_distance"].shape == (15,)
        assert embviz.Recipe.from_json(str(file["recipe"])) == analysis.recipe
