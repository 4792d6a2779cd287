# SPDX-License-Identifier: Apache-2.0
"""Stand-in for the part of CANN's package build that compiles kernels: `kernel_binaries.py SOURCES TREE OPS_INFO`.

Layer: tests. For each operator of the ini file and each column of its dtypes asc_opc (in PATH) makes a binary from
the source that the operator's opFile.value names; the descriptions go where CANN's own build puts them.
"""

import configparser
import hashlib
import json
import subprocess
import sys
from pathlib import Path

UNIT = "ascend950"


def parameters(section: configparser.SectionProxy, kind: str) -> list[str]:
    """Keys such as `input0`, in order."""
    keys = [key.split(".")[0] for key in section if key.startswith(kind) and key.endswith(".name")]
    return sorted(keys, key=lambda key: int(key[len(kind) :]))


def compile_operator(name: str, section: configparser.SectionProxy, sources: Path, tree: Path) -> list[str]:
    """One call of asc_opc a column; the names of the binaries."""
    op_file = section["opFile.value"]
    source = sources / f"{op_file}.cpp"
    if not source.is_file():
        raise SystemExit(f"{name}: no kernel source {source}")
    output = tree / "kernel" / UNIT / op_file
    output.mkdir(parents=True, exist_ok=True)
    binaries = []
    for column in range(len(section["input0.dtype"].split(","))):
        entry: dict[str, object] = {
            kind + "s": [
                {"name": section[f"{key}.name"], "dtype": section[f"{key}.dtype"].split(",")[column]}
                for key in parameters(section, kind)
            ]
            for kind in ("input", "output")
        }
        digest = hashlib.md5(json.dumps(entry).encode(), usedforsecurity=False).hexdigest()
        entry["bin_filename"] = f"{name}_{digest}"
        request = tree.parent / f"{name}_{column}.json"
        request.write_text(json.dumps({"op_list": [entry]}))
        subprocess.run(["asc_opc", str(source), f"--input_param={request}", f"--output={output}"], check=True)
        binaries.append(f"{name}_{digest}")
    return binaries


def main(sources: Path, tree: Path, ops_info: Path) -> None:
    """All operators, then the lists of what there is."""
    ini = configparser.ConfigParser()
    ini.optionxform = str  # type: ignore[assignment,method-assign]
    ini.read(ops_info)
    binaries = {name: compile_operator(name, ini[name], sources, tree) for name in ini.sections()}
    lists = tree / "kernel/config" / UNIT
    lists.mkdir(parents=True, exist_ok=True)
    (lists / "binary_info_config.json").write_text(json.dumps(binaries))
    for name, found in binaries.items():
        (lists / f"{ini[name]['opFile.value']}.json").write_text(json.dumps({"binList": found}))
    config = tree / "config" / UNIT
    config.mkdir(parents=True, exist_ok=True)
    described = {name: dict(ini[name]) for name in ini.sections()}
    (config / f"aic-{UNIT}-ops-info.json").write_text(json.dumps(described, indent=1))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
