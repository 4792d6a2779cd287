# SPDX-License-Identifier: Apache-2.0
"""What a configuration takes of memory, before anything is made. Layer: Python over the binding, no torch.

`sizes()` asks op_host, by the functions that a communicator and its calls use; nothing here has a formula of its own.
`largest_max_tokens()` and `changes()` ask it again, for other configurations.

    configuration = Configuration(num_ranks=8, max_tokens=128, hidden=7168, num_topk=8, num_experts=256)
    taken = sizes(configuration)
    taken.window_bytes, taken.memory_bytes
    largest_max_tokens(configuration, Limits(window_bytes=512 << 20))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from ascend_deepep import _runtime
from ascend_deepep._arguments import count, optional, reduce_number
from ascend_deepep.config import ENGINES
from ascend_deepep.demo.features import COMM_QUANTS, QUANTS
from ascend_deepep.errors import ArgumentError

if TYPE_CHECKING:
    from ascend_deepep._runtime import SizesDict

__all__ = [
    "Change",
    "Configuration",
    "Limits",
    "Outputs",
    "Region",
    "Sizes",
    "Tensor",
    "UbShare",
    "changes",
    "largest_max_tokens",
    "sizes",
]

_DTYPES = {"bf16": "bfloat16", "fp16": "float16"}
_WORDS = ("combine_reduce", "combine_engine", "dtype", "quant", "comm_quant")
_OWN_CHOICES = ("num_cores", "queue_depth")  # None: the twin's own number
_Value = TypeVar("_Value")
_MIN_DEPTH = 64  # the shallowest queues that are proposed: the twin chooses none below


@dataclass(frozen=True)
class Configuration:
    """A communicator, and what its calls say beside its limits.

    Sizes and `per_expert_copies`, `combine_reduce`, `queues_per_peer` as for `Communicator`; `shared_expert_rank_num`
    as for the operators. `quant` and `comm_quant` are how rows travel, `dtype` what tokens and results are made of, by
    the names of `ascend-deepep demo`. `num_cores`, `queue_depth`: None takes the twin's own numbers.
    """

    num_ranks: int
    max_tokens: int
    hidden: int
    num_topk: int
    num_experts: int
    shared_expert_num: int = 0
    shared_expert_rank_num: int = 0
    per_expert_copies: bool = False
    combine_reduce: str = "row"
    combine_engine: str = "mte"
    dtype: str = "bf16"
    quant: str = "none"
    comm_quant: str = "none"
    num_cores: int | None = None
    queues_per_peer: int = 1
    queue_depth: int | None = None


@dataclass(frozen=True)
class Limits:
    """The most bytes of a rank's window and of all its memory (`Sizes.memory_bytes`); None: no limit."""

    window_bytes: int | None = None
    memory_bytes: int | None = None

    def excess(self, taken: Sizes) -> tuple[int, int]:
        """Bytes above each limit, window and memory."""
        pairs = ((taken.window_bytes, self.window_bytes), (taken.memory_bytes, self.memory_bytes))
        window, memory = (0 if limit is None else max(0, size - limit) for size, limit in pairs)
        return window, memory

    def fits(self, taken: Sizes) -> bool:
        """Whether neither limit is exceeded."""
        return self.excess(taken) == (0, 0)


@dataclass(frozen=True)
class Region:
    """A part of window or workspace, named as in docs/layout.md; both numbers are bytes."""

    name: str
    offset: int
    bytes: int


@dataclass(frozen=True)
class Tensor:
    """An output of a call: shape in elements, dtype as torch spells it."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int


@dataclass(frozen=True)
class UbShare:
    """UB, in bytes, of the buffers of a role that the shape decides, and the share that op_host keeps them to."""

    kernel: str
    role: str
    bytes: int
    limit: int


@dataclass(frozen=True)
class Outputs:
    """What the two operators return, called with `max_tokens` tokens on every rank."""

    #: Ranks that have these shapes: "routed", or "shared", which serve a shared expert.
    ranks: str
    dispatch: tuple[Tensor, ...]
    combine: tuple[Tensor, ...]

    @property
    def bytes(self) -> int:
        """Of one dispatch and one combine together."""
        return sum(tensor.bytes for tensor in (*self.dispatch, *self.combine))


@dataclass(frozen=True)
class Sizes:
    """Bytes of one rank. Those of the window are the same on all ranks."""

    window: tuple[Region, ...]
    window_bytes: int
    workspace: tuple[Region, ...]
    workspace_bytes: int
    queue_depth: int
    #: Queue table, SQ and CQ rings of the twin. A device's driver has rings of its own.
    queue_bytes: int
    #: What ranks of the twin come to touch of window, workspace and rings on average, in calls of the largest size.
    touched_bytes: int
    num_cores: int
    #: Cores of each role in the largest calls, by kernel, on ranks of routed experts.
    roles: dict[str, dict[str, int]]
    ub: tuple[UbShare, ...]
    #: All the UB that a core may use.
    kernel_ub_bytes: int
    #: By kind of rank; that of most bytes first.
    outputs: tuple[Outputs, ...]

    @property
    def memory_bytes(self) -> int:
        """Window, workspace, queues, and the outputs of one dispatch and one combine, of the rank that needs most."""
        return self.window_bytes + self.workspace_bytes + self.queue_bytes + self.outputs[0].bytes


@dataclass(frozen=True)
class Change:
    """Another configuration that takes less, and what it takes."""

    #: What to change, with its new value.
    text: str
    configuration: Configuration
    sizes: Sizes
    fits: bool


def sizes(configuration: Configuration) -> Sizes:
    """What each rank of a configuration takes, in bytes.

    Errors: `ArgumentError` for what no communicator and no call of it could be, with op_host's words.
    """
    asked = _ask(configuration, configuration.num_ranks - 1)
    kinds = [_outputs("routed", asked)]
    if configuration.shared_expert_rank_num > 0:
        kinds.append(_outputs("shared", _ask(configuration, 0)))
    return Sizes(
        window=tuple(Region(*region) for region in asked["window"]["regions"]),
        window_bytes=asked["window"]["bytes"],
        workspace=tuple(Region(*region) for region in asked["workspace"]["regions"]),
        workspace_bytes=asked["workspace"]["bytes"],
        queue_depth=asked["queue_depth"],
        queue_bytes=asked["queue_bytes"],
        touched_bytes=asked["touched_bytes"],
        num_cores=asked["num_cores"],
        roles=asked["roles"],
        ub=tuple(UbShare(*share) for share in asked["ub"]),
        kernel_ub_bytes=asked["kernel_ub_bytes"],
        outputs=tuple(sorted(kinds, key=lambda outputs: -outputs.bytes)),
    )


def largest_max_tokens(configuration: Configuration, limits: Limits) -> int:
    """The most `max_tokens` with which a configuration keeps to the limits; 0: not even one token does.

    `max_tokens` of the configuration itself does not count. Errors: as `sizes()`.
    """
    fitting, beyond = 0, _runtime.limits()["max_tokens"] + 1
    while beyond - fitting > 1:
        middle = (fitting + beyond) // 2
        if limits.fits(sizes(replace(configuration, max_tokens=middle))):
            fitting = middle
        else:
            beyond = middle
    return fitting


def changes(configuration: Configuration, limits: Limits) -> list[Change]:
    """Single changes that bring a configuration nearer to limits that it exceeds; those that suffice come first.

    Each was asked for again: one that saves nothing is not among them. Empty where the limits are kept.
    Errors: as `sizes()`.
    """
    excess = limits.excess(sizes(configuration))
    if excess == (0, 0):
        return []
    found = []
    for family in _families(configuration, limits):
        nearest = _nearest(family, limits, excess)
        found += [] if nearest is None else [nearest]
    return sorted(found, key=lambda change: not change.fits)


@dataclass(frozen=True)
class _Family:
    """Changes of one kind, the smallest first. `must_suffice`: nobody would make one that does not."""

    changes: Iterable[tuple[str, Configuration]]
    must_suffice: bool = False


def _nearest(family: _Family, limits: Limits, excess: tuple[int, int]) -> Change | None:
    """The first that suffices, else the one that saves most of the excess, if any saves some."""
    nearest, least = None, excess
    for text, changed in family.changes:
        try:
            taken = sizes(changed)
        except ArgumentError:
            continue  # what goes together is op_host's to say
        left = limits.excess(taken)
        if left == (0, 0):
            return Change(text, changed, taken, fits=True)
        if sum(left) < sum(least) and all(new <= old for new, old in zip(left, excess, strict=True)):
            nearest, least = Change(text, changed, taken, fits=False), left
    return None if family.must_suffice else nearest


def _families(c: Configuration, limits: Limits) -> Iterator[_Family]:
    tokens = largest_max_tokens(c, limits)
    if tokens > 0:
        yield _Family([_change(c, "max_tokens", tokens)])
    if c.per_expert_copies:
        yield _Family([("no copies per expert (per_expert_copies)", replace(c, per_expert_copies=False))])
    if c.quant == "none":
        yield _Family([("rows quantised by dispatch, such as pertoken-int8", replace(c, quant="pertoken-int8"))])
    if c.shared_expert_num > 0:
        plain = replace(c, shared_expert_num=0, shared_expert_rank_num=0)
        yield _Family([("shared experts on every rank, added by combine as shared_expert_x", plain)])
    depth = sizes(c).queue_depth
    shallower = (depth >> bits for bits in range(1, depth.bit_length()) if depth >> bits >= _MIN_DEPTH)
    yield _Family(_change(replace(c, queue_depth=depth), "queue_depth", less) for less in shallower)
    yield _Family(_change(c, "queues_per_peer", fewer) for fewer in range(c.queues_per_peer - 1, 0, -1))
    yield _Family((_change(c, "num_topk", fewer) for fewer in range(c.num_topk - 1, 0, -1)), must_suffice=True)
    most = _runtime.limits()["max_ranks"]
    for numbers in (range(c.num_ranks - 1, 0, -1), range(c.num_ranks + 1, most + 1)):
        yield _Family((_change(c, "num_ranks", number) for number in numbers), must_suffice=True)


def _change(c: Configuration, name: str, value: int) -> tuple[str, Configuration]:
    changed: dict[str, Any] = {name: value}
    return f"{name} {value} instead of {getattr(c, name)}", replace(c, **changed)


def _ask(configuration: Configuration, rank: int) -> SizesDict:
    c = configuration
    quant_mode, element = _known("quant", c.quant, QUANTS)
    x_dtype = _known("dtype", c.dtype, _DTYPES)
    numbers = {
        name: optional(name, value) if name in _OWN_CHOICES else count(name, value, 0)
        for name, value in asdict(c).items()
        if name not in _WORDS
    }
    count("num_ranks", c.num_ranks, 1)  # `rank` is one of them
    is_passed = quant_mode == 0 and element is not None
    return _runtime.sizes(
        **numbers,
        combine_reduce=reduce_number(c.combine_reduce),
        combine_engine=_known("combine_engine", c.combine_engine, dict.fromkeys(ENGINES, c.combine_engine)),
        rank=rank,
        quant_mode=quant_mode,
        x_dtype=element if is_passed and element is not None else x_dtype,
        y_dtype=None if is_passed else element,
        comm_quant_mode=_known("comm_quant", c.comm_quant, COMM_QUANTS),
    )


def _known(name: str, key: str, table: dict[str, _Value]) -> _Value:
    if key not in table:
        raise ArgumentError(f"{name} = {key!r} is not one of {', '.join(table)}")
    return table[key]


def _outputs(ranks: str, asked: SizesDict) -> Outputs:
    dispatch, combine = (
        tuple(Tensor(*output) for output in asked[which]) for which in ("dispatch_outputs", "combine_outputs")
    )
    return Outputs(ranks, dispatch, combine)
