# SPDX-License-Identifier: Apache-2.0
"""Least squares with no negative coefficient. Layer: Python, numpy."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray


def non_negative(matrix: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """The x >= 0 for which matrix @ x is closest to the target: the best over every choice of columns.

    matrix: (points, columns), a handful of columns; target: (points,). Returns (columns,).
    """
    num_columns = matrix.shape[1]
    best, best_error = np.zeros(num_columns), float((target**2).sum())
    for size in range(1, num_columns + 1):
        for chosen in combinations(range(num_columns), size):
            solution = np.linalg.lstsq(matrix[:, chosen], target, rcond=None)[0]
            if (solution < 0).any():
                continue
            error = float(((matrix[:, chosen] @ solution - target) ** 2).sum())
            if error < best_error:
                best, best_error = np.zeros(num_columns), error
                best[list(chosen)] = solution
    return best
