#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/ddp/reducer/ReducerContext.h"

namespace lockstep::ddp {

/// Which gradients of a backward have become ready, and which are still to come.
///
/// findUnusedParameters: the graph of the forward's outputs is searched; parameters that it does
/// not reach count as ready at the first gradient of the backward.
///
/// staticGraph: the first backward is recorded: it counts how often each parameter gets a gradient,
/// and reduces when it has ended. From then on a parameter is ready after as many. Re-entrant
/// backwards (checkpointing) and repeated use need it.
///
/// Guarded by the Reducer's mutex.
class ReadyGradients {
 public:
  explicit ReadyGradients(ReducerContext& context);

  /// Forgets the last iteration.
  void reset();
  /// The backward of a synchronised forward is to come.
  void expect();
  /// Searches the graph that these come from. Throws DdpError where there is none.
  void searchUnused(const std::vector<at::Tensor*>& outputs);

  /// Whether this backward is recorded.
  [[nodiscard]] bool recording() const { return recording_; }
  void record(std::size_t index) { ++firings_[index]; }
  /// The recorded backward has ended: from now on its counts are the rule. Calls `ready` with each
  /// parameter.
  void endRecording(const std::function<void(std::size_t)>& ready);

  /// Calls `ready` with each unused parameter, once an iteration.
  void takeUnused(const std::function<void(std::size_t)>& ready);
  /// A gradient came: whether it was the last that the parameter gets. Throws DdpError for one
  /// that is not to come.
  [[nodiscard]] bool came(std::size_t index);
  [[nodiscard]] bool awaits(std::size_t index) const { return awaited_[index] != 0; }
  /// A parameter is ready now.
  void note(std::size_t index);

  /// The error about parameters that still wait for a gradient after a backward, which left
  /// `notReduced` of `buckets` buckets.
  [[nodiscard]] std::string missingText(std::size_t notReduced, std::size_t buckets) const;

  /// The order in which buckets are rebuilt (in the end rank 0's counts). Holds every planned
  /// parameter, even on a rank that had no inputs in the iteration that decides.
  [[nodiscard]] std::vector<std::uint32_t> rebuildOrder() const;

  [[nodiscard]] const std::vector<std::uint32_t>& unused() const { return unused_; }
  [[nodiscard]] const std::vector<std::uint32_t>& order() const { return order_; }
  /// Whether the unused parameters were the same in every iteration.
  [[nodiscard]] bool unusedStayed() const { return unusedStayed_; }

 private:
  /// The error about a gradient that nothing waited for.
  [[nodiscard]] std::string surplusText(std::size_t index) const;

  ReducerContext& context_;
  std::vector<std::uint32_t> awaited_;  // gradients still to come to each parameter
  std::vector<std::uint32_t> firings_;  // static graph: gradients a backward, as recorded
  std::vector<std::uint32_t> unused_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> decidingOrder_;  // of the iteration that decides the rebuild
  bool recording_ = false;
  bool graphRecorded_ = false;  // firings_ are known
  bool tookUnused_ = false;
  bool unusedStayed_ = true;
};

}  // namespace lockstep::ddp
