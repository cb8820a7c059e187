#pragma once

#include <QString>
#include <string>
#include <vector>

#include "engine/plugin/HookInfo.h"
#include "engine/plugin/HookValues.h"
#include "engine/trace/RunFile.h"

namespace lockstep::ui {

/// A parameter of a run's hook that may change while the run is live.
struct LiveParameter {
  std::string key;   ///< as the experiment says it: "hook.density"
  std::string hook;  ///< whose it is: "topk"
  plugin::HookParam param;
  plugin::HookValue value;  ///< at the start of the run
};

/// Returns the live parameters of a run's hook and of the hooks inside it. Runs
/// lockstep-hookscan on plugins that are not known yet: blocks. [any-thread]
/// Error: the experiment or a hook of it cannot be read here.
base::Result<std::vector<LiveParameter>> liveParametersOf(const trace::RunInfo& info);

/// The value of a parameter that an experiment does not name.
plugin::HookValue initialOf(const plugin::HookParam& param);

/// A value as JSON, as a run's control socket takes it: 0.05, "dissemination", 1.0 for a switch
/// that is on.
std::string jsonOf(const plugin::HookParam& param, const plugin::HookValue& value);

/// The digits with which a number is shown.
inline constexpr int kLiveDigits = 10;
/// "0.05", "dissemination", "on".
QString textOf(const plugin::HookParam& param, const plugin::HookValue& value);

/// "a number from 1e-06 to 1", with the unit.
QString rangeOf(const plugin::HookParam& param);

}  // namespace lockstep::ui
