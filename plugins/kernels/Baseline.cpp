#define LOCKSTEP_INSTRUCTION_SET baseline
#define LOCKSTEP_INSTRUCTION_SET_NAME "baseline"
#include "plugins/kernels/Loops.h"
