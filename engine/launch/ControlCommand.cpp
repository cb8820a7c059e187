#include <nlohmann/json.hpp>

#include "engine/launch/ControlSocket.h"

namespace lockstep::launch {
namespace {

constexpr const char* kCommands =
    "the commands are stop, capture (with \"enabled\"), trace (with \"steps\"), set (with \"key\" "
    "and \"value\") and status";

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
    case ControlCommand::Kind::kTrace:
      return nlohmann::json{{"command", "trace"}, {"steps", command.steps}}.dump();
    case ControlCommand::Kind::kSet:
      return nlohmann::json{{"command", "set"},
                            {"key", command.change.key},
                            // The value is JSON text already; as a text in JSON it would become a
                            // quoted one.
                            {"value", nlohmann::json::parse(command.change.value)}}
          .dump();
    case ControlCommand::Kind::kStatus:
      break;
  }
  return R"({"command":"status"})";
}

std::string toJson(const ControlStatus& status) {
  return nlohmann::json{{"ok", true},
                        {"state", trace::name(status.state)},
                        {"stopping", status.stopping},
                        {"steps", status.recorder.steps},
                        {"planned_steps", status.recorder.plannedSteps},
                        {"loss", status.recorder.loss},
                        {"events", status.recorder.events},
                        {"events_dropped", status.recorder.dropped},
                        {"capture", status.capture}}
      .dump();
}

std::string controlDone() {
  return R"({"ok":true})";
}

std::string controlRefused(const std::string& error) {
  return nlohmann::json{{"ok", false}, {"error", error}}.dump();
}

base::Result<ControlCommand> controlCommandFromJson(std::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("command") || !json["command"].is_string()) {
    return refuse("not a command: a JSON object with a \"command\" was expected");
  }
  const auto name = json["command"].get<std::string>();
  if (name == "stop") {
    return ControlCommand{ControlCommand::Kind::kStop};
  }
  if (name == "status") {
    return ControlCommand{ControlCommand::Kind::kStatus};
  }
  if (name == "set") {
    const auto key = json.find("key");
    const auto value = json.find("value");
    const bool scalar =
        value != json.end() && (value->is_number() || value->is_boolean() || value->is_string());
    if (key == json.end() || !key->is_string() || !scalar) {
      return refuse("set needs a \"key\" and a \"value\" that is a number, a text, true or false");
    }
    ControlCommand set{ControlCommand::Kind::kSet};
    set.change = {key->get<std::string>(), value->dump()};
    return set;
  }
  if (name == "trace") {
    const auto steps = json.find("steps");
    if (steps == json.end() || !steps->is_number_integer() || steps->get<std::int64_t>() < 1 ||
        steps->get<std::int64_t>() > kMostTracedSteps) {
      return refuse("trace needs \"steps\", a number from 1 to " +
                    std::to_string(kMostTracedSteps));
    }
    ControlCommand trace{ControlCommand::Kind::kTrace};
    trace.steps = steps->get<int>();
    return trace;
  }
  if (name == "capture") {
    if (!json.contains("enabled") || !json["enabled"].is_boolean()) {
      return refuse("capture needs \"enabled\": true or false");
    }
    return ControlCommand{ControlCommand::Kind::kCapture, json["enabled"].get<bool>()};
  }
  // As JSON text, so that control characters and bad UTF-8 stay harmless.
  return refuse("unknown command " +
                nlohmann::json(name).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

}  // namespace lockstep::launch
