#pragma once

#include <vector>

#include "engine/process_group/hierarchical/HostMap.h"
#include "engine/process_group/hierarchical/Pipeline.h"

namespace lockstep::process_group::hierarchical {

/// The groups that a hierarchical one is made of, as this rank sees them.
struct Level {
  Part in;   ///< ranks of this host, first stage; in order of their places
  Part out;  ///< the same ranks, last stage
  /// One rank of each host, by host: the rank with this one's place where all hosts have the same
  /// number of ranks, else the first rank of each host (no group on the others).
  Part across;
  Part flat;  ///< all ranks, as the whole group numbers them
};

// Note [Two levels]
// With n ranks on m hosts, g a host, and a tensor of S bytes; what crosses the hosts:
//
//   allreduce       even: reduce-scatter within, allreduce of S/g by the ranks of a place, all-
//                   gather within. uneven: reduce to the host's first rank, allreduce among these,
//                   broadcast within
//   reduce          within to the rank with the root's place (uneven: the first), across to the
//                   root's host, there to the root: S (m-1)
//   broadcast       the same way back: S (m-1), instead of S (n-g)
//   allgather       even: across by the ranks of a place, then within. uneven: gathered by the
//                   first ranks, which broadcast to each other: n S (m-1), instead of n S (n-g)
//   reduceScatter   within for each host, then across: n S (m-1), instead of n S (n-g)
//   barrier         within, across (uneven: and within)
//   gather, scatter, alltoall, send, recv
//                   each byte crosses once in any case: over the flat group
//
// Elements are combined in rank order within a host, and the hosts' results in the order of the
// hosts' first ranks: the same bits on all ranks, every time, whatever the size. Halves are
// rounded once a level. An average is one of averages; with uneven hosts each is weighed by its
// host's share of the ranks. So a sum or an average of floats may differ in its last bits from
// that of a flat group, which combines in rank order throughout.

/// Says what each operation of a hierarchical group does on one rank. Arguments are checked
/// already. [any-thread]
class Plans {
 public:
  /// All arguments outlive this. `tracer` counts what crosses hosts in the flat group.
  Plans(const Level& level, const HostMap& hosts, int rank, trace::Tracer* tracer);

  [[nodiscard]] Plan broadcast(std::vector<at::Tensor> tensors, int root) const;
  [[nodiscard]] Plan allreduce(std::vector<at::Tensor> tensors, ReduceOp op) const;
  [[nodiscard]] Plan reduce(at::Tensor tensor, int root, ReduceOp op) const;
  [[nodiscard]] Plan allgather(std::vector<at::Tensor> outputs, at::Tensor input) const;
  [[nodiscard]] Plan reduceScatter(at::Tensor output, std::vector<at::Tensor> inputs,
                                   ReduceOp op) const;
  [[nodiscard]] Plan barrier() const;

  // Over the flat group.
  [[nodiscard]] Plan gather(const Call& call, std::vector<at::Tensor> outputs,
                            at::Tensor input) const;
  [[nodiscard]] Plan scatter(const Call& call, at::Tensor output,
                             std::vector<at::Tensor> inputs) const;
  [[nodiscard]] Plan alltoall(const Call& call, at::Tensor output, at::Tensor input,
                              std::vector<std::int64_t> outputSplits,
                              std::vector<std::int64_t> inputSplits) const;
  [[nodiscard]] Plan send(const Call& call, at::Tensor tensor, int tag) const;
  [[nodiscard]] Plan receive(const Call& call, at::Tensor tensor, int tag) const;

 private:
  using WorkPtr = ProcessGroup::WorkPtr;

  // The stages.
  enum { kIn = 0, kAcross = 1, kOut = 2 };

  [[nodiscard]] bool meetsOthers() const { return level_.across.group != nullptr && hosts_ > 1; }
  [[nodiscard]] bool sharesHost() const { return here_.size() > 1; }
  [[nodiscard]] bool isAway(int rank) const { return map_.hostOf(rank) != host_; }
  /// A rank's number in the groups within its host.
  [[nodiscard]] int relayPlace(int root) const { return even_ ? map_.placeOf(root) : 0; }

  Plan evenAllreduce(at::Tensor flat, ReduceOp op) const;
  Plan unevenAllreduce(const at::Tensor& flat, ReduceOp op) const;
  Plan evenAllgather(std::vector<at::Tensor> outputs, at::Tensor input) const;
  Plan evenReduceScatter(at::Tensor output, std::vector<at::Tensor> inputs, ReduceOp op) const;
  Plan unevenReduceScatter(const at::Tensor& output, const std::vector<at::Tensor>& inputs,
                           ReduceOp op) const;
  /// How the first ranks of uneven hosts combine what their hosts have combined by `op`.
  struct Combined {
    ReduceOp op;
    double weight = 1;  // of this host's
  };
  [[nodiscard]] Combined combined(ReduceOp op) const;
  [[nodiscard]] std::vector<at::Tensor> ofHost(const std::vector<at::Tensor>& byRank,
                                               int host) const;
  [[nodiscard]] Plan flatly(Step::Issue issue, std::uint64_t sent, std::uint64_t messages,
                            std::uint64_t received) const;

  const Level& level_;
  const HostMap& map_;
  const int rank_;
  const int hosts_;
  const int host_;
  const int place_;
  const bool even_;
  const std::vector<int>& here_;  // ranks of this host
  trace::Tracer* const tracer_;   // null: nobody counts
};

}  // namespace lockstep::process_group::hierarchical
