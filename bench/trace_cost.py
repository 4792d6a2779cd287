# SPDX-License-Identifier: Apache-2.0
"""CPU time of a rank per dispatch and combine: two installed packages in turns, and capture on and off in turns.

    python bench/trace_cost.py SITE [SITE] [--ranks 2] [--tokens 128] [--starts 5] [--rounds 9] [--iterations 20]

A SITE is a folder with `ascend_deepep/` in it. CPU time is what other programs of the machine disturb least. Printed
are medians over rounds, and medians of the quotients of turns that follow each other (docs/trace.md, "What it costs").
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time

EVENTS = 1 << 20


def enter(context, shape):
    from ascend_deepep.bench import ranks
    from ascend_deepep.bench.contestants import CONTESTANTS

    ranks.enter(context, shape, {"ours": CONTESTANTS["ours"]})


def turn(context, iterations, is_traced):
    from ascend_deepep.bench import ranks

    native = ranks._here().layers["ours"].comm._native
    if is_traced:
        native.start_trace(EVENTS)
    ranks.turn(context, "ours", 2)
    start = time.process_time()
    ranks.turn(context, "ours", iterations)
    seconds = time.process_time() - start
    dropped = native.stop_trace()["dropped"] if is_traced else 0
    assert dropped == 0, f"{dropped} events found no room"
    return seconds / iterations * 1e3


def serve(options):
    """A line in is "on" or "off"; a line out is the mean ms of the ranks."""
    from ascend_deepep.bench.shapes import Shape
    from ascend_deepep.testing import Pool

    shape = Shape(ranks=options.ranks, tokens=options.tokens)
    with Pool() as pool:
        pool.run(enter, options.ranks, shape)
        for line in sys.stdin:
            times = pool.run(turn, options.ranks, options.iterations, line.strip() == "on")
            print(json.dumps(statistics.fmean(times)), flush=True)


class Server:
    def __init__(self, site):
        command = [sys.executable, __file__, *sys.argv[1:], "--serve"]
        environment = {**os.environ, "PYTHONPATH": os.path.abspath(site)}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def turn(self, mode):
        self.process.stdin.write(mode + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def report(name, first, second):
    ratio = statistics.median(b / a for a, b in zip(first, second, strict=True))
    middle = statistics.median(first), statistics.median(second)
    print(f"{name}: {middle[0]:.2f} ms, {middle[1]:.2f} ms of CPU time; ratio {ratio:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sites", nargs="+")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--starts", type=int, default=5, help="fresh processes: where memory lies differs by them")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options)
        return
    times = {"off": [], "on": [], "other": []}
    for _ in range(options.starts):
        with contextlib.ExitStack() as stack:
            ours, *other = [stack.enter_context(Server(site)) for site in options.sites]
            turns = [("other", server, "off") for server in other] + [("off", ours, "off"), ("on", ours, "on")]
            for number in range(options.rounds):
                for name, server, mode in turns if number % 2 == 0 else reversed(turns):
                    times[name].append(server.turn(mode))
    if times["other"]:
        report("the other package, this one (off)", times["other"], times["off"])
    report("off, on", times["off"], times["on"])


if __name__ == "__main__":
    main()
