#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/cost/LinkModel.h"
#include "engine/cost/TransferFit.h"

namespace lockstep::simulate {

// Note [What an allreduce costs among more ranks]
// Of n ranks and S bytes, on links that take a latency a for each message and b for each byte:
//
//   ring   2 (n-1) a + 2 (n-1)/n S b
//          Reduce-scatter, then allgather, along a ring (Patarasuk, Yuan 2009; Thakur,
//          Rabenseifner, Gropp 2005). The ring runs through all nodes and is as fast as its slowest
//          link.
//   tree   2 min over k of 2 (h + k) (a + S b / (2 k)), with h = ceil(log2 n)
//          Two binary trees, in each of which half of the bytes are reduced and then broadcast in k
//          pieces; an inner rank of one is a leaf of the other, so that each link is used in both
//          directions (Sanders, Speck, Träff 2009). The best k is about sqrt(S b h / (2 a)).
//   two levels
//          Reduce-scatter among the m ranks of a node, an allreduce of each one's m-th part between
//          the nodes, allgather in the node (Cho, Finkler, Kung, Hunter 2019):
//          2 (m-1) a' + 2 (m-1)/m S b'  inside, and ring or tree of all S bytes among the nodes,
//          since the m parts of a node share its one link.
//
// What a network does when many jobs or rings cross the same switch, congestion, is in none of
// them.

/// A link in one direction.
struct LinkCost {
  double latencyNs = 0;
  double nsPerByte = 0;
};

struct Network {
  LinkCost link;    ///< between nodes
  LinkCost inside;  ///< between ranks of one node
  int ranksPerNode = 1;
  double overheadNs = 0;  ///< of each operation, among however many ranks
};

enum class Algorithm { kRing, kTree, kTwoLevels, kFastest };
std::string_view name(Algorithm algorithm);  // "ring", "tree", "hierarchical", "auto"
std::optional<Algorithm> algorithmNamed(std::string_view name);

/// What one operation takes of the line, as cost::LineClock::carry takes it.
struct TransferTime {
  double bytesNs = 0;    ///< the line is taken for so long by its bytes
  double latencyNs = 0;  ///< then the last byte is under way for so long
  Algorithm by = Algorithm::kRing;

  [[nodiscard]] double ns() const { return bytesNs + latencyNs; }
};

/// [any-thread]
class CollectiveModel {
 public:
  /// `ranks`: 2 or more, node by node.
  CollectiveModel(const Network& network, int ranks, Algorithm algorithm)
      : network_(network), ranks_(ranks), algorithm_(algorithm) {}

  /// Returns what an allreduce of so many bytes takes; `by` is never kFastest.
  [[nodiscard]] TransferTime allreduce(double bytes) const;

 private:
  [[nodiscard]] TransferTime by(Algorithm algorithm, double bytes) const;
  [[nodiscard]] TransferTime twoLevels(double bytes) const;

  Network network_;
  int ranks_;
  Algorithm algorithm_;
};

/// What is known of a recorded run's links.
struct RecordedLink {
  cost::TransferFit fit;                      ///< of its buckets among its ranks
  std::optional<cost::LinkOptions> settings;  ///< of a shaped link
  int ranks = 2;
};

/// Returns the network on which a ring among the recorded ranks takes what was fitted. Where
/// settings tell the link, what a transfer takes beside that is an overhead of each. Where they do
/// not, one number of ranks cannot tell the latency of a hop from such an overhead: `hopShare` of
/// the fitted latency, 0 to 1, is taken for hops.
Network networkOf(const RecordedLink& recorded, double hopShare = 1);

}  // namespace lockstep::simulate
