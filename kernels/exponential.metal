// e to the power of a difference of scores: the subtraction is exact for scores near each other, so large ones cost
// nothing.

inline float power_of_e(float difference) { return metal::exp2(difference * M_LOG2E_F); }
