#include "engine/kernels/Kernels.h"

namespace lockstep::kernels {

namespace baseline {
extern const Kernels kTable;
}
#if defined(__x86_64__)
namespace avx2 {
extern const Kernels kTable;
}
namespace avx512 {
extern const Kernels kTable;
}
#endif

const Kernels* baselineKernels() {
  return &baseline::kTable;
}

// The program itself is built for any x86-64, and asks the processor that it runs on. What is asked
// here must be all that the compiler was allowed for the file (CMakeLists.txt): one instruction
// that the processor lacks ends the process.
const Kernels* avx2Kernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c") &&
      __builtin_cpu_supports("fma")) {
    return &avx2::kTable;
  }
#endif
  return nullptr;
}

const Kernels* avx512Kernels() {
#if defined(__x86_64__)
  if (avx2Kernels() != nullptr && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    return &avx512::kTable;
  }
#endif
  return nullptr;
}

const Kernels& kernels() {
  // Once: asking takes longer than a short loop.
  static const Kernels& chosen = []() -> const Kernels& {
    if (const Kernels* best = avx512Kernels(); best != nullptr) {
      return *best;
    }
    const Kernels* next = avx2Kernels();
    return next != nullptr ? *next : *baselineKernels();
  }();
  return chosen;
}

}  // namespace lockstep::kernels
