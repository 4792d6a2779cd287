# SPDX-License-Identifier: Apache-2.0
"""The fit of the twin's costs, on times that are made up. Layer: tests."""

from __future__ import annotations

import random

import pytest
from ascend_deepep import reference
from ascend_deepep.calibration import COSTS, OPERATORS, Measured, Twin, TwinShape, fit, median_error, predictions, work
from ascend_deepep.calibration_run import CALIBRATION, GRID

TRUTH = Twin(
    2,
    {
        "dispatch": {"alpha": 100.0, "rank": 80.0, "peer": 30.0, "message": 0.5, "byte": 4e-4},
        "combine": {"alpha": 0.0, "rank": 200.0, "peer": 10.0, "message": 1.0, "byte": 7e-4},
    },
    0.0,
)


def made_up(shapes: tuple[TwinShape, ...], noise: float) -> list[Measured]:
    """What the truth would take, each time up to `noise` more."""
    drawn = random.Random(5)
    return [
        Measured(shape, {name: us * (1 + noise * drawn.random()) for name, us in TRUTH.predict_us(shape).items()})
        for shape in shapes
    ]


def test_exact_times_give_the_costs_back() -> None:
    found = fit(made_up(CALIBRATION, 0.0), 2)
    for operator in OPERATORS:
        for cost in COSTS:
            assert found.us[operator][cost] == pytest.approx(TRUTH.us[operator][cost], rel=1e-3, abs=1e-6)
    assert found.fit_error == pytest.approx(0, abs=1e-6)
    assert median_error(predictions(found, made_up(GRID, 0.0))) == pytest.approx(0, abs=1e-4)


def test_noise_does_not_make_costs_negative() -> None:
    found = fit(made_up(CALIBRATION, 0.5), 2)
    assert all(cost >= 0 for costs in found.us.values() for cost in costs.values())
    assert median_error(predictions(found, made_up(GRID, 0.5))) < 0.3


def test_the_grid_is_of_other_shapes() -> None:
    assert len({*CALIBRATION}) == len(CALIBRATION) > 2 * len(COSTS)
    assert not {*CALIBRATION} & {*GRID}
    assert {shape.ranks for shape in GRID} == {2, 4, 8} and {shape.tokens for shape in GRID} == {1, 16, 128, 1024}
    assert len({shape.hidden for shape in GRID}) == len({shape.topk for shape in GRID}) == 3


def test_too_few_shapes() -> None:
    with pytest.raises(ValueError, match="4 shapes are fewer than the 5 costs"):
        fit(made_up(CALIBRATION[:4], 0.0), 2)


def test_work_is_counted() -> None:
    """Copies against the oracle's, for uniform ids."""
    torch = pytest.importorskip("torch")
    shape = TwinShape(4, 2000, 64, 4)
    generator = torch.Generator().manual_seed(3)
    ids = [torch.rand(shape.tokens, 64, generator=generator).topk(4).indices.int() for _ in range(4)]
    counted = reference.traffic(reference.route(ids, 64), reference.Wire(128, 4, 128, 16), "mte")
    sent = sum(one.copies for one in counted) / 4
    rows, num_bytes = work(shape, "dispatch")
    assert rows == pytest.approx(shape.tokens * 5 + sent, rel=0.01)
    assert num_bytes == pytest.approx(shape.tokens * 4 * 128 + (shape.tokens + sent) * 512, rel=0.01)
