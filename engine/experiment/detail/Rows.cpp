#include "engine/experiment/detail/Rows.h"

#include <type_traits>
#include <utility>

#include "engine/experiment/LinkPresets.h"
#include "engine/experiment/detail/Values.h"

namespace lockstep::experiment::detail {
namespace {

template <auto Leaf>
Member at() {
  return +[](Experiment& e) -> decltype(auto) { return (e.*Leaf); };
}

template <auto Group, auto Leaf>
Member at() {
  return +[](Experiment& e) -> decltype(auto) { return ((e.*Group).*Leaf); };
}

FieldType typeOf(const Member& member) {
  return std::visit(
      [](auto access) {
        using T = std::remove_cvref_t<std::invoke_result_t<decltype(access), Experiment&>>;
        if constexpr (std::is_same_v<T, bool>) {
          return FieldType::kBool;
        } else if constexpr (std::is_same_v<T, double>) {
          return FieldType::kReal;
        } else if constexpr (std::is_same_v<T, std::string>) {
          return FieldType::kText;
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          return FieldType::kIntegerList;
        } else {
          return FieldType::kInteger;
        }
      },
      member);
}

/// Builds a row; the table below reads as one sentence a key.
class RowBuilder {
 public:
  RowBuilder(std::string key, Member member, std::string label, std::string help) {
    row_.member = member;
    row_.field.key = std::move(key);
    row_.field.type = typeOf(member);
    row_.field.label = std::move(label);
    row_.field.help = std::move(help);
    if (const auto value = read(row_, Experiment{})) {
      row_.field.initial = format(*value);
    }
  }
  RowBuilder& unit(std::string unit) { return row_.field.unit = std::move(unit), *this; }
  RowBuilder& from(double min) { return row_.field.min = min, *this; }
  RowBuilder& to(double max) { return row_.field.max = max, *this; }
  RowBuilder& above(double min) { return row_.field.minExclusive = true, from(min); }
  RowBuilder& below(double max) { return row_.field.maxExclusive = true, to(max); }
  RowBuilder& path() { return row_.field.type = FieldType::kPath, *this; }
  RowBuilder& choices(std::vector<std::string> choices) {
    row_.field.type = FieldType::kChoice;
    row_.field.choices = std::move(choices);
    return *this;
  }
  RowBuilder& onlyFor(std::string condition) {
    return row_.field.onlyFor = std::move(condition), *this;
  }
  RowBuilder& advanced() { return row_.field.advanced = true, *this; }
  operator Row() const { return row_; }

 private:
  Row row_;
};

using E = Experiment;
using Table = std::vector<Row>;

void addGeneral(Table& table) {
  table.push_back(RowBuilder("name", at<&E::name>(), "Name", "Names the run in lists."));
  table.push_back(RowBuilder("shows", at<&E::shows>(), "Shows",
                             "Says in a sentence or two what one sees in it."));
}

void addModel(Table& table) {
  using M = ModelConfig;
  table.push_back(
      RowBuilder("model.kind", at<&E::model, &M::kind>(), "Model", "The network that is trained.")
          .choices({"mlp", "branching", "cnn", "resnet18", "char_gpt", "deep_linear", "torchscript",
                    "shapes"}));
  table.push_back(RowBuilder("model.layers", at<&E::model, &M::layers>(), "Layer widths",
                             "Widths from the input to the classes.")
                      .from(1)
                      .to(1'000'000)
                      .onlyFor("model.kind=mlp,branching"));
  table.push_back(RowBuilder("model.width", at<&E::model, &M::width>(), "Width",
                             "Inputs and outputs of each linear layer.")
                      .from(1)
                      .to(65'536)
                      .onlyFor("model.kind=deep_linear"));
  table.push_back(RowBuilder("model.depth", at<&E::model, &M::depth>(), "Depth",
                             "Number of linear layers or of transformer blocks.")
                      .from(1)
                      .to(1'000)
                      .onlyFor("model.kind=deep_linear,char_gpt"));
  table.push_back(
      RowBuilder("model.classes", at<&E::model, &M::classes>(), "Classes", "Width of the output.")
          .from(2)
          .to(100'000)
          .onlyFor("model.kind=cnn,resnet18"));
  table.push_back(RowBuilder("model.embedding", at<&E::model, &M::embedding>(), "Embedding",
                             "Width of the residual stream, a multiple of model.heads.")
                      .from(1)
                      .to(16'384)
                      .onlyFor("model.kind=char_gpt"));
  table.push_back(RowBuilder("model.heads", at<&E::model, &M::heads>(), "Heads",
                             "Attention heads of each block.")
                      .from(1)
                      .to(256)
                      .onlyFor("model.kind=char_gpt"));
  table.push_back(RowBuilder("model.context", at<&E::model, &M::context>(), "Context",
                             "Length of the text the model sees at once.")
                      .unit("characters")
                      .from(1)
                      .to(8'192)
                      .onlyFor("model.kind=char_gpt"));
  table.push_back(RowBuilder("model.file", at<&E::model, &M::file>(), "Model file",
                             "A TorchScript archive, or parameter shapes and layer times as JSON.")
                      .path()
                      .onlyFor("model.kind=torchscript,shapes"));
}

void addData(Table& table) {
  using D = DataConfig;
  table.push_back(
      RowBuilder("data.kind", at<&E::data, &D::kind>(), "Data", "The set that is trained on.")
          .choices({"mnist", "text", "synthetic"}));
  table.push_back(RowBuilder("data.folder", at<&E::data, &D::folder>(), "IDX folder",
                             "Folder of MNIST's four IDX files; empty takes the shipped digits.")
                      .path()
                      .onlyFor("data.kind=mnist"));
  table.push_back(RowBuilder("data.file", at<&E::data, &D::file>(), "Text file",
                             "A plain text, gzip or not; empty takes the shipped text.")
                      .path()
                      .onlyFor("data.kind=text"));
  table.push_back(RowBuilder("data.batch_size", at<&E::data, &D::batchSize>(), "Batch size",
                             "Samples of each rank and step.")
                      .unit("samples")
                      .from(1)
                      .to(1'000'000));
  table.push_back(RowBuilder("data.samples", at<&E::data, &D::samples>(), "Samples",
                             "Size of the synthetic set.")
                      .unit("samples")
                      .from(1)
                      .to(100'000'000)
                      .onlyFor("data.kind=synthetic"));
  table.push_back(RowBuilder("data.shuffle", at<&E::data, &D::shuffle>(), "Shuffle",
                             "Draws a new order each epoch, the same on every rank."));
  table.push_back(RowBuilder("data.drop_last", at<&E::data, &D::dropLast>(), "Drop last",
                             "Drops the samples that cannot be shared out evenly among ranks; "
                             "otherwise some are used twice.")
                      .advanced());
}

void addProcesses(Table& table) {
  using P = ProcessesConfig;
  table.push_back(RowBuilder("processes.world_size", at<&E::processes, &P::worldSize>(), "Ranks",
                             "Number of rank processes.")
                      .unit("ranks")
                      .from(1)
                      .to(64));
  table.push_back(RowBuilder("processes.backend", at<&E::processes, &P::backend>(), "Backend",
                             "Carries the collectives.")
                      .choices({"gloo"}));
  table.push_back(RowBuilder("processes.threads_per_rank", at<&E::processes, &P::threadsPerRank>(),
                             "Threads a rank", "Threads libtorch computes one operator with.")
                      .unit("threads")
                      .from(1)
                      .to(256));
  table.push_back(RowBuilder("processes.pinning", at<&E::processes, &P::pinning>(), "Pinning",
                             "With cores, rank r runs on threads_per_rank cores of its own.")
                      .choices({"none", "cores"}));
  table.push_back(RowBuilder("processes.interface", at<&E::processes, &P::interface>(),
                             "Network interface",
                             "Interface of the collectives; empty takes the loopback.")
                      .advanced());
  table.push_back(RowBuilder("processes.master_port", at<&E::processes, &P::masterPort>(),
                             "Rendezvous port", "Port of the store; 0 takes any free one.")
                      .from(0)
                      .to(65'535)
                      .advanced());
  table.push_back(RowBuilder("processes.checked", at<&E::processes, &P::checked>(),
                             "Checked collectives",
                             "Compares each collective across ranks before its data moves: in the "
                             "first steps, always, or never.")
                      .choices({"off", "first", "always"})
                      .advanced());
  table.push_back(RowBuilder("processes.round_robin", at<&E::processes, &P::roundRobin>(),
                             "Round robin", "Groups that take turns, collective by collective.")
                      .unit("groups")
                      .from(1)
                      .to(64)
                      .advanced());
  table.push_back(RowBuilder("processes.timeout_seconds", at<&E::processes, &P::timeoutSeconds>(),
                             "Time limit", "Limit of each collective and of the rendezvous.")
                      .unit("s")
                      .above(0)
                      .to(86'400)
                      .advanced());
}

void addDdp(Table& table) {
  using D = DdpConfig;
  table.push_back(RowBuilder("ddp.bucket_cap_mb", at<&E::ddp, &D::bucketCapMb>(), "Bucket cap",
                             "A bucket is closed once it holds this much.")
                      .unit("MiB")
                      .above(0)
                      .to(1'048'576));
  table.push_back(RowBuilder("ddp.first_bucket_mb", at<&E::ddp, &D::firstBucketMb>(),
                             "First bucket cap",
                             "Cap of the bucket that is ready first, so that it leaves early.")
                      .unit("MiB")
                      .above(0)
                      .to(1'048'576)
                      .advanced());
  table.push_back(RowBuilder("ddp.bucket_rule", at<&E::ddp, &D::bucketRule>(), "Bucket rule",
                             "Whose rule fills the buckets of the first step.")
                      .choices({"c10d-1.13", "c10d-1.9"})
                      .advanced());
  table.push_back(RowBuilder("ddp.gradient_as_bucket_view", at<&E::ddp, &D::gradientAsBucketView>(),
                             "Gradients are views",
                             "Gradients live in bucket memory, which saves a copy each way."));
  table.push_back(RowBuilder("ddp.broadcast_buffers", at<&E::ddp, &D::broadcastBuffers>(),
                             "Broadcast buffers",
                             "Rank 0's buffers go to all ranks before a forward pass."));
  table.push_back(RowBuilder("ddp.sync_every", at<&E::ddp, &D::syncEvery>(), "Reduce every",
                             "Accumulates this many steps before each reduction (no_sync).")
                      .unit("steps")
                      .from(1)
                      .to(1'000'000));
  const auto flag = [](const char* key, Member member, const char* label, const char* help) {
    return RowBuilder(key, member, label, help).advanced();
  };
  table.push_back(flag("ddp.find_unused_parameters", at<&E::ddp, &D::findUnusedParameters>(),
                       "Find unused parameters",
                       "Searches each forward's graph, so that a parameter may take no part."));
  table.push_back(flag("ddp.static_graph", at<&E::ddp, &D::staticGraph>(), "Static graph",
                       "Takes the first iteration's graph for that of all: parameters may take no "
                       "part or get several gradients, always the same."));
  table.push_back(flag("ddp.skip_all_reduce_unused_params",
                       at<&E::ddp, &D::skipAllReduceUnusedParams>(), "Skip unused buckets",
                       "Leaves out the buckets that no rank used."));
  table.push_back(flag("ddp.init_sync", at<&E::ddp, &D::initSync>(), "Initial sync",
                       "Compares the ranks' models and copies rank 0's before the first step."));
  table.push_back(flag("ddp.sync_batch_norm", at<&E::ddp, &D::syncBatchNorm>(),
                       "Synchronised batch norm",
                       "Batch normalisations use the statistics of all ranks' batches."));
  table.push_back(flag("ddp.join", at<&E::ddp, &D::join>(), "Join",
                       "Ranks may run out of inputs at different steps; they then answer for the "
                       "others until all have."));
  table.push_back(flag("ddp.divide_by_initial_world_size",
                       at<&E::ddp, &D::divideByInitialWorldSize>(), "Divide by all ranks",
                       "With join: gradients are divided by all ranks, not by those with inputs."));
  table.push_back(flag("ddp.throw_on_early_termination", at<&E::ddp, &D::throwOnEarlyTermination>(),
                       "End early",
                       "With join: all ranks end with an error when one has no more inputs."));
}

void addHook(Table& table) {
  table.push_back(RowBuilder("hook.name", at<&E::hook, &HookConfig::name>(), "Communication hook",
                             "What is done with a bucket that is ready.")
                      .choices({"allreduce", "noop"}));
}

void addOptimizer(Table& table) {
  using O = OptimizerConfig;
  table.push_back(RowBuilder("optimizer.kind", at<&E::optimizer, &O::kind>(), "Optimizer",
                             "How gradients become new weights.")
                      .choices({"sgd", "adam", "adamw"}));
  table.push_back(RowBuilder("optimizer.learning_rate", at<&E::optimizer, &O::learningRate>(),
                             "Learning rate", "Step size.")
                      .from(0)
                      .to(1'000'000));
  table.push_back(RowBuilder("optimizer.momentum", at<&E::optimizer, &O::momentum>(), "Momentum",
                             "Share of the last update that is kept.")
                      .from(0)
                      .to(1)
                      .onlyFor("optimizer.kind=sgd"));
  table.push_back(RowBuilder("optimizer.dampening", at<&E::optimizer, &O::dampening>(), "Dampening",
                             "Share of the gradient that momentum leaves out.")
                      .from(0)
                      .to(1)
                      .onlyFor("optimizer.kind=sgd")
                      .advanced());
  table.push_back(RowBuilder("optimizer.nesterov", at<&E::optimizer, &O::nesterov>(), "Nesterov",
                             "Looks one step ahead; needs momentum, no dampening.")
                      .onlyFor("optimizer.kind=sgd")
                      .advanced());
  table.push_back(RowBuilder("optimizer.weight_decay", at<&E::optimizer, &O::weightDecay>(),
                             "Weight decay", "Pulls weights to zero; decoupled in adamw.")
                      .from(0)
                      .to(1'000));
  table.push_back(RowBuilder("optimizer.beta1", at<&E::optimizer, &O::beta1>(), "Beta 1",
                             "Decay of the gradient's running mean.")
                      .from(0)
                      .below(1)
                      .onlyFor("optimizer.kind=adam,adamw")
                      .advanced());
  table.push_back(RowBuilder("optimizer.beta2", at<&E::optimizer, &O::beta2>(), "Beta 2",
                             "Decay of the squared gradient's running mean.")
                      .from(0)
                      .below(1)
                      .onlyFor("optimizer.kind=adam,adamw")
                      .advanced());
  table.push_back(RowBuilder("optimizer.epsilon", at<&E::optimizer, &O::epsilon>(), "Epsilon",
                             "Keeps the division finite.")
                      .from(0)
                      .to(1)
                      .onlyFor("optimizer.kind=adam,adamw")
                      .advanced());
  table.push_back(RowBuilder("optimizer.zero", at<&E::optimizer, &O::zero>(), "Share state",
                             "Each rank keeps and steps only its share of the parameters (ZeRO).")
                      .advanced());
}

void addTrain(Table& table) {
  using T = TrainConfig;
  table.push_back(RowBuilder("train.steps", at<&E::train, &T::steps>(), "Steps",
                             "Length of the run; write either steps or epochs.")
                      .unit("steps")
                      .from(1)
                      .to(1'000'000'000));
  table.push_back(RowBuilder("train.epochs", at<&E::train, &T::epochs>(), "Epochs",
                             "Length of the run in passes over the data.")
                      .unit("epochs")
                      .from(1)
                      .to(1'000'000));
  table.push_back(RowBuilder("train.seed", at<&E::train, &T::seed>(), "Seed",
                             "Seeds weights, data order and synthetic data.")
                      .from(0)
                      .to(4'294'967'295.0));
  table.push_back(RowBuilder("train.evaluate_every", at<&E::train, &T::evaluateEvery>(),
                             "Evaluate every", "Evaluates during the run; 0 does not.")
                      .unit("steps")
                      .from(0)
                      .to(1'000'000'000));
  table.push_back(RowBuilder("train.evaluate_at_end", at<&E::train, &T::evaluateAtEnd>(),
                             "Evaluate at the end", "Evaluates once after the last step."));
  table.push_back(RowBuilder("train.checkpoint", at<&E::train, &T::checkpoint>(), "Checkpoint",
                             "File that weights and optimizer are written to; empty writes none.")
                      .path());
  table.push_back(RowBuilder("train.checkpoint_every", at<&E::train, &T::checkpointEvery>(),
                             "Checkpoint every", "Writes during the run; 0 only at the end.")
                      .unit("steps")
                      .from(0)
                      .to(1'000'000'000)
                      .advanced());
  table.push_back(RowBuilder("train.resume_from", at<&E::train, &T::resumeFrom>(), "Resume from",
                             "Checkpoint to go on from; empty starts anew.")
                      .path());
}

void addCapture(Table& table) {
  using C = CaptureConfig;
  table.push_back(RowBuilder("capture.enabled", at<&E::capture, &C::enabled>(), "Capture",
                             "Records events from the first step on."));
  table.push_back(RowBuilder("capture.ring_events", at<&E::capture, &C::ringEvents>(), "Ring size",
                             "Events a lane holds until they are recorded, "
                             "a power of two.")
                      .unit("events")
                      .from(256)
                      .to(4'194'304)
                      .advanced());
  table.push_back(RowBuilder("capture.counters_hz", at<&E::capture, &C::countersHz>(),
                             "Counter rate",
                             "Samples of memory, processor and network; 0 takes none.")
                      .unit("Hz")
                      .from(0)
                      .to(100)
                      .advanced());
}

std::vector<std::string> presetNames() {
  std::vector<std::string> names{"none"};
  for (const LinkPreset& preset : linkPresets()) {
    names.push_back(preset.name);
  }
  return names;
}

void addLink(Table& table) {
  using L = LinkConfig;
  const auto bandwidth = [](const char* key, Member member, const char* label, const char* help) {
    return RowBuilder(key, member, label, help).unit("Gbit/s").from(0).to(100'000);
  };
  const auto time = [](const char* key, Member member, const char* label, const char* help) {
    return RowBuilder(key, member, label, help).unit("us").from(0).to(10'000'000);
  };
  table.push_back(RowBuilder("link.preset", at<&E::link, &L::preset>(), "Link",
                             "A measured network that the collectives are slowed down to.")
                      .choices(presetNames()));
  table.push_back(bandwidth("link.bandwidth_gbps", at<&E::link, &L::bandwidthGbps>(),
                            "Link bandwidth",
                            "Of each rank's link, each way; 0 leaves it as fast as the backend.")
                      .onlyFor("link.preset=none"));
  table.push_back(time("link.latency_us", at<&E::link, &L::latencyUs>(), "Link latency",
                       "Of each message; a ring of n ranks sends 2 (n - 1) for an allreduce.")
                      .onlyFor("link.preset=none"));
  table.push_back(time("link.jitter_us", at<&E::link, &L::jitterUs>(), "Link jitter",
                       "Each operation takes up to this much longer, the same on all ranks."));
  table.push_back(RowBuilder("link.ranks_per_node", at<&E::link, &L::ranksPerNode>(),
                             "Ranks a node", "The link is between nodes of so many ranks.")
                      .unit("ranks")
                      .from(1)
                      .to(64)
                      .advanced());
  table.push_back(bandwidth("link.inside_bandwidth_gbps", at<&E::link, &L::insideBandwidthGbps>(),
                            "Bandwidth inside a node",
                            "Between ranks of one node; 0 leaves it as fast as the backend.")
                      .advanced());
  table.push_back(time("link.inside_latency_us", at<&E::link, &L::insideLatencyUs>(),
                       "Latency inside a node", "Of each message between ranks of one node.")
                      .advanced());
  table.push_back(RowBuilder("link.slow_ranks", at<&E::link, &L::slowRanks>(), "Slow ranks",
                             "Ranks whose links to all others are worse.")
                      .from(0)
                      .to(63)
                      .advanced());
  table.push_back(RowBuilder("link.slow_among", at<&E::link, &L::slowAmong>(), "Slow pairs",
                             "Only links between two of link.slow_ranks are worse.")
                      .advanced());
  table.push_back(bandwidth("link.slow_bandwidth_gbps", at<&E::link, &L::slowBandwidthGbps>(),
                            "Bandwidth of slow ranks", "Of the links of link.slow_ranks.")
                      .advanced());
  table.push_back(time("link.slow_latency_us", at<&E::link, &L::slowLatencyUs>(),
                       "Latency of slow ranks", "Of the links of link.slow_ranks.")
                      .advanced());
  table.push_back(RowBuilder("link.seed", at<&E::link, &L::seed>(), "Link seed",
                             "Of the jitter; equal seeds draw equal jitter.")
                      .from(0)
                      .to(4'294'967'295.0)
                      .advanced());
  table.push_back(RowBuilder("link.simulate_anyway", at<&E::link, &L::simulateAnyway>(),
                             "Simulate anyway",
                             "Takes a link that the backend is hardly faster than; the run is a "
                             "simulation then and no measurement.")
                      .advanced());
}

Table makeTable() {
  Table table;
  addGeneral(table);
  addModel(table);
  addData(table);
  addProcesses(table);
  addDdp(table);
  addHook(table);
  addOptimizer(table);
  addTrain(table);
  addCapture(table);
  addLink(table);
  return table;
}

}  // namespace

const std::vector<Row>& rows() {
  static const Table table = makeTable();
  return table;
}

const Row* findRow(std::string_view key) {
  for (const Row& row : rows()) {
    if (row.field.key == key) {
      return &row;
    }
  }
  return nullptr;
}

KeyParts splitKey(std::string_view key) {
  const auto dot = key.find('.');
  if (dot == std::string_view::npos) {
    return {{}, key};
  }
  return {key.substr(0, dot), key.substr(dot + 1)};
}

}  // namespace lockstep::experiment::detail
