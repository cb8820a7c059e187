#include <algorithm>
#include <span>

#include "engine/kernels/Kernels.h"
#include "plugins/averaging/Mean.h"
#include "plugins/nodes/Nodes.h"

using namespace lockstep::plugin;

namespace {

/// Allreduce in two levels: within each node, where the link is fast, and between the nodes, where
/// less is sent for it.
class Hierarchical : public Hook {
 public:
  static Description description() {
    return Description("hierarchical", "hierarchical allreduce", "1.0",
                       "Averages within each node first, then between nodes.")
        .caps(LOCKSTEP_CAP_SAME_RESULT)
        .meanError(1e-6)
        .integer(kRanksPerNode)
        .choice({.key = "between",
                 .label = "Between nodes",
                 .help = "shards: every rank of a node carries its share; leaders: the first "
                         "rank of each node carries all",
                 .initial = "shards",
                 .choices = {"shards", "leaders"}});
  }

  Hierarchical(Host host, const Values& values)
      : Hook(host),
        nodes_(host, values["ranks_per_node"].integer()),
        byLeaders_(values["between"].text() == "leaders"),
        across_(nodes_.across(byLeaders_ ? 1 : nodes_.size())) {}

  void run(Run run, Bucket bucket) {
    if (nodes_.inside() == nullptr) {
      averageBucket(run, bucket);
      return;
    }
    divide(bucket.flat(), bucket.divisor());
    if (!byLeaders_) {
      throughShards(run, bucket.flat());
    } else if (nodes_.leads()) {
      collect(run, bucket.flat(), run.scratch<float>(bucket.numel()), 1);
    } else {
      const lockstep_buffer flat = bucket.buffer();
      run.exchange(*nodes_.inside(), &flat, 0, nullptr, 0,
                   [this, run, bucket] { share(run, bucket.flat()); });
    }
  }

 private:
  /// Reduce-scatter within the node, allreduce of this rank's shard between nodes, allgather.
  void throughShards(const Run& run, std::span<float> flat) const {
    const auto size = static_cast<std::size_t>(nodes_.size());
    const std::size_t part = (flat.size() + size - 1) / size;
    const auto shard = run.scratch<float>(part);
    auto whole = flat;
    if (part * size != flat.size()) {
      whole = run.scratch<float>(part * size);
      std::fill(std::copy(flat.begin(), flat.end(), whole.begin()), whole.end(), 0.0F);
    }
    const auto gather = [this, run, flat, whole, shard] {
      run.allGather(*nodes_.inside(), bufferOf(shard), bufferOf(whole), [run, flat, whole] {
        if (whole.data() != flat.data()) {
          std::copy_n(whole.begin(), flat.size(), flat.begin());
        }
        run.complete();
      });
      run.noMore();
    };
    run.reduceScatter(*nodes_.inside(), bufferOf(whole), bufferOf(shard), LOCKSTEP_SUM,
                      [this, run, shard, gather] {
                        run.allReduce(*across_, bufferOf(shard), LOCKSTEP_SUM, gather);
                      });
  }

  /// Adds up what the ranks of the node have, from `place` on, one by one.
  void collect(const Run& run, std::span<float> flat, std::span<float> received, int place) const {
    if (place == nodes_.size()) {
      run.allReduce(*across_, bufferOf(flat), LOCKSTEP_SUM,
                    [this, run, flat] { share(run, flat); });
      return;
    }
    const lockstep_buffer in = bufferOf(received);
    run.exchange(*nodes_.inside(), nullptr, 0, &in, place, [this, run, flat, received, place] {
      lockstep::kernels::kernels().add(flat.data(), received.data(), flat.size());
      // One rank after the other, in an order that is always the same: so are the bits of the sum.
      collect(run, flat, received, place + 1);
    });
  }

  void share(const Run& run, std::span<float> flat) const {
    run.broadcast(*nodes_.inside(), bufferOf(flat), 0, [run] { run.complete(); });
    run.noMore();
  }

  const Nodes nodes_;
  const bool byLeaders_;
  const lockstep_group* const across_;  // null where this rank has no part in it
};

}  // namespace

LOCKSTEP_HOOKS(Hierarchical);
