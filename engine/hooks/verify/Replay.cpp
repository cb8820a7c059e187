#include "engine/hooks/verify/Replay.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/base/JsonFields.h"
#include "engine/hooks/HookError.h"
#include "engine/hooks/verify/LocalRanks.h"
#include "engine/hooks/verify/Trial.h"

namespace lockstep::hooks {

namespace {

using nlohmann::json;

/// A bucket as PyTorch had it.
struct Recorded {
  std::uint32_t step = 0;
  std::size_t index = 0;
  std::size_t count = 0;
  std::uint32_t layout = 0;
  std::vector<std::uint32_t> ids;
  std::vector<std::vector<std::int64_t>> shapes;
  at::Tensor gradients;
  at::Tensor result;
};

/// What one rank of the job has left.
struct Training {
  int world = 0;
  std::optional<OptimizerFacts> optimizer;
  std::uint64_t sentBytes = 0;
  std::vector<Recorded> buckets;
};

at::ScalarType typeOf(const std::string& name) {
  for (const auto& [known, type] :
       {std::pair{"float32", at::kFloat}, std::pair{"float16", at::kHalf},
        std::pair{"bfloat16", at::kBFloat16}, std::pair{"float64", at::kDouble}}) {
    if (name == known) {
      return type;
    }
  }
  throw std::runtime_error(fmt::format("{} is no dtype of a bucket", name));
}

OptimizerFacts factsOf(const json& in) {
  OptimizerFacts facts;
  base::JsonReader{in}("kind", facts.kind, "learning_rate", facts.learningRate, "momentum",
                       facts.momentum, "weight_decay", facts.weightDecay, "beta1", facts.beta1,
                       "beta2", facts.beta2, "epsilon", facts.epsilon);
  return facts;
}

at::Tensor read(std::ifstream& file, std::int64_t numel, at::ScalarType type) {
  at::Tensor tensor = at::empty({numel}, type);
  if (!file.read(static_cast<char*>(tensor.data_ptr()),
                 static_cast<std::streamsize>(tensor.nbytes()))) {
    throw std::runtime_error("a file of gradients is cut short");
  }
  return tensor;
}

std::int64_t numelOf(const std::vector<std::int64_t>& shape) {
  std::int64_t numel = 1;
  for (const std::int64_t length : shape) {
    numel *= length;
  }
  return numel;
}

Training readTraining(const std::filesystem::path& folder, int rank) {
  const json in = json::parse(std::ifstream(folder / fmt::format("rank{}.json", rank)));
  std::ifstream data(folder / fmt::format("rank{}.bin", rank), std::ios::binary);
  Training training;
  base::JsonReader{in}("world", training.world, "sent_bytes", training.sentBytes);
  if (!in.at("optimizer").is_null()) {
    training.optimizer = factsOf(in.at("optimizer"));
  }
  for (const json& entry : in.at("buckets")) {
    Recorded& bucket = training.buckets.emplace_back();
    base::JsonReader{entry}("step", bucket.step, "index", bucket.index, "count", bucket.count,
                            "layout", bucket.layout, "ids", bucket.ids, "shapes", bucket.shapes);
    std::int64_t numel = 0;
    for (const auto& shape : bucket.shapes) {
      numel += numelOf(shape);
    }
    const at::ScalarType type = typeOf(entry.at("dtype"));
    bucket.gradients = read(data, numel, type);
    bucket.result = read(data, numel, type);
  }
  return training;
}

GradBucket bucketOf(const Recorded& recorded, int world) {
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> lengths;
  std::vector<at::Tensor> parameters;
  std::int64_t offset = 0;
  for (const auto& shape : recorded.shapes) {
    offsets.push_back(offset);
    lengths.push_back(numelOf(shape));
    offset += lengths.back();
    parameters.push_back(at::empty(shape, recorded.gradients.scalar_type()));
  }
  BucketFacts facts;
  facts.divisor = world;
  facts.layout = recorded.layout;
  return {recorded.index, recorded.count, recorded.step,   recorded.gradients.clone(),
          offsets,        lengths,        recorded.shapes, parameters,
          recorded.ids,   facts};
}

/// What the engine gave one rank for each of its buckets.
struct Repeated {
  std::vector<at::Tensor> results;
  std::uint64_t sentBytes = 0;
};

/// The buckets of a step, all begun before any is waited for, as the Reducer does.
void repeat(const Training& training, LocalRank& rank, std::chrono::milliseconds limit,
            Repeated& own) {
  rank.hook->setParameters({}, {});
  if (training.optimizer) {
    rank.hook->configure(*training.optimizer);
  }
  std::uint32_t step = 0;
  for (std::size_t begin = 0; begin < training.buckets.size();) {
    step = training.buckets[begin].step;
    std::vector<GradBucket> buckets;
    for (std::size_t i = begin; i < training.buckets.size() && training.buckets[i].step == step; ++i) {
      buckets.push_back(bucketOf(training.buckets[i], rank.world));
    }
    std::vector<base::Future<at::Tensor>> futures;
    for (GradBucket& bucket : buckets) {
      futures.push_back(rank.hook->run(bucket));
    }
    for (std::size_t i = 0; i < futures.size(); ++i) {
      if (!futures[i].waitFor(limit)) {
        throw HookError(fmt::format("bucket {} of step {}: it gave no result within {} s", i, step,
                                    static_cast<double>(limit.count()) / 1000));
      }
      own.results.push_back(futures[i].value().clone());
    }
    begin += buckets.size();
  }
  rank.hook->endOfRun(step + 1);  // what is still on its way counts as sent
  own.sentBytes = rank.sentBytes();
}

/// The largest distance of two results, in units of the root mean square of what is finite in the
/// first; infinite where one of them alone is no number, or an infinity.
double distance(const at::Tensor& one, const at::Tensor& other) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // Equal bits, the usual case, need no arithmetic.
  if (std::memcmp(one.data_ptr(), other.data_ptr(), one.nbytes()) == 0) {
    return 0;
  }
  const at::Tensor first = one.to(at::kDouble);
  const at::Tensor second = other.to(at::kDouble);
  // Of two equal infinities, as of two NaNs, the difference would be NaN.
  const at::Tensor alike = first.eq(second).logical_or(first.isnan().logical_and(second.isnan()));
  const at::Tensor apart = (first - second).abs().masked_fill(alike, 0);
  const double off = apart.nan_to_num(kInfinity, kInfinity).max().item<double>();
  const double scale = first.nan_to_num(0, 0, 0).square().mean().sqrt().item<double>();
  return scale > 0 ? off / scale : off;
}

// Note [When a replay agrees]
//
// A hook may be random, or add up in an order that is another one in each run. So the engine
// repeats the training twice, and what its two runs differ by is what chance explains. Only a
// result from PyTorch that is further away than that is a problem:
//
//   distance(first, PyTorch)  >  distance(first, second)     the largest of all buckets and steps
class Replay {
 public:
  explicit Replay(const ReplayOptions& options) : options_(options) {}

  plugin::PyTorchComparison run() {
    trainings_.push_back(readTraining(options_.folder, 0));
    for (int rank = 1; rank < trainings_.front().world; ++rank) {
      trainings_.push_back(readTraining(options_.folder, rank));
    }
    outcome_.ranks = trainings_.front().world;
    const auto first = onRanks();
    const auto second = outcome_.problems.empty() ? onRanks() : std::vector<Repeated>();
    if (outcome_.problems.empty()) {
      compare(first, second);
    }
    return std::move(outcome_);
  }

 private:
  std::vector<Repeated> onRanks() {
    std::vector<Repeated> repeated(trainings_.size());
    LocalRanksOptions ranks;
    ranks.world = outcome_.ranks;
    ranks.choice = {options_.hook};
    ranks.timeout = 2 * options_.timeLimit;
    ranks.hookTimeout = options_.timeLimit;
    const auto errors = runLocalRanks(ranks, [&](LocalRank& rank) {
      const auto place = static_cast<std::size_t>(rank.rank);
      repeat(trainings_[place], rank, options_.timeLimit, repeated[place]);
      rank.group->barrier()->wait();  // the hook's groups close, which nobody may still need
    });
    for (std::size_t rank = 0; rank < errors.size(); ++rank) {
      if (errors[rank] != nullptr) {
        outcome_.problems.push_back(fmt::format(
            "in the engine: {}",
            TrialFailure::of(errors[rank], options_.hook.id, static_cast<int>(rank), "").what()));
        break;
      }
    }
    return repeated;
  }

  void compare(const std::vector<Repeated>& first, const std::vector<Repeated>& second) {
    std::string where;
    for (std::size_t rank = 0; rank < trainings_.size(); ++rank) {
      const Training& training = trainings_[rank];
      for (std::size_t i = 0; i < training.buckets.size(); ++i) {
        const Recorded& bucket = training.buckets[i];
        const double off = distance(first[rank].results[i], bucket.result);
        if (off > 0 && where.empty()) {
          where = fmt::format("rank {}: bucket {} of step {}", rank, bucket.index, bucket.step);
        }
        outcome_.distance = std::max(outcome_.distance, off);
        outcome_.ownDistance = std::max(outcome_.ownDistance,
                                        distance(first[rank].results[i], second[rank].results[i]));
        outcome_.steps = static_cast<int>(bucket.step) + 1;
      }
      outcome_.sentBytes = std::max(outcome_.sentBytes, training.sentBytes);
      outcome_.engineSentBytes = std::max(outcome_.engineSentBytes, first[rank].sentBytes);
    }
    judge(where);
  }

  void judge(const std::string& where) {
    if (outcome_.distance > outcome_.ownDistance) {
      outcome_.problems.push_back(fmt::format(
          "hook '{}', {}: its result in PyTorch is not that of the engine for the same gradients; "
          "the largest difference of all is {:.1e} of the gradients' root mean square, and two runs "
          "of the engine differ by {:.1e}",
          options_.hook.id, where, outcome_.distance, outcome_.ownDistance));
    }
    if (outcome_.sentBytes != outcome_.engineSentBytes) {
      outcome_.problems.push_back(
          fmt::format("hook '{}': it sent {} bytes in {} steps in PyTorch, and {} in the engine",
                      options_.hook.id, outcome_.sentBytes, outcome_.steps,
                      outcome_.engineSentBytes));
    }
  }

  const ReplayOptions& options_;
  std::vector<Training> trainings_;
  plugin::PyTorchComparison outcome_;
};

}  // namespace

plugin::PyTorchComparison replay(const ReplayOptions& options) {
  return Replay(options).run();
}

}  // namespace lockstep::hooks
