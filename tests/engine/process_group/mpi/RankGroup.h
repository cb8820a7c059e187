#pragma once

#include <memory>
#include <string>

#include "engine/process_group/ProcessGroup.h"
#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/store/Store.h"

namespace lockstep::process_group {

/// Variables of the environment of a process that mpirun has started for a test.
inline constexpr const char* kStoreVariable = "LOCKSTEP_TEST_STORE";  ///< file of the common store

/// The file, beside the common store, of what the ranks say: mpirun may drop what a rank wrote to
/// it shortly before another one failed.
inline std::string saidFile(const std::string& store) {
  return store + ".said";
}

/// This process's rank among those mpirun has started, and how many they are.
int processRank();
int processCount();

/// The store that all of them share.
std::shared_ptr<store::Store> processStore();

/// Makes this process's part of a group of all of them; throws what stopped it.
std::shared_ptr<ProcessGroup> processGroup(const GroupOptions& options);

}  // namespace lockstep::process_group
