#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/Result.h"
#include "engine/plugin/HookChoice.h"

namespace lockstep::plugin {

/// What came out when a hook was run as PyTorch's communication hook, and the engine's own host was
/// given the same gradients.
struct PyTorchComparison {
  int ranks = 0;
  int steps = 0;
  /// What is wrong, a sentence each.
  std::vector<std::string> problems;
  /// Why it cannot run there, a sentence; empty: it can.
  std::string refusal;
  std::string torch;  ///< PyTorch's version
  /// Of the results, the largest, by their root mean square. 0: equal. Infinite: some number is
  /// finite in one of the two alone.
  double distance = 0;
  double ownDistance = 0;             ///< the same of two runs of the engine
  std::uint64_t sentBytes = 0;        ///< in all steps, by the rank that sent most
  std::uint64_t engineSentBytes = 0;  ///< the same in the engine

  bool operator==(const PyTorchComparison&) const = default;
};

/// The JSON that lockstep-hookverify prints, and back; an infinite distance is null there.
/// [any-thread]
std::string toJson(const PyTorchComparison& comparison);
base::Result<PyTorchComparison> pyTorchComparisonFromJson(std::string_view json);

struct ComparePyTorchOptions {
  std::string python = "python3";  ///< program with PyTorch
  std::string packages;            ///< folder of the Python package "lockstep"
  std::chrono::milliseconds timeLimit{10000};  ///< for each call of the hook
};

/// Trains with a hook in PyTorch, on 2 ranks of this machine, and in the engine with the same
/// gradients (lockstep-hookverify). Whatever goes wrong is a sentence among the problems; a Python
/// without PyTorch is an error. [any-thread], blocking.
base::Result<PyTorchComparison> comparePyTorch(const ChosenHook& hook,
                                               const ComparePyTorchOptions& options);

}  // namespace lockstep::plugin
