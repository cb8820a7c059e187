// How relays come to a RemoteRanks, until all ranks can start.

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/base/Try.h"
#include "engine/launch/detail/RemoteRanks.h"

namespace lockstep::launch::detail {
namespace {

using base::Error;
using base::ExitCode;

}  // namespace

base::Result<std::vector<std::int32_t>> RemoteRanks::ranksOf(const relay::Hello& hello) const {
  const auto refuse = [](std::string why) {
    return Error{ExitCode::kBadInput, std::move(why), ""};
  };
  const auto isRank = [&](std::int64_t rank) { return rank >= 0 && rank < options_.worldSize; };
  const auto noRank = [&](std::int64_t rank) {
    return fmt::format("it comes for rank {}, and there are ranks 0 to {}", rank,
                       options_.worldSize - 1);
  };
  if (hello.environment.contains(relay::kObserves)) {
    return refuse(
        "it was started with a command of its own, and this run starts its ranks itself: "
        "leave the command away, and the --");
  }
  if (hello.worldSize && *hello.worldSize != options_.worldSize) {
    return refuse(fmt::format("it was started as one of {} ranks, and processes.world_size is {}",
                              *hello.worldSize, options_.worldSize));
  }
  // Two ways to come: a launcher that starts one relay a rank says which rank; a person, or
  // torchrun with one relay a host, says which host, and the ranks follow from how many each has.
  std::vector<std::int32_t> ranks = hello.ranks;
  if (hello.nodeRank) {
    const int usual = options_.launch.ranksPerNode > 0
                          ? options_.launch.ranksPerNode
                          : options_.worldSize / options_.launch.nnodes;
    if (hello.nodeSize != 0 && hello.nodeSize != usual) {
      return refuse(
          fmt::format("it was started for {} ranks of its host (--nproc-per-node), and "
                      "the run has {} on each",
                      hello.nodeSize, usual));
    }
    const std::int64_t first = std::int64_t{*hello.nodeRank} * usual;
    if (!isRank(first)) {
      return refuse(noRank(first));
    }
    ranks.resize(static_cast<std::size_t>(usual));
    std::iota(ranks.begin(), ranks.end(), static_cast<std::int32_t>(first));
  }
  for (const std::int32_t rank : ranks) {
    if (!isRank(rank)) {
      return refuse(noRank(rank));
    }
    if (const Relay* holder = ranks_[static_cast<std::size_t>(rank)].relay; holder != nullptr) {
      return refuse(
          fmt::format("it comes for rank {}, which {} has", rank, RelayPeers::nameOf(*holder)));
    }
  }
  return ranks.empty() ? base::Result<std::vector<std::int32_t>>(refuse("it comes for no rank"))
                       : ranks;
}

base::Result<relay::Welcome> RemoteRanks::welcome(const relay::Hello& hello) {
  relay::Welcome welcome;
  welcome.ranks = LOCKSTEP_TRY(ranksOf(hello));
  welcome.runId = options_.runId;
  welcome.experimentToml = options_.experimentToml;
  welcome.worldSize = options_.worldSize;
  welcome.hosts = options_.launch.nnodes;
  welcome.storePort = options_.storePort;
  welcome.storeToken = options_.storeToken;
  return welcome;
}

void RemoteRanks::came(Relay& relay) {
  for (const std::int32_t rank : relay.ranks) {
    ranks_[static_cast<std::size_t>(rank)].relay = &relay;
  }
}

void RemoteRanks::refused(const std::string& who, const std::string& why) {
  // A relay that does not fit would be awaited in vain. Once the run goes on, a stranger at the
  // port must not end it.
  if (!started_) {
    watcher_->runFailed({ExitCode::kBadInput, why, who});
    abandonAwaited();
  }
}

void RemoteRanks::ready(Relay& /*relay*/) {
  const auto& relays = peers_.all();
  const bool allReady = std::all_of(relays.begin(), relays.end(),
                                    [](const auto& entry) { return entry.second.isReady(); });
  // All at once: the ranks' first act is to meet, and who waits there longer than its limit fails.
  if (started_ || peers_.isLeaving() || !ranksWithoutRelay().empty() || !allReady) {
    return;
  }
  started_ = true;
  for (const auto& [peer, relay] : relays) {
    peers_.send(relay, relay::SetCapture{capture_});
    peers_.send(relay, relay::Start{peers_.othersThan(relay)});
  }
  watcher_->allStarted();
}

std::vector<int> RemoteRanks::ranksWithoutRelay() const {
  std::vector<int> absent;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].relay == nullptr) {
      absent.push_back(static_cast<int>(rank));
    }
  }
  return absent;
}

}  // namespace lockstep::launch::detail
