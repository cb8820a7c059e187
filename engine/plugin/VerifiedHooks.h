#pragma once

#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/cost/VerifiedHook.h"
#include "engine/plugin/HookChoice.h"
#include "engine/plugin/Verification.h"

namespace lockstep::plugin {

/// Keeps what the verification of a hook measured, for forecasts, in the user's cache: `file`, or
/// $XDG_CACHE_HOME/lockstep/verified.json where that is empty. Of one whose parameters were given
/// nothing is kept, nor of runs that measured nothing. One that `isBuiltIn` is found by its name
/// alone. [any-thread]
void keepVerified(const ChosenHook& hook, bool isBuiltIn, const std::vector<Verification>& runs,
                  const std::string& file = {});

/// Returns the hooks that were verified on this machine, by name. One whose library has changed
/// since is none of them. [any-thread]
std::vector<cost::VerifiedHook> verifiedHooks(const std::string& file = {});

/// Returns the one of this name. Error: there is none; it says which there are.
base::Result<cost::VerifiedHook> verifiedHook(const std::string& name,
                                              const std::string& file = {});

}  // namespace lockstep::plugin
