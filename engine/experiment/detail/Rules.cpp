#include "engine/experiment/detail/Rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <filesystem>

namespace lockstep::experiment::detail {
namespace {

namespace fs = std::filesystem;

// The first key of a rule is the one it is shown at, if it was written; the others are those that
// the rule reads, so that a mistake in any of them silences it. Rules do not depend on each other.
/// Collects what is broken; one function below for each table.
class Rules {
 public:
  explicit Rules(const Experiment& experiment) : e_(experiment) {}

  std::vector<BrokenRule> all() {
    general();
    model();
    data();
    optimizer();
    train();
    capture();
    link();
    ddp();
    hook();
    sharedOptimizers();
    dataParallel();
    processes();
    launch();
    return std::move(broken_);
  }

 private:
  void expect(bool holds, std::vector<std::string> keys, std::string text) {
    if (!holds) {
      broken_.push_back({std::move(keys), std::move(text)});
    }
  }

  void expectFile(const std::string& key, const std::string& path) {
    std::error_code ignored;
    if (path.empty()) {
      return;
    }
    // Here, and not minutes later in every rank.
    expect(fs::exists(path, ignored), {key}, fmt::format("there is no file {}", path));
    expect(!fs::is_directory(path, ignored), {key},
           fmt::format("{} is a folder, not a file", path));
  }

  void general() {
    expect(!e_.name.empty(), {"name"}, "must not be empty");
    expect(e_.name.size() <= 200 &&
               std::none_of(e_.name.begin(), e_.name.end(),
                            [](char c) { return static_cast<unsigned char>(c) < 0x20; }),
           {"name"}, "must be one line of at most 200 characters");
  }

  void model() {
    const ModelConfig& m = e_.model;
    const bool mnist = e_.data.kind == "mnist";
    if (m.kind == "mlp" || m.kind == "branching") {
      expect(m.layers.size() >= 2, {"model.layers"}, "needs at least an input and an output width");
      // Only the shipped shape is known here; of other data the rank compares model and sample.
      if (mnist && m.layers.size() >= 2) {
        expect(m.layers.front() == 784 && m.layers.back() == 10,
               {"model.layers", "model.kind", "data.kind"},
               fmt::format("on mnist the first width must be 784 and the last 10, not {} and {}",
                           m.layers.front(), m.layers.back()));
      }
    }
    if (m.kind == "cnn" || m.kind == "resnet18") {
      expect(!mnist || m.classes == 10, {"model.classes", "model.kind", "data.kind"},
             fmt::format("must be 10 on mnist, not {}", m.classes));
    }
    if (m.kind == "deep_linear") {
      expect(!mnist || m.width == 784, {"model.width", "model.kind", "data.kind"},
             fmt::format("must be 784 on mnist, not {}; or use data.kind \"synthetic\"", m.width));
    }
    if (m.kind == "char_gpt" && m.heads > 0) {
      expect(m.embedding % m.heads == 0, {"model.embedding", "model.heads"},
             fmt::format("{} does not divide by model.heads = {}", m.embedding, m.heads));
    }
    // Momentum and decay change rows that had no gradient: with a sparse one they would not be
    // changed, and the training would be another one.
    if (hasSparseGradients()) {
      const OptimizerConfig& o = e_.optimizer;
      expect(o.kind == "sgd" && o.momentum == 0 && o.weightDecay == 0,
             {"optimizer.kind", "optimizer.momentum", "optimizer.weight_decay", "model.sparse",
              "model.kind"},
             "sparse gradients need optimizer.kind \"sgd\" with momentum = 0 and weight_decay = 0, "
             "which change no row that was not used; or model.sparse = false");
    }
    if (m.kind == "torchscript" || m.kind == "shapes") {
      expect(!m.file.empty(), {"model.file", "model.kind"},
             fmt::format("model.kind \"{}\" needs model.file", m.kind));
      expectFile("model.file", m.file);
    }
  }

  void data() {
    const DataConfig& d = e_.data;
    const std::vector<std::string> takes = dataOf(e_.model.kind);
    expect(std::find(takes.begin(), takes.end(), d.kind) != takes.end(),
           {"data.kind", "model.kind"},
           fmt::format("model.kind \"{}\" takes data.kind {}, not \"{}\"", e_.model.kind,
                       fmt::join(takes, " or "), d.kind));
    std::error_code ignored;
    if (d.kind == "mnist" && !d.folder.empty()) {
      expect(fs::is_directory(d.folder, ignored), {"data.folder"},
             fmt::format("there is no folder {}", d.folder));
    }
    if (d.kind == "text") {
      expectFile("data.file", d.file);
    }
    if (d.kind == "synthetic") {
      expect(
          d.samples >= e_.processes.worldSize, {"data.samples", "processes.world_size"},
          fmt::format("{} samples are fewer than the {} ranks", d.samples, e_.processes.worldSize));
    }
  }

  static std::vector<std::string> dataOf(const std::string& model) {
    if (model == "char_gpt" || model == "ngram") {
      return {"text"};
    }
    if (model == "shapes") {
      return {"synthetic"};
    }
    if (model == "torchscript") {
      return {"mnist", "text", "synthetic"};
    }
    return {"mnist", "synthetic"};
  }

  void optimizer() {
    const OptimizerConfig& o = e_.optimizer;
    if (o.kind == "sgd" && o.nesterov) {
      expect(o.momentum > 0, {"optimizer.nesterov", "optimizer.momentum"},
             "needs optimizer.momentum above 0");
      expect(o.dampening == 0, {"optimizer.nesterov", "optimizer.dampening"},
             "needs optimizer.dampening = 0");
    }
  }

  void train() {
    const TrainConfig& t = e_.train;
    expect(t.steps || t.epochs, {"train.steps", "train.epochs"},
           "missing: write either train.steps or train.epochs");
    expect(!(t.steps && t.epochs), {"train.epochs", "train.steps"},
           "write either train.steps or train.epochs, not both");
    expect(t.checkpointEvery == 0 || !t.checkpoint.empty(),
           {"train.checkpoint_every", "train.checkpoint"},
           "needs train.checkpoint, the file to write");
    expectFile("train.resume_from", t.resumeFrom);
    if (!t.checkpoint.empty()) {
      std::error_code ignored;
      const fs::path folder = fs::absolute(t.checkpoint, ignored).parent_path();
      expect(fs::is_directory(folder, ignored), {"train.checkpoint"},
             fmt::format("there is no folder {} to write it to", folder.string()));
      expect(!fs::is_directory(t.checkpoint, ignored), {"train.checkpoint"},
             fmt::format("{} is a folder, not a file", t.checkpoint));
    }
  }

  void capture() {
    const auto events = static_cast<std::uint64_t>(e_.capture.ringEvents);
    expect(
        std::has_single_bit(events), {"capture.ring_events"},
        fmt::format("must be a power of two such as {}, not {}", std::bit_floor(events), events));
  }

  void processes() {
    const ProcessesConfig& p = e_.processes;
    const bool cut = p.backend == "auto" || p.backend == "hierarchical";
    expect(!cut || p.hosts <= p.worldSize, {"processes.hosts", "processes.world_size"},
           fmt::format("{} hosts are more than the {} ranks", p.hosts, p.worldSize));
  }

  void launch() {
    const LaunchConfig& l = e_.launch;
    const int world = e_.processes.worldSize;
    if (l.isLocal()) {
      return;  // the other keys have no meaning then, and must not be written
    }
    if (l.ranksPerNode == 0) {
      expect(world % l.nnodes == 0, {"launch.nnodes", "processes.world_size"},
             fmt::format("{} ranks cannot be spread evenly over {} hosts", world, l.nnodes));
    } else {
      expect(l.nnodes * l.ranksPerNode == world,
             {"launch.ranks_per_node", "launch.nnodes", "processes.world_size"},
             fmt::format("{} hosts with {} ranks each are {} ranks, and processes.world_size is {}",
                         l.nnodes, l.ranksPerNode, l.nnodes * l.ranksPerNode, world));
    }
  }

  void ddp() {
    const DdpConfig& d = e_.ddp;
    expect(!d.findUnusedParameters || !d.staticGraph,
           {"ddp.static_graph", "ddp.find_unused_parameters"},
           "finds what is unused by itself; leave ddp.find_unused_parameters out");
    expect(!d.skipAllReduceUnusedParams || d.findUnusedParameters,
           {"ddp.skip_all_reduce_unused_params", "ddp.find_unused_parameters"},
           "needs ddp.find_unused_parameters");
    expect(d.join || (d.divideByInitialWorldSize && !d.throwOnEarlyTermination),
           {"ddp.divide_by_initial_world_size", "ddp.throw_on_early_termination", "ddp.join"},
           "needs ddp.join");
    expect(d.delayAllReduceNamedParams.empty() == d.paramToHookAllReduce.empty(),
           {"ddp.delay_all_reduce_named_params", "ddp.param_to_hook_all_reduce"},
           "write ddp.delay_all_reduce_named_params and ddp.param_to_hook_all_reduce, or neither");
    expect(!d.join || d.delayAllReduceNamedParams.empty(),
           {"ddp.delay_all_reduce_named_params", "ddp.join"},
           "a rank without inputs cannot tell when the others reduce those; leave ddp.join out");
    // What follows in a Join is a collective of all ranks, which a rank without inputs does not
    // come to.
    expect(!d.join || e_.train.evaluateEvery == 0, {"ddp.join", "train.evaluate_every"},
           "needs train.evaluate_every = 0: a rank without inputs cannot take part");
    expect(!d.join || e_.train.checkpoint.empty(), {"ddp.join", "train.checkpoint"},
           "has no one step that all ranks stand at; leave train.checkpoint out");
    expect(!d.join || !d.syncBatchNorm || d.throwOnEarlyTermination,
           {"ddp.join", "ddp.sync_batch_norm"},
           "needs ddp.throw_on_early_termination with ddp.sync_batch_norm: no rank can answer for "
           "a model that communicates itself");
  }

  /// Optimizers that step the parameters DDP reduces, in place of the one after the backward.
  void sharedOptimizers() {
    const OptimizerConfig& o = e_.optimizer;
    expect(!o.zero || (e_.train.checkpoint.empty() && e_.train.resumeFrom.empty()),
           {"optimizer.zero", "train.checkpoint", "train.resume_from"},
           "keeps no state of all parameters on one rank, so there is no checkpoint");
    expect(!o.zero || !o.inBackward, {"optimizer.in_backward", "optimizer.zero"},
           "steps every parameter on every rank; leave optimizer.zero out");
    // Then the rule above has spoken, and these would only repeat it.
    const bool both = o.zero && o.inBackward;
    expect(both || !(o.zero || o.inBackward) || e_.ddp.ignore.empty(),
           {"ddp.ignore", "optimizer.zero", "optimizer.in_backward"},
           fmt::format("nothing would step what optimizer.{} leaves out: it steps what is reduced",
                       o.zero ? "zero" : "in_backward"));
    expect(both || !(o.zero || o.inBackward) || !hasSparseGradients(),
           {"model.sparse", "optimizer.zero", "optimizer.in_backward"},
           fmt::format("optimizer.{} steps dense gradients; write model.sparse = false",
                       o.zero ? "zero" : "in_backward"));
    expect(!o.inBackward || (e_.ddp.delayAllReduceNamedParams.empty() && !e_.ddp.mixesPrecision()),
           {"optimizer.in_backward", "ddp.delay_all_reduce_named_params", "ddp.param_dtype",
            "ddp.reduce_dtype"},
           "steps what lies in buckets, in full precision; leave "
           "ddp.delay_all_reduce_named_params and the dtypes of [ddp] out");
    expect(!e_.ddp.mixesPrecision() || !hasSparseGradients(),
           {"ddp.param_dtype", "ddp.reduce_dtype", "ddp.buffer_dtype", "model.sparse"},
           "mixed precision needs dense gradients; write model.sparse = false");
    expect(!o.inBackward || (!e_.ddp.findUnusedParameters && !e_.ddp.staticGraph),
           {"optimizer.in_backward", "ddp.find_unused_parameters", "ddp.static_graph"},
           "would step parameters that took no part as well; leave ddp.find_unused_parameters and "
           "ddp.static_graph out");
  }

  [[nodiscard]] bool hasSparseGradients() const {
    return e_.model.kind == "ngram" && e_.model.sparse;
  }

  void hook() {
    expect(!e_.hook.name.empty(), {"hook.name"}, "must be the name of a hook");
    constexpr std::size_t kMostInside = 4;
    expect(e_.hook.inner.size() <= kMostInside, {"hook.inner.name", "hook.name"},
           fmt::format("at most {} hooks can stand inside one another", kMostInside));
    std::string table = "hook";
    for (const HookSettings& inner : e_.hook.inner) {
      table += ".inner";
      expect(!inner.name.empty(), {table + ".name", "hook.name"},
             fmt::format("[{}] must say the name of the hook inside", table));
    }
  }

  void dataParallel() {
    if (e_.processes.strategy != "data_parallel") {
      return;
    }
    const std::string who = "processes.strategy \"data_parallel\"";
    expect(e_.processes.worldSize == 1, {"processes.world_size", "processes.strategy"},
           fmt::format("must be 1 with {}: it is one process, on processes.devices", who));
    const auto refuse = [&](bool set, const char* key) {
      expect(!set, {key, "processes.strategy"}, fmt::format("has no meaning with {}", who));
    };
    refuse(e_.ddp.join, "ddp.join");
    refuse(e_.ddp.syncBatchNorm, "ddp.sync_batch_norm");
    refuse(!e_.ddp.ignore.empty(), "ddp.ignore");
    refuse(e_.ddp.mixesPrecision(), "ddp.param_dtype");
    refuse(e_.optimizer.zero, "optimizer.zero");
    refuse(e_.optimizer.inBackward, "optimizer.in_backward");
    refuse(!(e_.hook == HookConfig{}), "hook.name");
    refuse(hasSparseGradients(), "model.sparse");
  }

  void link() {
    const LinkConfig& l = e_.link;
    const int world = e_.processes.worldSize;
    for (const std::int64_t rank : l.slowRanks) {
      expect(rank < world, {"link.slow_ranks", "processes.world_size"},
             fmt::format("there is no rank {} among {}", rank, world));
    }
    expect(!l.slowRanks.empty() || (l.slowBandwidthGbps == 0 && l.slowLatencyUs == 0),
           {"link.slow_bandwidth_gbps", "link.slow_latency_us"}, "needs link.slow_ranks");
    expect(!l.slowAmong || l.slowRanks.size() >= 2, {"link.slow_among", "link.slow_ranks"},
           "needs at least two link.slow_ranks");
    expect(l.ranksPerNode > 1 || (l.insideBandwidthGbps == 0 && l.insideLatencyUs == 0),
           {"link.inside_bandwidth_gbps", "link.inside_latency_us", "link.ranks_per_node"},
           "needs link.ranks_per_node above 1");
  }

  const Experiment& e_;
  std::vector<BrokenRule> broken_;
};

}  // namespace

std::vector<BrokenRule> brokenRules(const Experiment& experiment) {
  return Rules(experiment).all();
}

}  // namespace lockstep::experiment::detail
