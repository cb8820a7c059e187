#include "engine/store/StoreBarrier.h"

#include <fmt/format.h>

#include "engine/base/NumberText.h"
#include "engine/store/detail/Errors.h"
#include "engine/store/detail/RollCall.h"

namespace lockstep::store {

using detail::quoted;
using detail::RollCall;

void storeBarrier(Store& store, int rank, int worldSize, Store::Milliseconds timeout,
                  const std::string& name) {
  if (rank < 0 || rank >= worldSize) {
    throw StoreError(fmt::format("store based barrier {}: there is no rank {} in a world of {}",
                                 quoted({name}), rank, worldSize));
  }
  const std::string prefix = "barrier/" + name + "/";
  const std::string done = prefix + "done";
  RollCall roll(store, prefix, worldSize);
  const auto entry = roll.sign(rank, detail::Signature::own());
  if (entry.holder) {
    throw StoreError(fmt::format(
        "store based barrier {}: rank {} has been here before ({}); give each barrier a name of "
        "its own, and each rank to one process",
        quoted({name}), rank, entry.holder->who()));
  }
  if (entry.last) {
    store.set(done, "");
    return;
  }
  try {
    store.wait({done}, timeout);
  } catch (const StoreError&) {
    // Throws itself when the store has gone. Nobody is absent when the last rank has signed and
    // not yet said so.
    const std::vector<int> absent = roll.absent();
    if (!absent.empty()) {
      throw StoreError(fmt::format(
          "Timed out initializing process group in store based barrier {}: timeout after {} ms on "
          "rank {}: {} of {} did not come",
          quoted({name}), timeout.count(), rank, base::ranksText(absent, detail::kRanksNamed),
          worldSize));
    }
  }
}

}  // namespace lockstep::store
