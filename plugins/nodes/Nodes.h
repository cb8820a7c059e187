#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/comm_hook.hpp>

namespace lockstep::plugin {

inline constexpr Description::Number kRanksPerNode{
    .key = "ranks_per_node",
    .label = "Ranks per node",
    .help = "ranks 0, 1, ... are taken as nodes of so many; must divide the world",
    .initial = 1,
    .min = 1,
    .max = 1e6};

/// The world taken as nodes of equal size, rank after rank. Made in a hook's constructor, on every
/// rank alike, since it makes groups.
class Nodes {
 public:
  Nodes(Host host, std::int64_t ranksPerNode) : host_(host) {
    if (ranksPerNode < 1 || host.size() % ranksPerNode != 0) {
      throw Error(LOCKSTEP_E_UNSUPPORTED, "ranks_per_node is " + std::to_string(ranksPerNode) +
                                              ", which does not divide the world of " +
                                              std::to_string(host.size()) + " ranks");
    }
    size_ = static_cast<int>(ranksPerNode);
    if (size_ > 1) {
      for (int node = 0; node < count(); ++node) {
        keep(inside_, ranks(node * size_, 1, size_));
      }
    }
  }

  [[nodiscard]] int size() const { return size_; }  ///< ranks in each
  [[nodiscard]] int count() const { return host_.size() / size_; }
  [[nodiscard]] int node() const { return host_.rank() / size_; }   ///< this rank's
  [[nodiscard]] int place() const { return host_.rank() % size_; }  ///< of this rank in it
  [[nodiscard]] bool leads() const { return place() == 0; }

  /// The ranks of this node; null when each node is one rank.
  [[nodiscard]] const lockstep_group* inside() const { return inside_; }

  /// Makes the groups of the ranks that have the same place in each node, for the first `places`
  /// places, and returns this rank's, or null. Its ranks are numbered as the nodes. Collective, in
  /// a constructor.
  [[nodiscard]] const lockstep_group* across(int places) const {
    const lockstep_group* own = nullptr;
    if (size_ == 1) {
      return &host_.world();
    }
    for (int place = 0; place < places; ++place) {
      keep(own, ranks(place, size_, count()));
    }
    return own;
  }

 private:
  static std::vector<std::int32_t> ranks(int first, int apart, int count) {
    std::vector<std::int32_t> list;
    for (int i = 0; i < count; ++i) {
      list.push_back(first + i * apart);
    }
    return list;
  }
  void keep(const lockstep_group*& own, const std::vector<std::int32_t>& list) const {
    if (const auto* group = host_.subgroup(list); group != nullptr) {
      own = group;
    }
  }

  Host host_;
  int size_ = 1;
  const lockstep_group* inside_ = nullptr;
};

}  // namespace lockstep::plugin
