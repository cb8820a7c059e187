#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/hooks/plugin/PluginHook.h"

namespace lockstep::hooks::test {

/// A hook that the build made: `file` in its bin folder ("hooks/fp16.so").
plugin::ChosenHook builtHook(const std::string& file, const std::string& id,
                             std::map<std::string, plugin::HookValue> values = {});

/// One rank with its hook.
struct HookRank {
  int rank = 0;
  int world = 1;
  std::shared_ptr<process_group::ProcessGroup> group;  ///< not the hook's
  std::unique_ptr<PluginHook> hook;
  std::vector<std::int64_t> shape;  ///< of the one parameter of each bucket; empty: flat

  /// Hands a bucket of the gradients, which the hook works on in place, to it.
  base::Future<at::Tensor> start(const at::Tensor& flat, std::uint32_t step = 0,
                                 std::size_t index = 0, std::size_t count = 1,
                                 BucketFacts facts = {}) const;
  /// Averages one bucket. Throws what the hook's future holds, or that it took over 10 s.
  at::Tensor average(const at::Tensor& flat, std::uint32_t step = 0, std::size_t index = 0,
                     std::size_t count = 1) const;
};

/// Runs `body` on `world` ranks, threads of this process, over Gloo; each makes the hook. Returns
/// each rank's error, of the hook's making or of `body`; "" = none. When one fails its groups are
/// aborted, as the Reducer does it.
std::vector<std::string> runHooks(int world, const plugin::HookChoice& choice,
                                  const std::function<void(HookRank&)>& body,
                                  trace::Tracer* tracerOfRank0 = nullptr);

/// What an error-feedback hook of the library keeps of parameter 0; empty before it kept anything.
at::Tensor residualOf(const HookRank& rank);

/// A rank's gradients: normal, another set for each rank and seed.
at::Tensor gradients(std::int64_t count, int rank, std::uint64_t seed = 0);
/// The mean of gradients() over all ranks.
at::Tensor meanGradients(std::int64_t count, int world, std::uint64_t seed = 0);

}  // namespace lockstep::hooks::test
