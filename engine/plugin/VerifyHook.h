#pragma once

#include <chrono>
#include <string>

#include "engine/plugin/HookChoice.h"
#include "engine/plugin/Verification.h"

namespace lockstep::plugin {

/// A verification takes at most this many times the limit of one call.
inline constexpr int kCallsInAVerification = 20;

struct VerifyOptions {
  int ranks = 2;
  std::chrono::milliseconds timeLimit{10000};  ///< for each call of the hook
  std::string program;  ///< path of lockstep-hookverify; "" = base::helperProgram()
};

/// Verifies a hook, alone, by running lockstep-hookverify on it: whatever the hook does to its
/// process becomes a sentence among the problems, and the caller lives. [any-thread], blocking.
Verification verifyHook(const ChosenHook& hook, const VerifyOptions& options);

/// The values of a hook's parameters as lockstep-hookverify takes them, and back.
std::string valuesToJson(const std::map<std::string, HookValue>& values);
base::Result<std::map<std::string, HookValue>> valuesFromJson(std::string_view json);

}  // namespace lockstep::plugin
