#pragma once

#include <string>
#include <vector>

#include "engine/experiment/Parse.h"
#include "engine/experiment/Schema.h"
#include "engine/plugin/HookChoice.h"
#include "engine/plugin/HookInfo.h"
#include "engine/plugin/PluginScan.h"

namespace lockstep::plugin {

/// Describes a hook's parameter as the schema describes a key, `key` being where an experiment
/// says it: "hook.density".
experiment::Field fieldOf(const HookParam& param, const std::string& key);

/// The hooks an experiment chose, and what their plugins say of them.
struct ResolvedHooks {
  HookChoice choice;            ///< empty: the engine's own, or there are mistakes
  std::vector<HookInfo> infos;  ///< one for each of the choice
};

/// Finds the plugins of an experiment's hooks and checks the hooks' parameters against what the
/// plugins say of them. What is wrong is added to `parsed`, at the place where it was written.
/// `experimentFile` ("" = none) names the folder of the experiment's own plugins; the libraries
/// of those that are found there are set in `parsed`, since whoever gets the experiment as a text
/// would not find them. Runs lockstep-hookscan. [any-thread], blocking.
ResolvedHooks resolveHooks(experiment::ParseOutcome& parsed, const std::string& experimentFile,
                           const ScanOptions& options = {});

}  // namespace lockstep::plugin
