"""Filters for single-channel images in device memory: see `blur`, `edges`, `tone` and so on."""

from .blur import box_blur, gaussian_blur
from .edges import sobel
from .histogram import histogram
from .quality import peak_signal_to_noise
from .sparse import CsrMatrix, halving
from .tone import tone_map

__all__ = [
    "CsrMatrix",
    "box_blur",
    "gaussian_blur",
    "halving",
    "histogram",
    "peak_signal_to_noise",
    "sobel",
    "tone_map",
]
