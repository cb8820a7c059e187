#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lockstep::experiment {

/// A setting of a live run that somebody changes. The supervisor puts changes into the run's
/// store, one key each, and the ranks take them from there.
struct SettingChange {
  std::string key;    ///< as in the experiment file: "hook.density"
  std::string value;  ///< a number or a text, as JSON

  bool operator==(const SettingChange&) const = default;
};

/// Where the `number`-th change of a run, from 0, stands in the store.
std::string changeKey(std::int64_t number);

/// What stands there, and back. Throws std::invalid_argument for other text. [any-thread]
std::string toJson(const SettingChange& change);
SettingChange settingChangeFromJson(const std::string& text);

/// A change that the ranks have made.
struct MadeChange {
  std::uint32_t step = 0;  ///< the first with the new value
  SettingChange change;
};

/// Where the environment of rank 0 holds it in a run file, its value as the value there:
/// "set.808.hook.density".
std::string environmentKey(const MadeChange& made);
/// All that an environment holds, by step. [any-thread]
std::vector<MadeChange> madeChanges(const std::map<std::string, std::string>& environment);

}  // namespace lockstep::experiment
