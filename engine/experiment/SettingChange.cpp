#include "engine/experiment/SettingChange.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace lockstep::experiment {

namespace {

constexpr std::string_view kMade = "set.";

}  // namespace

std::string changeKey(std::int64_t number) {
  return "lockstep/changes/" + std::to_string(number);
}

std::string toJson(const SettingChange& change) {
  return nlohmann::json{{"key", change.key}, {"value", change.value}}.dump();
}

SettingChange settingChangeFromJson(const std::string& text) {
  try {
    const auto json = nlohmann::json::parse(text);
    return {json.at("key").get<std::string>(), json.at("value").get<std::string>()};
  } catch (const nlohmann::json::exception&) {
    throw std::invalid_argument("not a change of a setting: " + text);
  }
}

std::string environmentKey(const MadeChange& made) {
  return std::string(kMade) + std::to_string(made.step) + "." + made.change.key;
}

std::vector<MadeChange> madeChanges(const std::map<std::string, std::string>& environment) {
  std::vector<MadeChange> changes;
  for (auto at = environment.lower_bound(std::string(kMade));
       at != environment.end() && at->first.starts_with(kMade); ++at) {
    const std::string_view rest = std::string_view(at->first).substr(kMade.size());
    MadeChange made;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), made.step);
    if (error == std::errc() && end != rest.data() + rest.size() && *end == '.') {
      made.change = {std::string(end + 1, rest.data() + rest.size()), at->second};
      changes.push_back(std::move(made));
    }
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const MadeChange& a, const MadeChange& b) { return a.step < b.step; });
  return changes;
}

}  // namespace lockstep::experiment
