"""CUDA devices, through CuPy and NVRTC."""
