#include "engine/experiment/detail/HookKeys.h"

#include <fmt/format.h>

#include <type_traits>
#include <variant>

namespace lockstep::experiment::detail {
namespace {

constexpr std::string_view kTable = "hook.";
constexpr std::string_view kInner = "inner.";

std::optional<HookValue> hookValueOf(const Value& value) {
  return std::visit(
      [](const auto& held) -> std::optional<HookValue> {
        if constexpr (std::is_constructible_v<HookValue, decltype(held)>) {
          return HookValue(held);
        } else {
          return std::nullopt;
        }
      },
      value);
}

Value valueOf(const HookValue& value) {
  return std::visit([](const auto& held) { return Value(held); }, value);
}

std::string valuesToToml(const HookSettings& settings) {
  std::string text;
  for (const auto& [key, value] : settings.values) {
    std::string number = format(valueOf(value));
    if (std::holds_alternative<double>(value) &&
        number.find_first_not_of("-0123456789") == std::string::npos) {
      number += ".0";  // or it would come back as an integer
    }
    text += fmt::format("{} = {}\n", key, number);
  }
  return text;
}

}  // namespace

bool isHookKey(std::string_view key) {
  // Whether the hook has such a parameter is known once its plugin is found.
  return key.starts_with(kTable);
}

std::optional<std::string> setHookKey(std::string_view key, const Value& value,
                                      const std::filesystem::path& folder, HookConfig& hook) {
  const auto given = hookValueOf(value);
  if (!given) {
    return fmt::format("must be a number, a text in quotes, true or false, not {}", format(value));
  }
  HookSettings* settings = &hook;
  std::size_t depth = 0;
  // "hook.inner.inner.rank": two levels down, the key "rank".
  for (key.remove_prefix(kTable.size()); key.starts_with(kInner);
       key.remove_prefix(kInner.size())) {
    ++depth;
  }
  if (depth > 0) {
    // Keys come in the order of their names: a level may be spoken of before its name was read.
    while (hook.inner.size() < depth) {
      hook.inner.push_back({"", "", {}});
    }
    settings = &hook.inner[depth - 1];
  }
  if (key != "name" && key != "library") {
    settings->values[std::string(key)] = *given;
    return std::nullopt;
  }
  const auto* text = std::get_if<std::string>(&*given);
  if (text == nullptr) {
    return fmt::format("must be a text in quotes, not {}", format(value));
  }
  if (key == "name") {
    settings->name = *text;
  } else {
    settings->library = text->empty() ? "" : (folder / *text).lexically_normal().string();
  }
  return std::nullopt;
}

std::string hookToToml(const HookConfig& hook) {
  std::string text = valuesToToml(hook);
  std::string table = "hook";
  for (const HookSettings& settings : hook.inner) {
    table += ".inner";
    text += fmt::format("\n[{}]\nname = {}\n", table, format(Value(settings.name)));
    if (!settings.library.empty()) {
      text += fmt::format("library = {}\n", format(Value(settings.library)));
    }
    text += valuesToToml(settings);
  }
  return text;
}

}  // namespace lockstep::experiment::detail
