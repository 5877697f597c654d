// Stands in for MLX's file of this name, which defines functions of bfloat by Apple's built-in ones: those of the emulator
// are in emulator/math.h and emulator/simd.h.
