#ifndef LOCKSTEP_OBSERVER_COUNT_SKETCH_H
#define LOCKSTEP_OBSERVER_COUNT_SKETCH_H

/* The count-sketch of engine/base/CountSketch.h, number for number, so that ranks of both kinds can
 * be compared: the test of both is in tests/engine/observer. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LK_COUNTERS = 256 };

typedef struct {
  uint64_t blocks;
  double sums[2 * LK_COUNTERS]; /* the second half folds onto the first */
} lk_count_sketch;

/* Adds the next elements, from the beginning of a block. Returns the sum of their squares. A sketch
 * begins as zeros. */
double lk_count_sketch_add_floats(lk_count_sketch* sketch, const float* values, size_t count);
double lk_count_sketch_add_doubles(lk_count_sketch* sketch, const double* values, size_t count);

void lk_count_sketch_counters(const lk_count_sketch* sketch, double* counters);

#ifdef __cplusplus
}
#endif

#endif
