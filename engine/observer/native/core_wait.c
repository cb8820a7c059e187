#include "core_wait.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  kOffCore = 29,
  kBetweenLooksNs = 200000,
  kBetweenBucketsNs = 10000000, /* a look takes up to 8 µs of a cache that a backward has filled */
  kShortestWaitNs = 10000       /* less is a wake-up */
};

/* gettid() would take a newer C library. */
static int this_thread(void) {
  return (int)syscall(SYS_gettid);
}

/* The second number of schedstat: time spent ready and without a core, in all. Read by hand, since
 * functions that do so are of a newer C library. */
static int read_waited(int file, uint64_t* waited) {
  char text[96];
  const ssize_t count = pread(file, text, sizeof(text), 0);
  ssize_t at = 0;
  while (at < count && text[at] != ' ') {
    ++at;
  }
  const ssize_t first = ++at;
  *waited = 0;
  for (; at < count && text[at] >= '0' && text[at] <= '9'; ++at) {
    *waited = *waited * 10 + (uint64_t)(text[at] - '0');
  }
  return at > first;
}

void lk_core_wait_make(lk_core_wait* wait, lk_observer* observer, lk_lane* lane) {
  if (wait->lane != NULL && wait->file >= 0) {
    close(wait->file);
  }
  wait->observer = observer;
  wait->lane = lane;
  wait->file = -1;
  wait->thread = 0;
}

static int is_due(const lk_core_wait* wait, int64_t now, int64_t least_between) {
  return wait->lane != NULL && wait->file >= 0 && now - wait->looked >= least_between;
}

static void look(lk_core_wait* wait, int64_t now) {
  uint64_t waited = 0;
  const int known = read_waited(wait->file, &waited);
  const uint64_t ticks = lk_observer_ticks(wait->observer);
  if (!known) {
    return;
  }
  if (wait->looked != 0 && waited >= wait->waited + kShortestWaitNs) {
    lk_lane_span(wait->lane, kOffCore, wait->looked_ticks, ticks, wait->step, LK_NO_BUCKET,
                 waited - wait->waited, 0);
  }
  wait->looked = now;
  wait->looked_ticks = ticks;
  wait->least_ticks = lk_observer_ticks_of(wait->observer, kBetweenBucketsNs);
  wait->waited = waited;
}

void lk_core_wait_enter(lk_core_wait* wait, uint32_t step) {
  if (wait->lane == NULL) {
    return;
  }
  const int thread = this_thread();
  if (thread != wait->thread) {
    if (wait->file >= 0) {
      close(wait->file);
    }
    wait->file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    wait->thread = thread;
    wait->looked = 0;
  }
  const int64_t now = lk_monotonic_ns();
  if (is_due(wait, now, kBetweenLooksNs)) {
    look(wait, now);
  }
  wait->step = step;
}

void lk_core_wait_look(lk_core_wait* wait, uint64_t ticks) {
  if (ticks - wait->looked_ticks < wait->least_ticks) { /* most calls end here */
    return;
  }
  const int64_t now = lk_monotonic_ns();
  if (is_due(wait, now, kBetweenBucketsNs) && this_thread() == wait->thread) {
    look(wait, now);
  }
}
