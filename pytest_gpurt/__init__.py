"""A pytest plugin that counts, warms up and tunes the kernels of GPU test suites."""
