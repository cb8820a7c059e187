#include "engine/simulate/CollectiveModel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

namespace lockstep::simulate {
namespace {

constexpr std::array<std::pair<Algorithm, std::string_view>, 4> kNames{
    {{Algorithm::kRing, "ring"},
     {Algorithm::kTree, "tree"},
     {Algorithm::kTwoLevels, "hierarchical"},
     {Algorithm::kFastest, "auto"}}};

constexpr double kNsPerUs = 1000;

LinkCost slowerOf(const LinkCost& a, const LinkCost& b) {
  return {std::max(a.latencyNs, b.latencyNs), std::max(a.nsPerByte, b.nsPerByte)};
}

TransferTime ring(const LinkCost& link, int ranks, double bytes) {
  const double n = ranks;
  return {2 * (n - 1) / n * bytes * link.nsPerByte, 2 * (n - 1) * link.latencyNs, Algorithm::kRing};
}

TransferTime twoTrees(const LinkCost& link, int ranks, double bytes) {
  // ceil(log2 n)
  const double height = std::bit_width(static_cast<unsigned>(ranks - 1));
  const double sent = bytes * link.nsPerByte;
  // With many pieces each step pays a latency for few bytes, with few the pipeline fills slowly.
  const double best = link.latencyNs > 0 ? std::sqrt(sent * height / (2 * link.latencyNs)) : 1e6;
  const double pieces = std::clamp(std::round(best), 1.0, 1e6);
  const double all = 2 * 2 * (height + pieces) * (link.latencyNs + sent / (2 * pieces));
  // The bytes alone, each once up and once down, hold up the next transfer. That the pipeline fills
  // does not.
  const double bytesNs = 2 * sent;
  return {bytesNs, all - bytesNs, Algorithm::kTree};
}

const TransferTime& fasterOf(const TransferTime& a, const TransferTime& b) {
  return b.ns() < a.ns() ? b : a;
}

LinkCost costOf(const cost::LinkSpeed& speed) {
  // 1 Gbit/s is one bit a nanosecond; 0 is without limit.
  return {speed.latencyUs * kNsPerUs, speed.bandwidthGbps > 0 ? 8 / speed.bandwidthGbps : 0};
}

}  // namespace

std::string_view name(Algorithm algorithm) {
  return std::find_if(kNames.begin(), kNames.end(),
                      [&](const auto& one) { return one.first == algorithm; })
      ->second;
}

std::optional<Algorithm> algorithmNamed(std::string_view name) {
  for (const auto& [algorithm, called] : kNames) {
    if (called == name) {
      return algorithm;
    }
  }
  return std::nullopt;
}

TransferTime CollectiveModel::allreduce(double bytes) const {
  TransferTime time = by(algorithm_ == Algorithm::kFastest ? Algorithm::kRing : algorithm_, bytes);
  if (algorithm_ == Algorithm::kFastest) {
    for (const Algorithm other : {Algorithm::kTree, Algorithm::kTwoLevels}) {
      time = fasterOf(time, by(other, bytes));
    }
  }
  time.latencyNs += network_.overheadNs;
  return time;
}

TransferTime CollectiveModel::by(Algorithm algorithm, double bytes) const {
  if (algorithm == Algorithm::kTwoLevels) {
    return twoLevels(bytes);
  }
  LinkCost link = network_.inside;
  if (ranks_ > network_.ranksPerNode) {
    link = network_.ranksPerNode > 1 ? slowerOf(network_.link, network_.inside) : network_.link;
  }
  return algorithm == Algorithm::kTree ? twoTrees(link, ranks_, bytes) : ring(link, ranks_, bytes);
}

TransferTime CollectiveModel::twoLevels(double bytes) const {
  const int inNode = std::min(network_.ranksPerNode, ranks_);
  const int nodes = (ranks_ + inNode - 1) / inNode;
  TransferTime time;
  if (inNode > 1) {
    time = ring(network_.inside, inNode, bytes);
  }
  if (nodes > 1) {
    const TransferTime between =
        fasterOf(ring(network_.link, nodes, bytes), twoTrees(network_.link, nodes, bytes));
    time.bytesNs += between.bytesNs;
    time.latencyNs += between.latencyNs;
  }
  // In one node, or with one rank in each, there are no two levels: then it is called what it is.
  time.by = inNode > 1 && nodes > 1 ? Algorithm::kTwoLevels : Algorithm::kRing;
  return time;
}

Network networkOf(const RecordedLink& recorded, double hopShare) {
  const int ranks = recorded.ranks;
  const double hops = 2.0 * (ranks - 1);
  const double fittedNs = recorded.fit.cost.latencyNs;
  Network network;
  if (recorded.fit.bySettings && recorded.settings) {
    const cost::LinkOptions& options = *recorded.settings;
    const LinkCost measured = costOf(cost::LinkModel(options, 0, ranks).slowest());
    network.link = costOf(options.link);
    // With one rank a node there is nothing inside: then ranks of one node are linked as all are.
    network.inside = options.ranksPerNode > 1 ? costOf(options.inside) : network.link;
    network.ranksPerNode = options.ranksPerNode;
    if (!options.exceptions.empty()) {  // one slow link is in every ring, of more ranks too
      network.link = network.inside = measured;
    }
    network.overheadNs = std::max(fittedNs - hops * measured.latencyNs, 0.0);
    return network;
  }
  network.link =
      network.inside = {hopShare * fittedNs / hops, recorded.fit.cost.nsPerByte * ranks / hops};
  network.overheadNs = (1 - hopShare) * fittedNs;
  return network;
}

}  // namespace lockstep::simulate
