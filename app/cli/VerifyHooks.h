#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/plugin/HookChoice.h"
#include "engine/plugin/PluginScan.h"
#include "engine/plugin/Verification.h"

namespace lockstep::cli {

/// A hook to verify.
struct HookToVerify {
  std::string from;  ///< "built-in", "user", "experiment"
  plugin::HookInfo info;
  plugin::ChosenHook chosen;
};

/// Which one it is, as an object: what came of it is to be added.
nlohmann::json jsonOf(const HookToVerify& hook);

/// A hook, and what came of verifying it.
struct VerifiedHook : HookToVerify {
  std::vector<plugin::Verification> runs;  ///< one for each number of ranks

  /// Whether it keeps its contract on every number of ranks that it does not refuse; it must not
  /// refuse them all.
  [[nodiscard]] bool passes() const;
};

/// Verifies each hook on 2 and on 4 ranks, one after the other; says on a terminal how far it is.
void verifyEach(std::vector<VerifiedHook>& hooks, std::chrono::milliseconds timeLimit);

/// A table, and below it a sentence for each thing that is wrong.
std::string verificationText(const std::vector<VerifiedHook>& hooks);
/// An array of objects, a hook each, then a library each that was refused.
std::string verificationJson(const std::vector<VerifiedHook>& hooks,
                             const std::vector<plugin::FoundLibrary>& libraries);

}  // namespace lockstep::cli
