"""How an input layer is made, as data: a row says where an architecture keeps its parts and what it does to them.

    token → × scale → projection → + segment + position + constant → LayerNorm → dropout → projection → × mask

Each row uses what it needs of this line; `layouts.py` is the table. `EmbeddingLayout.terms` settles what a
config switches on or off, and `InputEmbeddings` computes what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from torch import Tensor

from embviz.errors import ModelError
from embviz.i18n import text

Config = Mapping[str, Any]
"""The entries of a config.json, those that are missing filled in with the defaults of the official class."""
Switch = Callable[[Config], bool]
Shape = Callable[[str], tuple[int, ...]]
"""The shape of a tensor by its role."""

PositionRule = Literal["arange", "skip_padding", "skip_mask"]
DropoutPlace = Literal["sum", "norm", "projection"]


@dataclass(frozen=True)
class InputTerms:
    """The input layer of one model: sizes, rules and numbers, with BERT's as defaults.

    Attributes:
        embedding_size: width of the parts and of their sum.
        hidden_size: width of what enters the encoder.
        vocab_size: rows of the word table; None where token vectors are given.
        word_size: width of the word table.
        max_position_embeddings: rows of the position table; 0 means that no position is added.
        type_vocab_size: rows of the token type table; 0 means that there is none.
        constants: how many vectors are added that are the same for every token.
        pad_token_id: id of the padding piece.
        position_rule: "arange" counts all tokens, "skip_padding" those that are not `pad_token_id`,
            "skip_mask" those that the attention mask leaves.
        first_position: the row of the first token.
        scale: what the token vectors are multiplied by.
        mask_token_id: ESM's token dropout: this piece has no vector, and the others make up for it.
        trigram: MobileBERT's token part: next, current and previous word vector side by side.
        projected: the parts that go through the projection before the sum.
        order: the order of addition.
        norm: "layer_norm", "affine" (gain and bias only) or None.
        norm_bias: whether the LayerNorm has a bias.
        layer_norm_eps: added to the variance.
        projection: whether a projection follows.
        masked: whether the result is multiplied by the attention mask.
        dropout_on: what dropout is applied to: the "sum", the LayerNorm's result ("norm", which is the sum where there
            is none), or the result of the "projection" that follows.
        hidden_dropout_prob: probability of dropout in train mode.
    """

    embedding_size: int
    hidden_size: int
    vocab_size: int | None = None
    word_size: int = 0
    max_position_embeddings: int = 0
    type_vocab_size: int = 0
    constants: int = 0
    pad_token_id: int | None = None
    position_rule: PositionRule = "arange"
    first_position: int = 0
    scale: float = 1.0
    mask_token_id: int | None = None
    trigram: bool = False
    projected: tuple[str, ...] = ()
    projected_bias: bool = False
    order: tuple[str, ...] = ("token", "segment", "position", "constant")
    norm: Literal["layer_norm", "affine"] | None = "layer_norm"
    norm_bias: bool = True
    layer_norm_eps: float = 1e-12
    projection: bool = False
    projection_bias: bool = True
    masked: bool = False
    dropout_on: DropoutPlace = "norm"
    hidden_dropout_prob: float = 0.0

    @property
    def max_length(self) -> int | None:
        """The most tokens that have a position; None where no table limits them."""
        return self.max_position_embeddings - self.first_position if self.max_position_embeddings else None

    @classmethod
    def of_bert(cls, config: Any) -> InputTerms:
        """The terms of a config with BERT's names, as `transformers.BertConfig` has them."""
        size = config.hidden_size
        absolute = getattr(config, "position_embedding_type", "absolute") == "absolute"
        return cls(
            embedding_size=size,
            hidden_size=size,
            vocab_size=config.vocab_size,
            word_size=size,
            max_position_embeddings=config.max_position_embeddings if absolute else 0,
            type_vocab_size=config.type_vocab_size,
            pad_token_id=config.pad_token_id,
            layer_norm_eps=config.layer_norm_eps,
            hidden_dropout_prob=config.hidden_dropout_prob,
        )


@dataclass(frozen=True, kw_only=True)
class EmbeddingLayout:
    """Where an architecture keeps the parts of its input layer, and what it does to them.

    Names are those of the base model's state dict; a checkpoint may put a prefix before all of them.

    Attributes:
        model_type: the key of transformers' `config.model_type`.
        name: what people call it.
        official: file and class of the official input layer, below `transformers.models`.
        official_at: where that class sits in the base model; "" is the base model itself, which then runs
            without layers.
        enters: modules of `official`; the input of the first that it has is what enters the encoder. Without
            any, its result is.
        config_at: the sub-config that describes the text, of models that read more than text.
        defaults: the config entries that the row reads, as the official config class has them.
        token: the word table, `(vocab_size, word_size)`; others are names that it has in some checkpoints.
        segment: the token type table, `(type_vocab_size, embedding_size)`.
        segment_columns: columns of the official `token_type_ids`; all but the first stay 0.
        position: the table of absolute positions, `(max_position_embeddings, embedding_size)`.
        computed: the position table where the checkpoint has none, since it is computed and not learned.
        constants: tables whose row 0 is added to every token.
        norm: the LayerNorm; its tensors are `<norm>.weight` and `<norm>.bias`. Others as above.
        before: the projection before the sum, of the parts in `projects`.
        after: the projection to `hidden_size` at the end.
        only_if: for a role that a config can switch off, when it is on; besides the roles of `tensors` these are
            norm, before, after, constants and mask_token.
        refuse_if: for a reason (`error.<key>`), when the row does not describe the model.
        eps: the config entry of the LayerNorm's eps, or the number itself.
        affine_if: when the LayerNorm is only a gain and a bias (MobileBERT).
        scale: what the token vectors are multiplied by.
        mask_token: the config entry of ESM's mask piece.
        trigram, projects, order, masked, dropout_on: see `InputTerms`.
        position_rule: see `InputTerms`.
        first_position: the row of the first token; None means `pad + 1`.
        counted_from_zero: whether the official `position_ids` are 0 for the first token all the same.
        pad: the config entry of the padding piece, or its id.
        reasons: for a part that can be absent, `absent.<part>.<key>` of the catalogue of texts.
        sizes: for a config entry, the role and the axis of the tensor that must agree with it.
        extra_positions: rows of the position table beyond what the config says.
        code: what the family's own program files are called, `configuration_<code>` and `modeling_<code>`, where its
            repositories carry them from before transformers had it; both make the input layer in the same way.
        code_agrees: for a config.json with that code, whether its input layer is the one that this row describes.
    """

    model_type: str
    name: str
    official: str
    official_at: str = "embeddings"
    enters: tuple[str, ...] = ()
    config_at: str | None = None
    defaults: Config = field(default_factory=dict)
    token: tuple[str, ...]
    segment: str | None = None
    segment_columns: int = 1
    position: str | None = None
    computed: Callable[[Config], Tensor] | None = None
    constants: tuple[str, ...] = ()
    norm: tuple[str, ...] = ()
    before: str | None = None
    after: str | None = None
    only_if: Mapping[str, Switch] = field(default_factory=dict)
    refuse_if: Mapping[str, Switch] = field(default_factory=dict)
    eps: str | float = "layer_norm_eps"
    affine_if: Switch = lambda _: False
    scale: Callable[[Config], float] = lambda _: 1.0
    mask_token: str | None = None
    trigram: bool = False
    projects: tuple[str, ...] = ("token",)
    order: tuple[str, ...] = ("token", "segment", "position", "constant")
    masked: bool = False
    dropout_on: DropoutPlace = "norm"
    position_rule: PositionRule = "arange"
    first_position: int | None = 0
    counted_from_zero: bool = False
    pad: str | int = "pad_token_id"
    reasons: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    extra_positions: int = 0
    code: str | None = None
    code_agrees: Switch = lambda _: True

    def settings(self, config: Config) -> Config:
        """The config entries that describe the text, defaults filled in.

        Raises:
            ModelError: the row does not describe a model with this config.
        """
        own = config if self.config_at is None else config.get(self.config_at) or {}
        settings = {**self.defaults, **own}
        for key, switch in self.refuse_if.items():
            if switch(settings):
                raise ModelError(key, field="model", name=self.name, model_type=self.model_type)
        return settings

    def tensors(self, settings: Config) -> dict[str, tuple[str, ...]]:
        """The names of the tensors by role, as the base model has them; the first name is the usual one.

        Roles are token, segment, position, constant_0 …, weight and bias of the LayerNorm, before_weight,
        before_bias, after_weight and after_bias.
        """
        names: dict[str, tuple[str, ...]] = {"token": self.token}
        for role in ("segment", "position"):
            if (name := getattr(self, role)) and self._is_on(role, settings):
                names[role] = (name,)
        for number, name in enumerate(self.constants):
            if self._is_on("constants", settings):
                names[f"constant_{number}"] = (name,)
        for role, prefix in (("norm", ""), ("before", "before_"), ("after", "after_")):
            modules = (own,) if isinstance(own := getattr(self, role), str) else own or ()
            for kind in ("weight", "bias"):
                if modules and self._is_on(role, settings) and self._is_on(f"{prefix}{kind}", settings):
                    names[f"{prefix}{kind}"] = tuple(f"{module}.{kind}" for module in modules)
        return names

    def absent(self, roles: Iterable[str]) -> dict[str, str]:
        """For each of segment, position and normalized that a model without these roles lacks, the reason."""
        lacking = {"segment": "segment", "position": "position", "normalized": "weight"}
        return {
            part: text(f"absent.{part}.{self.reasons[part]}", name=self.name)
            for part, role in lacking.items()
            if role not in roles
        }

    def terms(self, settings: Config, roles: Mapping[str, Any], shape: Shape) -> InputTerms:
        """What one model of this architecture computes; its sizes are read off its tensors.

        Args:
            settings: see `settings`.
            roles: the roles that it has, see `tensors`.
            shape: of a tensor by its role.
        """
        rows, word_size = shape("token")
        size = word_size
        if "before_weight" in roles:
            size = shape("before_weight")[0]
        pad = self.pad if isinstance(self.pad, int) else settings.get(self.pad)
        first = self.first_row(settings) if "position" in roles else 0
        return InputTerms(
            embedding_size=size,
            hidden_size=shape("after_weight")[0] if "after_weight" in roles else size,
            vocab_size=rows,
            word_size=word_size,
            max_position_embeddings=shape("position")[0] if "position" in roles else 0,
            type_vocab_size=shape("segment")[0] if "segment" in roles else 0,
            constants=sum(role.startswith("constant_") for role in roles),
            pad_token_id=pad,
            position_rule=self.position_rule,
            first_position=first,
            scale=self.scale(settings),
            mask_token_id=settings[self.mask_token]
            if self.mask_token and self._is_on("mask_token", settings)
            else None,
            trigram=self.trigram,
            projected=self.projects if "before_weight" in roles else (),
            projected_bias="before_bias" in roles,
            order=self.order,
            norm=("affine" if self.affine_if(settings) else "layer_norm") if "weight" in roles else None,
            norm_bias="bias" in roles,
            layer_norm_eps=self._eps(settings) if "weight" in roles else 0.0,
            projection="after_weight" in roles,
            projection_bias="after_bias" in roles,
            masked=self.masked,
            dropout_on=self.dropout_on,
        )

    def first_row(self, settings: Config) -> int:
        """The row of the position table of the first token.

        Raises:
            ModelError: it depends on the padding piece, and the config names none.
        """
        if self.first_position is not None:
            return self.first_position
        pad = self.pad if isinstance(self.pad, int) else settings.get(self.pad)
        if pad is None:
            raise ModelError("no_pad", field="model", name=self.name)
        return int(pad) + 1

    def _eps(self, settings: Config) -> float:
        return float(settings[self.eps] if isinstance(self.eps, str) else self.eps)

    def _is_on(self, role: str, settings: Config) -> bool:
        return self.only_if[role](settings) if role in self.only_if else True
