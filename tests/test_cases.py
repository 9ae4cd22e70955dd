"""Inputs that real users of other tools fell over: each case of cases.jsonl has its right answer here.

The cases were collected from issue threads, their values computed without embviz. Every kind has a check of its
own, which reads the case's `checkable_value`; a case that no check knows fails. What only a browser can show
(that no script runs, that a label is drawn) is tested in tests/browser.
"""

from __future__ import annotations

import base64
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file

import embviz
from embviz.analysis import Analysis
from embviz.embedding.decomposition import Decomposition, EncodedText
from embviz.embedding.metrics import cosine
from embviz.embedding.module import InputEmbeddings
from embviz.embedding.projection import fit_projection
from embviz.figures import heatmap_spec, normalized_spec, pca_spec
from embviz.ui import handlers
from tests.models.stand_ins import VOCAB, write_texts
from tests.reference import official

Value = dict[str, Any]

LINES = (Path(__file__).parent / "cases.jsonl").read_text(encoding="utf-8").splitlines()
CASES: list[Value] = [json.loads(line) for line in LINES]
CAPITAL = "The capital of France is Paris."


def model() -> embviz.EmbeddingModel:
    return embviz.load_model()


def normalized(d: Decomposition) -> NDArray[np.float32]:
    """The result of the LayerNorm, which some models lack and the bundled one has."""
    assert d.normalized is not None
    return d.normalized


def analyze(text: str, text_pair: str | None = None, **choices: Any) -> Analysis:
    return embviz.analyze(embviz.Recipe(text, text_pair, **choices))


def shown(text: str, text_pair: str | None = None, **choices: Any) -> tuple[Value, Value, dict[str, str]]:
    """What the page gets: `parts`, `map` and the messages at the fields."""
    answer = handlers.show(text, text_pair, "bundled", **choices)
    assert answer.parts is not None, answer.messages
    assert answer.map is not None
    return json.loads(answer.parts), json.loads(answer.map), answer.messages


def readings(value: Value) -> Iterator[Value]:
    """Every text with its ids in a case's values, however deep."""
    if "text" in value and "input_ids" in value:
        yield value
    for inner in value.values():
        if isinstance(inner, dict):
            yield from readings(inner)


def check_readings(value: Value) -> list[EncodedText]:
    """Ids, pieces, segments, positions and offsets are as given, in Python and on the page."""
    encodings = []
    for reading in readings(value):
        d = model().decompose(reading["text"], reading.get("pair"))
        assert d.input_ids.tolist() == reading["input_ids"]
        assert list(d.tokens) == reading["tokens"]
        assert d.token_type_ids.tolist() == reading["token_type_ids"]
        assert d.position_ids.tolist() == reading["position_ids"]
        if "source_offsets" in reading:
            assert [list(offset) for offset in d.encoded.offsets] == reading["source_offsets"]
        tokens = shown(reading["text"], reading.get("pair"))[0]["tokens"]
        assert [token["id"] for token in tokens] == reading["input_ids"]
        assert [token["piece"] for token in tokens] == reading["tokens"]
        assert [token["segment"] for token in tokens] == reading["token_type_ids"]
        assert [token["position"] for token in tokens] == reading["position_ids"]
        encodings.append(d.encoded)
    assert encodings, "the case names no text with ids"
    return encodings


def labels_of(spec: Value) -> list[str]:
    """Every string of a figure that Plotly would read as pseudo-HTML or TeX, but for our own words."""
    found: list[str] = []
    for trace in spec["data"]:
        for key in ("text", "hovertext"):
            found += [label for label in trace.get(key, []) if label]
    for name, axis in spec["layout"].items():
        if name.startswith(("xaxis", "yaxis")):
            found += axis.get("ticktext", [])
    return found


def row_labels(analysis: Analysis) -> list[str]:
    """The tick text of the heatmap's tokens as a reader sees it."""
    return [unescape(label) for label in heatmap_spec(analysis)["layout"]["yaxis"]["ticktext"]]


def check_labels_are_literal(text: str, text_pair: str | None = None) -> None:
    """Each label, decoded as Plotly decodes it, is the piece; nothing that opens a tag or TeX is left in it."""
    analysis = analyze(text, text_pair, special_tokens=True)
    assert row_labels(analysis) == list(analysis.after.tokens)
    for spec in (pca_spec(analysis), normalized_spec(analysis), heatmap_spec(analysis)):
        for label in labels_of(spec):
            assert "$" not in label, label
            assert set(re.findall(r"<[^>]*>?", label)) <= {"<br>", "<b>", "</b>", "<sub>", "</sub>"}, label
            assert re.fullmatch(r"(?:[^&]|&(?:lt|gt|amp|#36|#x27|quot);)*", label), label


def floats(data: str, width: int) -> NDArray[np.float32]:
    return np.frombuffer(base64.b64decode(data), "<f4").reshape(-1, width)


def rows_sent(parts: Value, name: str) -> NDArray[np.float32]:
    """A part as the browser puts it together."""
    part = parts["parts"][name]
    rows: NDArray[np.float32] = floats(part["rows"], parts["width"])[part["index"]]
    return rows


# One check for each kind.


def check_long_input(case: Value) -> None:
    value = case["checkable_value"]
    match case["id"]:
        case "EV001":
            d = model().decompose("hello " * 600)
            assert len(d) == value["truncated_length"] == value["limit"]
            assert d.encoded.truncated == (value["full_length"] - value["limit"], 0)
            assert (d.input_ids[0], d.input_ids[-1]) == (value["first_id"], value["last_id_after_truncation"])
            for sentence in (" ".join(map(str, d.notes)), shown("hello " * 600)[2]["text"]):
                assert all(number in sentence for number in value["message_mentions"]), sentence
        case "EV003":
            encoded = model().encode("hello " * 20, "world " * 600)
            assert len(encoded) == value["length"]
            assert encoded.sentences.count(0) == value["A_word_tokens"]
            assert encoded.sentences.count(1) == value["B_word_tokens"]
            assert encoded.truncated == (0, 600 - value["B_word_tokens"])
            note = next(str(note) for note in encoded.notes if note.key == "truncated_pair")
            kept = value["A_word_tokens"], value["B_word_tokens"]
            assert f"0 of A ({kept[0]} left), {600 - kept[1]} of B ({kept[1]} left)" in note
        case "EV006":
            assert model().encode("hello").input_ids.tolist() == value["hello"]["input_ids"]
            assert len(model().encode("hello " * 200)) == value["hello_x200"]["length"]
        case other:
            pytest.fail(f"no check for {other}")


def check_empty_or_blank(case: Value) -> None:
    value = case["checkable_value"]
    encodings = check_readings(value)
    match case["id"]:
        case "EV007":
            analysis = analyze("")
            assert "only_special" in [note.key for note in encodings[0].notes]
            assert "[CLS] [SEP]" in shown("")[2]["text"]
            np.testing.assert_allclose(
                normalized(analysis.after)[:, :4], value["ln_first4"], atol=value["tolerance"]
            )
            projection = analysis.normalized_projection
            coordinates = projection.transform(normalized(analysis.after))
            np.testing.assert_allclose(projection.explained_variance_ratio[:2], [1, 0])
            np.testing.assert_allclose(sorted(coordinates[:, 0]), [-4.8936, 4.8936], atol=1e-3)
            np.testing.assert_array_equal(coordinates[:, 1], 0)
        case "EV009":
            check_a_blank_pair_is_single_everywhere(value)
        case "EV012":
            row = normalized(analyze("hello").after)[1, :5]
            np.testing.assert_allclose(row, value["ln_row1_first5"], atol=value["tolerance"])
            check_one_point_at_the_origin("hello")
        case other:
            pytest.fail(f"no check for {other}")


def check_a_blank_pair_is_single_everywhere(value: Value) -> None:
    """In the library, in a Recipe, on the page, over HTTP and in an address."""
    expected = value["expected"]["input_ids"]
    for blank in ("", " \n", None):
        assert model().decompose("hello", blank).input_ids.tolist() == expected
        assert analyze("hello", blank).after.input_ids.tolist() == expected
        parts, _, messages = shown("hello", blank)
        assert [token["id"] for token in parts["tokens"]] == expected
        assert "Single sentence" in messages["text_pair"]
    assert handlers.explain("hello", "  ")["input_ids"] == expected
    opened = handlers.open_query("text=hello&text_pair=%20")
    assert opened.parts is not None
    assert [token["id"] for token in json.loads(opened.parts)["tokens"]] == expected


def check_one_point_at_the_origin(text: str) -> None:
    """Special tokens hidden, one point is left: at the origin, its axes not defined, in 2-D and in 3-D."""
    for components in ((1, 2), (1, 2, 3)):
        analysis = analyze(text, pca_components=components)
        assert analysis.drawn.sum() == 1
        assert not analysis.projection.defined
        for spec, role in ((pca_spec(analysis), "summed"), (normalized_spec(analysis), "normalized")):
            points = next(trace for trace in spec["data"] if trace["meta"] == role)
            np.testing.assert_array_equal([points["x"], points["y"]], [[0.0], [0.0]])
            assert points["type"] == "scatter"
            assert "not defined" in spec["layout"]["xaxis"]["title"]["text"]


def check_emoji_zwj(case: Value) -> None:
    for encoded in check_readings(case["checkable_value"]):
        index = encoded.tokens.index("[UNK]")
        emoji = re.sub(r"[\w\s]", "", encoded.text)
        assert encoded.source(index) == emoji
        note = next(note for note in encoded.notes if note.token == index)
        assert note.key == "unknown"
        assert emoji in str(note)
        token = shown(encoded.text)[0]["tokens"][index]
        assert (token["source"], token["typed"]) == (emoji, False)
        assert emoji in token["note"]


def check_accents_case(case: Value) -> None:
    value = case["checkable_value"]
    encodings = check_readings(value)
    if case["id"] == "EV018":
        assert value["word_vectors_equal"]
        with_accent, without = (model().decompose(encoded.text).token for encoded in encodings)
        np.testing.assert_array_equal(with_accent, without)
        note = next(str(note) for note in encodings[0].notes if note.key == "normalized")
        assert "“hacía” as “hacia”" in note
        assert "hacia" in shown("hacía")[2]["text"]
        assert "normalized" not in [note.key for note in encodings[1].notes]
    else:
        assert case["id"] == "EV021"
        assert encodings[0].source(1) == "İstanbul"


def check_rtl(case: Value) -> None:
    """Logical order everywhere; a right-to-left label is isolated, so that it reorders nothing beside it."""
    (encoded,) = check_readings(case["checkable_value"])
    labels = row_labels(analyze(encoded.text))

    assert [label.strip("\u2068\u2069") for label in labels] == list(encoded.tokens)
    for label, special in zip(labels, encoded.special_tokens_mask, strict=True):
        assert (label[0] == "\u2068" and label[-1] == "\u2069") == (not special), label


def check_cjk(case: Value) -> None:
    encodings = check_readings(case["checkable_value"])
    assert not any(token.startswith("##") for encoded in encodings for token in encoded.tokens)
    assert len({tuple(encoded.input_ids) for encoded in encodings}) == 1


def check_thai_indic_hangul(case: Value) -> None:
    encodings = check_readings(case["checkable_value"])
    if case["id"] == "EV030":
        note = next(str(note) for note in encodings[0].notes if note.key == "normalized")
        assert "“कु” as “क”" in note
    else:
        assert case["id"] == "EV033"
        assert [encodings[0].source(i) for i in (1, 2, 3)] == ["안"] * 3


def check_long_word(case: Value) -> None:
    encodings = check_readings(case["checkable_value"])
    too_long = [encoded for encoded in encodings if "[UNK]" in encoded.tokens]
    assert len(too_long) == (case["id"] == "EV034")
    for encoded in too_long:
        note = next(note for note in encoded.notes if note.token == 1)
        assert "100" in str(note)
        assert str(len(encoded.text)) in str(note)
        assert shown(encoded.text)[0]["tokens"][1]["note"] == str(note)


def check_typed_special_tokens(case: Value) -> None:
    value = case["checkable_value"]
    encodings = check_readings(value)
    if case["id"] == "EV037":
        (encoded,) = encodings
        assert encoded.special_tokens_mask.tolist() == value["official_special_tokens_mask"]
        assert encoded.typed_special == (False, True, False, True, False, False)
        tokens = shown(encoded.text)[0]["tokens"]
        assert [token["typed"] for token in tokens] == list(encoded.typed_special)
        assert all("typed" in token["note"] for token in tokens if token["typed"])
    else:
        assert case["id"] == "EV040"
        lower, glued = encodings
        assert not any(lower.typed_special)
        assert glued.typed_special == (False, False, True, False, False)


def check_markup_in_text(case: Value) -> None:
    """The page gets every character as it was typed, and no figure has a label that is not escaped."""
    for encoded in check_readings(case["checkable_value"]):
        parts, _, messages = shown(encoded.text)
        assert parts["recipe"]["text"] == encoded.text
        pieces = [token["source"] for token in parts["tokens"]]
        assert "".join(pieces) == re.sub(r"\s", "", encoded.text)
        assert "<script" not in " ".join(messages.values())
        check_labels_are_literal(encoded.text)
        check_labels_are_literal("x", encoded.text)


def check_control_and_surrogates(case: Value) -> None:
    value = case["checkable_value"]
    encodings = check_readings(value)
    if case["id"] == "EV049":
        typed = "ok\ud800bad"
        encoded = model().encode(typed)
        assert encoded.text == value["repaired_text"]
        assert encoded.input_ids.tolist() == value["after_repair"]["input_ids"]
        assert "surrogates" in [note.key for note in encoded.notes]
        parts, _, messages = shown(typed)
        assert [token["id"] for token in parts["tokens"]] == value["after_repair"]["input_ids"]
        assert "Half characters" in messages["text"]
        assert handlers.explain(typed)["input_ids"] == value["after_repair"]["input_ids"]
    else:
        assert case["id"] == "EV047"
        assert [encodings[0].source(i) for i in (1, 2)] == ["note", "book"]


def check_numbers_urls_symbols(case: Value) -> None:
    (encoded,) = check_readings(case["checkable_value"])
    check_labels_are_literal(encoded.text)
    if case["id"] == "EV054":
        assert len(encoded) == 11 + 2


def check_single_vs_pair(case: Value) -> None:
    value = case["checkable_value"]
    (encoded,) = check_readings(value)
    match case["id"]:
        case "EV056":
            assert encoded.token_type_ids.tolist() == [0] * 8 + [1] * 7
        case "EV058":
            d = model().decompose(value["text"], value["pair"])
            assert d.segment is not None
            assert d.position is not None
            np.testing.assert_array_equal(d.token[1:4], d.token[5:8])
            for part in (d.segment, d.position):
                assert np.abs(part[1:4] - part[5:8]).max(axis=1).min() > 0
            found = cosine(normalized(d)[1:4], normalized(d)[5:8])
            np.testing.assert_allclose(found, value["ln_cosine_rows"], atol=value["tolerance"])
        case "EV059":
            assert (encoded.tokens.count("[CLS]"), encoded.tokens.count("[SEP]")) == (1, 1)
            assert not encoded.token_type_ids.any()
        case other:
            pytest.fail(f"no check for {other}")


def official_output(d: Decomposition) -> NDArray[np.float32]:
    return official.run(official.bundled_embeddings(), input_ids=torch.tensor(d.input_ids)[None])[0].numpy()


def check_numeric_faithfulness(case: Value) -> None:
    value = case["checkable_value"]
    d = model().decompose(CAPITAL)
    match case["id"]:
        case "EV082":
            check_readings(value)
            assert list(d.summed.shape) == value["shape"]
            names = {"word": "token", "sum": "summed", "layernorm": "normalized"}
            parts = shown(CAPITAL)[0]
            for name, expected in value["row1"].items():
                part = names.get(name, name)
                np.testing.assert_allclose(getattr(d, part)[1, :4], expected, atol=1e-6, err_msg=name)
                np.testing.assert_array_equal(rows_sent(parts, part), getattr(d, part), err_msg=name)
            assert np.abs(official_output(d) - d.output).max() <= value["max_abs_diff_to_module"]
        case "EV084":
            assert d.layer_norm is not None
            assert d.layer_norm.eps == shown(CAPITAL)[0]["eps"] == 1e-12
            assert np.abs(official_output(d) - d.output).max() <= value["required_max"]
            for eps in ("1e-5", "1e-6", "1e-3"):
                wrong = torch.nn.functional.layer_norm(
                    torch.tensor(d.summed), (384,), torch.tensor(d.layer_norm.weight),
                    torch.tensor(d.layer_norm.bias), float(eps),
                )  # fmt: skip
                difference = float(np.abs(wrong.numpy() - normalized(d)).max())
                assert difference == pytest.approx(value[f"max_abs_diff_if_eps_{eps}"], rel=0.01)
        case "EV087":
            assert int((d.output == 0).sum()) == value["app_zero_count"]
            assert value["two_runs_equal"]
            np.testing.assert_array_equal(model().decompose(CAPITAL).output, d.output)
            check_training_mode(d, value)
        case other:
            pytest.fail(f"no check for {other}")


def check_training_mode(d: Decomposition, value: Value) -> None:
    """The module itself, asked for dropout with the case's seed, drops what the case says."""
    theirs = official.bundled_embeddings()
    config = type("Config", (), {**dict(model().config)})
    module = InputEmbeddings(config)
    module.load_state_dict(theirs.state_dict())
    module.train()
    torch.manual_seed(0)
    output = module(torch.tensor(d.input_ids)[None]).output[0].detach().numpy()
    kept = output != 0
    assert 1 - kept.mean() == pytest.approx(value["train_mode_zero_share_seed0"], abs=1e-5)
    np.testing.assert_allclose(output[kept], d.output[kept] * value["scale"], rtol=1e-4)


def check_pca(case: Value) -> None:
    value = case["checkable_value"]
    match case["id"]:
        case "EV108":
            two = value["two_points"]
            projection = analyze("").normalized_projection
            found = projection.transform(normalized(analyze("").after))
            np.testing.assert_allclose(projection.explained_variance_ratio[:2], two["explained"], atol=1e-3)
            sign = np.sign(found[0, 0])
            np.testing.assert_allclose(
                found[:, :2].T * sign, [two["pc1"], two["pc2"]], atol=value["tolerance"]
            )
            for spec in flat_where_no_third_component():
                assert {trace["type"] for trace in spec["data"]} == {"scatter"}
            check_one_point_at_the_origin("hello")
        case "EV111":
            analysis = analyze(CAPITAL, special_tokens=True)
            projection = analysis.normalized_projection
            np.testing.assert_allclose(projection.explained_variance_ratio[:2], value["explained"], atol=1e-4)
            found = projection.transform(normalized(analysis.after))
            for column, name in enumerate(("pc1", "pc2")):
                sign = np.sign(found[0, column] * value[name][0])
                np.testing.assert_allclose(found[:, column] * sign, value[name], atol=value["tolerance"])
            used = projection.components[projection.explained_variance_ratio > 0]
            assert (used[np.arange(len(used)), np.abs(used).argmax(axis=1)] > 0).all()
        case "EV112":
            rows = normalized(model().decompose(CAPITAL))
            forwards, backwards = (fit_projection(order).transform(rows) for order in (rows, rows[::-1]))
            assert np.abs(forwards - backwards).max() <= value["max_abs_diff"]
        case "EV114":
            check_equal_points(value)
        case other:
            pytest.fail(f"no check for {other}")


def flat_where_no_third_component() -> list[Value]:
    analysis = analyze("", pca_components=(1, 2, 3))
    return [pca_spec(analysis), normalized_spec(analysis)]


def check_equal_points(value: Value) -> None:
    check_readings(value)
    analysis = analyze(value["text"], special_tokens=True)
    d = analysis.after
    traces = {trace["meta"]: trace for trace in pca_spec(analysis)["data"]}
    for role, expected in (("token", "distinct_word_points"), ("summed", "distinct_sum_points")):
        points = np.round(np.stack([traces[role]["x"], traces[role]["y"]], axis=1), 5)
        assert len(np.unique(points, axis=0)) == value[expected], role
    marks = traces["token"]["text"]
    assert [mark for mark in marks if mark] == ["×3", "×2"]
    distance = float(np.linalg.norm(d.summed[1] - d.summed[4]))
    assert distance == pytest.approx(value["distance_between_first_two_the_in_sum"], abs=value["tolerance"])


def check_heatmap(case: Value) -> None:
    value = case["checkable_value"]
    match case["id"]:
        case "EV116":
            parts = shown(CAPITAL)[0]
            summed = rows_sent(parts, "summed")
            token, dimension = np.unravel_index(np.abs(summed).argmax(), summed.shape)
            assert (token, dimension) == (value["argmax"]["row"], value["argmax"]["dim"])
            assert np.abs(summed).max() == pytest.approx(value["max_abs"], abs=value["tolerance"])
            p98 = np.quantile(np.abs(summed), 0.98)
            assert p98 == pytest.approx(value["p98_abs"], abs=value["tolerance"])
            scale, axis = parts["scale"]["parts"], parts["heatmap"]["layout"]["coloraxis"]
            assert 0 < scale["limit"] <= value["default_zmax_at_most"]
            assert (axis["cmin"], axis["cmax"], axis["cmid"]) == (
                -scale["limit"],
                scale["limit"],
                value["zmid"],
            )
            assert max(-scale["min"], scale["max"]) == pytest.approx(value["max_abs"], abs=value["tolerance"])
            everything = np.concatenate(
                [rows_sent(parts, name) for name in ("token", "segment", "position", "summed")]
            )
            assert int((np.abs(everything) > scale["limit"]).sum()) > 0  # the browser counts and says them
        case "EV118":
            for ref, width in (("bundled", 384), ("untrained:bert-base", 768)):
                spec = heatmap_spec(analyze("any text", model=ref))
                ticks = spec["layout"]["xaxis"]["tickvals"]
                assert len(ticks) <= min(20, value["dimension_ticks_max"])
                assert (ticks[0], ticks[-1]) == (0, width - 1)
                for trace in spec["data"]:
                    assert "%{x}" in trace["hovertemplate"]
                    assert "%{z" in trace["hovertemplate"]
        case "EV121":
            analysis = analyze("hello " * 510)
            for trace in heatmap_spec(analysis)["data"]:
                assert trace["z"].size == value["cells_per_panel"]
            answer = handlers.show("hello " * 510, None, "bundled")
            assert answer.parts is not None
            assert answer.map is not None
            assert len(answer.parts.encode()) + len(answer.map.encode()) <= value["payload_limit_bytes"]
        case other:
            pytest.fail(f"no check for {other}")


def check_plot_labels(case: Value) -> None:
    """Rows by index with tick text, which a category or date axis would merge or turn into numbers."""
    value = case["checkable_value"]
    text = value.get("text", case["input"])
    analysis = analyze(text, special_tokens=True)
    layout = heatmap_spec(analysis)["layout"]
    for name in (name for name in layout if name.startswith("yaxis")):
        axis = layout[name]
        assert axis["type"] == "linear"
        assert axis["tickvals"] == list(range(len(analysis.after)))
        assert [unescape(label) for label in axis["ticktext"]] == list(analysis.after.tokens)
    check_labels_are_literal(text)
    match case["id"]:
        case "EV122":
            assert layout["yaxis"]["tickvals"] == value["axis_values"]
            assert layout["yaxis"]["ticktext"] == value["ticktext"]
            assert len(set(layout["yaxis"]["ticktext"])) == value["distinct_labels"]
            assert all(len(trace["z"]) == value["rows"] for trace in heatmap_spec(analysis)["data"])
        case "EV124":
            check_readings(value)
            assert value["ticktext_has"] in layout["yaxis"]["ticktext"]
        case "EV126" | "EV127":
            check_readings(value)
            parts = shown(text)[0]
            assert parts["recipe"]["text"] == value["visible"]
            assert "".join(token["source"] for token in parts["tokens"]) == value["visible"].replace(" ", "")
        case other:
            pytest.fail(f"no check for {other}")


def check_alignment(case: Value) -> None:
    """First piece of each typed word, by the offsets that lead back into the text."""
    value = case["checkable_value"]
    (encoded,) = check_readings(value)
    starts = {encoded.offsets[i][0]: i for i in range(len(encoded)) if encoded.sentences[i] is not None}
    for word, first in value["first_piece_of_words"].items():
        assert starts[encoded.text.index(word)] == first, word
    assert encoded.word_ids == (None, 0, 1, 1, 2, 3, 4, None)


def rows_of(d: Decomposition) -> NDArray[np.float32]:
    """The LayerNorm's results, which the bundled model has."""
    assert d.normalized is not None
    return d.normalized


def check_what_if(case: Value) -> None:
    value = case["checkable_value"]
    clock = ("I ate a clock yesterday.", "It was very time consuming.")
    match case["id"]:
        case "EV164":
            analysis = analyze(*clock, what_if=(embviz.SwapSegments(),))
            moved = analysis.moved
            assert moved is not None
            assert moved.normalized is not None
            table = official.bundled_tensors("embeddings.token_type_embeddings.weight").popitem()[1].numpy()
            sign = np.where(analysis.before.token_type_ids == 0, 1, -1)[:, None]
            tolerance = value["tolerance"]
            np.testing.assert_allclose(moved.summed.delta, sign * (table[1] - table[0]), atol=1e-6)
            np.testing.assert_allclose(moved.summed.distance, value["segment_delta_norm"], atol=tolerance)
            assert np.abs(moved.normalized.delta).max() == pytest.approx(
                value["ln_max_abs_change"], abs=tolerance
            )
            np.testing.assert_allclose(1 - moved.normalized.cosine_distance, value["cosines"], atol=tolerance)
            twice = analyze(*clock, what_if=(embviz.SwapSegments(), embviz.SwapSegments()))
            assert twice.after.output.tobytes() == analysis.before.output.tobytes()
        case "EV166":
            moved = analyze(*clock, what_if=(embviz.ShiftPositions(1),)).moved
            assert moved is not None
            assert moved.normalized is not None
            assert np.abs(moved.normalized.delta).max() == pytest.approx(
                value["shift_1_ln_max_abs_change"], abs=value["tolerance"]
            )
            largest = analyze(*clock, what_if=(embviz.ShiftPositions(value["max_shift"]),)).after
            assert largest.position_ids[-1] == 511
            with pytest.raises(embviz.InputError, match=f"0 to {value['max_shift']}"):
                analyze(*clock, what_if=(embviz.ShiftPositions(498),))
            with pytest.raises((IndexError, RuntimeError)):
                official.run(
                    official.bundled_embeddings(),
                    input_ids=torch.tensor(largest.input_ids)[None],
                    position_ids=torch.tensor(largest.position_ids + 1)[None],
                )
        case "EV168":
            for name, component in (("word", "token"), ("segment", "segment"), ("position", "position")):
                analysis = analyze(CAPITAL, what_if=(embviz.Scale(component, 0),))  # type: ignore[arg-type]
                cosines = cosine(rows_of(analysis.before), rows_of(analysis.after))
                np.testing.assert_allclose(cosines, value[f"drop_{name}"], atol=value["tolerance"])
        case other:
            pytest.fail(f"no check for {other}")


def check_concept_confusion(case: Value) -> None:
    value = case["checkable_value"]
    match case["id"]:
        case "EV089":
            states = official.bundled_states("hello")
            d = model().decompose("hello")
            assert len(states) == value["hidden_states_count"]
            assert np.abs(states[0] - d.output).max() <= max(value["hidden_states_0_equals_layernorm"], 1e-6)
            assert np.abs(states[-1] - d.token).max() > value["last_hidden_differs_by_more_than"]
            table = official.bundled_embeddings().state_dict()["word_embeddings.weight"].numpy()
            np.testing.assert_array_equal(d.token, table[d.input_ids])
        case "EV091":
            names = {"word": "token", "sum": "summed", "layernorm": "normalized"}
            d = model().decompose("hello")
            for key in value["keys"]:
                assert list(getattr(d, names.get(key, key)).shape) == value["shape_for_hello"]
        case "EV092":
            analysis = analyze(CAPITAL, what_if=(embviz.Scale("segment", 0),))
            assert analysis.before.segment is not None
            norm, tolerance = float(np.linalg.norm(analysis.before.segment[0])), value["tolerance"]
            assert norm == pytest.approx(value["segment_row0_norm"], abs=tolerance)
            change = np.abs(rows_of(analysis.after) - rows_of(analysis.before)).max()
            assert change == pytest.approx(value["max_abs_diff_without_segment"], abs=tolerance)
        case other:
            pytest.fail(f"no check for {other}")


def check_padding(case: Value) -> None:
    value = case["checkable_value"]
    match case["id"]:
        case "EV078":
            ids = torch.tensor([value["padded_ids_row0"], model().encode(CAPITAL).input_ids.tolist()])
            mask = torch.tensor([value["attention_mask_row0"], [1] * 9])
            parts = model().embed(ids, attention_mask=mask)
            pads = np.linalg.norm(parts.token[0, 3:].numpy(), axis=1)
            np.testing.assert_allclose(pads, value["pad_word_row_norm"], atol=value["norm_tolerance"])
            real = parts.output[0, :3].numpy() - model().decompose("hello").output
            assert np.abs(real).max() <= max(value["real_rows_diff_to_unpadded"], 1e-6)
        case "EV081":
            with tempfile.TemporaryDirectory() as folder:
                gpt2 = tiny_gpt2(Path(folder))
                short, long = gpt2.decompose("my dog"), gpt2.decompose("my dog is cute")
                np.testing.assert_array_equal(long.output[1:3], short.output[1:3])
                assert len(long) == len(short) + 2
        case other:
            pytest.fail(f"no check for {other}")


def tiny_gpt2(folder: Path) -> embviz.EmbeddingModel:
    """A GPT-2 with random weights, whose tokenizer has no padding piece."""
    write_texts(folder, model_type="gpt2", n_embd=8, n_positions=32, pad_token_id=None)
    weights = {"wte.weight": torch.randn(len(VOCAB), 8), "wpe.weight": torch.randn(32, 8)}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return embviz.load_model(str(folder))


CHECKS: dict[str, Callable[[Value], None]] = {
    "long_input": check_long_input,
    "empty_or_blank": check_empty_or_blank,
    "emoji_zwj": check_emoji_zwj,
    "accents_case": check_accents_case,
    "rtl": check_rtl,
    "cjk": check_cjk,
    "thai_indic_hangul": check_thai_indic_hangul,
    "long_word": check_long_word,
    "typed_special_tokens": check_typed_special_tokens,
    "markup_in_text": check_markup_in_text,
    "control_and_surrogates": check_control_and_surrogates,
    "numbers_urls_symbols": check_numbers_urls_symbols,
    "single_vs_pair": check_single_vs_pair,
    "padding": check_padding,
    "numeric_faithfulness": check_numeric_faithfulness,
    "pca": check_pca,
    "heatmap": check_heatmap,
    "plot_labels": check_plot_labels,
    "alignment": check_alignment,
    "what_if": check_what_if,
    "concept_confusion": check_concept_confusion,
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['kind']}-{case['id']}")
def test_case(case: Value) -> None:
    """The right behaviour that the case describes."""
    CHECKS[case["kind"]](case)


def test_every_kind_is_checked_and_none_is_left_over() -> None:
    assert {case["kind"] for case in CASES} == set(CHECKS)
    assert len({case["id"] for case in CASES}) == len(CASES) == 52
    for case in CASES:
        assert set(case) == {"id", "kind", "source", "input", "right_behaviour", "checkable_value"}
