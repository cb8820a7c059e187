#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/experiment/detail/Rows.h"

namespace lockstep::experiment::detail {

/// A value of a kind that no key takes, as text for a message: "a table", "1979-05-27".
struct OtherValue {
  std::string text;
};

/// A value as it stands in a file, before it is known whether its key takes it. An empty list is
/// one of integers.
using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                           std::vector<double>, std::vector<std::string>, OtherValue>;

/// Writes a value as TOML.
std::string format(const Value& value);

/// Returns the member of `row`, nothing for an optional that is not set.
std::optional<Value> read(const Row& row, const Experiment& experiment);

/// Sets the member of `row`. Returns what is wrong with the value, and then sets nothing.
std::optional<std::string> write(const Row& row, const Value& value, Experiment& experiment);

/// Returns what is wrong with the type or the range of a value, or nothing.
std::optional<std::string> violation(const Field& field, const Value& value);

}  // namespace lockstep::experiment::detail
