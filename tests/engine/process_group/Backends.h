#pragma once

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "tests/engine/process_group/GroupThreads.h"

namespace lockstep::process_group {

/// The backends of this build whose contract is the whole of ProcessGroup.h. Where a process is one
/// rank, that is the one it is started for: see mpi/RankGroup.cpp.
inline std::vector<std::string> wholeBackends() {
#ifdef LOCKSTEP_TEST_PROCESS_BACKEND
  return {LOCKSTEP_TEST_PROCESS_BACKEND};
#else
  std::vector<std::string> names;
#ifdef LOCKSTEP_WITH_GLOO
  names.emplace_back("gloo");
#endif
#ifdef __linux__
  names.emplace_back("shared_memory");
#endif
  return names;
#endif
}

/// What opens the refusals of a backend.
inline std::string classNameOf(const std::string& backend) {
  return backend == "gloo"  ? "ProcessGroupGloo"
         : backend == "mpi" ? "ProcessGroupMPI"
         : backend == "in_process" ? "InProcessGroup"
                            : "ProcessGroupSharedMemory";
}

/// A test that runs over each backend; its runGroup() takes groups of that one.
class BackendTest : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] static const std::string& backend() { return GetParam(); }
  static void runGroup(int size, const std::function<void(ProcessGroup&)>& body,
                       const GroupOptions& options = quickOptions()) {
    process_group::runGroup(size, body, options, backend());
  }
  [[nodiscard]] static std::string className() { return classNameOf(backend()); }
};

/// The same with several numbers of ranks.
class BackendRanksTest : public testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  [[nodiscard]] static const std::string& backend() { return std::get<0>(GetParam()); }
  [[nodiscard]] static int ranks() { return std::get<1>(GetParam()); }
  static void runGroup(int size, const std::function<void(ProcessGroup&)>& body,
                       const GroupOptions& options = quickOptions()) {
    process_group::runGroup(size, body, options, backend());
  }
  [[nodiscard]] static std::string className() { return classNameOf(backend()); }
};

/// "gloo", "shared_memory_3"
inline std::string caseName(const testing::TestParamInfo<std::string>& info) {
  return info.param;
}
inline std::string rankCaseName(const testing::TestParamInfo<std::tuple<std::string, int>>& info) {
  return std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param));
}

#define LOCKSTEP_OVER_BACKENDS(suite) \
  INSTANTIATE_TEST_SUITE_P(Backends, suite, testing::ValuesIn(wholeBackends()), caseName)
#define LOCKSTEP_OVER_BACKENDS_AND_RANKS(suite, ...)                                      \
  INSTANTIATE_TEST_SUITE_P(                                                               \
      Backends, suite,                                                                    \
      testing::Combine(testing::ValuesIn(wholeBackends()), testing::Values(__VA_ARGS__)), \
      rankCaseName)
// And over the smallest backend (InProcessGroup.h), of what it has.
#ifdef LOCKSTEP_TEST_PROCESS_BACKEND
#define LOCKSTEP_AND_IN_PROCESS(suite, ...) static_assert(true)
#else
inline const std::string kInProcess = "in_process";
#define LOCKSTEP_AND_IN_PROCESS(suite, ...)                                \
  INSTANTIATE_TEST_SUITE_P(InProcess, suite,                               \
                           testing::Combine(testing::Values(kInProcess),   \
                                            testing::Values(__VA_ARGS__)), \
                           rankCaseName)
#endif

}  // namespace lockstep::process_group
