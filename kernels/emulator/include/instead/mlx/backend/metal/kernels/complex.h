// Stands in for MLX's file of this name, whose functions are overloaded by the address space alone.
#include "emulator/complex.h"
