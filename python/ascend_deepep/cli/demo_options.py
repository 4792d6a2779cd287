# SPDX-License-Identifier: Apache-2.0
"""The options of `ascend-deepep demo`, as typer takes them. Layer: Python."""

from __future__ import annotations

from typing import Annotated

import typer

from ascend_deepep.cli.environment import ENGINE_VARIABLE
from ascend_deepep.config import ENGINES
from ascend_deepep.demo.features import COMBINE_REDUCES, COMM_ALGS, COMM_QUANTS, MASKS, QUANTS
from ascend_deepep.demo.options import DTYPES, PAYLOADS, ROUTINGS

DEFAULT_RANKS = 8
DEFAULT_TOKENS = 32
DEFAULT_HIDDEN = 7168
VARY_HIDDEN = 256  # many small rounds

Which = Annotated[
    str | None, typer.Argument(metavar="[SHAPES|CONTRACT]", help="With --sweep: which one. (default: shapes)")
]
Ranks = Annotated[int | None, typer.Option(help=f"Ranks, a process each. (default: {DEFAULT_RANKS})")]
Tokens = Annotated[int | None, typer.Option(help=f"Tokens per rank. (default: {DEFAULT_TOKENS})")]
TokensPerRank = Annotated[
    str | None, typer.Option(metavar="A,B,..", help="Tokens of each rank, instead of --ranks and --tokens.")
]
Hidden = Annotated[
    int | None, typer.Option(help=f"Hidden size. (default: {DEFAULT_HIDDEN}; with --vary {VARY_HIDDEN})")
]
Topk = Annotated[int, typer.Option(help="Experts that a token chooses.")]
Experts = Annotated[int, typer.Option(help="Experts of all ranks together.")]
Cores = Annotated[int | None, typer.Option(help="Cores of a kernel. (default: the target's own number)")]
Iters = Annotated[int, typer.Option(help="Rounds of dispatch, experts, combine.")]
Dtype = Annotated[str, typer.Option(metavar="|".join(DTYPES), help="Type of hidden states.")]
Routing = Annotated[str, typer.Option(metavar="|".join(ROUTINGS), help="How tokens choose experts.")]
CombineEngine = Annotated[
    str | None,
    typer.Option(
        metavar="|".join(ENGINES),
        help=f"How combine brings rows back. (default: {ENGINE_VARIABLE}, else {ENGINES[0]})",
    ),
]
Payload = Annotated[
    str, typer.Option(metavar="|".join(PAYLOADS), help="Text and SwiGLU experts, or rows that name their place.")
]
Quant = Annotated[str, typer.Option(metavar="|".join(QUANTS), help="How tokens are quantised on their way.")]
CommQuant = Annotated[
    str, typer.Option(metavar="|".join(COMM_QUANTS), help="How experts' rows are quantised on their way back.")
]
Shared = Annotated[str, typer.Option(metavar="EXPERTS/RANKS", help="Shared experts, and the ranks that serve them.")]
Mask = Annotated[str | None, typer.Option(metavar="|".join(MASKS), help="Mask whole tokens, or single choices.")]
Smooth = Annotated[bool, typer.Option("--smooth", help="Scales of a row per expert: a copy per expert.")]
CommAlg = Annotated[
    str, typer.Option(metavar="|".join(COMM_ALGS[1:]), help="Shape of token copies; fullmesh_v1: one per expert.")
]
CombineReduce = Annotated[
    str, typer.Option(metavar="|".join(COMBINE_REDUCES), help="What a rank returns of a token: rows, or their sum.")
]
Seed = Annotated[int, typer.Option(help="Everything random follows from it.")]
Vary = Annotated[bool, typer.Option("--vary", help="Other tokens, 0 to --tokens a rank, in every round.")]
Communicators = Annotated[
    int, typer.Option(help="Communicators used in turn; from 2 on there is one more over half of the ranks.")
]
TimeoutMs = Annotated[int | None, typer.Option(help="Longest wait of an operation.")]
Kill = Annotated[
    str | None, typer.Option(metavar="RANK@ITER", help="Kill a rank's process before an iteration (from 0).")
]
Fault = Annotated[
    str | None, typer.Option(metavar="NAME", help="One fault of the fabric, placed by --seed; `doctor` lists them.")
]
Sweep = Annotated[
    bool,
    typer.Option("--sweep", help="A covering array: of all shapes and the largest, or of the operators' contract."),
]
Cases = Annotated[int | None, typer.Option(help="With --sweep: only this many of the cases, spread out.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on the last line.")]
