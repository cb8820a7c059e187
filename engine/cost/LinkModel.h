#pragma once

#include <cstdint>
#include <vector>

#include "engine/trace/Operation.h"

namespace lockstep::cost {

/// A full-duplex link in one direction.
struct LinkSpeed {
  double bandwidthGbps = 0;  ///< 10^9 bit/s; 0 = as fast as the backend
  double latencyUs = 0;      ///< of each message
  bool operator==(const LinkSpeed&) const = default;
};

/// The network a group is to behave like.
struct LinkOptions {
  LinkSpeed link;        ///< between nodes
  LinkSpeed inside;      ///< between ranks of one node
  int ranksPerNode = 1;  ///< ranks [0, k) are node 0, [k, 2k) node 1, ...; 1: only `link` counts

  /// Links that differ: between two ranks, or of one rank to every other (peer = -1). The last
  /// one that fits counts.
  struct Exception {
    int rank = 0;
    int peer = -1;
    LinkSpeed speed;
  };
  std::vector<Exception> exceptions;

  /// How many collectives of one group travel at once, latency included: 1 as on the stream of an
  /// NCCL communicator, 2 as with c10d's Gloo and its two threads; 0 is without limit.
  int inFlight = 1;

  double jitterUs = 0;     ///< each operation takes up to this much longer, drawn evenly
  std::uint64_t seed = 0;  ///< of the jitter
};

/// The same network as a group of some of its ranks sees it; member i is `ranks[i]`.
LinkOptions among(const LinkOptions& options, const std::vector<int>& ranks);

/// How long the operations of `size` ranks take on a network, by the usual cost models
/// (Thakur, Rabenseifner, Gropp 2005; Patarasuk, Yuan 2009). [any-thread]
///
/// Ranks stand in a ring, node by node. A ring moves as fast as its slowest link, of bandwidth B
/// and latency L. With n ranks and S bytes, as the operation's event counts them:
///
///   allreduce       2 (n-1)/n S / B   2 (n-1) L          reduce-scatter, then allgather
///   allgather       (n-1) S / B       (n-1) L            S: of one rank
///   reduce_scatter  (n-1) S / B       (n-1) L            S: of one rank's result
///   broadcast       S / B             ceil(log2 n) L     pipelined tree; reduce the same
///   barrier         0                 ceil(log2 n) L
///   gather          root: the sum over peers of S / B(peer), and the largest L(peer); others:
///                   S / B(root), no L: they have handed theirs over. scatter the other way round
///   alltoall        the larger of what is sent and received: the sum over peers of S(peer) /
///                   B(peer), and the largest L(peer)
///   send            S / B(peer)       0                  recv: L(peer)
class LinkModel {
 public:
  LinkModel(LinkOptions options, int rank, int size);

  struct Cost {
    std::int64_t linkNs = 0;     ///< the link is taken for so long
    std::int64_t latencyNs = 0;  ///< then the last byte is under way for so long
  };

  /// `root`: root or peer, where the operation has one. Not for alltoall.
  [[nodiscard]] Cost cost(trace::Operation operation, std::uint64_t bytes, int root = -1) const;
  [[nodiscard]] Cost alltoall(const std::vector<std::uint64_t>& bytesTo,
                              const std::vector<std::uint64_t>& bytesFrom) const;

  /// The slowest link of the ring: what a large allreduce is limited by. A bandwidth of 0 is
  /// without limit.
  [[nodiscard]] LinkSpeed slowest() const { return {ringGbps_, ringLatencyUs_}; }

  /// The link between two ranks.
  [[nodiscard]] LinkSpeed between(int a, int b) const;

 private:
  [[nodiscard]] double toPeerNs(int peer, std::uint64_t bytes) const;
  [[nodiscard]] double peerLatencyNs(int peer) const;

  LinkOptions options_;
  int rank_;
  int size_;
  double ringGbps_ = 0;
  double ringLatencyUs_ = 0;
};

}  // namespace lockstep::cost
