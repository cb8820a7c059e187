#include "engine/experiment/SettingChange.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace lockstep::experiment {

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

}  // namespace lockstep::experiment
