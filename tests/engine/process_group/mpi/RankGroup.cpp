// runGroup() for a process that is one rank: it takes the place of GroupThreads.cpp.

#include "tests/engine/process_group/mpi/RankGroup.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>

#include "engine/store/FileStore.h"
#include "engine/store/PrefixStore.h"
#include "tests/engine/process_group/GroupThreads.h"

namespace lockstep::process_group {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    throw std::runtime_error(fmt::format("{} is not set; mpi/MpiTest.cpp starts this", name));
  }
  return value;
}

}  // namespace

int processRank() {
  return std::stoi(variable("OMPI_COMM_WORLD_RANK"));
}
int processCount() {
  return std::stoi(variable("OMPI_COMM_WORLD_SIZE"));
}

std::shared_ptr<store::Store> processStore() {
  // Never destroyed: a rank that fails leaves by _Exit, and the file goes with its folder.
  static const auto& all = *new std::shared_ptr<store::Store>(std::make_shared<store::FileStore>(
      store::FileStoreOptions{variable(kStoreVariable), processCount()}));
  return all;
}

std::shared_ptr<ProcessGroup> processGroup(const GroupOptions& options) {
  auto made = makeProcessGroup("mpi", processStore(), processRank(), processCount(), options);
  if (!made.ok()) {
    throw std::runtime_error(made.error().message());
  }
  return std::move(made).value();
}

GroupOptions quickOptions(std::chrono::milliseconds timeout) {
  GroupOptions options;
  options.timeout = timeout;
  return options;
}

// Processes beyond the group's size have nothing to do; all count the groups.
void runGroup(int size, const std::function<void(ProcessGroup&)>& body, const GroupOptions& options,
              const std::string& backend) {
  static int groups = 0;
  const auto store =
      std::make_shared<store::PrefixStore>(fmt::format("{}", ++groups), processStore());
  if (size > processCount()) {
    GTEST_SKIP() << "needs " << size << " processes";
  }
  if (processRank() >= size) {
    return;
  }
  auto made = makeProcessGroup(backend, store, processRank(), size, options);
  ASSERT_TRUE(made.ok()) << made.error().message();
  body(*made.value());
}

}  // namespace lockstep::process_group
