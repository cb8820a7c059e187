#pragma once

#include <string>

#include "engine/base/Result.h"
#include "engine/store/Store.h"

namespace lockstep::store {

/// The place a process claims in a job.
struct RankClaim {
  int rank = 0;
  int worldSize = 1;
  std::string job;  ///< jobs of different names do not meet in one store
};

/// Registers this process under its rank, and returns once every rank of the job has registered.
/// Two processes with one rank, and ranks with different world sizes, end it for everybody who
/// waits here, with the same sentence: "rank 1 is registered by host A pid 7 and again by host B
/// pid 9". c10d leaves such jobs hanging, or merges them.
///
/// A process that comes after all have met gets the error alone; the job goes on undisturbed.
/// Error: kBadInput for those mistakes; kCommFailed after store.timeout(), with the ranks that have
/// not come. Throws StoreError when the store fails. [any-thread]
base::Status meetRanks(Store& store, const RankClaim& claim);

/// For the rank that serves the store, which ends when that rank leaves: waits, at most `patience`,
/// until everybody who has come to the meeting knows how it ended, and returns whether that is so.
/// Call it when meetRanks() has returned, however it did. Throws StoreError like any call.
bool awaitFarewells(Store& store, const RankClaim& claim, Store::Milliseconds patience);

/// Returns whether `rank` is registered within `patience`. Throws StoreError like any call.
bool isRegistered(Store& store, const RankClaim& claim, int rank, Store::Milliseconds patience);

}  // namespace lockstep::store
