"""Thirty elementwise kernels, as a numerical library has them: activations, losses, physics."""

from __future__ import annotations

from typing import Any

import cupy
import pytest

BODIES = {
    "relu": "z = x > 0 ? x : 0",
    "leaky_relu": "z = x > 0 ? x : 0.01f * x",
    "elu": "z = x > 0 ? x : expm1f(x)",
    "selu": "z = 1.0507f * (x > 0 ? x : 1.67326f * expm1f(x))",
    "gelu": "z = 0.5f * x * (1.0f + erff(x * 0.70710678f))",
    "gelu_tanh": "z = 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)))",
    "silu": "z = x / (1.0f + expf(-x))",
    "mish": "z = x * tanhf(log1pf(expf(x)))",
    "softplus": "z = fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)))",
    "softsign": "z = x / (1.0f + fabsf(x))",
    "hard_sigmoid": "z = fminf(fmaxf(0.2f * x + 0.5f, 0.0f), 1.0f)",
    "squared_error": "z = (x - y) * (x - y)",
    "huber": "float d = fabsf(x - y); z = d < 1.0f ? 0.5f * d * d : d - 0.5f",
    "log_cosh": "float d = fabsf(x - y); z = d + log1pf(expf(-2.0f * d)) - 0.69314718f",
    "cross_entropy": "z = -y * logf(fmaxf(x, 1e-7f)) - (1 - y) * logf(fmaxf(1 - x, 1e-7f))",
    "hinge": "z = fmaxf(0.0f, 1.0f - x * y)",
    "quantile": "float d = y - x; z = d > 0 ? 0.9f * d : -0.1f * d",
    "momentum_step": "z = 0.9f * x - 0.01f * y",
    "rms_step": "z = y * rsqrtf(x + 1e-8f)",
    "hypotenuse": "z = hypotf(x, y)",
    "angle": "z = atan2f(y, x)",
    "logistic_map": "float v = x; for (int k = 0; k < 16; ++k) v = 3.7f * v * (1 - v); z = v",
    "newton_root": "float v = 1; for (int k = 0; k < 8; ++k) v = 0.5f * (v + x / v); z = v",
    "horner": "z = ((((0.1f * x + 0.2f) * x + 0.3f) * x + 0.4f) * x + 0.5f) * x + y",
    "gaussian": "z = expf(-0.5f * x * x) * 0.39894228f",
    "lorentzian": "z = 1.0f / (3.14159265f * (1.0f + x * x))",
    "planck": "z = x > 0 ? x * x * x / expm1f(x) : 0",
    "lennard_jones": "float s = 1 / (x * x + 1e-3f); s = s * s * s; z = 4 * (s * s - s)",
    "gamma_corrected": "z = powf(fminf(fmaxf(x, 0.0f), 1.0f), 1.0f / 2.2f)",
    "srgb_to_linear": "z = x <= 0.04045f ? x / 12.92f : powf((x + 0.055f) / 1.055f, 2.4f)",
}


@pytest.mark.parametrize("name", BODIES)
def test_a_kernel_keeps_the_shape(name: str, values: Any, other_values: Any) -> None:
    kernel = cupy.ElementwiseKernel("float32 x, float32 y", "float32 z", BODIES[name], name)
    assert kernel(values, other_values).shape == values.shape
