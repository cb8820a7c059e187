/* A plugin of a border that is not there yet. */
#include <stdint.h>

struct entry {
  uint32_t struct_size, abi_minor;
};
__attribute__((visibility("default"))) extern const struct entry lockstep_comm_hook_plugin_v7;
const struct entry lockstep_comm_hook_plugin_v7 = {sizeof(struct entry), 0};
