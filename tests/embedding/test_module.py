"""InputEmbeddings is the official BertEmbeddings, and three published teaching versions of it."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from transformers import BertConfig

import embviz
from embviz.embedding.module import EmbeddingParts, InputEmbeddings, default_device
from tests.reference import official
from tests.reference.examples import examples
from tests.reference.official import DEVICES

TOLERANCE = 1e-6
BATCH, LENGTH, POSITIONS, VOCABULARY = 3, 5, 13, 41

CONFIGS = [
    BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=size,
        num_attention_heads=1,
        max_position_embeddings=POSITIONS,
        type_vocab_size=segments,
        pad_token_id=pad,
        layer_norm_eps=eps,
    )
    for size, segments, pad, eps in [
        (1, 1, 0, 1e-12),
        (7, 2, 0, 1e-12),
        (24, 3, 5, 1e-5),
        (33, 4, 40, 1e-7),
        (64, 2, None, 1e-3),
    ]
]


def pair_of_modules(config: BertConfig, seed: int = 0) -> tuple[InputEmbeddings, nn.Module]:
    """Ours and the official one with the same random weights, both in eval mode."""
    theirs = official.random_official(config, seed)
    ours = InputEmbeddings(config)
    ours.load_state_dict(theirs.state_dict(), strict=True)
    return ours.eval(), theirs


def parts_of(ours: InputEmbeddings, **arguments: Any) -> EmbeddingParts:
    if "past" in arguments:
        arguments["past_key_values_length"] = arguments.pop("past")
    with torch.inference_mode():
        parts: EmbeddingParts = ours(**arguments)
    return parts


def random_arguments(config: BertConfig, seed: int = 0) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)

    def ids(rows: int, *shape: int) -> Tensor:
        return torch.randint(rows, shape, generator=generator)

    return {
        "input_ids": ids(VOCABULARY, BATCH, LENGTH),
        "token_type_ids": ids(config.type_vocab_size, BATCH, LENGTH),
        "position_ids": ids(POSITIONS, BATCH, LENGTH),
        "one_row_of_position_ids": ids(POSITIONS, 1, LENGTH),
        "inputs_embeds": torch.randn(BATCH, LENGTH, config.hidden_size, generator=generator),
    }


COMBINATIONS = list(
    product(
        [("input_ids",), ("inputs_embeds",), ("input_ids", "inputs_embeds")],
        [(), ("token_type_ids",)],
        [(), ("position_ids",), ("one_row_of_position_ids",)],
        [None, 0, 4, POSITIONS - LENGTH],
    )
)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.hidden_size}-wide")
def test_equals_the_official_module_for_every_combination_of_arguments(
    config: BertConfig, device: str
) -> None:
    ours, theirs = pair_of_modules(config)
    ours.to(device)
    theirs.to(device)
    values = {name: tensor.to(device) for name, tensor in random_arguments(config).items()}

    for vectors, types, positions, past in COMBINATIONS:
        arguments: dict[str, Any] = {
            name.removeprefix("one_row_of_"): values[name] for name in (*vectors, *types, *positions)
        }
        if past is not None:
            arguments["past"] = past
        result = parts_of(ours, **arguments).output

        assert result.shape == (BATCH, LENGTH, config.hidden_size)
        difference = (result - official.run(theirs, **arguments)).abs().max().item()
        assert difference <= TOLERANCE, (sorted(arguments), past, difference)


@examples(60)
@given(data=st.data())
def test_equals_the_official_module_on_random_configs(data: st.DataObject) -> None:
    vocabulary, positions = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 40))
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=data.draw(st.integers(1, 70)),
        num_attention_heads=1,
        max_position_embeddings=positions,
        type_vocab_size=data.draw(st.integers(1, 4)),
        pad_token_id=data.draw(st.none() | st.integers(0, vocabulary - 1)),
        layer_norm_eps=data.draw(st.sampled_from([1e-12, 1e-8, 1e-5, 1e-2])),
    )
    ours, theirs = pair_of_modules(config, data.draw(st.integers(0, 1000)))
    batch, length = data.draw(st.integers(1, 4)), data.draw(st.integers(1, positions))

    def ids(rows: int) -> Tensor:
        flat = st.lists(st.integers(0, rows - 1), min_size=batch * length, max_size=batch * length)
        return torch.tensor(data.draw(flat)).reshape(batch, length)

    arguments: dict[str, Any] = {
        "input_ids": ids(vocabulary),
        "past": data.draw(st.integers(0, positions - length)),
    }
    if data.draw(st.booleans()):
        arguments["token_type_ids"] = ids(config.type_vocab_size)
    if data.draw(st.booleans()):
        arguments["position_ids"] = ids(positions)

    torch.testing.assert_close(
        parts_of(ours, **arguments).output, official.run(theirs, **arguments), atol=TOLERANCE, rtol=TOLERANCE
    )


@pytest.mark.parametrize("device", DEVICES)
def test_equals_the_official_module_on_the_bundled_weights(device: str) -> None:
    theirs = official.bundled_embeddings()
    ours = InputEmbeddings(BertConfig.from_pretrained(official.bundled_folder()))
    ours.load_state_dict(theirs.state_dict(), strict=True)
    ours.to(device).eval()
    generator = torch.Generator().manual_seed(0)
    input_ids = torch.randint(30522, (4, 512), generator=generator)
    token_type_ids = torch.randint(2, (4, 512), generator=generator)

    result = parts_of(ours, input_ids=input_ids.to(device), token_type_ids=token_type_ids.to(device)).output

    expected = official.run(theirs, input_ids=input_ids, token_type_ids=token_type_ids)
    # LayerNorm of another device adds up in another order; results of this model reach 13.
    torch.testing.assert_close(result.cpu(), expected, atol=TOLERANCE, rtol=0 if device == "cpu" else 1e-6)


@pytest.mark.parametrize("side", ["right", "left"])
def test_padding_leaves_the_real_tokens_as_they_are(side: str) -> None:
    """Padded rows equal the official ones; given their own positions, the real tokens do not notice."""
    config = CONFIGS[1]
    ours, theirs = pair_of_modules(config)
    lengths = [5, 2, 4]
    real = [torch.arange(1, n + 1) for n in lengths]
    pads = [torch.zeros(LENGTH - n, dtype=torch.long) for n in lengths]
    rows = [
        torch.cat([ids, pad] if side == "right" else [pad, ids]) for ids, pad in zip(real, pads, strict=True)
    ]
    input_ids = torch.stack(rows)
    mask = input_ids.ne(0).long()
    position_ids = (mask.cumsum(1) - 1).clamp(min=0)

    default = parts_of(ours, input_ids=input_ids).output
    own = parts_of(ours, input_ids=input_ids, position_ids=position_ids).output

    assert (default - official.run(theirs, input_ids=input_ids)).abs().max() <= TOLERANCE
    expected = official.run(theirs, input_ids=input_ids, position_ids=position_ids)
    assert (own - expected).abs().max() <= TOLERANCE
    for i, ids in enumerate(real):
        alone = parts_of(ours, input_ids=ids[None]).output[0]
        assert (own[i][mask[i].bool()] - alone).abs().max() <= TOLERANCE


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_tables_give_float32(dtype: torch.dtype, device: str) -> None:
    """The sum is taken in float32 of the very numbers that the tables hold."""
    config = CONFIGS[3]
    ours, theirs = pair_of_modules(config)
    ours.to(device, dtype)
    theirs.load_state_dict({name: t.to(dtype).float() for name, t in theirs.state_dict().items()})
    values = random_arguments(config)
    ids = {name: values[name] for name in ("input_ids", "token_type_ids", "position_ids")}
    embeds = values["inputs_embeds"].to(dtype)

    parts = parts_of(ours, **{name: tensor.to(device) for name, tensor in ids.items()})
    given = parts_of(ours, inputs_embeds=embeds.to(device))

    for answer in (parts, given):
        assert {tensor.dtype for tensor in vars(answer).values()} == {torch.float32}
    assert (parts.output.cpu() - official.run(theirs, **ids)).abs().max() <= TOLERANCE
    expected = official.run(theirs, inputs_embeds=embeds.float())
    assert (given.output.cpu() - expected).abs().max() <= TOLERANCE


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.hidden_size}-wide")
def test_state_dicts_load_both_ways(config: BertConfig) -> None:
    theirs, ours = official.random_official(config), InputEmbeddings(config)

    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert ours.load_state_dict(theirs.state_dict(), strict=True)
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.mul_(2)
    assert theirs.load_state_dict(ours.state_dict(), strict=True)
    for name, tensor in theirs.state_dict().items():
        assert torch.equal(tensor, ours.state_dict()[name]), name


@pytest.mark.parametrize("probability", [0.1, 0.5])
def test_dropout_is_the_official_one_for_the_same_seed(probability: float) -> None:
    """About p of the entries are zero, the rest is scaled by 1 / (1 - p), and the parts stay whole."""
    config = BertConfig(vocab_size=VOCABULARY, hidden_size=256, hidden_dropout_prob=probability)
    ours, theirs = pair_of_modules(config)
    ours.train()
    theirs.train()
    input_ids = torch.randint(VOCABULARY, (4, 100), generator=torch.Generator().manual_seed(1))

    torch.manual_seed(7)
    parts: EmbeddingParts = ours(input_ids)
    torch.manual_seed(7)
    expected = theirs(input_ids)

    assert (parts.output - expected).abs().max() <= TOLERANCE
    assert parts.normalized is not None
    zero = parts.output == 0
    # 102,400 entries: the share is within six standard deviations of p.
    deviation = (probability * (1 - probability) / zero.numel()) ** 0.5
    assert abs(zero.float().mean().item() - probability) < 6 * deviation
    kept = parts.normalized[~zero] / (1 - probability)
    torch.testing.assert_close(parts.output[~zero], kept, atol=0, rtol=1e-6)
    assert not (parts.normalized == 0).any()


@pytest.mark.parametrize("device", DEVICES)
def test_parts_are_what_the_formula_says(device: str) -> None:
    """Each part is its table's row; sum in the official order, bit for bit; LayerNorm with biased variance."""
    config = CONFIGS[2]
    ours = pair_of_modules(config)[0].to(device)
    values = {name: tensor.to(device) for name, tensor in random_arguments(config).items()}
    ids = [values[name] for name in ("input_ids", "token_type_ids", "position_ids")]
    parts = parts_of(ours, **dict(zip(("input_ids", "token_type_ids", "position_ids"), ids, strict=True)))
    state = ours.state_dict()

    tables = {"token": "word", "segment": "token_type", "position": "position"}
    for (part, table), rows in zip(tables.items(), ids, strict=True):
        assert torch.equal(getattr(parts, part), state[f"{table}_embeddings.weight"][rows]), part
    assert parts.segment is not None
    assert parts.position is not None
    assert parts.normalized is not None
    assert torch.equal(parts.summed, (parts.token + parts.segment) + parts.position)
    wide = parts.summed.double()
    centred = wide - wide.mean(-1, keepdim=True)
    normalized = centred / ((centred**2).mean(-1, keepdim=True) + config.layer_norm_eps).sqrt()
    normalized = normalized * state["LayerNorm.weight"].double() + state["LayerNorm.bias"].double()
    assert (parts.normalized - normalized).abs().max() <= 5e-6
    assert torch.equal(parts.output, parts.normalized)


def test_forward_changes_nothing_that_it_was_given() -> None:
    config = CONFIGS[2]
    ours, _ = pair_of_modules(config)
    values = random_arguments(config)
    arguments = {name: values[name] for name in ("inputs_embeds", "token_type_ids", "position_ids")}
    before = {name: tensor.clone() for name, tensor in (arguments | ours.state_dict()).items()}

    parts = parts_of(ours, **arguments)

    for name, tensor in (arguments | ours.state_dict()).items():
        assert torch.equal(tensor, before[name]), name
    assert torch.equal(parts.token, before["inputs_embeds"])


def test_missing_input_and_missing_positions_are_said_in_a_sentence() -> None:
    ours, _ = pair_of_modules(CONFIGS[1])

    with pytest.raises(embviz.InputError, match="input_ids"):
        ours()
    with pytest.raises(embviz.InputError, match=f"{POSITIONS + 1} positions .* {POSITIONS}"):
        ours(torch.zeros((1, POSITIONS + 1), dtype=torch.long))
    with pytest.raises(embviz.InputError, match=f"{POSITIONS + 1} positions .* {POSITIONS}"):
        ours(torch.zeros((1, 2), dtype=torch.long), past_key_values_length=POSITIONS - 1)


def test_without_a_word_table_vectors_are_asked_for() -> None:
    config = SimpleNamespace(**{**CONFIGS[1].to_dict(), "vocab_size": None})
    ours = InputEmbeddings(config)

    assert "word_embeddings.weight" not in ours.state_dict()
    with pytest.raises(embviz.InputError, match="inputs_embeds"):
        ours(torch.zeros((1, 2), dtype=torch.long))


def test_default_device_prefers_cuda() -> None:
    expected = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"

    assert default_device().type == expected


# Three published teaching versions of this layer, built from torch primitives.


class BuffersVersion(nn.Module):
    """(a) Three tables, buffers for default ids, a past length, an optional position term, given vectors."""

    def __init__(self, config: BertConfig, position_embedding_type: str) -> None:
        super().__init__()
        self.words = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=0)
        self.positions = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.types = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=1e-12)
        self.dropout = nn.Dropout(0.1)
        self.position_embedding_type = position_embedding_type
        self.register_buffer("ids", torch.arange(config.max_position_embeddings).expand((1, -1)))
        self.register_buffer("segments", torch.zeros((1, config.max_position_embeddings), dtype=torch.long))

    def forward(
        self,
        input_ids: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        past_key_values_length: int = 0,
    ) -> Tensor:
        vectors = self.words(input_ids) if inputs_embeds is None else inputs_embeds
        batch, length, _ = vectors.shape
        if position_ids is None:
            position_ids = self.ids[:, past_key_values_length : length + past_key_values_length]  # type: ignore[index]
        if token_type_ids is None:
            token_type_ids = self.segments[:, :length].expand(batch, length)  # type: ignore[index]
        result = vectors + self.types(token_type_ids)
        if self.position_embedding_type == "absolute":
            result = result + self.positions(position_ids)
        normalized: Tensor = self.dropout(self.norm(result))
        return normalized


class PlainVersion(nn.Module):
    """(b) and (c) Three tables and a LayerNorm; (b) has segment 0 by default, (c) wants segments."""

    def __init__(self, config: BertConfig, *, eps: float | None, default_segments: bool) -> None:
        super().__init__()
        self.words = nn.Embedding(config.vocab_size, config.hidden_size)
        self.positions = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.types = nn.Embedding(config.type_vocab_size, config.hidden_size)
        size = config.hidden_size
        self.norm = nn.LayerNorm(size) if eps is None else nn.LayerNorm(size, eps=eps)
        self.default_segments = default_segments

    def forward(self, input_ids: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        if token_type_ids is None:
            assert self.default_segments, "this version requires segment ids"
            token_type_ids = torch.zeros_like(input_ids)
        positions = torch.arange(input_ids.shape[1]).expand_as(input_ids)
        total = self.words(input_ids) + self.positions(positions) + self.types(token_type_ids)
        result: Tensor = self.norm(total)
        return result


GOLDEN_PAIR = torch.tensor([[101, 2026, 3899, 2003, 10140, 102, 2002, 7777, 2377, 13749, 102]])
GOLDEN_SEGMENTS = torch.tensor([[0] * 6 + [1] * 5])
GOLDEN_SINGLE = torch.tensor([[101, 1045, 2066, 13137, 20968, 102]])


def copy_of(teaching: nn.Module, config: BertConfig) -> InputEmbeddings:
    """InputEmbeddings with the weights of a teaching version."""
    names = {
        "words.weight": "word_embeddings.weight",
        "positions.weight": "position_embeddings.weight",
        "types.weight": "token_type_embeddings.weight",
        "norm.weight": "LayerNorm.weight",
        "norm.bias": "LayerNorm.bias",
    }
    ours = InputEmbeddings(config)
    state = {names[name]: tensor for name, tensor in teaching.named_parameters()}
    wanted = {name: tensor for name, tensor in state.items() if name in ours.state_dict()}
    ours.load_state_dict(wanted, strict=True)
    return ours.eval()


def randomize(module: nn.Module) -> nn.Module:
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_()
    return module.eval()


@pytest.mark.parametrize("position_embedding_type", ["absolute", "relative_key", "relative_key_query"])
def test_reproduces_the_version_with_buffers(position_embedding_type: str) -> None:
    config = BertConfig()
    config.position_embedding_type = position_embedding_type
    theirs = randomize(BuffersVersion(config, position_embedding_type))
    ours = copy_of(theirs, config)
    vectors = torch.randn(2, 6, 768, generator=torch.Generator().manual_seed(0))
    calls: list[dict[str, Any]] = [
        {"input_ids": GOLDEN_PAIR, "token_type_ids": GOLDEN_SEGMENTS},
        {"input_ids": GOLDEN_SINGLE},
        {"input_ids": GOLDEN_SINGLE, "past_key_values_length": 7},
        {"input_ids": GOLDEN_SINGLE, "position_ids": torch.tensor([[5, 4, 3, 2, 1, 511]])},
        {"inputs_embeds": vectors, "past_key_values_length": 500},
    ]

    for arguments in calls:
        parts: EmbeddingParts = ours(**arguments)
        torch.testing.assert_close(parts.output, theirs(**arguments), atol=TOLERANCE, rtol=0)
        assert (parts.position is None) == (position_embedding_type != "absolute")


def test_reproduces_the_plain_version_with_default_segments() -> None:
    config = BertConfig()
    theirs = randomize(PlainVersion(config, eps=1e-12, default_segments=True))
    ours = copy_of(theirs, config)

    for arguments in ((GOLDEN_SINGLE,), (GOLDEN_PAIR, GOLDEN_SEGMENTS)):
        torch.testing.assert_close(ours(*arguments).output, theirs(*arguments), atol=TOLERANCE, rtol=0)


def test_reproduces_the_plain_version_with_torch_default_eps() -> None:
    config = BertConfig(layer_norm_eps=nn.LayerNorm(1).eps)
    theirs = randomize(PlainVersion(config, eps=None, default_segments=False))
    # A sum of the size of untrained weights, where the eps shows.
    with torch.no_grad():
        for name, table in theirs.named_parameters():
            table.mul_(1 if name.startswith("norm") else 0.02)
    ours, other = copy_of(theirs, config), copy_of(theirs, BertConfig())

    assert config.layer_norm_eps == 1e-5
    expected = theirs(GOLDEN_PAIR, GOLDEN_SEGMENTS)
    torch.testing.assert_close(ours(GOLDEN_PAIR, GOLDEN_SEGMENTS).output, expected, atol=TOLERANCE, rtol=0)
    assert (other(GOLDEN_PAIR, GOLDEN_SEGMENTS).output - expected).abs().max() > 1e-3
