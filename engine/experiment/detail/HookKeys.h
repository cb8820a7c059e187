#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "engine/experiment/Experiment.h"
#include "engine/experiment/detail/Values.h"

namespace lockstep::experiment::detail {

// The keys of [hook], [hook.inner], [hook.inner.inner] ... that the schema does not have: those of
// hooks inside, and the parameters that plugins describe.

/// Whether a key that is no row of the schema may be one of these: "hook.density",
/// "hook.inner.name".
bool isHookKey(std::string_view key);

/// Sets what `key` stands for; a library's path is resolved against `folder`. Returns what is wrong
/// with the value, and then sets nothing.
std::optional<std::string> setHookKey(std::string_view key, const Value& value,
                                      const std::filesystem::path& folder, HookConfig& hook);

/// The parameters as lines that end the table [hook], and the tables of the hooks inside.
std::string hookToToml(const HookConfig& hook);

}  // namespace lockstep::experiment::detail
