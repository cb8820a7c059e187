#pragma once

#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace lockstep::plugin {

// Note [Dissemination]
// In step k of a round each sends to the place 2^k on. Of five places, place 0 has then heard:
//
//    step   from   which had heard of   so that 0 knows of
//    0      4      -                    4
//    1      3      2                    2, 3, 4
//    2      1      0, 3, 4              all
//
// In a cube the places whose numbers differ in bit k exchange with each other in step k.

/// Who sends to whom in each step of a gossip among `count` nodes: after ceil(log2 count) steps
/// each has heard, directly or not, of every other.
class Partners {
 public:
  enum class Topology { kDissemination, kCube };

  /// `rotates`: the nodes take other places in the topology, drawn from `seed`, after each round
  /// of all powers; otherwise they stand in the order of their numbers.
  Partners(int count, Topology topology, bool rotates, std::uint64_t seed)
      : count_(count), topology_(topology), rotates_(rotates), seed_(seed) {
    while ((1 << powers_) < count) {
      ++powers_;
    }
  }

  struct Pair {
    int to;
    int from;
  };

  /// Of `node` in `step`; count must be above 1. In a cube both are the same node.
  [[nodiscard]] Pair of(int node, std::uint64_t step) const {
    const auto power = static_cast<int>(step % static_cast<std::uint64_t>(powers_));
    const std::vector<int> nodes = places(step / static_cast<std::uint64_t>(powers_));
    int place = 0;
    while (nodes[static_cast<std::size_t>(place)] != node) {
      ++place;
    }
    const int distance = 1 << power;
    const auto at = [&nodes](int where) { return nodes[static_cast<std::size_t>(where)]; };
    if (topology_ == Topology::kCube) {
      return {at(place ^ distance), at(place ^ distance)};
    }
    return {at((place + distance) % count_), at((place - distance + count_) % count_)};
  }

 private:
  /// Which node stands at each place of the topology in a round.
  [[nodiscard]] std::vector<int> places(std::uint64_t round) const {
    std::vector<int> nodes(static_cast<std::size_t>(count_));
    std::iota(nodes.begin(), nodes.end(), 0);
    if (rotates_) {
      // As many topologies as nodes, in turn. By remainder, which is the same in every library.
      std::seed_seq sequence{seed_, round % static_cast<std::uint64_t>(count_)};
      std::mt19937_64 random(sequence);
      for (std::size_t last = nodes.size() - 1; last > 0; --last) {
        std::swap(nodes[last], nodes[random() % (last + 1)]);
      }
    }
    return nodes;
  }

  int count_;
  Topology topology_;
  bool rotates_;
  std::uint64_t seed_;
  int powers_ = 0;
};

}  // namespace lockstep::plugin
