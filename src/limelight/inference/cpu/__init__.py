"""What decodes on a CPU through loops that numba compiles. numba is an extra: nothing else imports it."""
