"""The layers of an open model: read when they are first asked for, kept with it, and run once for each input."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import sha256
from math import isfinite, prod
from threading import RLock

import numpy as np

from embviz.embedding.decomposition import Decomposition, Floats
from embviz.embedding.encoder import NoEncoderError, OfficialEncoder
from embviz.embedding.layers import Numbers, mean_cosines
from embviz.embedding.layout import EmbeddingLayout
from embviz.errors import InputError, ModelError
from embviz.models.files import size_text
from embviz.models.limits import PUBLIC_ENCODER, is_public
from embviz.models.roles import OLD_NAMES
from embviz.models.sources import ModelFiles

MAX_STATES = 64_000_000
"""Bytes of states that are kept: 180 inputs of 16 tokens of the bundled model, 3 of 512 tokens of BERT-base."""

MAX_LAYERS = 200
"""The most layers that are built, whatever a config says: the deepest models that people open have 126 (Llama 3.1
405B) to 140, and a million of them would keep a machine busy for hours before a single weight is missed."""

SAMPLE = (
    "The old bridge over the river was closed for repairs last winter.",
    "She asked the committee to publish all of its minutes online.",
    "Ripe tomatoes taste best when they are still warm from the sun.",
    "Shares of the company fell by nine percent after the report.",
    "How many moons does Saturn have?",
    "Please leave your shoes at the door and come in.",
    "The algorithm sorts a list of numbers in linear time.",
    "Two goalkeepers were injured before the second half began.",
    "A cold wind blew across the empty market square at dawn.",
    "Vaccines train the immune system without causing the disease.",
)
"""Texts that have nothing to do with each other: how alike are tokens out of different ones?"""


_COUNTS_LAYERS = re.compile(r"layers?$|^block_sizes$|^num_hidden_groups$|^inner_group_num$")
"""`num_hidden_layers`, `n_layer`, `encoder_layers` …; the last three are Funnel's and ALBERT's."""


class Encoder:
    """The layers of one model.

    Args:
        layout: how its architecture makes its input.
        names: its tensors of the input layer in the checkpoint by role.
        files: its config and its tensors.

    Attributes:
        untrained: whether its weights are random ones, drawn as the official class draws them.
    """

    def __init__(self, layout: EmbeddingLayout, names: Mapping[str, str], files: ModelFiles) -> None:
        self._layout, self._config, self._tensors = layout, files.config, files.tensors
        self._name, self._seed = files.name, files.seed
        self._input_names, self._prefix = names, _prefix(layout, names)
        self._official: OfficialEncoder | None = None
        self._loaded = False
        self._size: int | None = None
        self._states: OrderedDict[bytes, Floats] = OrderedDict()
        self._random_cosines: Numbers | None = None
        self._may_fetch = False
        self._lock = RLock()
        self.untrained = files.seed is not None

    @property
    def download_bytes(self) -> int:
        """How many bytes have to come over the network before it can run; 0 where it is in memory or on disk.

        Raises:
            ModelError: this model has no layers that could be run.
        """
        with self._lock:
            if self._loaded or self._seed is not None:
                return 0
            return self._tensors.remote_bytes(self._names(self._build()).values())

    def states(self, *inputs: Decomposition, allow_download: bool = False) -> tuple[Floats, ...]:
        """The states of every layer for each input, `(layers + 1, seq_len, hidden_size)`, read-only.

        Inputs that were seen before are not run again; those that were not are run as one batch. Where not all can
        be kept, the first of them is: what a slider starts from, while the others are new at each of its steps.

        Args:
            inputs: of one length; `output` is what enters, `token_type_ids` matters where segments enter in the
                attention.
            allow_download: whether weights may be fetched; see `download_bytes`.

        Raises:
            ModelError: the layers cannot be run, or have to be fetched first: the sentence says how large they are.
        """
        keys = [_key(one) for one in inputs]
        with self._lock:
            self._may_fetch = self._may_fetch or allow_download
            new = {key: one for key, one in zip(keys, inputs, strict=True) if key not in self._states}
            found = dict(zip(new, self._run(list(new.values()), allow_download=allow_download), strict=True))
            result = tuple(found[key] if key in found else self._states[key] for key in keys)
            for key, states in reversed(list(zip(keys, result, strict=True))):
                self._states[key] = states
                self._states.move_to_end(key)
            while len(self._states) > 1 and sum(kept.nbytes for kept in self._states.values()) > MAX_STATES:
                self._states.popitem(last=False)
        return result

    def random_cosines(self, decompose: Callable[[str], Decomposition]) -> Numbers:
        """The yardstick: mean cosine of tokens out of different texts of `SAMPLE`, `(layers + 1,)`.

        Computed once, and only after `states`. Texts that this model cannot read are left out, and so are those
        whose word rows would have to be fetched before that was allowed to `states`; NaN where fewer than two are
        left.

        Args:
            decompose: a text to the input layer's answer.
        """
        with self._lock:
            if self._random_cosines is not None:
                return self._random_cosines
            texts, is_whole = self._sample(decompose)
            if len(texts) >= 2:
                cosines = mean_cosines(texts)
            else:
                cosines = np.full(len(next(reversed(self._states.values()))), np.nan)
            if is_whole:
                self._random_cosines = cosines
            return cosines

    def _sample(self, decompose: Callable[[str], Decomposition]) -> tuple[list[Floats], bool]:
        """The states of the texts of `SAMPLE` that can be had, and whether no other will be there later."""
        # No row has the number -1: only what needs no network at all has it at hand.
        if not self._may_fetch and not self._tensors.is_at_hand(self._input_names["token"], [-1]):
            return [], False
        texts: list[Floats] = []
        for text in SAMPLE:
            try:
                one = decompose(text)
            except InputError:  # of another vocabulary, or longer than the model
                continue
            except ModelError:  # the network: each of the others would wait for it too
                return texts, False
            try:
                texts += self._run([one], allow_download=False)
            except ModelError:
                continue
        return texts, True

    def _run(self, inputs: list[Decomposition], *, allow_download: bool) -> list[Floats]:
        if not inputs:
            return []
        official = self._build()
        try:
            if not self._loaded and not allow_download and self.download_bytes:
                # Whoever is asked to fetch weights knows that the layers can be run: they are, on nothing.
                official.run([inputs[0].output], [inputs[0].token_type_ids])
            self._load(official, allow_download=allow_download)
            return official.run([one.output for one in inputs], [one.token_type_ids for one in inputs])
        except NoEncoderError as error:
            if not self._loaded:
                self._official = None
            raise self._refusal(error) from error

    def _load(self, official: OfficialEncoder, *, allow_download: bool) -> None:
        """Reads the weights, unless they are there."""
        if self._loaded:
            return
        if self._seed is None:
            names = self._names(official)
            if not allow_download and (remote := self._tensors.remote_bytes(names.values())):
                raise ModelError("encoder_download", field="model", name=self._name, size=size_text(remote))
            read = self._tensors.read(names.values(), whole=True)
            official.load({name: read[found] for name, found in names.items()})
        self._loaded = True

    def _build(self) -> OfficialEncoder:
        """The module, still without its weights; one that is refused is not kept.

        Raises:
            ModelError: it cannot be built, has too many layers, or is too large for a shared server.
        """
        if self._official is None:
            if (layers := most_layers(self._config)) > MAX_LAYERS:
                raise ModelError("encoder_layers", field="model", found=layers, limit=MAX_LAYERS)
            if is_public():
                self._check_size(self._least_size())
            try:
                official = OfficialEncoder(self._layout, self._config, self._seed)
            except NoEncoderError as error:
                raise self._refusal(error) from error
            if is_public():
                self._size = 4 * official.size
                self._check_size(self._size)
            self._official = official
        return self._official

    def _check_size(self, size: int) -> None:
        if size > PUBLIC_ENCODER:
            limit = size_text(PUBLIC_ENCODER)
            raise ModelError("encoder_too_large", field="model", size=size_text(size), limit=limit)

    def _least_size(self) -> int:
        """Bytes of float32 that the layers need at least, as far as the checkpoint tells before they are built.

        Those are the weights whose names count the layers. Without those of a decoder that is not built, and
        without the square masks that GPT-2 saved, which have four axes.
        """
        if self._size is not None or self._seed is not None:
            return self._size or 0
        known, tower = self._tensors.names(), self._layout.official_at
        start = self._prefix + ("" if tower in ("", "embeddings") else f"{tower}.")
        beside = f"{start}decoder." if any(name.startswith(f"{start}encoder.") for name in known) else None
        counted = [
            name
            for name in known
            if name.startswith(start)
            and not (beside and name.startswith(beside))
            and any(step.isdecimal() for step in name.removeprefix(start).split("."))
        ]
        self._tensors.remote_bytes(counted)  # reads the headers of all files in one round
        shapes = [self._tensors.shape(name) for name in counted]
        self._size = 4 * sum(prod(shape) for shape in shapes if len(shape) < 4)
        return self._size

    def _names(self, official: OfficialEncoder) -> dict[str, str]:
        """For each tensor that is wanted, its name in the checkpoint; all that may be converted where they differ.

        Raises:
            ModelError: the checkpoint lacks one; random numbers are never put in its place.
        """
        if self._seed is not None:
            return {}
        known = self._tensors.names()
        found = {name: self._known(name) for name in official.wanted}
        missing = next((name for name, own in found.items() if own is None), None)
        if missing is None:
            return {name: own for name, own in found.items() if own is not None}
        if not official.converts():
            raise ModelError("encoder_tensor", field="model", name=self._prefix + missing)
        start = self._prefix + official.at
        inputs = set(self._input_names.values())
        return {
            name.removeprefix(self._prefix): name
            for name in known
            if name.startswith(start) and name not in inputs
        }

    def _known(self, name: str) -> str | None:
        """The name in the checkpoint of a tensor of the base model; None where it has none."""
        known, own = self._tensors.names(), self._prefix + name
        old = own
        for new, gamma in OLD_NAMES.items():
            old = old.replace(new, gamma)
        return own if own in known else old if old in known else None

    def _refusal(self, error: NoEncoderError) -> ModelError:
        return ModelError("no_encoder", field="model", name=self._layout.name, reason=error)


def most_layers(config: object) -> int:
    """The largest number of layers that a config.json asks for anywhere in it, in whatever words.

    The official config object is not asked: some write a list with an entry for each layer.
    """
    if isinstance(config, list):
        return max(map(most_layers, config), default=0)
    if not isinstance(config, Mapping):
        return 0
    found = [most_layers(value) for value in config.values()]
    for key, value in config.items():
        numbers = value if key == "block_sizes" and isinstance(value, list) else [value]
        if _COUNTS_LAYERS.search(str(key)):
            found.append(sum(int(number) for number in numbers if _is_number(number)))
    return max(found, default=0)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and isfinite(value)


def _prefix(layout: EmbeddingLayout, names: Mapping[str, str]) -> str:
    """What stands before the names of the base model in the checkpoint."""
    word = names["token"]
    return word.removesuffix(max((own for own in layout.token if word.endswith(own)), key=len))


def _key(one: Decomposition) -> bytes:
    """The same for inputs that the encoder cannot tell apart."""
    digest = sha256(np.ascontiguousarray(one.output).data)
    digest.update(repr(one.output.shape).encode())
    digest.update(np.ascontiguousarray(one.token_type_ids).data)
    return digest.digest()
