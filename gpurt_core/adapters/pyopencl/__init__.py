"""PyOpenCL, counted and steered unchanged."""

from gpurt_core.adapters.pyopencl.seam import PyOpenCLSeam

__all__ = ["PyOpenCLSeam"]
