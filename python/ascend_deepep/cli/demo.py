# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep demo`. Layer: Python: options, progress bar and exit code; the work is in ascend_deepep.demo."""

from __future__ import annotations

import json
import sys

import typer

from ascend_deepep.cli import demo_options as given
from ascend_deepep.cli.environment import check_environment
from ascend_deepep.cli.progress import progress, results_console
from ascend_deepep.cli.values import one_of, refuse_others, shared_experts
from ascend_deepep.config import ENGINES
from ascend_deepep.demo.features import COMBINE_REDUCES, COMM_ALGS, COMM_QUANTS, MASKS, QUANTS, Features
from ascend_deepep.demo.options import DTYPES, PAYLOADS, ROUTINGS, Options
from ascend_deepep.demo.usage import UsageError, check_range

_FAULT_TIMEOUT_MS = 3000
_WITH_SWEEP = ("sweep", "which", "cases", "as_json")
_SWEEPS = ("shapes", "contract")


def demo(
    context: typer.Context,
    which: given.Which = None,
    ranks: given.Ranks = None,
    tokens: given.Tokens = None,
    tokens_per_rank: given.TokensPerRank = None,
    hidden: given.Hidden = None,
    topk: given.Topk = 8,
    experts: given.Experts = 256,
    cores: given.Cores = None,
    iters: given.Iters = 1,
    dtype: given.Dtype = "bf16",
    routing: given.Routing = "gate",
    combine_engine: given.CombineEngine = None,
    payload: given.Payload = "text",
    quant: given.Quant = "none",
    comm_quant: given.CommQuant = "none",
    shared: given.Shared = "0/0",
    mask: given.Mask = None,
    smooth: given.Smooth = False,
    comm_alg: given.CommAlg = "",
    combine_reduce: given.CombineReduce = "row",
    seed: given.Seed = 0,
    vary: given.Vary = False,
    communicators: given.Communicators = 1,
    timeout_ms: given.TimeoutMs = None,
    kill: given.Kill = None,
    fault: given.Fault = None,
    sweep: given.Sweep = False,
    cases: given.Cases = None,
    as_json: given.AsJson = False,
) -> int:
    """Run a mixture-of-experts layer over N ranks and compare every bit with the oracle."""
    env = check_environment(combine_engine and one_of("--combine-engine", combine_engine, ENGINES))
    if sweep:
        refuse_others(context, _WITH_SWEEP, _why_not_beside_sweep)
        return _sweep(one_of("SWEEP", which or _SWEEPS[0], _SWEEPS), cases, as_json)
    if which is not None:
        raise UsageError(f"{which!r} goes with --sweep")
    if cases is not None:
        raise UsageError("--cases goes with --sweep")
    options = Options(
        tokens=_tokens(ranks, tokens, tokens_per_rank),
        hidden=hidden if hidden is not None else given.VARY_HIDDEN if vary else given.DEFAULT_HIDDEN,
        num_topk=topk,
        num_experts=experts,
        num_cores=cores,
        iters=iters,
        dtype=one_of("--dtype", dtype, DTYPES),
        routing=one_of("--routing", routing, ROUTINGS),
        combine_engine=env.combine_engine,
        payload=one_of("--payload", payload, PAYLOADS),
        seed=seed,
        vary=vary,
        communicators=communicators,
        timeout_ms=_FAULT_TIMEOUT_MS if timeout_ms is None and fault else timeout_ms,
        kill=_kill(kill),
        fault=_fault(fault),
        features=_features(quant, comm_quant, shared, mask, smooth, comm_alg, combine_reduce),
    )
    options.check()
    return _run(options, as_json)


def _run(options: Options, as_json: bool) -> int:
    from ascend_deepep.demo.report import print_result, to_json
    from ascend_deepep.demo.runner import run_demo
    from ascend_deepep.testing import Pool

    with Pool() as pool, progress("rounds", options.iters) as advance:
        result = run_demo(options, pool, advance)
    if as_json:
        print(json.dumps(to_json(result)))
    else:
        print_result(result, results_console())
    return 0 if result.exact else 1


def _sweep(which: str, count: int | None, as_json: bool) -> int:
    from ascend_deepep.demo import sweep, sweep_contract
    from ascend_deepep.demo.sweep import run_sweep
    from ascend_deepep.testing import Pool

    options = [*sweep.cases(), sweep.largest()] if which == "shapes" else sweep_contract.cases()
    if count is not None:
        if not 1 <= count <= len(options):
            raise UsageError(f"--cases {count} is outside [1, {len(options)}]")
        options = [options[index * len(options) // count] for index in range(count)]
    with Pool() as pool, progress("cases", len(options)) as advance:
        result = run_sweep(options, pool, advance)
    for command, finding in result.failed:
        print(f"{finding}\n  {command}", file=sys.stderr)
    for refusal in result.refused:
        print(f"refused: {refusal}", file=sys.stderr)
    if as_json:
        failed = [{"command": command, "finding": finding} for command, finding in result.failed]
        seconds = round(result.seconds, 1)
        print(json.dumps({"exact": result.exact, "cases": result.cases, "failed": failed, "seconds": seconds}))
    else:
        verdict = "EXACT" if result.exact else f"MISMATCH in {len(result.failed)} of"
        print(f"{verdict} {result.cases} cases, {result.seconds:.0f} s")
    return 0 if result.exact else 1


def _why_not_beside_sweep(_: str, option: str) -> str:
    return f"{option} does not go with --sweep, whose cases have values of their own"


def _tokens(ranks: int | None, tokens: int | None, per_rank: str | None) -> tuple[int, ...]:
    if per_rank is None:
        count = given.DEFAULT_RANKS if ranks is None else ranks
        from ascend_deepep import _runtime

        check_range("--ranks", count, 1, _runtime.limits()["max_ranks"])
        return (given.DEFAULT_TOKENS if tokens is None else tokens,) * count
    if tokens is not None:
        raise UsageError("--tokens and --tokens-per-rank exclude each other")
    try:
        counts = tuple(int(word) for word in per_rank.split(","))
    except ValueError:
        raise UsageError(f"--tokens-per-rank {per_rank!r} is not a list of numbers such as 3,0,5") from None
    if ranks is not None and ranks != len(counts):
        raise UsageError(f"--ranks {ranks} but --tokens-per-rank has {len(counts)} numbers")
    return counts


def _features(
    quant: str, comm_quant: str, shared: str, mask: str | None, smooth: bool, comm_alg: str, combine_reduce: str
) -> Features:
    experts, ranks = shared_experts(shared)
    return Features(
        quant=one_of("--quant", quant, tuple(QUANTS)),
        comm_quant=one_of("--comm-quant", comm_quant, tuple(COMM_QUANTS)),
        shared_expert_num=experts,
        shared_expert_rank_num=ranks,
        mask=None if mask is None else one_of("--mask", mask, MASKS),
        smooth=smooth,
        comm_alg=one_of("--comm-alg", comm_alg, COMM_ALGS) if comm_alg else "",
        combine_reduce=one_of("--combine-reduce", combine_reduce, COMBINE_REDUCES),
    )


def _kill(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    rank, _, iteration = text.partition("@")
    if not (rank.isdecimal() and iteration.isdecimal()):
        raise UsageError(f"--kill {text!r} is not RANK@ITER, such as 2@1")
    return int(rank), int(iteration)


def _fault(name: str | None) -> str | None:
    if name is None:
        return None
    from ascend_deepep import _runtime

    return one_of("--fault", name, tuple(_runtime.fault_names()))
