#include "engine/hooks/verify/Trial.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "engine/hooks/HookError.h"
#include "engine/process_group/CommError.h"

namespace lockstep::hooks {

namespace {

using process_group::CommError;
using process_group::CommErrorKind;
using Clock = std::chrono::steady_clock;

constexpr double kLearningRate = 0.01;

struct Optimizer {
  const char* text;
  OptimizerFacts facts;
};

/// In the order in which they are offered: what shows most of a hook comes first.
const std::array<Optimizer, 4>& optimizers() {
  const auto sgd = [](double momentum) {
    OptimizerFacts facts;
    facts.kind = "sgd";
    facts.learningRate = kLearningRate;
    facts.momentum = momentum;
    return facts;
  };
  const auto adam = [](const char* kind) {
    OptimizerFacts facts;
    facts.kind = kind;
    facts.learningRate = kLearningRate;
    facts.beta1 = 0.9;
    facts.beta2 = 0.999;
    facts.epsilon = 1e-8;
    return facts;
  };
  static const std::array<Optimizer, 4> kOptimizers{{{"sgd, momentum 0.9", sgd(0.9)},
                                                     {"sgd, momentum 0", sgd(0)},
                                                     {"adam", adam("adam")},
                                                     {"adamw", adam("adamw")}}};
  return kOptimizers;
}

// A mismatch names a call that the hook made differently; a time limit only shows who waited.
TrialFailure::Cause causeOf(CommErrorKind kind) {
  return kind == CommErrorKind::kMismatch  ? TrialFailure::Cause::kMismatch
         : kind == CommErrorKind::kTimeout ? TrialFailure::Cause::kTimeout
                                           : TrialFailure::Cause::kOther;
}

/// "hook 'topk', rank 1: bucket 0 of step 4: a matrix of 0 columns", whatever of it `text` says.
std::string sentence(std::string text, const std::string& hook, int rank,
                     const std::string& doing) {
  if (const std::string named = fmt::format("hook '{}'", hook); text.starts_with(named)) {
    text.erase(0, text.find_first_not_of(": ", named.size()));
  }
  const bool saysWhere =
      doing.empty() || text.starts_with(doing) || text.find(" of step ") != std::string::npos;
  return fmt::format("hook '{}', rank {}: {}{}", hook, rank, saysWhere ? "" : doing + ": ", text);
}

/// An operation that fails ends the runs of all buckets: the one whose operation it was counts.
std::string placeOf(const CommError& failure, const std::string& doing) {
  const auto bucket = failure.where().bucket;
  return bucket == trace::kNoBucket || !doing.starts_with("bucket ")
             ? doing
             : fmt::format("bucket {}{}", bucket, doing.substr(doing.find(" of step ")));
}

}  // namespace

TrialFailure TrialFailure::of(const std::exception_ptr& error, const std::string& hook, int rank,
                              const std::string& doing) {
  try {
    std::rethrow_exception(error);
  } catch (const TrialFailure& failure) {
    return failure;
  } catch (const CommError& failure) {
    return {causeOf(failure.kind()),
            sentence(failure.what(), hook, rank, placeOf(failure, doing))};
  } catch (const std::exception& failure) {
    return {Cause::kHook, sentence(failure.what(), hook, rank, doing)};
  }
}

/// Makes a call that may fail, hang or crash in the plugin.
template <typename Call>
auto Trial::during(const std::string& doing, Call call) {
  const Watch::Doing now(watch_, rank_.rank, doing);
  try {
    return call();
  } catch (...) {
    throw TrialFailure::of(std::current_exception(), options_.hook, rank_.rank, doing);
  }
}

Trial::Trial(LocalRank& rank, Watch& watch, TrialOptions options)
    : rank_(rank), watch_(watch), options_(std::move(options)), model_(options_.dtype) {
  rank_.hook->setParameters(model_.names(), model_.parameters());
  configure();
}

void Trial::configure() {
  std::optional<TrialFailure> refusal;
  // A hook may refuse optimizers that it cannot stand in for: the first that it takes will do.
  for (const Optimizer& optimizer : optimizers()) {
    try {
      during("configure", [&] { rank_.hook->configure(optimizer.facts); });
      optimizer_ = optimizer.text;
      return;
    } catch (const TrialFailure& failure) {
      refusal.emplace(failure);
    }
  }
  throw *refusal;
}

std::string Trial::placeOf(std::size_t bucket, std::uint32_t step) {
  return fmt::format("bucket {} of step {}", bucket, step);
}

GradBucket Trial::bucket(std::size_t index, std::uint32_t step, const at::Tensor& flat,
                         BucketFacts facts) {
  const auto& buckets = TrialModel::buckets(layoutOf(step));
  const auto& ids = buckets.at(index);
  const TrialModel::Places places = model_.places(ids);
  std::vector<at::Tensor> parameters;
  for (const std::uint32_t id : ids) {
    parameters.push_back(model_.parameters()[id]);
  }
  facts.layout = layoutOf(step);
  return {index,          buckets.size(), step,       flat, places.offsets,
          places.lengths, places.shapes,  parameters, ids,  facts};
}

Trial::Step Trial::step(std::uint32_t number, int active) {
  Step outcome;
  around("before_forward", number, &PluginHook::beforeForward, outcome);
  std::vector<GradBucket> buckets = ownBuckets(number, active);
  const auto begin = Clock::now();
  outcome.results = average(buckets, number);
  outcome.inHook += Clock::now() - begin;
  requireFinite(outcome.results, number);
  setGradients(outcome.results, number);
  if (rank_.hook->ownsUpdate()) {
    around("update", number, &PluginHook::update, outcome);
  } else {
    for (at::Tensor& parameter : model_.parameters()) {
      // Plain steps, whatever optimizer the hook was shown: they need only be the same on every
      // rank and run.
      parameter.sub_(parameter.grad() * kLearningRate);
    }
  }
  around("after_optimizer", number, &PluginHook::afterOptimizer, outcome);
  return outcome;
}

void Trial::around(const char* call, std::uint32_t step,
                   void (PluginHook::*function)(std::uint32_t), Step& outcome) {
  const auto begin = Clock::now();
  during(fmt::format("{} of step {}", call, step), [&] { (rank_.hook.get()->*function)(step); });
  outcome.inHook += Clock::now() - begin;
}

std::vector<GradBucket> Trial::ownBuckets(std::uint32_t number, int active) {
  const auto& layout = TrialModel::buckets(layoutOf(number));
  BucketFacts facts;
  facts.divisor = active;
  facts.shadow = rank_.rank >= active;
  std::vector<GradBucket> buckets;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    at::Tensor flat = model_.gradients(layout[i], rank_.rank, number);
    buckets.push_back(bucket(i, number, facts.shadow ? flat.zero_() : flat, facts));
  }
  return buckets;
}

std::vector<at::Tensor> Trial::average(std::vector<GradBucket>& buckets, std::uint32_t number) {
  std::vector<base::Future<at::Tensor>> futures;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    during(placeOf(i, number), [&] { futures.push_back(rank_.hook->run(buckets[i])); });
  }
  std::vector<at::Tensor> results;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    during(placeOf(i, number), [&] {
      if (!futures[i].waitFor(options_.resultLimit)) {
        // It may hang in the call for a later bucket, and this one's result waits for that.
        const std::string inside = rank_.hook->inside();
        throw HookError(fmt::format("{}: it gave no result within {} s",
                                    inside.empty() ? placeOf(i, number) : inside,
                                    static_cast<double>(options_.resultLimit.count()) / 1000));
      }
      results.push_back(futures[i].value());
    });
  }
  return results;
}

void Trial::requireFinite(const std::vector<at::Tensor>& results, std::uint32_t number) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    during(placeOf(i, number), [&] {
      if (!at::isfinite(results[i]).all().item<bool>()) {
        throw HookError("its result is not finite, and the gradients were normal numbers");
      }
    });
  }
}

void Trial::setGradients(const std::vector<at::Tensor>& results, std::uint32_t number) {
  const auto& layout = TrialModel::buckets(layoutOf(number));
  for (std::size_t i = 0; i < layout.size(); ++i) {
    const TrialModel::Places places = model_.places(layout[i]);
    for (std::size_t j = 0; j < layout[i].size(); ++j) {
      at::Tensor& parameter = model_.parameters()[layout[i][j]];
      parameter.mutable_grad() =
          results[i].narrow(0, places.offsets[j], places.lengths[j]).view(parameter.sizes());
    }
  }
}

std::string Trial::save(std::uint32_t step) {
  return during(fmt::format("after step {}", step), [&] { return rank_.hook->save(); });
}

void Trial::load(const std::string& state, std::uint32_t step) {
  during(fmt::format("before step {}", step), [&] { rank_.hook->load(state, rank_.world); });
}

void Trial::endOfRun(std::uint32_t step) {
  Step unused;
  around("end_of_run", step, &PluginHook::endOfRun, unused);
}

}  // namespace lockstep::hooks
