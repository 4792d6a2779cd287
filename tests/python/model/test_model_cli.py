# SPDX-License-Identifier: Apache-2.0
"""`ascend-deepep model`: tables, sweeps, plots, JSON, exit codes. Layer: tests."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from ascend_deepep import calibration_run, model_reference
from ascend_deepep.calibration import TwinShape
from ascend_deepep.cli.app import run
from ascend_deepep.model_sweep import PARAMETERS, build


def model(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON object."""
    code = run(["model", "--json", *words])
    return code, json.loads(capfd.readouterr().out.splitlines()[-1])


def test_reference(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, value = model(capfd, "--reference")
    assert code == 0 and value["holds"] and value["equal"] == 87 and value["differ"] == 0
    row = next(
        one for one in value["figures"] if one["row"].startswith("prefill 4096, flat") and one["name"] == "layer_us"
    )
    assert row["printed"] == row["ours"] == "12499.7" and row["equal"] is True
    assert run(["model", "--reference"]) == 0
    assert "HELD 87 of 87" in capfd.readouterr().out
    monkeypatch.setitem(model_reference._FIGURES, "nic_us", lambda case: 1.0)
    code, value = model(capfd, "--reference")
    assert code == 1 and value["differ"] == 8 and not value["holds"]


def test_what_if_is_a_product(capfd: pytest.CaptureFixture[str]) -> None:
    code, value = model(
        capfd, "--phase", "prefill", "--what-if", "ep=8,16", "--what-if", "routing=flat,node", "--set", "skew=1.5"
    )
    assert code == 0
    assert [(row["ep"], row["routing"]) for row in value["rows"]] == [
        (8, "flat"), (8, "node"), (16, "flat"), (16, "node")
    ]  # fmt: skip
    for row in value["rows"]:
        assert row["layer"]["tokens"] == 4096 and row["layer"]["skew"] == 1.5
        assert row["layer_us"] == row["dispatch"]["total_us"] + row["combine"]["total_us"] < row["collective_us"]


def test_options_win_over_the_phase(capfd: pytest.CaptureFixture[str]) -> None:
    words = ("--phase", "decode", "--tokens", "64", "--set", "copies=replacement", "--set", "local=every", "--ep", "64")
    code, value = model(capfd, *words)
    row = value["rows"][0]
    assert code == 0 and row["layer"]["routing"] == "flat" and row["dispatch"]["messages"] == 512
    assert run(["model", *words]) == 0
    text = capfd.readouterr().out
    assert "least times, not predictions" in text and "reaches 56 ranks over the NIC" in text


def test_every_parameter_can_be_set() -> None:
    layer, fabric = build({})
    for name, default in PARAMETERS.items():
        if isinstance(default, str):
            continue
        changed = build({name: default + 1})
        assert changed != (layer, fabric), name


@pytest.mark.parametrize(
    "words, message",
    [
        (["--what-if", "ep"], "'ep' is not NAME=VALUE,VALUE.."),
        (["--what-if", "epp=3"], "'epp' is not one of ep, tokens"),
        (["--what-if", "ep=8,x"], "ep 'x' is not a whole number from 0 to 1e9"),
        (["--what-if", "skew=nan"], "skew 'nan' is not a number from 0 to 1e9"),
        (["--what-if", "ep=8", "--what-if", "ep=16"], "names ep a second time"),
        (["--what-if", "routing=flat,tree"], "routing 'tree' is not one of flat, rank, node"),
        (["--what-if", "ep=8,12", "--set", "experts=240"], "(at ep=12)"),
        (["--what-if", "ep=" + ",".join(map(str, range(5000)))], "5000 rows, and 4096 are the most"),
        (["--set", "hidden=-1"], "--set hidden=-1: hidden '-1' is not a whole number"),
        (["--set", "ep=8", "--ep", "16"], "gives ep a second time"),
        (["--phase", "training"], "--phase 'training' is not one of decode, prefill"),
        (["--ep", "0"], "ep 0 is less than 1"),
        (["--reference", "--calibrate"], "give one of them"),
        (["--reference", "--ep", "8"], "--ep has no meaning with --reference"),
        (["--calibrate", "--what-if", "ep=8"], "--what-if has no meaning with --calibrate"),
        (["--calibrate", "--passes", "0"], "--passes 0 is outside [1, 100]"),
        (["--require", "0.3"], "--require needs --calibrate"),
        (["--plot", "/nowhere/x", "--what-if", "ep=8,16"], "is no folder that can be written to"),
    ],
)
def test_refusals(capfd: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    code, value = model(capfd, *words)
    assert code == 2 and message in value["error"]["message"]


def width(path: Path) -> int:
    """Of a PNG, in pixels."""
    return int(struct.unpack(">I", path.read_bytes()[16:20])[0])


def test_plot(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The picture of docs/model.md."""
    pytest.importorskip("matplotlib")
    stem = tmp_path / "model"
    words = ["--phase", "decode", "--what-if", "ep=8,16,32,64,128", "--what-if", "routing=flat,rank,node"]
    assert run(["model", *words, "--plot", str(stem)]) == 0
    assert "written: " in capfd.readouterr().err
    assert width(stem.with_suffix(".png")) >= 1200
    text = stem.with_suffix(".svg").read_text()
    for words_in_it in ("EP size, ranks", "least time by the model, us", "routing node", "dispatch", "combine"):
        assert words_in_it in text
    code, value = model(capfd, "--what-if", "routing=flat,rank", "--plot", str(stem))
    assert code == 2 and "needs something to draw over" in value["error"]["message"]


def test_calibrate(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The whole way on a few small shapes. How near the prediction is depends on the machine: told, not judged."""
    pytest.importorskip("matplotlib")
    few = [TwinShape(2, tokens, hidden, topk) for tokens, hidden, topk in ((2, 64, 2), (8, 256, 4), (40, 128, 2))]
    few += [TwinShape(1, 16, 128, 4), TwinShape(1, 64, 64, 8)]
    grid = [TwinShape(2, 4, 128, 2), TwinShape(1, 8, 256, 4)]
    measure = calibration_run.calibrate
    monkeypatch.setattr(calibration_run, "calibrate", lambda **options: measure(few, grid, **options))
    stem = tmp_path / "twin"
    code, value = model(capfd, "--calibrate", "--passes", "1", "--require", "1e9", "--plot", str(stem))
    assert code == 0 and value["cores"] >= 1 and value["median_error"] >= 0
    assert [row["tokens"] for row in value["grid"]] == [4, 8] and len(value["fitted_to"]) == 5
    for row in value["grid"]:
        measured, predicted = (sum(row[name].values()) for name in ("measured_us", "predicted_us"))
        assert row["error"] == pytest.approx((predicted - measured) / measured, abs=1e-3)
    assert set(value["us"]["dispatch"]) == {"alpha", "rank", "peer", "message", "byte"}
    assert "measured, ms" in stem.with_suffix(".svg").read_text() and width(stem.with_suffix(".png")) >= 1200
    monkeypatch.setattr(calibration_run, "calibrate", lambda **_: measure.__globals__["Calibration"](*kept))
    kept = _kept(value, few, grid)
    assert run(["model", "--calibrate", "--require", "0"]) == 1
    text = capfd.readouterr().out
    assert "median error over 2 shapes" in text and "fitted to 5 other shapes" in text


def _kept(value: dict[str, Any], few: list[TwinShape], grid: list[TwinShape]) -> tuple[Any, ...]:
    """The calibration that was printed, with predictions that are off."""
    from ascend_deepep.calibration import Measured, Twin, predictions

    measured = [Measured(shape, row["measured_us"]) for shape, row in zip(few, value["fitted_to"], strict=True)]
    off = [
        Measured(shape, {name: 3 * us for name, us in row["measured_us"].items()})
        for shape, row in zip(grid, value["grid"], strict=True)
    ]
    twin = Twin(value["cores"], value["us"], value["fit_error"])
    return twin, measured, predictions(twin, off)


@pytest.mark.fast
@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--ep", "32", "--what-if", "ep=8,16"], "--what-if ep=8,16 varies ep, which is 32 by another option"),
        (["--set", "tokens=4", "--what-if", "tokens=8,16"], "varies tokens, which is 4 by another option"),
        (["--set", "issue-overlaps=5"], "issue-overlaps '5' is neither 0 nor 1"),
        (["--set", "experts=1000000000", "--set", "topk=5000000"], "is more than"),
    ],
)
def test_nothing_that_is_given_is_ignored(words: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["model", *words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and part in err and err.count("\n") == 1
