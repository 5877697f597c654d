// Metal's language and library as declarations in "C++ for OpenCL 2021", for a check of syntax and types alone.
//
// In that language an address space is part of a type, as in Metal: a `threadgroup` pointer given for a `device` one does
// not compile. Nothing here is ever linked or run, so functions have no bodies unless their result is a constant.
#pragma once
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#include "types.h"

#include "traits.h"

#include "maths.h"

#include "atomics.h"
#include "simdgroup.h"

// MLX's utilities, which stand before every custom kernel, open the namespace.
using namespace metal;
