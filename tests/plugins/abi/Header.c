#include <lockstep/comm_hook.h>

/* Compiles, and so the header is C. */
uint32_t sizeOfEntry(void);
uint32_t sizeOfEntry(void) { return (uint32_t)sizeof(lockstep_plugin); }
