#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/analysis/Compare.h"
#include "engine/experiment/Schema.h"
#include "engine/experiment/WrittenKeys.h"

namespace lockstep::analysis {
namespace {

/// Where a key stands among the others: where the schema has it, else behind its table's.
std::size_t placeOf(const std::string& key) {
  const auto& fields = experiment::schema();
  const std::string table = key.substr(0, key.find_first_of(".[")) + ".";
  std::size_t place = fields.size();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].key == key) {
      return i;
    }
    place = fields[i].key.compare(0, table.size(), table) == 0 ? i : place;
  }
  return place;
}

}  // namespace

std::vector<DifferingKey> differingKeys(const std::vector<std::string>& experimentTomls) {
  std::vector<std::map<std::string, std::string>> byRun;
  std::set<std::pair<std::size_t, std::string>> order;
  for (const std::string& toml : experimentTomls) {
    byRun.push_back(experiment::writtenKeys(toml));
    byRun.back().erase("name");
    byRun.back().erase("shows");
    byRun.back().erase("sweep.group");
    byRun.back().erase("sweep.run");
    for (const auto& [key, value] : byRun.back()) {
      order.emplace(placeOf(key), key);
    }
  }
  std::vector<DifferingKey> differing;
  for (const auto& [place, key] : order) {
    DifferingKey row;
    row.key = key;
    for (const auto& values : byRun) {
      const auto at = values.find(key);
      row.values.push_back(at == values.end() ? std::nullopt : std::optional(at->second));
    }
    const auto& first = row.values.front();
    if (std::all_of(row.values.begin(), row.values.end(),
                    [&](const auto& value) { return value == first; })) {
      continue;
    }
    if (const experiment::Field* field = experiment::findField(key)) {
      row.label = field->label;
      row.unit = field->unit;
    }
    differing.push_back(std::move(row));
  }
  return differing;
}

}  // namespace lockstep::analysis
