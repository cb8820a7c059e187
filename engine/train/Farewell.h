#pragma once

#include <chrono>

#include "engine/base/Result.h"
#include "engine/store/Store.h"

namespace lockstep::train {

/// Waits until every rank has come to the end of its work, so that none closes its connections
/// while another still needs them; the rank that hosts the store (`hostsStore`) then also waits
/// until the others have read that, for at most `hostWait`.
/// Error (kTimeout): which ranks did not come within `timeout`. Throws StoreError when the store
/// is gone.
base::Status leaveTogether(store::Store& store, int rank, int worldSize, bool hostsStore,
                           std::chrono::milliseconds timeout,
                           std::chrono::milliseconds hostWait = std::chrono::seconds(5));

}  // namespace lockstep::train
