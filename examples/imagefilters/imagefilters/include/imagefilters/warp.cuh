// Sums over a warp.
#pragma once

namespace imagefilters {

// The sum of `value` over the 32 lanes, in lane 0. Every lane has to call it.
template <typename T>
__device__ T warp_sum(T value)
{
    for (int step = 16; step > 0; step >>= 1)
        value += __shfl_down_sync(0xffffffffu, value, step);
    return value;
}

}  // namespace imagefilters
