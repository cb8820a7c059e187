#include "engine/process_group/Subgroups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "engine/base/NumberText.h"
#include "engine/base/Try.h"
#include "engine/process_group/Joining.h"
#include "engine/process_group/Request.h"

namespace lockstep::process_group {
namespace {

using base::Error;
using base::ExitCode;

// What a rank holds of a group that it does not belong to.
class Outsider final : public ProcessGroup {
 public:
  Outsider(int globalRank, int size, std::string name, const std::string& members)
      : ProcessGroup(-1, size, std::move(name), "none"),
        text_(fmt::format("rank {} is not part of group {} ({})", globalRank, groupName(),
                          members)) {}

  [[nodiscard]] std::string backendName() const override { return "none"; }
  at::Tensor allocate(std::int64_t) override { refuse(); }
  [[nodiscard]] std::uint64_t sequenceNumber() const override { return 0; }
  void setTimeout(std::chrono::milliseconds) override { refuse(); }
  void abort(const std::string&) override {}

 protected:
  void check(Request&) const override { refuse(); }
  WorkPtr start(Request) override { refuse(); }

 private:
  [[noreturn]] void refuse() const { throw std::invalid_argument(text_); }
  const std::string text_;
};

base::Status checkRanks(const std::vector<int>& ranks, int worldSize) {
  const auto refuse = [](std::string what) { return Error{ExitCode::kBadInput, what, ""}; };
  if (ranks.empty()) {
    return refuse("a subgroup without ranks");
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0 || ranks[i] >= worldSize) {
      return refuse(fmt::format("a subgroup with rank {}; ranks of the world are 0 to {}",
                                ranks[i], worldSize - 1));
    }
    // In ascending order, so that a rank's number in the group does not depend on who made the
    // list.
    if (i > 0 && ranks[i] <= ranks[i - 1]) {
      return refuse(fmt::format("the ranks of a subgroup, {}, are not in ascending order, each "
                                "once",
                                fmt::join(ranks, ", ")));
    }
  }
  return {};
}

}  // namespace

Subgroups::Subgroups(std::shared_ptr<ProcessGroup> world, std::string backend,
                     std::shared_ptr<store::Store> store, GroupOptions options,
                     std::uint8_t firstNumber, Wrap wrap)
    : world_(std::move(world)),
      backend_(std::move(backend)),
      store_(std::move(store)),
      options_(std::move(options)),
      firstNumber_(firstNumber),
      wrap_(std::move(wrap)) {
  std::vector<int> all(static_cast<std::size_t>(world_->size()));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    all[rank] = static_cast<int>(rank);
  }
  entries_.push_back(Entry{world_, world_->groupName(), std::move(all)});
}

base::Result<std::shared_ptr<ProcessGroup>> Subgroups::newGroup(std::vector<int> ranks) {
  LOCKSTEP_TRY(checkRanks(ranks, world_->size()));
  GroupOptions options = options_;
  {
    std::lock_guard lock(mutex_);
    // Also for ranks that are no members: names count alike on every rank.
    ++made_;
    options.groupName = fmt::format("{}.{}", world_->groupName(), made_);
    options.groupNumber = static_cast<std::uint8_t>(std::min(255, firstNumber_ + made_ - 1));
  }
  // The first rank that comes writes its list; the others compare.
  const std::string list = fmt::format("{}", fmt::join(ranks, ","));
  try {
    const std::string mine = fmt::format("{}|{}", world_->rank(), list);
    const std::string key = fmt::format("subgroup/{}", options.groupName);
    const std::string standing = store_->compareSet(key, "", mine);
    const std::size_t bar = standing.find('|');
    if (bar == std::string::npos || standing.substr(bar + 1) != list) {
      return Error{ExitCode::kBadInput,
                   fmt::format("group {} has ranks {} on rank {} and ranks {} on rank {}; all "
                               "ranks must make the same groups in the same order",
                               options.groupName, list, world_->rank(),
                               standing.substr(bar + 1), standing.substr(0, bar)),
                   ""};
    }
  } catch (const store::StoreError& error) {
    return Error{ExitCode::kCommFailed, error.what(),
                 fmt::format("rank {}, group {}", world_->rank(), options.groupName)};
  }

  const auto own = std::find(ranks.begin(), ranks.end(), world_->rank());
  std::shared_ptr<ProcessGroup> group;
  // No member waits for this rank, so it makes no group and meets nobody.
  if (own == ranks.end()) {
    group = std::make_shared<Outsider>(world_->rank(), static_cast<int>(ranks.size()),
                                       options.groupName, base::ranksText(ranks));
  } else {
    auto made = makeProcessGroup(backend_, store_, static_cast<int>(own - ranks.begin()),
                                 static_cast<int>(ranks.size()), options);
    if (!made.ok()) {
      return made.error().within(fmt::format("subgroup of {}", base::ranksText(ranks)));
    }
    if (wrap_) {
      made = wrap_(std::move(made).value(), options.groupNumber, ranks);
      if (!made.ok()) {
        return made.error().within(fmt::format("subgroup of {}", base::ranksText(ranks)));
      }
    }
    group = std::move(made).value();
  }
  std::lock_guard lock(mutex_);
  // Weak, so that a subgroup ends when its users drop it; what has ended goes here.
  std::erase_if(entries_, [](const Entry& entry) { return entry.group.expired(); });
  entries_.push_back(Entry{group, options.groupName, std::move(ranks)});
  return group;
}

std::vector<int> Subgroups::members(const ProcessGroup& group) const {
  std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.group.lock().get() == &group) {
      return entry.ranks;
    }
  }
  throw std::invalid_argument(fmt::format("group {} is not registered", group.groupName()));
}

int Subgroups::globalRank(const ProcessGroup& group, int groupRank) const {
  const std::vector<int> ranks = members(group);
  if (groupRank < 0 || groupRank >= static_cast<int>(ranks.size())) {
    throw std::invalid_argument(fmt::format("group rank {} is not part of group {}, which has {}",
                                            groupRank, group.groupName(), ranks.size()));
  }
  return ranks[static_cast<std::size_t>(groupRank)];
}

int Subgroups::groupRank(const ProcessGroup& group, int globalRank) const {
  const std::vector<int> ranks = members(group);
  const auto found = std::find(ranks.begin(), ranks.end(), globalRank);
  if (found == ranks.end()) {
    throw std::invalid_argument(fmt::format("rank {} is not part of group {} ({})", globalRank,
                                            group.groupName(), base::ranksText(ranks)));
  }
  return static_cast<int>(found - ranks.begin());
}

}  // namespace lockstep::process_group
