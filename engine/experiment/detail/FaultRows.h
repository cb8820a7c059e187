#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/experiment/Experiment.h"
#include "engine/experiment/Schema.h"
#include "engine/experiment/detail/Rules.h"
#include "engine/experiment/detail/Values.h"

namespace lockstep::experiment::detail {

/// One key of an element of [[faults]].
struct FaultRow {
  Field field;                     ///< key "faults.kind"; onlyFor as "faults.kind=delay"
  std::vector<std::string> kinds;  ///< for which it has a meaning; empty = all
  std::function<std::optional<Value>(const FaultConfig&)> get;
  std::function<void(FaultConfig&, const Value&)> set;  ///< of a value that fits the field
};

const std::vector<FaultRow>& faultRows();

/// Returns the row of "faults.kind", or nullptr.
const FaultRow* findFaultRow(std::string_view key);

[[nodiscard]] bool applies(const FaultRow& row, const FaultConfig& fault);

/// Returns what a fault lacks or what contradicts in it; keys as "faults.step".
std::vector<BrokenRule> brokenRules(const FaultConfig& fault, const Experiment& experiment);

/// Writes [[faults]] tables as TOML.
std::string faultsToToml(const std::vector<FaultConfig>& faults);

}  // namespace lockstep::experiment::detail
