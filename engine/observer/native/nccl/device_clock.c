#include "device_clock.h"

static int64_t drift(int64_t since, int64_t now) {
  return now > since ? (int64_t)((double)(now - since) * LK_CLOCK_DRIFT) : 0;
}

static int64_t low(const lk_device_clock* clock, int64_t now) {
  return clock->low - drift(clock->low_at, now);
}

static int64_t high(const lk_device_clock* clock, int64_t now) {
  return clock->high + drift(clock->high_at, now);
}

void lk_device_clock_not_before(lk_device_clock* clock, int64_t device_ns, int64_t host_ns) {
  const int64_t bound = host_ns - device_ns;
  if (clock->low_at == 0 || bound > low(clock, host_ns)) {
    clock->low = bound;
    clock->low_at = host_ns;
  }
  if (clock->high_at != 0 && bound > high(clock, host_ns)) {
    clock->high_at = 0; /* the clock was set: what was known of it is over */
  }
}

void lk_device_clock_not_after(lk_device_clock* clock, int64_t device_ns, int64_t host_ns) {
  const int64_t bound = host_ns - device_ns;
  if (clock->high_at == 0 || bound < high(clock, host_ns)) {
    clock->high = bound;
    clock->high_at = host_ns;
  }
  if (clock->low_at != 0 && bound < low(clock, host_ns)) {
    clock->low_at = 0;
  }
}

lk_device_offset lk_device_clock_offset(const lk_device_clock* clock, int64_t host_ns) {
  const int64_t above = high(clock, host_ns);
  const lk_device_offset offset = {above, clock->low_at == 0 ? -1 : above - low(clock, host_ns)};
  return offset;
}
