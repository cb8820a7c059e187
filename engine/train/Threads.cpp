#include "engine/train/Threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <sched.h>

namespace lockstep::train {

void setComputeThreads(int threads) {
  at::set_num_threads(threads);
  // Parallel operators of one rank would take cores from the other ranks of the host.
  at::set_num_interop_threads(1);
  // libtorch does not tell OpenBLAS, whose thread pool is its own; other BLAS libraries follow
  // OpenMP, which libtorch does tell.
  using SetThreads = void (*)(int);
  if (auto* set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) {
    set(threads);
  }
}

base::Result<std::vector<int>> pinToCores(int localRank, int threads) {
  const auto failed = [] {
    return base::systemError(base::ExitCode::kEnvironment, "cannot pin the rank to cores",
                             "processes.pinning");
  };
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return failed();
  }
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) {
      cores.push_back(core);
    }
  }
  std::vector<int> mine;
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (int i = 0; i < threads && i < static_cast<int>(cores.size()); ++i) {
    // Neighbouring cores for the threads of a rank; with more ranks than cores it begins again.
    const auto index = (static_cast<std::size_t>(localRank) * static_cast<std::size_t>(threads) +
                        static_cast<std::size_t>(i)) %
                       cores.size();
    mine.push_back(cores[index]);
    CPU_SET(cores[index], &wanted);
  }
  if (sched_setaffinity(0, sizeof wanted, &wanted) != 0) {
    return failed();
  }
  return mine;
}

}  // namespace lockstep::train
