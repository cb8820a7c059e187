#define LOCKSTEP_INSTRUCTION_SET avx512
#define LOCKSTEP_INSTRUCTION_SET_NAME "avx512"
#include "engine/kernels/Loops.h"
