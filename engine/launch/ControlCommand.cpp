#include <nlohmann/json.hpp>

#include "engine/launch/ControlSocket.h"

namespace lockstep::launch {
namespace {

constexpr const char* kCommands = "the commands are stop, capture (with \"enabled\") and status";

base::Error refuse(const std::string& what) {
  return {base::ExitCode::kBadInput, what + "; " + kCommands, "control socket"};
}

}  // namespace

std::string toJson(const ControlCommand& command) {
  switch (command.kind) {
    case ControlCommand::Kind::kStop:
      return R"({"command":"stop"})";
    case ControlCommand::Kind::kCapture:
      return nlohmann::json{{"command", "capture"}, {"enabled", command.enabled}}.dump();
    case ControlCommand::Kind::kStatus:
      break;
  }
  return R"({"command":"status"})";
}

base::Result<ControlCommand> controlCommandFromJson(std::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("command") || !json["command"].is_string()) {
    return refuse("not a command: a JSON object with a \"command\" was expected");
  }
  const auto name = json["command"].get<std::string>();
  if (name == "stop") {
    return ControlCommand{ControlCommand::Kind::kStop, true};
  }
  if (name == "status") {
    return ControlCommand{ControlCommand::Kind::kStatus, true};
  }
  if (name == "capture") {
    if (!json.contains("enabled") || !json["enabled"].is_boolean()) {
      return refuse("capture needs \"enabled\": true or false");
    }
    return ControlCommand{ControlCommand::Kind::kCapture, json["enabled"].get<bool>()};
  }
  // As JSON text, so that control characters and bad UTF-8 stay harmless.
  return refuse("unknown command " + nlohmann::json(name).dump(
                    -1, ' ', true, nlohmann::json::error_handler_t::replace));
}

}  // namespace lockstep::launch
