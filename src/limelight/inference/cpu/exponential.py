"""The exponential function in a form that loops can vectorize."""

import math

import numpy as np

from limelight.inference.cpu.jit import compiled
from limelight.inference.cpu.simd import maximum, power_of_two

LOG2_E, LN_2 = np.float32(math.log2(math.e)), np.float32(math.log(2))


@compiled
def exponential(value: np.float32) -> np.float32:
    """exp of a number that is not above zero, in single precision; at least 2^-126.

    The library's exp takes one number at a time, a loop over this function sixteen: 2^x is 2^n, with integer n, times
    2^f with f between -1/2 and 1/2, by its series.
    """
    exponent = maximum(value * LOG2_E, np.float32(-126))
    whole = np.int32(exponent - np.float32(0.5))  # truncation rounds to nearest here, as no exponent is above zero
    part = (exponent - np.float32(whole)) * LN_2
    series = np.float32(1 / 720)
    for factor in (1 / 120, 1 / 24, 1 / 6, 1 / 2, 1.0, 1.0):
        series = series * part + np.float32(factor)
    power: np.float32 = series * power_of_two(whole)
    return power
