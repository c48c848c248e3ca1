"""What a compile-only pass makes of this suite on one sm_80 device: one kernel for each test."""

from __future__ import annotations

_PARAMETERS = {
    "test_elementwise.py::test_a_kernel_keeps_the_shape": """
        relu leaky_relu elu selu gelu gelu_tanh silu mish softplus softsign hard_sigmoid
        squared_error huber log_cosh cross_entropy hinge quantile momentum_step rms_step
        hypotenuse angle logistic_map newton_root horner gaussian lorentzian planck
        lennard_jones gamma_corrected srgb_to_linear
    """,
    "test_raw.py::test_a_raw_kernel_is_launched": """
        grid_stride-plus grid_stride-times grid_stride-larger grid_stride-smaller
        stencil-plus stencil-times stencil-larger stencil-smaller block_reduction-plus
        block_reduction-times block_reduction-larger block_reduction-smaller
        warp_scan-plus warp_scan-times warp_scan-larger warp_scan-smaller
    """,
    "test_reductions.py::test_a_reduction_gives_a_number_for_each_row": """
        sum_of_squares euclidean_norm manhattan_norm largest_size smallest_size
        geometric_mean harmonic_sum product entropy log_sum_exp positives zeros
        sum_of_cubes fourth_root_norm cosine_sum root_sum
    """,
    "test_ufuncs.py::test_a_function_of_one_argument_keeps_the_shape": """
        sin cos tan arctan sinh tanh exp exp2 log1p sqrt cbrt square rint floor sign
        isfinite
    """,
    "test_ufuncs.py::test_a_function_of_two_arguments_keeps_the_shape": """
        add multiply maximum hypot arctan2 less
    """,
}

EXPECTED: dict[str, dict[str, str | int]] = {
    f"{test}[{parameter}]": {"outcome": "passed", "obtained": 1}
    for test, parameters in _PARAMETERS.items()
    for parameter in parameters.split()
}
"""Test to outcome and number of kernels."""
