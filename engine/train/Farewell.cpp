#include "engine/train/Farewell.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "engine/base/NumberText.h"

namespace lockstep::train {
namespace {

std::vector<std::string> keysOf(const std::string& prefix, int worldSize) {
  std::vector<std::string> keys;
  for (int r = 0; r < worldSize; ++r) {
    keys.push_back(prefix + std::to_string(r));
  }
  return keys;
}

/// Waits for all keys; returns the ranks whose keys are missing at the end.
std::vector<int> waitFor(store::Store& store, const std::vector<std::string>& keys,
                         std::chrono::milliseconds timeout) {
  try {
    store.wait(keys, timeout);
    return {};
  } catch (const store::StoreError&) {
    std::vector<int> missing;
    for (std::size_t r = 0; r < keys.size(); ++r) {
      if (!store.check({keys[r]})) {
        missing.push_back(static_cast<int>(r));
      }
    }
    // All have come: it failed for another reason.
    if (missing.empty()) {
      throw;
    }
    return missing;
  }
}

}  // namespace

// Two rounds. After "done" nobody needs the group any more. But a rank that has read the last
// "done" key may still be waiting for the answer, and the store's host must not end before it has
// it: "gone" tells the host that each has read.
base::Status leaveTogether(store::Store& store, int rank, int worldSize, bool hostsStore,
                           std::chrono::milliseconds timeout, std::chrono::milliseconds hostWait) {
  const auto done = keysOf("lockstep/done/", worldSize);
  const auto gone = keysOf("lockstep/gone/", worldSize);
  store.set(done[static_cast<std::size_t>(rank)], "1");
  if (const auto missing = waitFor(store, done, timeout); !missing.empty()) {
    return base::Error{
        base::ExitCode::kTimeout,
        fmt::format("{} did not reach the end of the run within {:g} s", base::ranksText(missing),
                    std::chrono::duration<double>(timeout).count()),
        ""};
  }
  store.set(gone[static_cast<std::size_t>(rank)], "1");
  if (hostsStore) {
    // A rank that died just now has done its work all the same.
    (void)waitFor(store, gone, hostWait);
  }
  return {};
}

}  // namespace lockstep::train
