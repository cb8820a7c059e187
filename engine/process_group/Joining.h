#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/store/Store.h"

namespace lockstep::process_group {

/// One rank on its way into a group whose ranks meet at a store.
struct Joiner {
  std::string group;
  int rank = 0;
  int size = 1;
  std::chrono::milliseconds timeout{};  ///< for all ranks to come

  /// An error of exit code kCommFailed that names this rank and the group.
  [[nodiscard]] base::Error failed(const std::string& what) const;
  /// The same for ranks that did not come in time; `verb` is what they were to do.
  [[nodiscard]] base::Error timedOut(const std::vector<int>& missing,
                                     const std::string& verb) const;
};

[[nodiscard]] Joiner joinerOf(int rank, int size, const GroupOptions& options);

/// Puts this rank's name down at `key`; the error says that the rank has come before.
base::Status join(store::Store& store, const std::string& key, const Joiner& joiner);

/// Waits until every rank has set its key; the error names those that have not. Throws StoreError
/// when the store is gone.
base::Status awaitRanks(store::Store& store, const std::function<std::string(int rank)>& keyOf,
                        const std::string& verb, const Joiner& joiner);

/// Both: returns once every rank has come to the place where its key stands.
base::Status meet(store::Store& store, const std::function<std::string(int rank)>& keyOf,
                  const std::string& verb, const Joiner& joiner);

}  // namespace lockstep::process_group
