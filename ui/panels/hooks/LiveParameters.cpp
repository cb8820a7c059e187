#include "ui/panels/hooks/LiveParameters.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/experiment/Parse.h"
#include "engine/experiment/Schema.h"
#include "engine/plugin/ResolveHooks.h"

namespace lockstep::ui {
namespace {

using plugin::HookParam;
using plugin::HookValue;

bool isText(const HookParam& param) {
  return param.type == HookParam::Type::kChoice || param.type == HookParam::Type::kText;
}

}  // namespace

HookValue initialOf(const HookParam& param) {
  return isText(param) ? HookValue(param.initialText) : HookValue(param.initial);
}

base::Result<std::vector<LiveParameter>> liveParametersOf(const trace::RunInfo& info) {
  // A resolved experiment holds absolute paths alone; the folder changes nothing.
  auto parsed = experiment::parseText(info.experimentToml, info.name, "/");
  const plugin::ResolvedHooks hooks = plugin::resolveHooks(parsed, "");
  if (!parsed.mistakes.empty()) {
    return base::Error{base::ExitCode::kBadInput, parsed.mistakes.front().message(), ""};
  }
  std::vector<LiveParameter> live;
  // From the outermost hook inwards: "hook.density", then "hook.inner.density".
  std::string table = "hook.";
  for (std::size_t i = 0; i < hooks.choice.size(); ++i) {
    for (const HookParam& param : hooks.infos[i].params) {
      if (param.live) {
        const auto given = hooks.choice[i].values.find(param.key);
        live.push_back({table + param.key, hooks.infos[i].id, param,
                        given == hooks.choice[i].values.end() ? initialOf(param) : given->second});
      }
    }
    table += "inner.";
  }
  return live;
}

std::string jsonOf(const HookParam& param, const HookValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return nlohmann::json(*text).dump();
  }
  const double number = std::get<double>(value);
  if (param.type == HookParam::Type::kBool) {
    return number != 0 ? "1.0" : "0.0";
  }
  return param.type == HookParam::Type::kInteger
             ? nlohmann::json(static_cast<std::int64_t>(number)).dump()
             : nlohmann::json(number).dump();
}

QString textOf(const HookParam& param, const HookValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return QString::fromStdString(*text);
  }
  const double number = std::get<double>(value);
  if (param.type == HookParam::Type::kBool) {
    return number != 0 ? QStringLiteral("on") : QStringLiteral("off");
  }
  return QString::number(number, 'g', kLiveDigits);
}

QString rangeOf(const HookParam& param) {
  return QString::fromStdString(experiment::allowedValues(plugin::fieldOf(param, param.key)));
}

}  // namespace lockstep::ui
