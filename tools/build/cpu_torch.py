# SPDX-License-Identifier: Apache-2.0
"""Exit 0 when the running interpreter holds a CPU build of torch and no CUDA distribution, else 1 with a sentence.

Layer: build. Run by build.sh after installing, and by the packaging test inside the environment of an installed wheel.
"""

import importlib.metadata
import sys

import torch


def problem() -> str:
    """What is wrong with this environment's torch, or an empty string."""
    if torch.version.cuda is not None:
        return f"torch {torch.__version__} is a CUDA build; the CPU build of requirements/torch.txt is needed"
    names = sorted({(dist.metadata["Name"] or "").lower() for dist in importlib.metadata.distributions()})
    cuda = [name for name in names if name.startswith("nvidia-")]
    if cuda:
        return f"CUDA packages came along, which the CPU build never needs: {', '.join(cuda)}"
    return ""


if __name__ == "__main__":
    sentence = problem()
    if sentence:
        print(f"build.sh: {sentence}", file=sys.stderr)
    sys.exit(1 if sentence else 0)
