#include "engine/base/FreedMemory.h"

#include <cstdlib>
#include <initializer_list>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace lockstep::base {

void keepFreedMemory() {
#ifdef __GLIBC__
  // Whoever set the allocator up meant it.
  for (const char* name :
       {"GLIBC_TUNABLES", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_"}) {
    if (std::getenv(name) != nullptr) {
      return;
    }
  }
  constexpr int kAlways = 1 << 30;
  // They refuse a threshold of more than half of a heap, which is this much.
  constexpr int kMostOfOlderVersions = 32 << 20;
  if (mallopt(M_MMAP_THRESHOLD, kAlways) == 0) {
    mallopt(M_MMAP_THRESHOLD, kMostOfOlderVersions);
  }
  mallopt(M_TRIM_THRESHOLD, kAlways);
#endif
}

void giveBackFreedMemory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace lockstep::base
