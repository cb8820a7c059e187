#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/hooks/plugin/PluginHook.h"
#include "engine/hooks/verify/LocalRanks.h"

namespace lockstep::hooks::test {

/// A hook that the build made: `file` in its bin folder ("hooks/fp16.so").
plugin::ChosenHook builtHook(const std::string& file, const std::string& id,
                             std::map<std::string, plugin::HookValue> values = {});

/// One rank with its hook.
struct HookRank : LocalRank {
  std::vector<std::int64_t> shape;  ///< of the one parameter of each bucket; empty: flat

  /// Hands a bucket of the gradients, which the hook works on in place, to it.
  base::Future<at::Tensor> start(const at::Tensor& flat, std::uint32_t step = 0,
                                 std::size_t index = 0, std::size_t count = 1,
                                 BucketFacts facts = {}) const;
  /// Averages one bucket. Throws what the hook's future holds, or that it took over 10 s.
  at::Tensor average(const at::Tensor& flat, std::uint32_t step = 0, std::size_t index = 0,
                     std::size_t count = 1) const;

  using Gradient = std::function<at::Tensor(const at::Tensor& parameter, std::uint32_t step)>;
  /// Takes steps `first` to `end` with a model of one flat parameter, in place, as a training loop
  /// does: plain SGD of `rate`, unless the hook owns the update. `after` follows each step.
  void train(const at::Tensor& parameter, std::uint32_t first, std::uint32_t end, double rate,
             const Gradient& gradient,
             const std::function<void(std::uint32_t step)>& after = nullptr) const;
};

/// What several ranks had at several times.
class RankValues {
 public:
  /// [any-thread]
  void add(std::uint32_t step, const at::Tensor& value);
  /// Of each rank, in no order.
  [[nodiscard]] const std::vector<at::Tensor>& at(std::uint32_t step) const;
  [[nodiscard]] bool allEqual(std::uint32_t step) const;
  /// The mean square of the ranks' distances to their mean.
  [[nodiscard]] double spread(std::uint32_t step) const;

 private:
  std::mutex mutex_;
  std::map<std::uint32_t, std::vector<at::Tensor>> values_;
};

/// Runs `body` on `world` ranks, threads of this process, over Gloo; each makes the hook. Returns
/// each rank's error, of the hook's making or of `body`; "" = none. When one fails its groups are
/// aborted, as the Reducer does it.
std::vector<std::string> runHooks(int world, const plugin::HookChoice& choice,
                                  const std::function<void(HookRank&)>& body,
                                  trace::Tracer* tracerOfRank0 = nullptr);

/// What a hook of the library keeps of parameter 0, in the order in which it saves its sets of
/// numbers; an empty tensor where it keeps nothing of it.
std::vector<at::Tensor> stateOf(const HookRank& rank);
/// The first of these: what an error-feedback hook has left out so far.
at::Tensor residualOf(const HookRank& rank);

/// A rank's gradients: normal, another set for each rank and seed.
at::Tensor gradients(std::int64_t count, int rank, std::uint64_t seed = 0);
/// The mean of gradients() over all ranks.
at::Tensor meanGradients(std::int64_t count, int world, std::uint64_t seed = 0);

}  // namespace lockstep::hooks::test
