"""Decoding on a CPU with loops compiled by numba, an optional package that only this folder imports."""
