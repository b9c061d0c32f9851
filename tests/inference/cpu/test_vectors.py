"""Explicit vectors: what the plain equations give, for rows of every size and place; nothing beside is written."""

import math

import numba
import numpy as np
import pytest

pytest.importorskip("numba")

from limelight.inference.cpu import vectors

SIZES = [1, 7, 16, 17, 31, 32, 64, 100, 131]
FAR = 1e6
"""Stands around every row."""


@pytest.fixture
def numbers(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def surrounded(row: np.ndarray, before: int) -> np.ndarray:
    """The row among other numbers."""
    return np.concatenate([np.full(before, FAR), row, np.full(21, FAR)]).astype(np.float32)


@numba.njit
def run_dot(one: np.ndarray, at: int, other: np.ndarray, where: int, size: int) -> float:
    return vectors.dot(one, at, other, where, size)


@numba.njit
def run_exponentiate(scores: np.ndarray, at: int, size: int) -> float:
    return vectors.exponentiate(scores, at, size)


@numba.njit
def run_weighted_sum(weights, total, rows, places, stride, start, size, result, where):  # type: ignore[no-untyped-def]
    vectors.weighted_sum(weights, 2, total, rows, places, len(places), stride, start, size, result, where)


@numba.njit
def run_moments(values: np.ndarray, at: int, size: int, mean: float) -> tuple[float, float]:
    return vectors.total_of(values, at, size), vectors.squares_of(values, at, size, np.float32(mean))


@numba.njit
def run_standardize(values, at, size, mean, rate, factors, addends, result):  # type: ignore[no-untyped-def]
    vectors.standardize(values, at, size, np.float32(mean), np.float32(rate), factors, addends, result)


@numba.njit
def run_rectify(values: np.ndarray, size: int) -> None:
    vectors.rectify(values, size)


@numba.njit
def run_copy(source: np.ndarray, at: int, target: np.ndarray, where: int, size: int) -> None:
    vectors.copy(source, at, target, where, size)


@pytest.mark.parametrize("size", SIZES)
def test_products_and_moments(size: int, numbers: np.random.Generator) -> None:
    one, other = numbers.normal(size=(2, size)).astype(np.float32)
    found = run_dot(surrounded(one, 3), 3, surrounded(other, 5), 5, size)
    assert found == pytest.approx(math.fsum(one.astype(np.float64) * other), abs=2e-6 * size)
    total, squares = run_moments(surrounded(one, 9), 9, size, 0.7)
    assert total == pytest.approx(math.fsum(one), abs=1e-6 * size)
    assert squares == pytest.approx(math.fsum((one.astype(np.float64) - 0.7) ** 2), rel=1e-5)


@pytest.mark.parametrize("spread", [0.1, 10.0, 60.0])
@pytest.mark.parametrize("size", SIZES)
def test_powers_are_those_of_double_precision(size: int, spread: float, numbers: np.random.Generator) -> None:
    """To single precision beside the largest, which is 1; what is below 2^-126 may be anything as small."""
    scores = (spread * numbers.normal(size=size)).astype(np.float32)
    scores[size // 2] += 200
    exact, found = np.exp(scores.astype(np.float64) - scores.max()), surrounded(scores, 4)
    total = run_exponentiate(found, 4, size)
    np.testing.assert_allclose(found[4 : 4 + size], exact, rtol=0, atol=5e-7)
    np.testing.assert_allclose(found[4 : 4 + size], exact, rtol=3e-5, atol=2.0**-125)  # 87 roundings of a score of -87
    assert total == pytest.approx(exact.sum(), rel=3e-6)
    assert found[4 : 4 + size].max() == 1
    assert (found[:4] == FAR).all()
    assert (found[4 + size :] == FAR).all()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [1, 5, 18])
def test_weighted_sums(size: int, count: int, numbers: np.random.Generator) -> None:
    stride, start = size + 9, 4
    rows = numbers.normal(size=(23, stride)).astype(np.float32)
    places, weights = numbers.permutation(23)[:count], numbers.uniform(size=count + 2).astype(np.float32)
    result, total = np.full((3, size + 40), FAR, np.float32), weights[2:].sum()
    run_weighted_sum(weights, total, rows, places, stride, start, size, result, size + 41)
    exact = (weights[2:] / total).astype(np.float64) @ rows[places, start : start + size]
    np.testing.assert_allclose(result[1, 1 : size + 1], exact, rtol=1e-5, atol=1e-5)
    result[1, 1 : size + 1] = FAR
    assert (result == FAR).all()


@pytest.mark.parametrize("size", SIZES)
def test_what_is_written_number_by_number(size: int, numbers: np.random.Generator) -> None:
    row, factors, addends = numbers.normal(size=(3, size)).astype(np.float32)
    row[size // 3] = np.nan
    given = surrounded(row, 6)
    result = np.full_like(given, FAR)
    run_standardize(given, 6, size, 0.5, 3.0, factors, addends, result)
    np.testing.assert_allclose(result[6 : 6 + size], (row - np.float32(0.5)) * 3 * factors + addends, rtol=1e-6)
    assert (np.delete(result, range(6, 6 + size)) == FAR).all()

    copied = np.full_like(given, FAR)
    run_copy(given, 6, copied, 2, size)
    np.testing.assert_array_equal(copied[2 : 2 + size], row)
    assert (np.delete(copied, range(2, 2 + size)) == FAR).all()

    run_rectify(given, 6 + size)
    np.testing.assert_array_equal(given[6 : 6 + size], np.where(row < 0, 0, row))
