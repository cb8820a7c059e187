#include "engine/cost/LinkModel.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/base/Check.h"

namespace lockstep::cost {
namespace {

using trace::Operation;

constexpr double kNsPerUs = 1000;

/// 1 Gbit/s is one bit a nanosecond.
double nsOf(double bytes, double gbps) {
  return gbps > 0 ? bytes * 8 / gbps : 0;
}

/// What takes longer than four months never ends; sums of such times stay in range.
constexpr double kForeverNs = 1e16;

std::int64_t rounded(double ns) {
  return static_cast<std::int64_t>(std::min(ns + 0.5, kForeverNs));
}

LinkModel::Cost rounded(double linkNs, double latencyNs) {
  return {rounded(linkNs), rounded(latencyNs)};
}

}  // namespace

LinkModel::LinkModel(LinkOptions options, int rank, int size)
    : options_(std::move(options)), rank_(rank), size_(size) {
  LOCKSTEP_CHECK(options_.ranksPerNode > 0, "a node has {} ranks", options_.ranksPerNode);
  if (size_ < 2) {
    return;
  }
  // The ring closes: the last rank's neighbour is the first. 0 is no limit, and not the slowest.
  for (int from = 0; from < size_; ++from) {
    const LinkSpeed speed = between(from, (from + 1) % size_);
    if (speed.bandwidthGbps > 0) {
      ringGbps_ = ringGbps_ > 0 ? std::min(ringGbps_, speed.bandwidthGbps) : speed.bandwidthGbps;
    }
    ringLatencyUs_ = std::max(ringLatencyUs_, speed.latencyUs);
  }
}

LinkOptions among(const LinkOptions& options, const std::vector<int>& ranks) {
  LinkOptions own;
  own.jitterUs = options.jitterUs;
  own.seed = options.seed;
  own.inFlight = options.inFlight;
  // Each pair becomes an exception of its own, since nodes of equal size are not what a subset of
  // ranks has. A size of 1 skips the search for the slowest link, which is not asked for here.
  const LinkModel whole(options, 0, 1);
  for (std::size_t a = 0; a < ranks.size(); ++a) {
    for (std::size_t b = a + 1; b < ranks.size(); ++b) {
      own.exceptions.push_back(
          {static_cast<int>(a), static_cast<int>(b), whole.between(ranks[a], ranks[b])});
    }
  }
  return own;
}

LinkSpeed LinkModel::between(int a, int b) const {
  LinkSpeed speed =
      a / options_.ranksPerNode == b / options_.ranksPerNode ? options_.inside : options_.link;
  for (const auto& exception : options_.exceptions) {
    const bool fits = exception.peer < 0
                          ? exception.rank == a || exception.rank == b
                          : std::minmax(exception.rank, exception.peer) == std::minmax(a, b);
    if (fits) {
      speed = exception.speed;
    }
  }
  return speed;
}

double LinkModel::toPeerNs(int peer, std::uint64_t bytes) const {
  return peer == rank_ ? 0 : nsOf(static_cast<double>(bytes), between(rank_, peer).bandwidthGbps);
}

double LinkModel::peerLatencyNs(int peer) const {
  return peer == rank_ ? 0 : between(rank_, peer).latencyUs * kNsPerUs;
}

LinkModel::Cost LinkModel::cost(Operation operation, std::uint64_t bytes, int root) const {
  if (size_ < 2) {
    return {};
  }
  const double n = size_;
  const double ring = nsOf(static_cast<double>(bytes), ringGbps_);
  const double hop = ringLatencyUs_ * kNsPerUs;
  // ceil(log2 n): 1 for 2 ranks, 2 for 3 and 4, 3 for 5 to 8.
  const double depth = std::bit_width(static_cast<unsigned>(size_ - 1));
  switch (operation) {
    case Operation::kAllreduce:
      return rounded(2 * (n - 1) / n * ring, 2 * (n - 1) * hop);
    case Operation::kAllgather:
    case Operation::kReduceScatter:
      return rounded((n - 1) * ring, (n - 1) * hop);
    case Operation::kBroadcast:
    case Operation::kReduce:
      return rounded(ring, depth * hop);
    case Operation::kBarrier:
      return rounded(0, depth * hop);
    case Operation::kGather:
    case Operation::kScatter: {
      // The root of a gather and the others of a scatter. Who sends is done when the link has taken
      // the bytes, and waits for no latency.
      const bool receives = (operation == Operation::kGather) == (rank_ == root);
      double link = 0;
      double latency = 0;
      for (int peer = 0; peer < size_; ++peer) {
        // The root has a transfer with each peer, one after the other; any other rank has one, with
        // the root.
        if (rank_ == root || peer == root) {
          link += toPeerNs(peer, bytes);
          latency = std::max(latency, receives ? peerLatencyNs(peer) : 0);
        }
      }
      return rounded(link, latency);
    }
    case Operation::kSend:
      return rounded(toPeerNs(root, bytes), 0);
    case Operation::kRecv:
      return rounded(toPeerNs(root, bytes), peerLatencyNs(root));
    case Operation::kAlltoall:
    case Operation::kNone:
      break;
  }
  return {};
}

LinkModel::Cost LinkModel::alltoall(const std::vector<std::uint64_t>& bytesTo,
                                    const std::vector<std::uint64_t>& bytesFrom) const {
  double out = 0;
  double in = 0;
  double latency = 0;
  for (int peer = 0; peer < size_; ++peer) {
    const auto index = static_cast<std::size_t>(peer);
    out += toPeerNs(peer, bytesTo[index]);
    in += toPeerNs(peer, bytesFrom[index]);
    latency = std::max(latency, peerLatencyNs(peer));
  }
  return rounded(std::max(out, in), latency);
}

}  // namespace lockstep::cost
