# SPDX-License-Identifier: Apache-2.0
"""The fit of the twin's times: it finds what made them, and the command tells how far it is off. Layer: tests."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from ascend_deepep import calibration
from ascend_deepep.bench.shapes import Shape
from ascend_deepep.calibration import FITTED, GRID, OPERATORS, TERMS, Calibration, Row, Timed, fit
from ascend_deepep.cli.app import run
from ascend_deepep.fitting import non_negative

MADE = {
    "dispatch_v2": dict(zip(TERMS, (300.0, 40.0, 1.2, 1.1e-4, 0.5e-4), strict=True)),
    "combine_v2": dict(zip(TERMS, (250.0, 30.0, 0.7, 0.9e-4, 0.0), strict=True)),
}


def made(shapes: tuple[Shape, ...], noise: float, seed: int = 1) -> list[Timed]:
    """Times that the terms make, each off by up to `noise`."""
    draw = random.Random(seed)
    truth = Calibration(2, MADE)
    return [
        Timed(shape, {name: us * (1 + draw.uniform(-noise, noise)) for name, us in truth.predict(shape).items()})
        for shape in shapes
    ]


@pytest.mark.fast
def test_the_fit_finds_what_made_the_times() -> None:
    found = fit(made(FITTED, 0.0), 2)
    for operator in OPERATORS:
        assert found.coefficients[operator] == pytest.approx(MADE[operator], rel=1e-6, abs=1e-9)


@pytest.mark.fast
@pytest.mark.parametrize("seed", range(5))
def test_noise_is_not_blown_up(seed: int) -> None:
    found = fit(made(FITTED, 0.2, seed), 2)
    assert min(min(terms.values()) for terms in found.coefficients.values()) >= 0.0
    found.rows = [Row(one.shape, found.predict(one.shape), one.us) for one in made(GRID, 0.0)]
    assert found.median_error < 0.2


@pytest.mark.fast
def test_no_shape_is_both_fitted_and_predicted() -> None:
    assert not set(FITTED) & set(GRID)
    assert {shape.ranks for shape in GRID} == {2, 4, 8}


@pytest.mark.fast
def test_least_squares_without_negative_terms() -> None:
    matrix = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    assert non_negative(matrix, np.array([3.0, 5.0, 7.0])) == pytest.approx([1.0, 2.0])
    # The best line falls, so the mean alone is left.
    assert non_negative(matrix, np.array([7.0, 5.0, 3.0])) == pytest.approx([5.0, 0.0])
    assert non_negative(matrix, np.array([-1.0, -1.0, -1.0])) == pytest.approx([0.0, 0.0])


def test_the_command_measures_and_predicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = [Shape(2, tokens, 64, 2, 8, routing="uniform") for tokens in (1, 8, 64)]
    monkeypatch.setattr(calibration, "calibrate", lambda rounds, advance: _calibrate(rounds, advance, few[:2], few[2:]))
    assert run(["model", "--calibrate", "--rounds", "1", "--plot", str(tmp_path / "fit"), "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    (row,) = value["rows"]
    assert row["tokens"] == 64 and min(row["measured_us"].values()) > 0.0
    assert value["median_error"] == pytest.approx(
        abs(sum(row["predicted_us"].values()) / sum(row["measured_us"].values()) - 1)
    )
    assert (tmp_path / "fit.png").stat().st_size > 10_000 and (tmp_path / "fit.svg").exists()


_calibrate = calibration.calibrate
