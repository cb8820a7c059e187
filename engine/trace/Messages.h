#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/Result.h"

namespace lockstep::trace {

// What a rank tells the recorder beside events: rare, of any length, as JSON texts of the form
// {"type": "...", ...} through the segment's message ring (Note [The segment]).

/// The parameters that DDP reduces, in registration order; sent once a rank.
struct ParametersMessage {
  struct Parameter {
    std::string name;
    std::vector<std::int64_t> shape;
    std::string dtype;  ///< "float32", "float64", "bfloat16", ...
    std::int64_t numel = 0;
    std::int64_t bytes = 0;
    bool operator==(const Parameter&) const = default;
  };
  std::vector<Parameter> parameters;
};

/// One bucket assignment; sent at construction and again after the rebuild.
struct BucketsMessage {
  struct Bucket {
    std::vector<std::uint32_t> parameters;  ///< parameter indices in the order of the bucket
    std::vector<std::uint64_t> offsets;     ///< of each, in bytes from the bucket's start
    std::uint64_t bytes = 0;
    std::uint64_t limitBytes = 0;  ///< the cap this bucket was closed under; 0 = no limit
    std::string dtype;
    bool operator==(const Bucket&) const = default;
  };
  std::uint32_t layout = 0;  ///< 0 at construction, 1 after the rebuild
  std::uint32_t step = 0;    ///< first step that uses it
  std::string reason;        ///< "construction" or "rebuild"
  std::vector<Bucket> buckets;
};

/// Keys of an EnvironmentMessage by which the recorder judges the run, each sent only where it
/// applies: the hook whose replicas drift by design (RunInfo::driftingHook), and how many
/// parameters the ranks keep to themselves.
inline const std::string kDriftingHook = "drifting_hook";
inline const std::string kIgnoredParameters = "ignored_parameters";

/// What the rank runs on: library versions, threads, pinned cores, host, device, process id.
struct EnvironmentMessage {
  std::map<std::string, std::string> values;
};

/// The result of one evaluation on the test set.
struct EvaluationMessage {
  std::uint32_t step = 0;
  double loss = 0;
  double accuracy = 0;  ///< 0..1; NaN for models without classes
  std::uint64_t samples = 0;
};

/// A rank's first loss that is no finite number; sent once, also when events are not captured.
struct BadLossMessage {
  std::uint32_t step = 0;
  double loss = 0;
  double before = 0;         ///< the rank's loss of the step before; NaN: there was none
  double least = 0;          ///< the lowest of its losses up to then; NaN: there was none
  std::uint64_t finite = 0;  ///< how many there were, all of them finite
  std::string hook{};        ///< that made the gradients; empty: none but the plain average
};

/// What a rank says at the end of a run that finished.
struct SummaryMessage {
  std::uint32_t steps = 0;
  double loss = 0;            ///< of the last step on this rank
  std::string parameterHash;  ///< 16 hex digits over names, dtypes, shapes and bytes
};

/// A sentence for the Problems list.
struct ProblemMessage {
  std::string severity;  ///< "warning" or "error"
  std::uint32_t step = 0;
  std::string text;
};

/// What c10d's Logger knows of a rank's DistributedDataParallel, under its names (FORMAT.md):
/// sent at construction, after each synchronised iteration, and with an error.
struct DdpLoggingMessage {
  std::uint32_t step = 0;
  std::map<std::string, std::string> facts;  ///< those that are new or have changed
  std::map<std::string, double> numbers;     ///< of the iteration; times in ns
};

/// A rank's parameters as step `step` finds them, before its forward; one number more than the
/// last step stands for those the run ended with. What differs among the ranks is found by whoever
/// reads: nothing is communicated.
struct FingerprintMessage {
  std::uint32_t step = 0;
  std::vector<std::uint64_t> hashes;  ///< XXH64 of the bytes of each, by parameter index
  std::vector<double> norms;          ///< Euclidean, of each; not finite where an element is not
  std::vector<double> sketch;         ///< base::CountSketch of all of them
};

/// A rank's own gradients of one backward, each as it went into its bucket, before the reduction,
/// and what became of the bucket.
struct GradientsMessage {
  struct Bucket {
    std::uint16_t bucket = 0;  ///< kNoBucket: the parameters that are averaged apart
    double norm = 0;           ///< Euclidean, of the finite elements
    double largest = 0;        ///< magnitude of a finite element
    std::uint64_t nans = 0;
    std::uint64_t infinities = 0;
    std::optional<std::uint32_t> parameter;  ///< the first that came with either

    /// What the communication hook made of it, as this rank got it.
    struct Reduced {
      double norm = 0;                    ///< Euclidean, of the finite elements
      std::optional<std::uint64_t> hash;  ///< XXH64 of its bytes; none: they lie on a device
      bool operator==(const Reduced&) const = default;
    };
    std::optional<Reduced> reduced{};  ///< none: no hook had it
    bool operator==(const Bucket&) const = default;
  };
  std::uint32_t step = 0;
  std::vector<Bucket> buckets;
};

using Message = std::variant<ParametersMessage, BucketsMessage, EnvironmentMessage,
                             EvaluationMessage, SummaryMessage, ProblemMessage, DdpLoggingMessage,
                             FingerprintMessage, GradientsMessage, BadLossMessage>;

std::string toJson(const Message& message);
base::Result<Message> messageFromJson(std::string_view json);

}  // namespace lockstep::trace
