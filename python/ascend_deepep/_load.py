# SPDX-License-Identifier: Apache-2.0
"""Loads the torch operators, once a process: `load_ops()`.

Purpose: definitions, CPU kernels and NPU kernels are separate libraries, and a second definition of an operator aborts
the interpreter, so nothing is loaded before it is known who owns the names. Also tells torch.compile what the operators
are: their symbolic shapes, and that calls are never dropped, merged or reordered. Layer: python.
"""

from __future__ import annotations

import os
import re
import threading
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ascend_deepep._target import load_npu_library

if TYPE_CHECKING:
    import torch

_DEFINITIONS = "libascend_deepep_ops.so"
_CPU_KERNELS = "libascend_deepep_ops_cpu.so"
_OPERATORS = ("dispatch_v2", "combine_v2")
_OWNER_OPERATOR = "ascend_deepep::owner"

_lock = threading.Lock()
_is_loaded = False


def load_ops() -> None:
    """Make `torch.ops.npu.dispatch_v2` and `combine_v2` callable. Cheap after the first call; any thread may call it.

    Raises ImportError, naming both owners, when the operators were defined by anybody but this package's own libraries.
    """
    global _is_loaded
    if _is_loaded:
        return
    with _lock:
        if _is_loaded:
            return
        directory = _library_directory()
        if not _is_defined_by(directory / _DEFINITIONS):
            _load_library(directory / _DEFINITIONS)
        if not _has_kernels_of(directory / _CPU_KERNELS):
            _load_library(directory / _CPU_KERNELS)
        _check_abi()
        load_npu_library(directory)
        _teach_compiler_or_warn()
        _is_loaded = True


def _library_directory() -> Path:
    """Where the compiled parts lie: not beside this file in an editable installation."""
    from ascend_deepep import _runtime

    return Path(_runtime.__file__).resolve().parent


def _load_library(path: Path) -> None:
    import torch

    if not path.is_file():
        raise ImportError(f"{path} is missing: install ascend-deepep again (`pip install .` builds it)")
    torch.ops.load_library(os.fspath(path))  # type: ignore[no-untyped-call]


def _is_defined_by(library: Path) -> bool:
    """False: nobody defines the operators. True: `library` does. Anything else is an ImportError."""
    import torch

    names = [f"npu::{name}" for name in _OPERATORS]
    taken = [name for name in names if torch._C._jit_get_schemas_for_operator(name)]
    is_known = bool(torch._C._jit_get_schemas_for_operator(_OWNER_OPERATOR))
    if not taken and not is_known:
        return False
    if is_known:
        owner = str(torch.ops.ascend_deepep.owner())
        if os.path.realpath(owner) == os.path.realpath(library):
            return True
        taken = taken or [_OWNER_OPERATOR]
    else:
        owner = _registered_at(taken[0])
    raise ImportError(
        f"{taken[0]} is already defined by {owner}, so this ascend_deepep cannot define it from {library}: "
        "use one of the two in a process (a second definition would abort it)"
    )


def _has_kernels_of(library: Path) -> bool:
    import torch

    if not torch._C._dispatch_has_kernel_for_dispatch_key(f"npu::{_OPERATORS[0]}", "CPU"):
        return False
    owner = "another library"
    if torch._C._jit_get_schemas_for_operator("ascend_deepep::cpu_owner"):
        owner = str(torch.ops.ascend_deepep.cpu_owner())
        if os.path.realpath(owner) == os.path.realpath(library):
            return True
    raise ImportError(f"{owner} already implements npu::{_OPERATORS[0]} for CPU tensors, beside {library}")


def _registered_at(name: str) -> str:
    """Source line that defined operator `name`, as torch recorded it."""
    import torch

    match = re.search(r"debug: registered at (\S+)", torch._C._dispatch_dump(name))
    return f"another library ({match.group(1).rstrip(':')})" if match else "another library"


def _check_abi() -> None:
    """The libraries in memory may be older than the files: a package may have been replaced under a running process."""
    import torch

    from ascend_deepep import _runtime

    loaded, installed = int(torch.ops.ascend_deepep.abi()), int(_runtime.LAYOUT_ABI)
    if loaded != installed:
        raise ImportError(
            f"npu::dispatch_v2 of ABI {loaded} ({torch.ops.ascend_deepep.owner()}) is loaded, this ascend_deepep "
            f"({_runtime.__file__}) needs ABI {installed}: start the process again"
        )


def _teach_compiler_or_warn() -> None:
    import torch

    try:
        _teach_compiler()
    except (AttributeError, ImportError) as problem:
        warnings.warn(
            f"torch {torch.__version__} differs inside from the releases that ascend_deepep knows ({problem!r}): keep "
            "npu::dispatch_v2 and npu::combine_v2 out of torch.compile, which may drop or reorder their calls",
            RuntimeWarning,
            stacklevel=2,
        )


def _teach_compiler() -> None:
    """Register symbolic shapes and the order of effects with torch.compile."""
    import torch
    from torch._higher_order_ops.effects import _EffectType, _register_effectful_op
    from torch._library.simple_registry import singleton as registry
    from torch._library.utils import Kernel
    from torch._subclasses.functional_tensor import FunctionalTensorMode

    fakes: dict[str, Callable[..., Any]] = {"dispatch_v2": _fake_dispatch, "combine_v2": _fake_combine}
    for name, fake in fakes.items():
        operator = getattr(torch.ops.npu, name).default
        ordered = getattr(torch.ops.ascend_deepep, f"ordered_{name}").default
        if FunctionalTensorMode in operator.python_key_table:
            continue  # by an earlier import of this package
        # The Meta kernels in C++ serve meta tensors. The stable ABI knows no symbolic sizes: it would fix the sizes of
        # a compiled call, and compile anew for every number of tokens. torch.library.register_fake refuses an operator
        # that has a Meta kernel, and its allow_override would take that kernel away, hence the registry itself.
        for target in (operator, ordered):
            registry.find(target._name).fake_impl.kernels.append(Kernel(fake, f"{__file__}: {fake.__name__}"))
        # torch gives an order only to effects of operators that write no argument, and ours writes performance_info.
        # So a traced call goes to the twin operator of the same arguments whose schema leaves that out.
        _register_effectful_op(ordered, _EffectType.ORDERED)
        operator.py_impl(FunctionalTensorMode)(_redirect_to(ordered))


def _redirect_to(ordered: Any) -> Callable[..., Any]:
    def redirect(mode: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("performance_info") is not None:
            raise NotImplementedError(
                f"{ordered.__name__.removeprefix('ordered_').split('.')[0]}: performance_info is written, which a "
                "compiled function cannot order with other calls: leave it out there, or call the operator outside "
                "torch.compile"
            )
        with mode:
            return ordered(*args, **kwargs)

    return redirect


def _fake_dispatch(
    x: torch.Tensor, expert_ids: torch.Tensor, *args: Any, global_bs: int = 0, **kwargs: Any
) -> tuple[torch.Tensor, ...]:
    import torch

    operator = torch.ops.npu.dispatch_v2.default
    outputs = _run_on_meta(operator, (x, expert_ids), args, {"global_bs": global_bs, **kwargs})
    tokens = x.shape[0]
    int(expert_ids.shape[1])  # no formula in top-k here: a symbolic one is fixed, another one compiles anew
    shapes: list[list[Any]] = [list(output.shape) for output in outputs]
    shapes[0][1] = x.shape[1]
    if len(shapes[1]) == 2:
        shapes[1][1] = _scale_columns(x.shape[1], **kwargs)
    if global_bs == 0 and not isinstance(tokens, int):
        # Sizes that follow the capacity in rows are proportional to the number of tokens.
        for index in (0, 1, 2, 6):
            shapes[index][0] = shapes[index][0] // _size_seen(tokens) * tokens
    return tuple(x.new_empty(shape, dtype=output.dtype) for shape, output in zip(shapes, outputs, strict=True))


def _scale_columns(hidden: Any, *, quant_mode: int = 0, scales: torch.Tensor | None = None, **_: Any) -> Any:
    """Columns of dynamic_scales: those given, or one per 128 or 32 elements, an even number of the latter."""
    if quant_mode == 0 and scales is not None:
        return scales.shape[1]
    return -(-hidden // 128) if quant_mode == 3 else -(-hidden // 64) * 2


def _fake_combine(expand_x: torch.Tensor, expert_ids: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    import torch

    _run_on_meta(torch.ops.npu.combine_v2.default, (expand_x, expert_ids), args, kwargs)
    return expand_x.new_empty((expert_ids.shape[0], expand_x.shape[1]))


def _run_on_meta(operator: Any, tensors: Sequence[Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Run the C++ Meta kernel on meta tensors of the sizes seen: its refusals, and its shapes for these sizes."""
    import torch
    from torch.utils._python_dispatch import _disable_current_modes

    def concrete(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        twin = torch.empty([_size_seen(size) for size in value.shape], dtype=value.dtype, device="meta")
        return twin.requires_grad_() if value.requires_grad else twin

    # Tracing shuts autograd out, by which the kernel finds inputs that require grad: let it in again.
    none = torch._C.DispatchKeySet(torch._C.DispatchKey.Undefined)
    with _disable_current_modes(), torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), none):
        named = {name: concrete(value) for name, value in kwargs.items()}
        return operator(*map(concrete, (*tensors, *args)), **named)


def _size_seen(size: Any) -> int:
    """The size in the call that is being traced; 1 where it depends on data."""
    if isinstance(size, int):
        return size
    return int(size.node.hint) if size.node.has_hint() else 1
