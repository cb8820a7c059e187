#pragma once

#include <string>

#include "engine/store/Store.h"

namespace lockstep::store {

/// Returns once every rank of the world has called it with the same `name`, as c10d does after it
/// has made a group; needs no group, only the store. A name serves once a store.
///
/// Throws StoreError: after `timeout`, "Timed out initializing process group in store based
/// barrier", with the ranks that have not come (c10d gives their count alone); when this rank
/// has entered before, or another process under its number, with that process.
/// [any-thread]
void storeBarrier(Store& store, int rank, int worldSize, Store::Milliseconds timeout,
                  const std::string& name);

}  // namespace lockstep::store
