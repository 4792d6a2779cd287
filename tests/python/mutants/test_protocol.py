# SPDX-License-Identifier: Apache-2.0
"""Known protocol faults, planted one at a time: none may end EXACT. Layer: tests.

Under Sim copies and SIMT functions take effect only where the program waits for them, so a missing wait shows there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mutate import Mutant, build, copy_sources, replace_once

# name, policy, combine engine, change
MUTANTS = [
    ("Fast", "mte", Mutant("tags-not-compared", "protocol/put_block.h", "arrived = seen == tag;", "arrived = true;")),
    (
        "Fast",
        "mte",
        Mutant(
            "message-tag-not-compared",
            "protocol/wait.h",
            "return load((__gm__ uint64_t*)(block + kBlockDataBytes)) == tag;",
            "return tag != 0;",
        ),
    ),
    (
        "Fast",
        "mte",
        Mutant(
            "one-tag-for-all-operations", "contract/tag.h", "return base + sequence;", "return base + (sequence & 0);"
        ),
    ),
    (
        "Fast",
        "mte",
        Mutant(
            "counts-off-by-one", "dispatch/cumsum.h", "const uint64_t before = sum;", "const uint64_t before = sum++;"
        ),
    ),
    (
        "Fast",
        "mte",
        Mutant("no-wait-for-block-bases", "dispatch/collect.h", "if (!wait_placed(ctx, tiling)) return;", ""),
    ),
    ("Fast", "urma", Mutant("ring-never-full", "protocol/urma_queue.h", "- (built - completed_wqes(ctx, peer));", ";")),
    (
        "Fast",
        "mte",
        Mutant(
            "owner-bit-inverted",
            "contract/arch35/wqe.h",
            "(producer & depth) == 0 ? 1U : 0U",
            "(producer & depth) == 0 ? 0U : 1U",
        ),
    ),
    (
        "Fast",
        "mte",
        Mutant(
            "rows-before-validation",
            "combine/control.h",
            "&ctx.page->validated.word, code) && code == 0",
            "&ctx.page->validated.word, code) && code != 0",
        ),
    ),
    (
        "Sim",
        "mte",
        Mutant(
            "no-wait-for-the-routing-function",
            "dispatch/route.h",
            "sync<AscendC::HardEvent::V_S>();\n    const Refusal",
            "const Refusal",
        ),
    ),
    (
        "Sim",
        "mte",
        Mutant(
            "no-wait-for-a-copys-data",
            "dispatch/collect.h",
            "// ORDER P7: tags, then data\n"
            "    sync<AscendC::HardEvent::MTE2_S>();\n"
            "    sync<AscendC::HardEvent::MTE2_MTE3>();\n"
            "    sync<AscendC::HardEvent::MTE3_S>();",
            "",
        ),
    ),
    (
        "Sim",
        "mte",
        Mutant(
            "no-wait-before-the-sum",
            "combine/reduce.h",
            "    sync<AscendC::HardEvent::MTE2_V>();\n    sync<AscendC::HardEvent::MTE3_V>();",
            "",
        ),
    ),
    (
        "Sim",
        "mte",
        Mutant(
            "image-put-before-it-is-full",
            "protocol/put_block.h",
            "AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE3>(is_full_[current_]);\n"
            "        AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE3>(is_full_[current_]);",
            "",
        ),
    ),
]
SHAPE = ["--ranks", "3", "--tokens", "24", "--hidden", "256", "--topk", "4", "--experts", "12", "--cores", "8"]


def demo(library: Path, policy: str, engine: str) -> tuple[int, dict[str, object]]:
    environment = dict(os.environ, ASCEND_DEEPEP_KERNELS=str(library), ASCEND_DEEPEP_TWIN_POLICY=policy.lower())
    environment["ASCEND_DEEPEP_QUEUE_DEPTH"] = "4"
    command = [sys.executable, "-m", "ascend_deepep.cli", "demo", *SHAPE, "--payload", "index", "--timeout-ms", "3000"]
    command += ["--combine-engine", engine, "--iters", "3", "--json"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    return result.returncode, json.loads(result.stdout.strip().splitlines()[-1])


@pytest.mark.long
@pytest.mark.parametrize("policy", ["Fast", "Sim"])
@pytest.mark.parametrize("engine", ["mte", "urma"])
def test_without_a_fault_it_is_exact(tmp_path: Path, policy: str, engine: str) -> None:
    code, report = demo(build(copy_sources(tmp_path), policy), policy, engine)
    assert (code, report.get("exact")) == (0, True)


@pytest.mark.long
@pytest.mark.parametrize(("policy", "engine", "mutant"), MUTANTS, ids=[mutant.name for _, _, mutant in MUTANTS])
def test_the_fault_is_caught(tmp_path: Path, policy: str, engine: str, mutant: Mutant) -> None:
    sources = copy_sources(tmp_path)
    path = sources / mutant.file
    path.write_text(replace_once(path.read_text(), mutant.old, mutant.new))
    code, report = demo(build(sources, policy), policy, engine)
    assert code == 1
    assert report.get("exact") is not True
