#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace lockstep::experiment {

// The experiment as the engine uses it. Every member is one row of the schema (Schema.h),
// which gives its TOML key, default, range, unit and help; `[model] kind` is `model.kind`.

struct ModelConfig {
  /// mlp branching cnn resnet18 char_gpt ngram deep_linear torchscript shapes
  std::string kind = "mlp";
  std::vector<std::int64_t> layers{784, 256, 128,
                                   10};       ///< mlp, branching: input, hidden..., classes
  std::vector<std::string> dtypes{};          ///< mlp: of each layer, the last repeating
  std::int64_t width = 512;                   ///< deep_linear
  std::int64_t depth = 48;                    ///< deep_linear; char_gpt: blocks
  std::int64_t classes = 10;                  ///< cnn, resnet18
  std::int64_t embedding = 128;               ///< char_gpt, ngram
  std::int64_t heads = 4;                     ///< char_gpt
  std::int64_t context = 64;                  ///< char_gpt, ngram; characters
  bool shareBlocks = false;                   ///< char_gpt: one block, used depth times
  std::string activationCheckpoint = "none";  ///< char_gpt: none reentrant non_reentrant
  std::int64_t rows = 65536;                  ///< ngram: of the table
  bool sparse = true;                         ///< ngram: gradients hold the rows used alone
  std::string file;                           ///< torchscript, shapes

  bool operator==(const ModelConfig&) const = default;
};

struct DataConfig {
  std::string kind = "mnist";   ///< mnist text synthetic
  std::string folder;           ///< mnist: IDX files; empty = the digits that are shipped
  std::string file;             ///< text; empty = the text that is shipped
  std::int64_t batchSize = 64;  ///< samples a rank and step
  std::int64_t samples = 4096;  ///< synthetic: size of the set
  bool shuffle = true;
  bool dropLast = false;  ///< DistributedSampler's drop_last

  bool operator==(const DataConfig&) const = default;
};

struct ProcessesConfig {
  std::string strategy = "ddp";   ///< ddp; data_parallel: one process, virtual devices
  int devices = 2;                ///< data_parallel
  int worldSize = 2;              ///< 1..1024
  std::string device = "cpu";     ///< cpu cuda; ddp
  std::string backend = "auto";   ///< auto gloo shared_memory hierarchical mpi
  int hosts = 0;                  ///< made-up hosts, blocks of ranks; 0 = as they are
  int threadsPerRank = 1;         ///< intra-op threads of libtorch
  std::string pinning = "none";   ///< none cores: rank r on cores r*threads ...
  std::string interface;          ///< network interface for Gloo; empty = loopback
  int masterPort = 0;             ///< 0 = any free port
  double timeoutSeconds = 60;     ///< of each collective and of the rendezvous
  std::string checked = "first";  ///< off first always: collectives compared across ranks
  int roundRobin = 1;             ///< groups that take turns

  bool operator==(const ProcessesConfig&) const = default;
};

struct DdpConfig {
  double bucketCapMb = 25;                ///< MiB
  double firstBucketMb = 1;               ///< MiB
  std::vector<double> bucketCapMbList{};  ///< MiB, in place of both; the last repeats
  std::vector<std::string> ignore{};      ///< parameters and buffers that each rank keeps
  std::vector<std::string> delayAllReduceNamedParams{};  ///< averaged apart, once
  std::string paramToHookAllReduce;                      ///< this one has its gradient
  std::string paramDtype = "none";                       ///< mixed precision; none: as they are
  std::string reduceDtype = "none";
  std::string bufferDtype = "none";
  std::string bucketRule = "c10d-1.13";  ///< c10d-1.13 c10d-1.9
  bool gradientAsBucketView = false;
  bool batchedGradCopy = false;
  bool broadcastBuffers = true;    ///< at the start and before forwards
  bool forwardSyncBuffers = true;  ///< before forwards; off: at the start alone
  int syncEvery = 1;               ///< steps accumulated under no_sync before each reduction
  bool findUnusedParameters = false;
  bool staticGraph = false;
  bool skipAllReduceUnusedParams = false;
  bool initSync = true;
  bool syncBatchNorm = false;
  bool join = false;
  bool divideByInitialWorldSize = true;  ///< join
  bool throwOnEarlyTermination = false;  ///< join

  /// Whether mixed precision is asked for: buckets, or parameters, have another dtype then.
  [[nodiscard]] bool mixesPrecision() const;

  bool operator==(const DdpConfig&) const = default;
};

/// The value of a parameter that a hook's plugin describes. Whether it fits is known where the
/// plugin is (plugin/ResolveHooks.h).
using HookValue = std::variant<bool, std::int64_t, double, std::string>;

/// One communication hook and its parameters, each a key of the table.
struct HookSettings {
  std::string name = "allreduce";
  std::string library;  ///< path of its plugin; empty = looked for in the plugin folders
  std::map<std::string, HookValue> values;

  bool operator==(const HookSettings&) const = default;
};

/// The hook of a run, [hook].
struct HookConfig : HookSettings {
  std::vector<HookSettings> inner{};  ///< [hook.inner]: the hooks inside, each in the one before

  /// Whether it is the engine's own allreduce or noop, and no plugin.
  [[nodiscard]] bool isOwn() const;

  bool operator==(const HookConfig&) const = default;
};

struct OptimizerConfig {
  std::string kind = "sgd";  ///< sgd adam adamw
  double learningRate = 0.05;
  double momentum = 0.9;  ///< sgd
  double dampening = 0;   ///< sgd
  bool nesterov = false;  ///< sgd
  double weightDecay = 0;
  double beta1 = 0.9;  ///< adam, adamw
  double beta2 = 0.999;
  double epsilon = 1e-8;
  bool zero = false;        ///< state shared among the ranks (ZeroRedundancyOptimizer)
  bool inBackward = false;  ///< each bucket is stepped as soon as it is reduced

  bool operator==(const OptimizerConfig&) const = default;
};

struct TrainConfig {
  std::optional<std::int64_t> steps;  ///< exactly one of steps and epochs
  std::optional<std::int64_t> epochs;
  std::int64_t seed = 0;
  std::int64_t evaluateEvery = 0;  ///< steps; 0 = at the end only
  bool evaluateAtEnd = true;
  std::string checkpoint;            ///< path to write; empty = none
  std::int64_t checkpointEvery = 0;  ///< steps; 0 = at the end only
  std::string resumeFrom;            ///< path of a checkpoint

  bool operator==(const TrainConfig&) const = default;
};

struct CaptureConfig {
  bool enabled = true;
  std::int64_t ringEvents = 32768;  ///< events a lane, a power of two
  double countersHz = 10;
  std::int64_t fingerprintEvery = 10;    ///< steps; 0 = never
  std::int64_t gradientCheckEvery = 10;  ///< steps; 0 = never
  std::string detail = "full";           ///< what the run file keeps: full, steps or outliers
  std::int64_t limitMb = 0;              ///< MiB of the run file; 0 = as large as it gets

  bool operator==(const CaptureConfig&) const = default;
};

/// The network that the collectives are to behave as if they ran on.
struct LinkConfig {
  std::string preset = "none";     ///< a name of linkPresets(), or none
  double bandwidthGbps = 0;        ///< 10^9 bit/s each way; 0 = as fast as the backend
  double latencyUs = 0;            ///< of one message
  double jitterUs = 0;             ///< each operation takes up to this much longer
  int inFlight = 1;                ///< collectives of a group that travel at once; 0 = no limit
  int ranksPerNode = 1;            ///< that a node has; the link is between nodes
  double insideBandwidthGbps = 0;  ///< between ranks of one node
  double insideLatencyUs = 0;
  std::vector<std::int64_t> slowRanks{};  ///< whose links are worse, to every other rank
  bool slowAmong = false;                 ///< only among themselves
  double slowBandwidthGbps = 0;
  double slowLatencyUs = 0;
  std::int64_t seed = 0;  ///< of the jitter
  bool simulateAnyway = false;

  /// Whether any of it changes anything.
  [[nodiscard]] bool shapes() const;

  bool operator==(const LinkConfig&) const = default;
};

/// Who starts the ranks, and where.
struct LaunchConfig {
  std::string launcher = "local";        ///< local mpirun srun external
  int nnodes = 1;                        ///< hosts
  int ranksPerNode = 0;                  ///< 0: world_size / nnodes
  std::vector<std::string> arguments{};  ///< of mpirun or srun
  std::string listen;                    ///< ADDRESS[:PORT] of the recorder; empty: chosen
  double joinSeconds = 120;              ///< for all ranks to be started
  double lostAfterSeconds = 15;          ///< of silence, until a host counts as lost

  /// Whether the ranks are started by this host's supervisor itself.
  [[nodiscard]] bool isLocal() const { return launcher == "local"; }

  bool operator==(const LaunchConfig&) const = default;
};

/// One fault, an element of [[faults]]; FaultRows.cpp says which keys belong to which kind.
struct FaultConfig {
  std::string kind = "delay";  ///< delay stop kill flip_bit nan uneven
  int rank = 0;
  std::optional<std::int64_t> step;    ///< the one iteration it happens in; or
  std::int64_t from = 0;               ///< delay: the first,
  std::optional<std::int64_t> to;      ///< the last (none: the run's)
  std::int64_t every = 1;              ///< and how many apart
  std::string phase = "forward";       ///< delay without layer and bucket: data forward optimizer
  std::string layer;                   ///< delay: before this module's gradients; "" = in the phase
  std::optional<std::int64_t> bucket;  ///< delay: before this bucket is handed over
  double milliseconds = 0;             ///< delay
  double jitterMs = 0;                 ///< delay: drawn evenly from +- this
  std::string parameter;               ///< flip_bit, nan: its full name
  std::int64_t element = 0;            ///< flip_bit, nan: index in the flat parameter
  std::int64_t bit = 0;                ///< flip_bit: 0 is the lowest
  std::int64_t samples = 0;            ///< uneven: how many fewer the rank has

  bool operator==(const FaultConfig&) const = default;
};

/// The sweep that the experiment is one run of; empty for one that stands alone.
struct SweepConfig {
  std::string group;  ///< the same in all runs of the sweep
  std::string run;    ///< what is varied in this one: "bucket_cap_mb=5, hook=topk"

  bool operator==(const SweepConfig&) const = default;
};

struct Experiment {
  std::string name = "experiment";
  std::string shows;  ///< what one sees in it, a sentence or two
  ModelConfig model;
  DataConfig data;
  ProcessesConfig processes;
  DdpConfig ddp;
  HookConfig hook;
  OptimizerConfig optimizer;
  TrainConfig train;
  CaptureConfig capture;
  LinkConfig link;
  LaunchConfig launch;
  SweepConfig sweep;
  std::vector<FaultConfig> faults;

  bool operator==(const Experiment&) const = default;
};

}  // namespace lockstep::experiment
