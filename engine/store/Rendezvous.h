#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/base/Environment.h"
#include "engine/base/Result.h"
#include "engine/store/RendezvousEnvironment.h"
#include "engine/store/Store.h"

namespace lockstep::store {

struct RendezvousOptions {
  std::optional<int> rank;       ///< where the address does not say it
  std::optional<int> worldSize;  ///< the same
  /// Names the job where the address does not; without either TORCHELASTIC_RUN_ID does, together
  /// with TORCHELASTIC_RESTART_COUNT. Jobs of different names refuse one another's file, and do
  /// not meet in one store.
  std::optional<std::string> job{};
  Store::Milliseconds timeout = Store::kDefaultTimeout;  ///< of meeting, and of the store then
  base::ReadVariable readVariable = base::readEnvironmentVariable;
};

/// What a process knows once it has met the other ranks of its job.
struct Rendezvous {
  std::shared_ptr<Store> store;
  int rank = 0;
  int worldSize = 1;
};

/// Meets the other ranks at an address (torch.distributed's init_method), and returns once all
/// have registered (MeetRanks.h):
///
///   env://[?rank=R&world_size=N]           the rest from the environment (RendezvousEnvironment.h)
///   tcp://HOST:PORT?rank=R&world_size=N    rank 0 serves the store there
///   file:///PATH?rank=R&world_size=N       in a file that all ranks can reach
///
/// `&job=NAME` may follow. Error (kBadInput), with the address or the variable: an unknown scheme
/// or parameter; path, port, rank or world size missing; a number that is none; RANK not below
/// WORLD_SIZE; rank or world size both in the address and in the options; a rank that two
/// processes have; a file of another job. kEnvironment: rank 0 cannot listen there.
/// kCommFailed: no store, or not all ranks, within the time limit. [any-thread]
base::Result<Rendezvous> rendezvous(const std::string& address,
                                    const RendezvousOptions& options = {});

/// The same for a rank that has read its environment already (env://).
base::Result<Rendezvous> rendezvous(const RendezvousEnvironment& environment,
                                    Store::Milliseconds timeout);

/// The prefix of the keys of ranks that met by their environment, so that a restart does not find
/// those of the attempt before. For a supervisor that serves their store and writes into it.
std::string attemptPrefix(int attempt);

}  // namespace lockstep::store
