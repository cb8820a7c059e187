#include "engine/process_group/Joining.h"

#include <fmt/format.h>

#include "engine/base/NumberText.h"
#include "engine/process_group/Call.h"

namespace lockstep::process_group {

base::Error Joiner::failed(const std::string& what) const {
  return base::Error{base::ExitCode::kCommFailed, what,
                     fmt::format("rank {}, group {}", rank, group)};
}

base::Error Joiner::timedOut(const std::vector<int>& missing, const std::string& verb) const {
  return failed(fmt::format("timed out after {} ms waiting for {} to {}", timeout.count(),
                            base::ranksText(missing), verb));
}

Joiner joinerOf(int rank, int size, const GroupOptions& options) {
  return {options.groupName, rank, size, timeLimit(kNoTimeout, options.timeout)};
}

base::Status join(store::Store& store, const std::string& key, const Joiner& joiner) {
  if (store.add(key, 1) > 1) {
    return joiner.failed(
        fmt::format("rank {0} has joined group {1} already: two processes with "
                    "RANK={0}, or two groups of this name on one store",
                    joiner.rank, joiner.group));
  }
  return {};
}

base::Status awaitRanks(store::Store& store, const std::function<std::string(int rank)>& keyOf,
                        const std::string& verb, const Joiner& joiner) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < joiner.size; ++rank) {
    keys.push_back(keyOf(rank));
  }
  try {
    store.wait(keys, joiner.timeout);
  } catch (const store::StoreError& error) {
    // The store says only that a key is missing; which ones is asked here.
    std::vector<int> missing;
    for (int rank = 0; rank < joiner.size; ++rank) {
      if (!store.check({keys[static_cast<std::size_t>(rank)]})) {
        missing.push_back(rank);
      }
    }
    // All came meanwhile, so it was the store that failed.
    return missing.empty() ? joiner.failed(error.what()) : joiner.timedOut(missing, verb);
  }
  return {};
}

base::Status meet(store::Store& store, const std::function<std::string(int rank)>& keyOf,
                  const std::string& verb, const Joiner& joiner) {
  base::Status joined = join(store, keyOf(joiner.rank), joiner);
  return joined.ok() ? awaitRanks(store, keyOf, verb, joiner) : joined;
}

}  // namespace lockstep::process_group
