#include "engine/process_group/hierarchical/HostMap.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "engine/base/Try.h"
#include "engine/process_group/Joining.h"
#include "engine/process_group/shared_memory/HostKey.h"
#include "engine/process_group/shared_memory/Room.h"
#include "engine/process_group/shared_memory/Segment.h"

namespace lockstep::process_group::hierarchical {
namespace {

// What the boards of a few groups take; a host without so much room is better off without.
constexpr std::uint64_t kProbeBytes = 4 << 20;

std::string whyNoSharedMemory() {
  if (hostKey().empty()) {
    return "the kernel does not say on which host it runs";
  }
  if (std::string reason = shared_memory::whyNoRoom(kProbeBytes); !reason.empty()) {
    return reason;
  }
  // Tried out, for the limits that can be read do not tell all.
  const auto probe = shared_memory::Segment::create(kProbeBytes);
  return probe.ok() ? std::string() : probe.error().message();
}

}  // namespace

HostCard ownCard(const GroupOptions& options) {
  HostCard card{fmt::format("{} user {} {}", hostKey(), geteuid(), options.host),
                whyNoSharedMemory()};
  // The card is lines of text.
  std::replace(card.host.begin(), card.host.end(), '\n', ' ');
  return card;
}

base::Result<std::vector<HostCard>> exchangeCards(store::Store& store, int rank, int size,
                                                  const GroupOptions& options,
                                                  const HostCard& own) {
  const Joiner joiner = joinerOf(rank, size, options);
  const auto key = [&](int of) { return fmt::format("hosts/{}/{}", options.groupName, of); };
  std::vector<HostCard> cards;
  try {
    store.set(key(rank), own.host + "\n" + own.whyNot);
    LOCKSTEP_TRY(awaitRanks(store, key, "join", joiner));
    for (int of = 0; of < size; ++of) {
      const std::string text = store.get(key(of));
      const std::size_t end = std::min(text.find('\n'), text.size());
      cards.push_back({text.substr(0, end), text.substr(std::min(end + 1, text.size()))});
    }
  } catch (const store::StoreError& error) {
    return joiner.failed(fmt::format("cannot meet the other ranks: {}", error.what()));
  }
  return cards;
}

HostMap::HostMap(const std::vector<HostCard>& cards) {
  // Hosts are numbered as they are met, by rank: on all ranks alike.
  std::vector<std::string> names;
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    const auto known = std::find(names.begin(), names.end(), cards[rank].host);
    const auto host = static_cast<std::size_t>(known - names.begin());
    if (known == names.end()) {
      names.push_back(cards[rank].host);
      members_.emplace_back();
    }
    hosts_.push_back(static_cast<int>(host));
    places_.push_back(static_cast<int>(members_[host].size()));
    members_[host].push_back(static_cast<int>(rank));
  }
}

bool HostMap::even() const {
  return std::all_of(members_.begin(), members_.end(), [this](const std::vector<int>& host) {
    return host.size() == members_.front().size();
  });
}

std::vector<int> HostMap::atPlace(int place) const {
  std::vector<int> ranks;
  for (const std::vector<int>& host : members_) {
    ranks.push_back(host.at(static_cast<std::size_t>(place)));
  }
  return ranks;
}

}  // namespace lockstep::process_group::hierarchical
