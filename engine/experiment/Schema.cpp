#include "engine/experiment/Schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "engine/base/Check.h"
#include "engine/experiment/detail/FaultRows.h"
#include "engine/experiment/detail/Rows.h"
#include "engine/experiment/detail/Values.h"

namespace lockstep::experiment {
namespace {

std::string rangeText(const Field& field) {
  if (field.min && field.max && !field.minExclusive && !field.maxExclusive) {
    return fmt::format(" from {} to {}", *field.min, *field.max);
  }
  std::string text;
  if (field.min) {
    text += fmt::format(" {} {}", field.minExclusive ? "above" : "from", *field.min);
  }
  if (field.max) {
    text += fmt::format("{} {} {}", field.min ? " and" : "", field.maxExclusive ? "below" : "up to",
                        *field.max);
  }
  return text;
}

/// "model.kind=cnn,resnet18" as "only for model.kind cnn or resnet18".
std::string conditionText(const Field& field) {
  const auto equals = field.onlyFor.find('=');
  std::string values = field.onlyFor.substr(equals + 1);
  for (std::size_t comma = 0; (comma = values.find(',', comma)) != std::string::npos;) {
    values.replace(comma, 1, " or ");
  }
  return fmt::format("only for {} {}", field.onlyFor.substr(0, equals), values);
}

}  // namespace

const std::vector<Field>& schema() {
  static const std::vector<Field> fields = [] {
    std::vector<Field> result;
    for (const detail::Row& row : detail::rows()) {
      result.push_back(row.field);
    }
    return result;
  }();
  return fields;
}

const std::vector<Field>& faultSchema() {
  static const std::vector<Field> fields = [] {
    std::vector<Field> result;
    for (const detail::FaultRow& row : detail::faultRows()) {
      result.push_back(row.field);
      if (!row.kinds.empty()) {
        result.back().onlyFor = fmt::format("faults.kind={}", fmt::join(row.kinds, ","));
      }
    }
    return result;
  }();
  return fields;
}

const Field* findField(std::string_view key) {
  const auto& fields = key.starts_with("faults.") ? faultSchema() : schema();
  const auto found =
      std::find_if(fields.begin(), fields.end(), [key](const Field& f) { return f.key == key; });
  return found == fields.end() ? nullptr : &*found;
}

bool applies(const Field& field, const Experiment& experiment) {
  if (field.onlyFor.empty()) {
    return true;
  }
  const auto equals = field.onlyFor.find('=');
  LOCKSTEP_CHECK(equals != std::string::npos, "onlyFor of {} is '{}'", field.key, field.onlyFor);
  const detail::Row* decider = detail::findRow(std::string_view(field.onlyFor).substr(0, equals));
  LOCKSTEP_CHECK(decider != nullptr, "onlyFor of {} names no key: '{}'", field.key, field.onlyFor);
  // By its value in this experiment, written or not.
  const auto value = detail::read(*decider, experiment);
  return value && appliesFor(field, std::get<std::string>(*value));
}

bool appliesFor(const Field& field, std::string_view value) {
  if (field.onlyFor.empty()) {
    return true;
  }
  std::istringstream wanted(field.onlyFor.substr(field.onlyFor.find('=') + 1));
  for (std::string kind; std::getline(wanted, kind, ',');) {
    if (kind == value) {
      return true;
    }
  }
  return false;
}

std::string allowedValues(const Field& field) {
  switch (field.type) {
    case FieldType::kBool:
      return "true or false";
    case FieldType::kInteger:
      return "an integer" + rangeText(field);
    case FieldType::kReal:
      return "a number" + rangeText(field);
    case FieldType::kText:
      return "a text in quotes";
    case FieldType::kPath:
      return "a path in quotes";
    case FieldType::kChoice:
      return field.choices.size() == 1 ? fmt::format("\"{}\"", field.choices.front())
                                       : fmt::format("one of {}", fmt::join(field.choices, ", "));
    case FieldType::kIntegerList:
      return "a list of integers" + rangeText(field);
    case FieldType::kRealList:
      return "a list of numbers" + rangeText(field);
    case FieldType::kTextList:
      return field.choices.empty()
                 ? std::string("a list of texts in quotes")
                 : fmt::format("a list of texts, each one of {}", fmt::join(field.choices, ", "));
  }
  return {};
}

std::optional<std::string> violation(const Field& field, const HookValue& value) {
  return detail::violation(field,
                           std::visit([](const auto& held) { return detail::Value(held); }, value));
}

std::string valueText(const Field& field, const Experiment& experiment) {
  const detail::Row* row = detail::findRow(field.key);
  LOCKSTEP_CHECK(row != nullptr, "no key '{}'", field.key);
  const auto value = detail::read(*row, experiment);
  return value ? detail::format(*value) : std::string();
}

std::string describeSchema() {
  std::string text;
  std::string_view table = "-";
  for (const Field& field : schema()) {
    const auto parts = detail::splitKey(field.key);
    if (parts.table != table) {
      table = parts.table;
      text += table.empty() ? "top level\n" : fmt::format("\n[{}]\n", table);
    }
    const std::string unit = field.unit.empty() ? "" : fmt::format(" {}", field.unit);
    const std::string initial =
        field.initial.empty() ? "optional" : fmt::format("default {}{}", field.initial, unit);
    text += fmt::format("  {:<24} {}\n", parts.leaf, field.help);
    text += fmt::format("  {:<24} {}; {}{}\n", "", allowedValues(field), initial,
                        field.onlyFor.empty() ? "" : "; " + conditionText(field));
  }
  text +=
      "  \"table.key\"              A list of values to run the experiment with, one after the "
      "other; several\n"
      "                           such keys: with every combination (\"ddp.bucket_cap_mb\" = [1, "
      "25]).\n";
  text += "\n[[faults]], one table a fault\n";
  for (const detail::FaultRow& row : detail::faultRows()) {
    const std::string unit = row.field.unit.empty() ? "" : fmt::format(" {}", row.field.unit);
    const bool hasDefault = !row.field.initial.empty() && row.field.initial != "\"\"";
    text += fmt::format("  {:<24} {}\n", row.field.label, row.field.help);
    text += fmt::format(
        "  {:<24} {}; {}{}\n", "", allowedValues(row.field),
        hasDefault ? fmt::format("default {}{}", row.field.initial, unit) : "optional",
        row.kinds.empty() ? "" : fmt::format("; only for {}", fmt::join(row.kinds, " or ")));
  }
  return text;
}

}  // namespace lockstep::experiment
