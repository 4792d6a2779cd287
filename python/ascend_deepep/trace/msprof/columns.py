# SPDX-License-Identifier: Apache-2.0
"""Names of msprof's and msopprof's files and columns, in every spelling they have had. Layer: Python, no torch."""

from __future__ import annotations

import re

from ascend_deepep.trace.recording import COMBINE, DISPATCH

OUTPUT = "mindstudio_profiler_output"  # below PROF_*: what msprof exports for all devices of a process

# Spellings of a field, the one that is written first: a newer release, an older one, the profiler of torch_npu.
DEVICE = ("Device_id", "Device Id", "Device ID")
TASK = ("Task ID", "task_id")
STREAM = ("Stream ID", "stream_id")
NAME = ("Op Name", "Name", "kernel_name")
TYPE = ("OP Type", "Op Type", "Type")
TASK_TYPE = ("Task Type", "Accelerator Core", "kernel_type")
START = ("Task Start Time(us)", "Start Time(us)", "task_start(us)")
DURATION = ("Task Duration(us)", "Duration(us)", "task_time(us)")
WAIT = ("Task Wait Time(us)", "Wait Time(us)")
CORES = ("Block Num", "Block Dim")
SHAPES = ("Input Shapes",)
DTYPES = ("Input Data Types",)
BLOCK = ("block_id",)
SUB_BLOCK = ("sub_block_id",)
CORE_TIME = ("aiv_time(us)",)

# Of an AIV kernel, in op_summary with `--aic-metrics=PipeUtilization` and in PipeUtilization.csv.
AIV_PIPES = (
    "aiv_time(us)",
    "aiv_total_cycles",
    "aiv_vec_time(us)",
    "aiv_vec_ratio",
    "aiv_scalar_time(us)",
    "aiv_scalar_ratio",
    "aiv_mte2_time(us)",
    "aiv_mte2_ratio",
    "aiv_mte3_time(us)",
    "aiv_mte3_ratio",
    "aiv_icache_miss_rate",
)
AIC_PIPES = (
    "aicore_time(us)",
    "aic_total_cycles",
    "aic_mac_time(us)",
    "aic_mac_ratio",
    "aic_scalar_time(us)",
    "aic_scalar_ratio",
    "aic_mte1_time(us)",
    "aic_mte1_ratio",
    "aic_mte2_time(us)",
    "aic_mte2_ratio",
    "aic_fixpipe_time(us)",
    "aic_fixpipe_ratio",
    "aic_icache_miss_rate",
)
OP_SUMMARY = (
    "Device_id",
    "Model ID",
    "Task ID",
    "Stream ID",
    "Op Name",
    "OP Type",
    "OP State",
    "Task Type",
    "Task Start Time(us)",
    "Task Duration(us)",
    "Task Wait Time(us)",
    "Block Num",
    "Mix Block Num",
    "HF32 Eligible",
    "Input Shapes",
    "Input Data Types",
    "Input Formats",
    "Output Shapes",
    "Output Data Types",
    "Output Formats",
    "Context ID",
    *AIC_PIPES,
    *AIV_PIPES,
    "cube_utilization(%)",
)
OP_STATISTIC = (
    "Device_id",
    "OP Type",
    "Core Type",
    "Count",
    "Total Time(us)",
    "Min Time(us)",
    "Avg Time(us)",
    "Max Time(us)",
    "Ratio(%)",
)
TASK_TIME = (
    "Device_id",
    "kernel_name",
    "kernel_type",
    "stream_id",
    "task_id",
    "task_time(us)",
    "task_start(us)",
    "task_stop(us)",
)
OP_BASIC_INFO = (
    "Op Name",
    "Op Type",
    "Task Duration(us)",
    "Block Dim",
    "Mix Block Dim",
    "Device Id",
    "Pid",
    "Current Freq",
    "Rated Freq",
)
PIPE_UTILIZATION = (
    "block_id",
    "sub_block_id",
    "aic_time(us)",
    "aic_total_cycles",
    *AIV_PIPES[:4],
    "aic_cube_time(us)",
    "aic_cube_ratio",
    "aic_scalar_time(us)",
    "aic_scalar_ratio",
    "aiv_scalar_time(us)",
    "aiv_scalar_ratio",
    "aic_fixpipe_time(us)",
    "aic_fixpipe_ratio",
    "aic_mte1_time(us)",
    "aic_mte1_ratio",
    "aic_mte2_time(us)",
    "aic_mte2_ratio",
    "aiv_mte2_time(us)",
    "aiv_mte2_ratio",
    "aic_mte3_time(us)",
    "aic_mte3_ratio",
    "aiv_mte3_time(us)",
    "aiv_mte3_ratio",
    "aic_icache_miss_rate",
    "aiv_icache_miss_rate",
    "aic_mte3_active_bw(GB/s)",
    "aiv_mte3_active_bw(GB/s)",
    "aic_fixpipe_active_bw(GB/s)",
    "aiv_mte2_active_bw(GB/s)",
    "aic_mte1_active_bw(GB/s)",
    "aic_mte2_active_bw(GB/s)",
)
# Documented, and of no use here.
NOT_USED = ("Mix Block Dim", "Model Name", "Infer ID", "Step Id", "Device ID", "PID")
VECTOR_CORE = "AI_VECTOR_CORE"

# Names of dtypes in CANN's files, by torch's.
CANN_DTYPES = {
    "bfloat16": "DT_BF16",
    "float16": "FLOAT16",
    "float32": "FLOAT",
    "int8": "INT8",
    "uint8": "UINT8",
    "int32": "INT32",
    "int64": "INT64",
    "bool": "BOOL",
    "float8_e4m3fn": "FLOAT8_E4M3FN",
    "float8_e5m2": "FLOAT8_E5M2",
    "float8_e8m0fnu": "FLOAT8_E8M0",
}
TORCH_DTYPES = {cann: torch for torch, cann in CANN_DTYPES.items()}

# A direct launch has the kernel's name, mangled or with a suffix; one through aclnn or a graph the operator's type.
# `MoeDistributeDispatchV2` and the like are CANN's own operators.
_KERNEL = re.compile(r"(?:_Z\d+)?(dispatch_v2|combine_v2)(?![a-z0-9])")
_OPERATOR = re.compile(r"(?:^|_)(DispatchV2|CombineV2)(?=_|$)")
_NUMBERED = re.compile(r"(dispatch_v2|combine_v2)_rank(\d{1,6})_call(\d{1,9})")
_NAMES = {"DispatchV2": DISPATCH, "CombineV2": COMBINE}


def operator_name(*texts: str) -> str | None:
    """DISPATCH, COMBINE, or None where a row's name and type are those of another operator."""
    for text in texts:
        if kernel := _KERNEL.match(text):
            return kernel[1]
        if operator := _OPERATOR.search(text):
            return _NAMES[operator[1]]
    return None


def numbered_name(name: str, rank: int, number: int) -> str:
    """As the twin names a call: an NPU's op_summary has neither rank nor call number."""
    return f"{name}_rank{rank}_call{number}"


def rank_and_number(name: str) -> tuple[int, int] | None:
    """Of a name that the twin wrote."""
    match = _NUMBERED.fullmatch(name)
    return (int(match[2]), int(match[3])) if match else None
