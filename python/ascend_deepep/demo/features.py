# SPDX-License-Identifier: Apache-2.0
"""What a call of the demo has beyond tokens and experts, and which of it goes together. Layer: Python, no torch."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_deepep.demo.usage import UsageError

#: --quant by name: quant_mode and the element type of expand_x; None: that of the tokens.
QUANTS: dict[str, tuple[int, str | None]] = {
    "none": (0, None),
    "pass-e4m3": (0, "float8_e4m3fn"),
    "static-int8": (1, "int8"),
    "pertoken-int8": (2, "int8"),
    "pertoken-e4m3": (2, "float8_e4m3fn"),
    "pertoken-e5m2": (2, "float8_e5m2"),
    "pergroup-e4m3": (3, "float8_e4m3fn"),
    "pergroup-e5m2": (3, "float8_e5m2"),
    "mx-e4m3": (4, "float8_e4m3fn"),
    "mx-e5m2": (4, "float8_e5m2"),
}
COMM_QUANTS = {"none": 0, "int8": 2}
COMBINE_REDUCES = ("row", "rank")
MASKS = ("1d", "2d")
COMM_ALGS = ("", "fullmesh_v1", "fullmesh_v2", "fullmesh_dedup")
_SMOOTHED = (1, 2, 3)  # quant_modes that take scales of a row per expert


@dataclass(frozen=True)
class Features:
    """The arguments of the two operators that a run sets beside the plain ones."""

    quant: str = "none"
    comm_quant: str = "none"
    shared_expert_num: int = 0
    shared_expert_rank_num: int = 0
    mask: str | None = None
    smooth: bool = False
    comm_alg: str = ""
    combine_reduce: str = "row"

    @property
    def quant_mode(self) -> int:
        """`quant_mode` of dispatch."""
        return QUANTS[self.quant][0]

    @property
    def passes_fp8(self) -> bool:
        """Tokens are quantised before dispatch, and travel as they are with their scales."""
        return self.quant == "pass-e4m3"

    @property
    def per_expert_copies(self) -> bool:
        """Dispatch sends a copy per expert."""
        return self.smooth or self.comm_alg == "fullmesh_v1"

    @property
    def sums_by_rank(self) -> bool:
        """Rows of a token that one rank has computed return as their sum; their weights travel with dispatch."""
        return self.combine_reduce == "rank"

    def moe_ranks(self, num_ranks: int) -> int:
        """Ranks that hold routed experts."""
        return num_ranks - self.shared_expert_rank_num

    def check(self, num_ranks: int, num_experts: int) -> None:
        """Raise UsageError for what no call may be."""
        experts, ranks = self.shared_expert_num, self.shared_expert_rank_num
        if self.smooth and self.quant_mode not in _SMOOTHED:
            raise UsageError(
                f"--smooth does not go with --quant {self.quant}, which takes no scales of a row per expert"
            )
        if self.sums_by_rank and (self.per_expert_copies or self.comm_quant != "none"):
            raise UsageError("--combine-reduce rank does not go with --smooth, --comm-alg fullmesh_v1 and --comm-quant")
        if (experts == 0) != (ranks == 0) or (experts and ranks % experts != 0):
            raise UsageError(
                f"--shared {experts}/{ranks}: the ranks are a multiple of the shared experts, or both are 0"
            )
        if ranks >= num_ranks:
            raise UsageError(f"--shared {experts}/{ranks}: {num_ranks} ranks leave none for the routed experts")
        if num_experts % self.moe_ranks(num_ranks) != 0:
            beside = f" beside the {ranks} of the shared experts" if ranks else ""
            hosts = f"{self.moe_ranks(num_ranks)} ranks{beside}"
            raise UsageError(f"{num_experts} experts cannot be divided among {hosts}; change --experts")

    def words(self) -> list[object]:
        """The options that make this very object."""
        words: list[object] = ["--quant", self.quant] if self.quant != "none" else []
        words += ["--comm-quant", self.comm_quant] if self.comm_quant != "none" else []
        if self.shared_expert_num:
            words += ["--shared", f"{self.shared_expert_num}/{self.shared_expert_rank_num}"]
        words += ["--mask", self.mask] if self.mask else []
        words += ["--smooth"] if self.smooth else []
        words += ["--comm-alg", self.comm_alg] if self.comm_alg else []
        return words + (["--combine-reduce", self.combine_reduce] if self.sums_by_rank else [])
