/* One entry in which something is wrong, as INCOMPLETE says. */
#include <lockstep/comm_hook.h>
#include <stdlib.h>
#include <unistd.h>

static uint32_t count(void) { return INCOMPLETE == 3 ? 0 : 1; }

static const lockstep_param param = {
    sizeof(lockstep_param), INCOMPLETE == 5 ? "Bad Key" : "rank", "Rank", "", 0, LOCKSTEP_INT, 0,
    1, 8, INCOMPLETE == 6 ? 9 : 1, 0, 0};
static const lockstep_param *const params[] = {&param};
static const lockstep_hook_info hook = {sizeof(lockstep_hook_info),
                                        0,
                                        1u << LOCKSTEP_F32,
                                        1u << LOCKSTEP_CPU,
                                        INCOMPLETE == 4 ? "" : "incomplete",
                                        "incomplete",
                                        "",
                                        "1",
                                        "",
                                        -1,
                                        1,
                                        params};
static const lockstep_hook_info *info(uint32_t index) { return index == 0 ? &hook : 0; }

static lockstep_status init(const char *path) {
  (void)path;
  if (INCOMPLETE == 7) {
    abort();
  }
  while (INCOMPLETE == 8) {
    pause();
  }
  if (INCOMPLETE == 9) {
    (void)!write(1, "hello\n", 6);
  }
  return INCOMPLETE == 2 ? LOCKSTEP_E_INTERNAL : LOCKSTEP_OK;
}

static lockstep_status refuse(lockstep_hook *self, lockstep_run *run, const lockstep_group *world,
                              const lockstep_bucket *bucket) {
  (void)self, (void)run, (void)world, (void)bucket;
  return LOCKSTEP_E_UNSUPPORTED;
}
static lockstep_status resume(lockstep_hook *self, lockstep_run *run, uint32_t stage) {
  (void)self, (void)run, (void)stage;
  return LOCKSTEP_OK;
}
static void destroy(lockstep_hook *self) { (void)self; }

static lockstep_hook made = {.struct_size = sizeof(lockstep_hook),
                             .run = INCOMPLETE == 11 ? 0 : refuse,
                             .resume = resume,
                             .destroy = destroy};

static lockstep_status create(const lockstep_host *host, const char *id,
                              const lockstep_value *values, uint32_t n, lockstep_hook **out) {
  (void)host, (void)id, (void)values, (void)n;
  if (INCOMPLETE < 11) {
    return LOCKSTEP_E_UNSUPPORTED;
  }
  *out = &made;
  return LOCKSTEP_OK;
}

const lockstep_plugin lockstep_comm_hook_plugin_v1 = {
    INCOMPLETE == 1 ? 8 : sizeof(lockstep_plugin), LOCKSTEP_ABI_MINOR, init, 0, count, info,
    INCOMPLETE == 10 ? 0 : create};
