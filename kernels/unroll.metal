// Loops over arrays of a thread are unrolled, so that the arrays stay in registers.

#define UNROLL _Pragma("clang loop unroll(full)")
