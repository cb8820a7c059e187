#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::experiment {

// The experiment as the engine uses it. Every member is one row of the schema (Schema.h),
// which gives its TOML key, default, range, unit and help; `[model] kind` is `model.kind`.

struct ModelConfig {
  std::string kind = "mlp";  ///< mlp cnn resnet18 char_gpt deep_linear torchscript shapes
  std::vector<std::int64_t> layers{784, 256, 128, 10};  ///< mlp: input, hidden..., classes
  std::int64_t width = 512;                             ///< deep_linear
  std::int64_t depth = 48;                              ///< deep_linear; char_gpt: blocks
  std::int64_t classes = 10;                            ///< cnn, resnet18
  std::int64_t embedding = 128;                         ///< char_gpt
  std::int64_t heads = 4;                               ///< char_gpt
  std::int64_t context = 64;                            ///< char_gpt, characters
  std::string file;                                     ///< torchscript, shapes

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
  int worldSize = 2;  ///< 1..64
  std::string backend = "gloo";
  int threadsPerRank = 1;        ///< intra-op threads of libtorch
  std::string pinning = "none";  ///< none cores: rank r on cores r*threads ...
  std::string interface;         ///< network interface for Gloo; empty = loopback
  int masterPort = 0;            ///< 0 = any free port
  double timeoutSeconds = 60;    ///< of each collective and of the rendezvous

  bool operator==(const ProcessesConfig&) const = default;
};

struct DdpConfig {
  double bucketCapMb = 25;               ///< MiB
  double firstBucketMb = 1;              ///< MiB
  std::string bucketRule = "c10d-1.13";  ///< c10d-1.13 c10d-1.9
  bool gradientAsBucketView = false;
  bool broadcastBuffers = true;
  int syncEvery = 1;  ///< steps accumulated under no_sync before each reduction

  bool operator==(const DdpConfig&) const = default;
};

struct HookConfig {
  std::string name = "allreduce";  ///< allreduce noop

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

  bool operator==(const CaptureConfig&) const = default;
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

  bool operator==(const Experiment&) const = default;
};

}  // namespace lockstep::experiment
