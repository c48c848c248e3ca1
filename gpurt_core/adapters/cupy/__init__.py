"""CuPy, counted and steered unchanged: the compile seam (`seam`), the null device, `early`."""
