#pragma once

#include <cstdint>
#include <string>

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

}  // namespace lockstep::experiment
