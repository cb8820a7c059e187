#ifndef LOCKSTEP_OBSERVER_DEVICE_CLOCK_H
#define LOCKSTEP_OBSERVER_DEVICE_CLOCK_H

/* Where a device's clock stands on the host's, from what happened when: a kernel cannot have begun
 * before the host asked for it, nor have ended after the host heard of it. Each such pair bounds
 * the offset from one side; the tightest of both sides are kept, and grow old as clocks drift. */

#include <stdint.h>

/* Two crystals: what they may drift apart, in ns of a ns. */
#define LK_CLOCK_DRIFT 50e-6

typedef struct {
  int64_t low; /* host's ns less device's ns */
  int64_t high;
  int64_t low_at; /* when the bound was found, host's ns; 0: there is none */
  int64_t high_at;
} lk_device_clock;

/* The device's instant `device_ns` was not before the host's `host_ns`. */
void lk_device_clock_not_before(lk_device_clock* clock, int64_t device_ns, int64_t host_ns);

/* The device's instant `device_ns` was not after the host's `host_ns`. */
void lk_device_clock_not_after(lk_device_clock* clock, int64_t device_ns, int64_t host_ns);

typedef struct {
  int64_t offset;  /* host's ns = device's ns + offset: as late as it can have been, since the host
                      hears of things within microseconds, and asks for them long before */
  int64_t late_by; /* at most; negative: not known */
} lk_device_offset;

/* As of the host's `host_ns`; not before there is a bound from above. */
lk_device_offset lk_device_clock_offset(const lk_device_clock* clock, int64_t host_ns);

#endif
