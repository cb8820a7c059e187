#include "engine/store/Rendezvous.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/Try.h"
#include "engine/store/FileStore.h"
#include "engine/store/MeetRanks.h"
#include "engine/store/PrefixStore.h"
#include "engine/store/TCPStore.h"
#include "engine/store/detail/RendezvousAddress.h"

namespace lockstep::store {
namespace {

using base::Error;
using base::ExitCode;
using base::Result;
using base::Status;
using detail::RendezvousAddress;
using Scheme = RendezvousAddress::Scheme;

/// How long a second rank 0 looks whether it is a first one that has its port.
constexpr Store::Milliseconds kLookForHolder{3000};

/// How long the rank that serves the store stays for others to learn how the meeting ended. One
/// that dies in the middle of it costs that much.
constexpr Store::Milliseconds kFarewell{3000};

struct TcpPlace {
  std::string host;
  std::uint16_t port = 0;
  bool server = false;
  std::string prefix;  ///< before every key; "" = none
  std::string token;
};

std::shared_ptr<Store> openTcp(const TcpPlace& place, bool server, Store::Milliseconds timeout) {
  TCPStoreOptions options;
  options.port = place.port;
  options.isServer = server;
  options.timeout = timeout;
  options.token = place.token;
  std::shared_ptr<Store> store = std::make_shared<TCPStore>(place.host, options);
  if (!place.prefix.empty()) {
    store = std::make_shared<PrefixStore>(place.prefix, std::move(store));
  }
  return store;
}

/// Rank 0 cannot listen, since the port is taken. If another rank 0 of the same job has it, meeting
/// there makes the mistake known to both, and to all who wait; else the error is `why`.
Error cannotServe(const TcpPlace& place, const RankClaim& claim, Store::Milliseconds timeout,
                  const std::string& why) {
  try {
    const auto patience = std::min(timeout, kLookForHolder);
    const auto store = openTcp(place, false, patience);
    if (isRegistered(*store, claim, claim.rank, patience)) {
      LOCKSTEP_TRY(meetRanks(*store, claim));
    }
  } catch (const StoreError&) {
    // No store of ours, or none that answers: the port is somebody else's.
  }
  return {ExitCode::kEnvironment, why, ""};
}

/// `serves`: the store ends with this rank.
Result<Rendezvous> meet(std::shared_ptr<Store> store, const RankClaim& claim, bool serves) {
  try {
    const auto met = meetRanks(*store, claim);
    if (serves) {
      // Whoever it waited for in vain finds the store gone, as after any death.
      static_cast<void>(awaitFarewells(*store, claim, kFarewell));
    }
    return met.ok() ? Result<Rendezvous>({std::move(store), claim.rank, claim.worldSize})
                    : Result<Rendezvous>(met.error());
  } catch (const StoreError& error) {
    return Error{ExitCode::kCommFailed, error.what(), ""};
  }
}

Result<Rendezvous> meetOverTcp(const TcpPlace& place, const RankClaim& claim,
                               Store::Milliseconds timeout) {
  std::shared_ptr<Store> store;
  try {
    store = openTcp(place, place.server, timeout);
  } catch (const StoreError& error) {
    return place.server ? cannotServe(place, claim, timeout, error.what())
                        : Error{ExitCode::kCommFailed, error.what(), ""};
  }
  return meet(std::move(store), claim, place.server);
}

Result<Rendezvous> meetInFile(const std::string& path, const RankClaim& claim,
                              Store::Milliseconds timeout) {
  std::shared_ptr<Store> store;
  try {
    store =
        std::make_shared<FileStore>(FileStoreOptions{path, claim.worldSize, claim.job, timeout});
  } catch (const StoreError& error) {
    return Error{ExitCode::kBadInput, error.what(), ""};
  }
  return meet(std::move(store), claim, false);
}

/// Takes a number from the address or from the options, and refuses both.
Status merge(const char* name, std::optional<int>& fromAddress, const std::optional<int>& given) {
  if (fromAddress && given) {
    return Error{ExitCode::kBadInput,
                 fmt::format("{} is given twice: the address has the node-specific argument {}={}, "
                             "and the caller gives {}",
                             name, name, *fromAddress, *given),
                 ""};
  }
  fromAddress = fromAddress ? fromAddress : given;
  return {};
}

Result<Rendezvous> meetByAddress(const RendezvousAddress& address, const std::string& job,
                                 Store::Milliseconds timeout) {
  for (const auto& [name, value] :
       {std::pair{"rank", address.rank}, std::pair{"world size", address.worldSize}}) {
    if (!value) {
      return Error{ExitCode::kBadInput,
                   fmt::format("{} parameter missing: add rank=R&world_size=N after a '?'", name),
                   ""};
    }
  }
  const RankClaim claim{*address.rank, *address.worldSize, job};
  if (claim.rank >= claim.worldSize) {
    return Error{ExitCode::kBadInput,
                 fmt::format("rank is {}, but world_size is {}: ranks count from 0", claim.rank,
                             claim.worldSize),
                 ""};
  }
  if (address.scheme == Scheme::kFile) {
    return meetInFile(address.path, claim, timeout);
  }
  return meetOverTcp({address.host, address.port, claim.rank == 0, "", ""}, claim, timeout);
}

Result<Rendezvous> meetByEnvironment(const RendezvousEnvironment& environment,
                                     const std::string& job, Store::Milliseconds timeout) {
  // A restart finds the store of the attempt before where an agent serves it.
  return meetOverTcp({environment.masterAddress, environment.storePort, environment.hostsStore,
                      attemptPrefix(environment.attempt), environment.storeToken},
                     {environment.rank, environment.worldSize, job}, timeout);
}

Result<Rendezvous> rendezvousAt(RendezvousAddress address, const RendezvousOptions& options) {
  for (const auto& merged : {merge("rank", address.rank, options.rank),
                             merge("world_size", address.worldSize, options.worldSize)}) {
    if (!merged.ok()) {
      return merged.error();
    }
  }
  std::optional<std::string> job = address.job ? address.job : options.job;
  if (!job) {
    job = LOCKSTEP_TRY(jobNameFromEnvironment(options.readVariable));
  }
  if (address.scheme != Scheme::kEnvironment) {
    return meetByAddress(address, *job, options.timeout);
  }
  const auto environment =
      LOCKSTEP_TRY(rendezvousEnvironment(options.readVariable, address.rank, address.worldSize));
  return meetByEnvironment(environment, *job, options.timeout);
}

/// Says where an error happened, once.
template <typename T>
Result<T> at(const std::string& place, Result<T> result) {
  if (result.ok() || !result.error().where.empty()) {
    return result;
  }
  return result.error().within(place);
}

}  // namespace

std::string attemptPrefix(int attempt) {
  return fmt::format("attempt {}", attempt);
}

Result<Rendezvous> rendezvous(const std::string& address, const RendezvousOptions& options) {
  const std::string place = "rendezvous " + address;
  auto parsed = detail::parseRendezvousAddress(address);
  if (!parsed.ok()) {
    return parsed.error().within(place);
  }
  return at(place, rendezvousAt(std::move(parsed).value(), options));
}

Result<Rendezvous> rendezvous(const RendezvousEnvironment& environment,
                              Store::Milliseconds timeout) {
  return at(
      "rendezvous env://",
      meetByEnvironment(environment, jobName(environment.runId, environment.attempt), timeout));
}

}  // namespace lockstep::store
