#define LOCKSTEP_INSTRUCTION_SET avx2
#define LOCKSTEP_INSTRUCTION_SET_NAME "avx2"
#include "engine/kernels/Loops.h"
