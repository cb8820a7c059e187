#include "engine/experiment/FieldText.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "engine/experiment/detail/Document.h"
#include "engine/experiment/detail/Values.h"

namespace lockstep::experiment {
namespace {

using detail::Value;

bool isText(const Field& field) {
  return field.type == FieldType::kText || field.type == FieldType::kPath ||
         field.type == FieldType::kChoice;
}

bool isList(const Field& field) {
  return field.type == FieldType::kIntegerList || field.type == FieldType::kRealList ||
         field.type == FieldType::kTextList;
}

std::string trimmed(const std::string& text) {
  constexpr const char* kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  return first == std::string::npos ? std::string()
                                    : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string quoted(const std::string& text) {
  return detail::format(Value(text));
}

std::optional<Value> read(const std::string& toml) {
  auto value = detail::readValue(toml);
  return value.ok() ? std::optional(std::move(value).value()) : std::nullopt;
}

bool isNumber(const std::string& text) {
  const auto value = read(text);
  return value &&
         (std::holds_alternative<std::int64_t>(*value) || std::holds_alternative<double>(*value));
}

/// Numbers as numbers, whatever else there is as a text.
/// So that what no number's field takes reaches the checker as what was typed, and its message can
/// show it.
std::string numberOrText(const std::string& text) {
  return isNumber(text) ? text : quoted(text);
}

/// Integers among reals as reals, an empty list as one of the field's.
/// [] has no type of its own: it is read as a list of integers.
Value settled(const Field& field, Value value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value);
      whole != nullptr && field.type == FieldType::kReal) {
    return static_cast<double>(*whole);
  }
  if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&value);
      whole != nullptr && (whole->empty() || field.type == FieldType::kRealList)) {
    return std::vector<double>(whole->begin(), whole->end());
  }
  return value;
}

std::vector<std::string> elementsOf(const Value& value) {
  return std::visit(
      [](const auto& held) {
        std::vector<std::string> elements;
        using T = std::remove_cvref_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::vector<std::int64_t>> ||
                      std::is_same_v<T, std::vector<double>> ||
                      std::is_same_v<T, std::vector<std::string>>) {
          for (const auto& element : held) {
            elements.push_back(detail::format(Value(element)));
          }
        }
        return elements;
      },
      value);
}

}  // namespace

std::string typedText(const Field& field, const std::string& toml) {
  const auto value = read(toml);
  if (!value) {
    return toml;
  }
  if (const auto* text = std::get_if<std::string>(&*value)) {
    return *text;  // what a number's field does not take was typed without quotes
  }
  if (!isList(field)) {
    return toml;
  }
  std::vector<std::string> shown;
  for (const std::string& element : elementsOf(*value)) {
    const auto held = read(element);
    const auto* text = held ? std::get_if<std::string>(&*held) : nullptr;
    shown.push_back(text != nullptr ? *text : element);
  }
  return fmt::format("{}", fmt::join(shown, ", "));
}

std::string tomlText(const Field& field, const std::string& typed) {
  if (isText(field)) {
    return quoted(typed);
  }
  const std::string text = trimmed(typed);
  if (!isList(field)) {
    if (text.empty()) {
      return {};
    }
    return field.type == FieldType::kBool && (text == "true" || text == "false")
               ? text
               : numberOrText(text);
  }
  std::vector<std::string> elements;
  // Empty elements are passed over: somebody is typing "1, 5, ".
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string element = trimmed(text.substr(at, comma - at));
    if (!element.empty()) {
      elements.push_back(field.type == FieldType::kTextList ? quoted(element)
                                                            : numberOrText(element));
    }
    at = comma + 1;
  }
  return fmt::format("[{}]", fmt::join(elements, ", "));
}

bool sameValue(const Field& field, const std::string& a, const std::string& b) {
  const auto first = read(a);
  const auto second = read(b);
  return first && second &&
         detail::format(settled(field, *first)) == detail::format(settled(field, *second));
}

std::vector<std::string> listElements(const std::string& toml) {
  const auto value = read(toml);
  return value ? elementsOf(*value) : std::vector<std::string>{};
}

}  // namespace lockstep::experiment
