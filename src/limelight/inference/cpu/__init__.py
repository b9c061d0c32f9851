"""Decoding on a CPU through loops that numba compiles. numba is an extra: no other folder imports it."""
