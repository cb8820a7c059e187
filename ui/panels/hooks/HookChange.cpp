#include "ui/panels/hooks/HookChange.h"

#include <nlohmann/json.hpp>

#include "engine/experiment/SettingChange.h"

namespace lockstep::ui {

std::vector<HookChange> hookChangesOf(const std::vector<trace::RankInfo>& ranks) {
  constexpr std::string_view kTable = "hook.";
  std::vector<HookChange> changes;
  // Rank 0 writes down for all when a change is made; where its record is missing nothing is known.
  if (ranks.empty() || ranks.front().rank != 0) {
    return changes;
  }
  for (const auto& [step, change] : experiment::madeChanges(ranks.front().environment)) {
    if (change.key.starts_with(kTable)) {
      // Kept as JSON. A text loses its quotes here, a number stays as it was written.
      const auto value = nlohmann::json::parse(change.value, nullptr, false);
      changes.push_back(
          {step, QString::fromStdString(change.key.substr(kTable.size())),
           QString::fromStdString(value.is_string() ? value.get<std::string>() : change.value)});
    }
  }
  return changes;
}

}  // namespace lockstep::ui
