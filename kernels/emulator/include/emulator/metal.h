// The standard library of the Metal shading language, as far as compute kernels use it, in C++17 for GCC and Clang.
// Every kernel begins with it, whichever of Metal's headers its text includes.
#pragma once
#pragma GCC system_header
#include "atomics.h"
#include "barriers.h"
#include "entry.h"
#include "limits.h"
#include "math.h"
#include "matrix.h"
#include "simd.h"
#include "types.h"
#include "vectors.h"

using metal::mem_flags;
