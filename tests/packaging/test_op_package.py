# SPDX-License-Identifier: Apache-2.0
"""The custom operator package, built by `build.sh op` with CANN's tools replaced, then listed, installed and removed.

Layer: tests, long lane. Replaced are what only CANN has (fake_cann/): op_build, the kernel compiler asc_opc, the CMake
package ASC and the registration headers (tools/cann_headers). The host libraries, CPack, the .run and its scripts are
the real ones. With ASC_DEVKIT set everything runs a second time on CANN's own CMake functions, out of that checkout.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from cann_home import DEVKIT, FAKE, ROOT, VARIANTS, make_cann, make_executable, run

VERSION = re.findall(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[0]
MACHINE = platform.machine()
LIBRARIES = ("exe_graph", "register", "tiling_api", "nnopbase", "ascendcl", "mmpa")
KERNELS = "op_impl/ai_core/tbe/kernel"
# A binary of a kernel is named by a digest of its arguments. There is one for each set of dtypes.
DIGEST = re.compile(r"_[0-9a-f]{32}\.")

EXPECTED = sorted(
    [
        "framework/tensorflow/npu_supported_ops.json",
        "op_api/include/aclnn_combine_v2.h",
        "op_api/include/aclnn_dispatch_v2.h",
        "op_api/lib/libcust_opapi.so",
        "op_impl/ai_core/tbe/config/ascend950/aic-ascend950-ops-info.json",
        *(
            f"{KERNELS}/ascend950/{operator}/{name}_DIGEST.{kind}"
            for operator, name, sets in (("combine_v2", "CombineV2", 2), ("dispatch_v2", "DispatchV2", 16))
            for kind in ("json", "o")
            for _ in range(sets)
        ),
        *(f"{KERNELS}/config/ascend950/{name}.json" for name in ("binary_info_config", "combine_v2", "dispatch_v2")),
        f"op_impl/ai_core/tbe/op_tiling/lib/linux/{MACHINE}/libcust_opmaster_rt2.0.so",
        "op_impl/ai_core/tbe/op_tiling/liboptiling.so",
        "op_proto/inc/op_proto.h",
        f"op_proto/lib/linux/{MACHINE}/libcust_opsproto_rt2.0.so",
        "version.info",
    ]
)


def make_cann_tools(home: Path) -> None:
    """What has to be compiled: op_build, and libraries to link to."""
    (home / "tools/opbuild").mkdir(parents=True)
    flags = ["-std=c++20", "-D_GLIBCXX_USE_CXX11_ABI=0", "-rdynamic", f"-I{home / 'include'}"]
    run(["g++", *flags, FAKE / "op_build.cpp", "-o", home / "tools/opbuild/op_build", "-ldl"])
    empty = home / "empty.cpp"
    empty.write_text("extern const int empty_library;\nconst int empty_library = 0;\n")
    for name in LIBRARIES:
        run(["g++", "-shared", "-fPIC", empty, "-o", home / f"lib64/lib{name}.so"])
    run(["g++", "-c", "-fPIC", empty, "-o", home / "empty.o"])
    run(["ar", "rcs", home / "lib64/librt2_registry.a", home / "empty.o"])


@pytest.fixture(scope="module", params=VARIANTS)
def package(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The .run, as `build.sh op` makes it in a checkout of its own."""
    home = tmp_path_factory.mktemp("cann") / "cann"
    env = make_cann(home, variant=request.param)
    make_cann_tools(home)
    checkout = tmp_path_factory.mktemp("checkout")
    names = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT).split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, checkout / name)
    printed = run(["bash", "./build.sh", "op"], cwd=checkout, env=env).split()
    assert len(printed) == 1
    return Path(printed[0])


def files_below(directory: Path) -> list[str]:
    """Relative paths of all files, digests of kernels left out."""
    found = (path.relative_to(directory).as_posix() for path in directory.rglob("*") if not path.is_dir())
    return sorted(DIGEST.sub("_DIGEST.", name) for name in found)


@pytest.mark.long
def test_the_name_and_the_list_of_files(package: Path) -> None:
    assert package.name == f"ascend_deepep_opp_{VERSION}_ascend950_linux-{MACHINE}.run"
    assert run([package, "--version"]).strip() == VERSION
    assert run([package, "--check"]).strip() == "good"
    listed = sorted(DIGEST.sub("_DIGEST.", name) for name in run([package, "--list"]).split() if name[-1] != "/")
    vendor = "./packages/vendors/ascend_deepep/"
    assert listed == sorted(["./install.sh", "./uninstall.sh", *(vendor + name for name in EXPECTED)])


@pytest.mark.long
def test_installation_into_a_directory(package: Path, tmp_path: Path) -> None:
    said = run([package, f"--install-path={tmp_path / 'opp'}"])
    target = tmp_path / "opp/vendors/ascend_deepep"
    assert f"source {target}/bin/set_env.bash" in said
    assert files_below(target) == sorted([*EXPECTED, "bin/set_env.bash", "scripts/uninstall.sh"])
    assert (target / "version.info").read_text() == f"Version={VERSION}\ncustom_opp_compiler_version=9.1.0\n"
    set_env = target / "bin/set_env.bash"
    assert set_env.read_text().splitlines() == [
        "#!/bin/bash",
        f'export ASCEND_CUSTOM_OPP_PATH="{target}${{ASCEND_CUSTOM_OPP_PATH:+:$ASCEND_CUSTOM_OPP_PATH}}"',
        f'export LD_LIBRARY_PATH="{target}/op_api/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"',
    ]
    show = f'source "{set_env}"; echo "$ASCEND_CUSTOM_OPP_PATH $LD_LIBRARY_PATH"'
    env = {**os.environ, "ASCEND_CUSTOM_OPP_PATH": "/other", "LD_LIBRARY_PATH": ""}
    assert run(["bash", "-uc", show], env=env).split() == [f"{target}:/other", f"{target}/op_api/lib"]

    # Again, over an older one with a file that is no longer there.
    (target / "op_api/lib/old.so").write_text("")
    assert run([package, f"--install-path={tmp_path / 'opp'}", "--quiet"]) == ""
    assert files_below(target) == sorted([*EXPECTED, "bin/set_env.bash", "scripts/uninstall.sh"])
    run(["bash", target / "scripts/uninstall.sh"])
    assert list((tmp_path / "opp/vendors").iterdir()) == []


@pytest.mark.long
def test_installation_into_cann_keeps_other_vendors(package: Path, tmp_path: Path) -> None:
    config = tmp_path / "vendors/config.ini"
    config.parent.mkdir()
    config.write_text("load_priority=customize,ascend_deepep,other\n")
    env = {**os.environ, "ASCEND_OPP_PATH": str(tmp_path)}
    run([package], env=env)
    target = tmp_path / "vendors/ascend_deepep"
    assert files_below(target) == sorted([*EXPECTED, "scripts/uninstall.sh"])
    assert config.read_text() == "load_priority=ascend_deepep,customize,other\n"
    run(["bash", target / "scripts/uninstall.sh"])
    assert not target.exists() and config.read_text() == "load_priority=customize,other\n"


@pytest.mark.long
def test_what_the_package_registers(package: Path, tmp_path: Path) -> None:
    run([package, f"--extract={tmp_path}"])
    vendor = tmp_path / "packages/vendors/ascend_deepep"
    info = json.loads((vendor / "op_impl/ai_core/tbe/config/ascend950/aic-ascend950-ops-info.json").read_text())
    assert sorted(info) == ["CombineV2", "DispatchV2"]
    # No symbol is missing: the library is complete with what the machine has, before CANN's come.
    tiling = vendor / f"op_impl/ai_core/tbe/op_tiling/lib/linux/{MACHINE}/libcust_opmaster_rt2.0.so"
    assert (vendor / "op_impl/ai_core/tbe/op_tiling/liboptiling.so").resolve() == tiling.resolve()
    undefined = run(["nm", "-D", "--undefined-only", "--demangle", tiling])
    assert "ascend_deepep::" not in undefined and "ascend_deepep_package_machine" not in undefined
    if not DEVKIT:
        ctypes.CDLL(str(tiling))


@pytest.mark.long
def test_bad_calls_of_the_run_are_refused(package: Path, tmp_path: Path) -> None:
    def refused(command: list[str | Path], **variables: str) -> str:
        env = {key: value for key, value in os.environ.items() if key != "ASCEND_OPP_PATH"} | variables
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        assert done.returncode == 2 and done.stdout == ""
        return done.stderr

    assert "unknown option '--instal-path=x'" in refused([package, "--instal-path=x"])
    assert "--install-path=DIR" in refused([package])
    assert "no directory" in refused([package], ASCEND_OPP_PATH=str(tmp_path / "nowhere"))
    damaged = tmp_path / "damaged.run"
    content = bytearray(package.read_bytes())
    content[-100] ^= 1
    damaged.write_bytes(content)
    damaged.chmod(0o755)
    assert "damaged" in refused([damaged, f"--install-path={tmp_path / 'opp'}"])
    assert not (tmp_path / "opp").exists()


def stopped(verb: str, env: dict[str, str]) -> str:
    """The one line with which `build.sh VERB` refuses: exit status 2, nothing on standard output."""
    done = subprocess.run(["bash", "./build.sh", verb], cwd=ROOT, capture_output=True, text=True, env=env)
    assert done.returncode == 2 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("build.sh: ") and "docs/npu.md" in line
    return line


@pytest.mark.parametrize("verb", ["op", "npu"])
def test_without_cann_the_build_says_what_to_do(verb: str, tmp_path: Path) -> None:
    bare = {key: value for key, value in os.environ.items() if not key.startswith("ASCEND_")}
    assert "ASCEND_HOME_PATH is not set" in stopped(verb, bare)
    assert "which is no directory" in stopped(verb, {**bare, "ASCEND_HOME_PATH": str(tmp_path / "nowhere")})
    old = stopped(verb, make_cann(tmp_path / "old", "8.5.0"))
    assert "CANN 8.5.0" in old and "9.0 or newer" in old
    no_compiler = make_cann(tmp_path / "runtime")
    (tmp_path / "runtime/bin/bisheng").unlink()
    assert "bisheng" in stopped(verb, no_compiler)


def test_a_cann_without_its_cmake_package_is_named(tmp_path: Path) -> None:
    env = make_cann(tmp_path / "cann")
    (tmp_path / "cann/lib64/cmake/asc-config.cmake").unlink()
    done = subprocess.run([ROOT / "build.sh", "op"], capture_output=True, text=True, env=env)
    assert done.returncode == 2 and done.stdout == ""
    assert "has no CMake package ASC (asc-config.cmake)" in " ".join(done.stderr.split())
    assert done.stderr.splitlines()[-1].startswith("build.sh: CMake cannot configure the operator package")


def test_without_torch_npu_the_build_says_what_to_do(tmp_path: Path) -> None:
    env = make_cann(tmp_path / "cann")
    make_executable(tmp_path / "python", '#!/bin/sh\nexec python3 -S "$@"\n')
    line = stopped("npu", {**env, "ASCEND_DEEPEP_PYTHON": str(tmp_path / "python")})
    assert "has no torch and torch_npu" in line and "ASCEND_DEEPEP_PYTHON" in line
    assert "no Python >= 3.10" in stopped("npu", {**env, "ASCEND_DEEPEP_PYTHON": str(tmp_path / "nothing")})
