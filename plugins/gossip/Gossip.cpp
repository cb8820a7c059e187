#include <bit>
#include <cstdint>
#include <span>

#include "plugins/averaging/Distance.h"
#include "plugins/averaging/Mean.h"
#include "plugins/averaging/Parameters.h"
#include "plugins/gossip/Partners.h"
#include "plugins/nodes/Nodes.h"
#include "plugins/settings/Seed.h"

using namespace lockstep::plugin;

namespace {

/// GossipGraD (Daily et al., 2018): in each step a node averages with one partner alone, another
/// one each time, so that the cost does not grow with the number of nodes. What is mixed is the
/// gradients, as in the paper, or the parameters after the step, which keeps replicas together.
class Gossip : public Hook {
 public:
  static Description description() {
    return Description("gossip", "GossipGraD", "1.0",
                       "Each node averages with one partner a step, another one each time.")
        .caps(LOCKSTEP_CAP_LOCAL_RESULT)
        .choice({.key = "mix",
                 .label = "Mix",
                 .help = "what partners average: parameters after the step, which keeps "
                         "replicas together, or gradients, as in the paper, where they drift",
                 .initial = "parameters",
                 .choices = {"parameters", "gradients"}})
        .choice({.key = "topology",
                 .label = "Topology",
                 .help = "dissemination: to one, from another; cube: in pairs, for a power of "
                         "two of nodes",
                 .initial = "dissemination",
                 .choices = {"dissemination", "cube"}})
        .boolean({.key = "rotate",
                  .label = "Rotate",
                  .help = "nodes change places in the topology after each round",
                  .initial = true})
        .integer("average_every", "Average every",
                 {.initial = 0, .min = 0, .max = 1e9, .flags = LOCKSTEP_PARAM_LIVE},
                 "steps between two averages of the parameters over all ranks; 0: never")
        .integer(kMeasureEvery)
        .integer(kRanksPerNode)
        .integer(seedOf("of the places", 2403));
  }

  Gossip(Host host, const Values& values)
      : Hook(host),
        mixesParameters_(values["mix"].text() == "parameters"),
        averageEvery_(values["average_every"].count()),
        measureEvery_(values["measure_every"].count()),
        nodes_(host, values["ranks_per_node"].integer()),
        leaders_(nodes_.across(1)),
        partners_(nodes_.count(), topologyOf(values, nodes_.count()), values["rotate"].boolean(),
                  values["seed"].count()) {}

  [[nodiscard]] bool replicasDrift() const noexcept { return true; }

  void set(const Value& every) { averageEvery_ = every.count(); }

  void run(Run run, Bucket bucket) {
    const auto then = [this, run, bucket] {
      if (mixesParameters_) {
        run.complete();
      } else {
        mix(run, bucket.flat(), bucket.step(), true, [run] { run.complete(); });
      }
    };
    if (nodes_.inside() == nullptr) {
      then();
    } else {
      average(run, *nodes_.inside(), bucket.flat(), nodes_.size(), then);
    }
  }

  void afterOptimizer(Run run, Step step) {
    const bool all = isDue(averageEvery_, step.step());
    const bool measured = isDue(measureEvery_, step.step());
    if (!all && !mixesParameters_ && !measured) {
      run.complete();
      return;
    }
    const auto values = gatherParameters(run, step);
    const auto then = [run, step, values, measured] {
      scatterParameters(values, step);
      completeMeasured(run, values, measured);
    };
    if (all) {
      average(run, run.world(), values, run.size(), then);
    } else if (mixesParameters_) {
      mix(run, values, step.step(), !measured, then);
    } else {
      completeMeasured(run, values, measured);
    }
  }

 private:
  static Partners::Topology topologyOf(const Values& values, int nodes) {
    if (values["topology"].text() != "cube") {
      return Partners::Topology::kDissemination;
    }
    if (!std::has_single_bit(static_cast<unsigned>(nodes))) {
      throw Error(LOCKSTEP_E_UNSUPPORTED, "a cube needs a power of two of nodes, and there are " +
                                              std::to_string(nodes) +
                                              ": choose the topology dissemination");
    }
    return Partners::Topology::kCube;
  }

  /// Averages `values`, equal on all ranks of a node, with what the node's partner has. `last`:
  /// the run queues nothing after it.
  void mix(const Run& run, std::span<float> values, std::uint64_t step, bool last,
           Run::Then then) const {
    const auto noMore = [run, last] {
      if (last) {
        run.noMore();
      }
    };
    const auto share = [this, run, values, noMore, then] {
      if (nodes_.inside() == nullptr) {
        then();
      } else {
        run.broadcast(*nodes_.inside(), bufferOf(values), 0, then);
        noMore();
      }
    };
    if (nodes_.count() == 1) {
      then();
      return;
    }
    // The partners' leaders exchange, and the others of a node wait for theirs to share it out: one
    // message between nodes, however many ranks they have.
    if (!nodes_.leads()) {
      share();
      return;
    }
    const auto pair = partners_.of(nodes_.node(), step);
    const auto received = run.scratch<float>(values.size());
    const lockstep_buffer out = bufferOf(values);
    const lockstep_buffer in = bufferOf(received);
    run.exchange(*leaders_, &out, pair.to, &in, pair.from, [values, received, share] {
      // Every node's numbers go half to itself and half to one other: the mean of all nodes stays
      // what it was, while they come nearer to it.
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = (values[i] + received[i]) / 2;
      }
      share();
    });
    if (nodes_.inside() == nullptr) {
      noMore();
    }
  }

  const bool mixesParameters_;
  std::uint64_t averageEvery_;
  const std::uint64_t measureEvery_;
  const Nodes nodes_;
  const lockstep_group* const leaders_;  // null on ranks that lead no node
  const Partners partners_;
};

}  // namespace

LOCKSTEP_HOOKS(Gossip);
