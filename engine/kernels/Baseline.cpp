#define LOCKSTEP_INSTRUCTION_SET baseline
#define LOCKSTEP_INSTRUCTION_SET_NAME "baseline"
#include "engine/kernels/Loops.h"
