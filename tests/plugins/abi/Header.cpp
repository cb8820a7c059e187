#include <lockstep/comm_hook.h>

// Compiles, and so the header is C++, too.
uint32_t sizeOfEntry();
uint32_t sizeOfEntry() {
  return static_cast<uint32_t>(sizeof(lockstep_plugin));
}
