#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/hooks/CommHook.h"
#include "engine/hooks/plugin/Watch.h"
#include "engine/hooks/verify/LocalRanks.h"
#include "engine/hooks/verify/TrialModel.h"

namespace lockstep::hooks {

/// A rank whose trial ended early. The text is a sentence with hook, rank, and bucket and step or
/// call.
class TrialFailure : public std::runtime_error {
 public:
  /// How near the text is to the cause, when several ranks fail: the hook's own doing, calls that
  /// differ between ranks, a rank that was waited for, what follows from these.
  enum class Cause { kHook, kMismatch, kTimeout, kOther };

  TrialFailure(Cause cause, const std::string& text) : std::runtime_error(text), cause(cause) {}
  /// Of what was thrown by a hook's making or a call of it; `doing` says what the call was.
  static TrialFailure of(const std::exception_ptr& error, const std::string& hook, int rank,
                         const std::string& doing);

  Cause cause;
};

struct TrialOptions {
  std::string hook;  ///< id
  at::ScalarType dtype = at::kFloat;
  std::chrono::milliseconds resultLimit{10000};  ///< for a bucket's result
};

/// One rank's training of a TrialModel with its hook: makes the calls that the training loop and
/// the Reducer make, in their order. Everything throws TrialFailure. [step-thread]
class Trial {
 public:
  /// Shows the hook its parameters, and an optimizer that it accepts. All arguments outlive this.
  Trial(LocalRank& rank, Watch& watch, TrialOptions options);

  /// The optimizer that was accepted: "sgd, momentum 0.9".
  [[nodiscard]] const std::string& optimizer() const { return optimizer_; }
  [[nodiscard]] TrialModel& model() { return model_; }

  struct Step {
    std::vector<at::Tensor> results;  ///< of each bucket
    std::chrono::nanoseconds inHook{};
  };
  /// Step 0 has the first layout of buckets, later ones the rebuilt one. Of the ranks the first
  /// `active` have inputs (Join).
  Step step(std::uint32_t number, int active);

  /// After `step`, and before the next.
  std::string save(std::uint32_t step);
  void load(const std::string& state, std::uint32_t step);
  void endOfRun(std::uint32_t step);

  static std::uint32_t layoutOf(std::uint32_t step) { return step == 0 ? 0 : 1; }
  static std::string placeOf(std::size_t bucket, std::uint32_t step);
  /// A bucket of the layout with these contents.
  GradBucket bucket(std::size_t index, std::uint32_t step, const at::Tensor& flat,
                    BucketFacts facts);

 private:
  template <typename Call>
  auto during(const std::string& doing, Call call);
  void configure();
  void around(const char* call, std::uint32_t step, void (PluginHook::*function)(std::uint32_t),
              Step& outcome);
  std::vector<GradBucket> ownBuckets(std::uint32_t number, int active);
  std::vector<at::Tensor> average(std::vector<GradBucket>& buckets, std::uint32_t number);
  void requireFinite(const std::vector<at::Tensor>& results, std::uint32_t number);
  void setGradients(const std::vector<at::Tensor>& results, std::uint32_t number);

  LocalRank& rank_;
  Watch& watch_;
  const TrialOptions options_;
  TrialModel model_;
  std::string optimizer_;
};

}  // namespace lockstep::hooks
