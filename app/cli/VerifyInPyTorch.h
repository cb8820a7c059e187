#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "app/cli/VerifyHooks.h"
#include "engine/base/Result.h"
#include "engine/plugin/PyTorchComparison.h"

namespace lockstep::cli {

/// A hook that was run as PyTorch's communication hook, and what came of it.
struct HookInPyTorch : HookToVerify {
  plugin::PyTorchComparison outcome;

  /// Whether it did what it does in the engine, or is refused there.
  [[nodiscard]] bool passes() const { return outcome.problems.empty(); }
};

/// Runs each hook in PyTorch and in the engine, one after the other; says on a terminal how far it
/// is. Error: there is no such Python, or no PyTorch in it.
base::Result<bool> verifyEachInPyTorch(std::vector<HookInPyTorch>& hooks, const std::string& python,
                                       std::chrono::milliseconds timeLimit);

/// A table, and below it a sentence for each thing that is wrong.
std::string inPyTorchText(const std::vector<HookInPyTorch>& hooks);
/// An array of objects, a hook each.
std::string inPyTorchJson(const std::vector<HookInPyTorch>& hooks);

}  // namespace lockstep::cli
