// Includes the header that is edited between two runs.
#include "inner.cuh"
