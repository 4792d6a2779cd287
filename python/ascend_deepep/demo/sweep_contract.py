# SPDX-License-Identifier: Apache-2.0
"""The sweep over the operators' contract: quantisation, shared experts, masks, copies. Layer: Python, no torch.

A pairwise covering array, as `sweep`, of what calls may ask for, at sizes with tails in every group of scales.
"""

from __future__ import annotations

from ascend_deepep.config import ENGINES
from ascend_deepep.demo.covering import Case, Space
from ascend_deepep.demo.features import COMBINE_REDUCES, COMM_ALGS, COMM_QUANTS, MASKS, QUANTS, Features
from ascend_deepep.demo.options import DTYPES, Options
from ascend_deepep.demo.sweep import cost_of, options_of
from ascend_deepep.demo.usage import UsageError

MIN_CASES = 100
_SEED = 9505

_PARAMETERS: dict[str, tuple[object, ...]] = {
    "quant": tuple(QUANTS),
    "comm_quant": tuple(COMM_QUANTS),
    # Shared experts / their ranks: one each, replicas, and replicas that do not divide the number of ranks.
    "shared": ((0, 0), (1, 1), (1, 2), (2, 4), (4, 4)),
    "mask": (None, *MASKS),
    "smooth": (False, True),
    "comm_alg": COMM_ALGS,
    "combine_reduce": COMBINE_REDUCES,
    "ranks": (1, 2, 5, 8),
    "tokens": ("uneven", 0, 1, 33),
    "topk": (1, 4, 16),
    "experts_each": (1, 3, 16),
    "hidden": (64, 80, 1056, 2048),
    "cores": (4, 7, 24),
    "dtype": DTYPES,
    "engine": ENGINES,
    "routing": ("uniform", "skewed", "one-hot", "none"),
}


def cases(count: int = MIN_CASES) -> list[Options]:
    """The covering array, filled up to `count`; the same every time."""
    chosen = SPACE.cover(count)
    chosen.sort(key=lambda case: (int(str(case["ranks"])), _cost(case)))
    return [_options(case, seed) for seed, case in enumerate(chosen)]


def _features(case: Case) -> Features:
    shared = case["shared"]
    assert isinstance(shared, tuple)
    experts, ranks = shared
    return Features(
        quant=str(case["quant"]),
        comm_quant=str(case["comm_quant"]),
        shared_expert_num=experts,
        shared_expert_rank_num=ranks,
        mask=None if case["mask"] is None else str(case["mask"]),
        smooth=bool(case["smooth"]),
        comm_alg=str(case["comm_alg"]),
        combine_reduce=str(case["combine_reduce"]),
    )


def _experts(case: Case) -> int:
    return int(str(case["experts_each"])) * _features(case).moe_ranks(int(str(case["ranks"])))


# Parameters that rule each other out, and what to take for one that is still open.
_LINKED: dict[str, object] = {"quant": "pertoken-int8", "shared": (0, 0), "smooth": False, "ranks": 8}


def _is_legal(case: Case) -> bool:
    """Whether a case, perhaps with parameters still open, can be completed to a legal one."""
    full = {name: values[0] for name, values in _PARAMETERS.items()} | _LINKED | case
    most = {"experts_each": 16, "topk": 1} | case  # the open ones as they fit best
    full |= {name: most[name] for name in ("experts_each", "topk")}
    try:
        features, ranks = _features(full), int(str(full["ranks"]))
        if features.moe_ranks(ranks) < 1:
            return False
        features.check(ranks, _experts(full))
    except UsageError:
        return False
    if full["mask"] is not None and case.get("tokens") == "uneven" and ranks > 1:
        return False
    return int(str(full["topk"])) <= _experts(full)


def _tokens(case: Case) -> tuple[int, ...]:
    ranks = int(str(case["ranks"]))
    if case["tokens"] == "uneven":
        return tuple(17 * (rank + 2) % 29 if rank % 3 != 1 else 0 for rank in range(ranks))
    return (int(str(case["tokens"])),) * ranks


def _cost(case: Case) -> int:
    return cost_of(case, _tokens(case))


def _options(case: Case, seed: int) -> Options:
    return options_of(case, _tokens(case), _experts(case), seed, _features(case))


SPACE = Space(_PARAMETERS, _is_legal, _cost, _SEED, {"tokens": 0, "routing": "none"})
