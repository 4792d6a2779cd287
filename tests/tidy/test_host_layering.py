# SPDX-License-Identifier: Apache-2.0
"""Host directories include what their row allows, and libraries where they belong. Layer: tests of tools/check."""

from __future__ import annotations

import pytest

from tests.tidy.conftest import Findings
from tools.check.host_layering import host_includes

pytestmark = pytest.mark.fast

BASE = {
    "op_kernel/contract/limits.h": "#include <cstdint>\n",
    "op_kernel/protocol/wait.h": '#include "contract/limits.h"\n',
    "op_host/check.h": '#include "contract/limits.h"\n#include <vector>\n',
    "op_host/cann/tiling.h": '#include "op_host/check.h"\n#include "exe_graph/runtime/tiling_context.h"\n',
    "twin/runtime/launch.h": "#include <sys/mman.h>\n",
    "twin/fabric/window.h": '#include "twin/runtime/launch.h"\n',
    "twin/sim/checks/blocks.h": '#include "twin/fabric/window.h"\n',
    "framework/runtime/communicator.h": '#include "op_host/check.h"\n#include "twin/fabric/window.h"\n',
    "framework/npu/stream.h": '#include "framework/runtime/communicator.h"\n',
    "framework/ops/kernels.h": "#include <torch/csrc/stable/tensor.h>\n",
    "framework/ops/definitions_errors.cpp": "#include <pybind11/pybind11.h>\n",
    "framework/npu/ops/torch_stream.cpp": "#include <torch_npu/csrc/core/npu/NPUStream.h>\n#include <acl/acl_base.h>\n",
    "framework/npu/ops/npu_device.h": '#include "framework/npu/stream.h"\n#include "framework/ops/kernels.h"\n',
    "framework/binding/module.cpp": '#include <pybind11/stl.h>\n#include "framework/runtime/communicator.h"\n',
}


def test_the_allowed_includes(findings: Findings) -> None:
    assert findings(host_includes, BASE) == []


@pytest.mark.parametrize(
    ("path", "include"),
    [
        ("op_host/a.cpp", '"op_kernel/protocol/wait.h"'),
        ("twin/runtime/a.h", '"op_kernel/protocol/wait.h"'),
        ("framework/ops/a.cpp", '"op_kernel/protocol/wait.h"'),
        ("op_host/a.cpp", '"op_host/cann/tiling.h"'),
        ("op_host/a.cpp", '"framework/runtime/communicator.h"'),
        ("op_host/cann/a.cpp", '"framework/runtime/communicator.h"'),
        ("twin/runtime/a.h", '"twin/fabric/window.h"'),
        ("twin/fabric/a.h", '"twin/sim/checks/blocks.h"'),
        ("twin/sim/checks/a.h", '"op_kernel/protocol/wait.h"'),
        ("framework/runtime/a.cpp", '"framework/npu/stream.h"'),
        ("framework/runtime/a.cpp", '"framework/ops/kernels.h"'),
        ("framework/npu/a.cpp", '"framework/ops/kernels.h"'),
        ("framework/npu/a.cpp", '"twin/fabric/window.h"'),
        ("framework/ops/a.cpp", '"framework/npu/stream.h"'),
        ("framework/binding/a.cpp", '"framework/ops/kernels.h"'),
        ("op_host/a.cpp", '"exe_graph/runtime/tiling_context.h"'),
        ("framework/runtime/a.cpp", "<pybind11/pybind11.h>"),
        ("framework/ops/a.cpp", "<pybind11/pybind11.h>"),
        ("framework/npu/a.cpp", "<torch/csrc/stable/tensor.h>"),
        ("framework/npu/a.cpp", "<acl/acl_base.h>"),
        ("framework/npu/ops/a.cpp", "<torch_npu/csrc/core/npu/NPUStream.h>"),
    ],
)
def test_the_forbidden_includes(findings: Findings, path: str, include: str) -> None:
    assert findings(host_includes, BASE | {path: f"//\n#include {include}\n"}) == [f"{path}:2"]


@pytest.mark.parametrize("path", ["framework/cellar/a.h", "op_host/cann/cellar/a.h"])
def test_an_unknown_directory_is_named(findings: Findings, path: str) -> None:
    assert findings(host_includes, BASE | {path: "//\n"}) == [f"{path}:1"]
