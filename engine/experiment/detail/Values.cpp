#include "engine/experiment/detail/Values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "engine/base/Nearest.h"

namespace lockstep::experiment::detail {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        result += "\\\"";
        break;
      case '\\':
        result += "\\\\";
        break;
      case '\n':
        result += "\\n";
        break;
      case '\t':
        result += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          result += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
        } else {
          result += c;
        }
    }
  }
  return result + "\"";
}

std::string formatReal(double value) {
  if (std::isnan(value)) {
    return "nan";
  }
  // The shortest text that reads as the same double.
  return fmt::format("{}", value);
}

/// A value in a message is for recognising it, not for reading a whole text again. Cuts
/// between characters: 10xxxxxx bytes continue one.
std::string shortened(std::string text) {
  constexpr std::size_t kLongest = 60;
  if (text.size() > kLongest) {
    std::size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
      --end;
    }
    text = text.substr(0, end) + "...";
  }
  return text;
}

bool inRange(const Field& field, double value) {
  // TOML has inf and nan, and no key takes them.
  if (!std::isfinite(value)) {
    return false;
  }
  if (field.min && (field.minExclusive ? value <= *field.min : value < *field.min)) {
    return false;
  }
  return !field.max || (field.maxExclusive ? value < *field.max : value <= *field.max);
}

bool fitsList(const Field& field, const Value& value) {
  const auto each = [&](const auto& list, const auto& allowed) {
    // Only a list that is empty by default may be empty: that means something, such as no caps of
    // its own.
    const bool mayBeEmpty = field.initial == "[]";
    return (mayBeEmpty || !list.empty()) && std::all_of(list.begin(), list.end(), allowed);
  };
  const auto number = [&](auto element) { return inRange(field, static_cast<double>(element)); };
  const auto text = [&](const std::string& element) {
    return field.choices.empty() ||
           std::find(field.choices.begin(), field.choices.end(), element) != field.choices.end();
  };
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
    // An empty list was read as one of integers, whatever it is for.
    return field.type == FieldType::kTextList ? integers->empty() && each(*integers, number)
                                              : each(*integers, number);
  }
  if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
    return field.type == FieldType::kRealList && each(*reals, number);
  }
  const auto* texts = std::get_if<std::vector<std::string>>(&value);
  return field.type == FieldType::kTextList && texts != nullptr && each(*texts, text);
}

/// Returns whether the value has the type of the field and lies in its range.
bool fits(const Field& field, const Value& value) {
  switch (field.type) {
    case FieldType::kBool:
      return std::holds_alternative<bool>(value);
    case FieldType::kInteger: {
      const auto* number = std::get_if<std::int64_t>(&value);
      return number != nullptr && inRange(field, static_cast<double>(*number));
    }
    case FieldType::kReal: {
      if (const auto* number = std::get_if<std::int64_t>(&value)) {
        return inRange(field, static_cast<double>(*number));
      }
      const auto* number = std::get_if<double>(&value);
      return number != nullptr && inRange(field, *number);
    }
    case FieldType::kText:
    case FieldType::kPath:
      return std::holds_alternative<std::string>(value);
    case FieldType::kChoice: {
      const auto* text = std::get_if<std::string>(&value);
      return text != nullptr &&
             std::find(field.choices.begin(), field.choices.end(), *text) != field.choices.end();
    }
    case FieldType::kIntegerList:
    case FieldType::kRealList:
    case FieldType::kTextList:
      return fitsList(field, value);
  }
  return false;
}

template <typename T>
void assign(T& member, const Value& value) {
  if constexpr (std::is_same_v<T, int>) {
    member = static_cast<int>(std::get<std::int64_t>(value));
  } else if constexpr (std::is_same_v<T, std::optional<std::int64_t>>) {
    member = std::get<std::int64_t>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    const auto* whole = std::get_if<std::int64_t>(&value);
    member = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
  } else if constexpr (std::is_same_v<T, std::vector<double>>) {
    const auto* whole = std::get_if<std::vector<std::int64_t>>(&value);
    member = whole != nullptr ? T(whole->begin(), whole->end()) : std::get<T>(value);
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    // An empty list was read as one of integers.
    const auto* texts = std::get_if<T>(&value);
    member = texts != nullptr ? *texts : T();
  } else {
    member = std::get<T>(value);
  }
}

}  // namespace

std::string format(const Value& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using T = std::remove_cvref_t<decltype(held)>;
        if constexpr (std::is_same_v<T, bool>) {
          return held ? "true" : "false";
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          return std::to_string(held);
        } else if constexpr (std::is_same_v<T, double>) {
          return formatReal(held);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return quoted(held);
        } else if constexpr (std::is_same_v<T, OtherValue>) {
          return held.text;
        } else {
          std::vector<std::string> elements;
          for (const auto& element : held) {
            elements.push_back(format(Value(element)));
          }
          return fmt::format("[{}]", fmt::join(elements, ", "));
        }
      },
      value);
}

std::optional<Value> read(const Row& row, const Experiment& experiment) {
  // The accessors are made for writing; nothing is written through them here.
  auto& mutableExperiment = const_cast<Experiment&>(experiment);
  return std::visit(
      [&mutableExperiment](auto access) -> std::optional<Value> {
        const auto& member = access(mutableExperiment);
        using T = std::remove_cvref_t<decltype(member)>;
        if constexpr (std::is_same_v<T, std::optional<std::int64_t>>) {
          return member ? std::optional<Value>(*member) : std::nullopt;
        } else if constexpr (std::is_same_v<T, int>) {
          return Value(static_cast<std::int64_t>(member));
        } else {
          return Value(member);
        }
      },
      row.member);
}

std::optional<std::string> violation(const Field& field, const Value& value) {
  if (fits(field, value)) {
    return std::nullopt;
  }
  std::string text =
      fmt::format("must be {}, not {}", allowedValues(field), shortened(format(value)));
  if (const auto* given = std::get_if<std::string>(&value)) {
    const std::string nearest = base::nearestOf(*given, field.choices);
    if (!nearest.empty()) {
      text += fmt::format("; did you mean \"{}\"?", nearest);
    }
  }
  return text;
}

std::optional<std::string> write(const Row& row, const Value& value, Experiment& experiment) {
  if (auto wrong = violation(row.field, value)) {
    return wrong;
  }
  std::visit([&](auto access) { assign(access(experiment), value); }, row.member);
  return std::nullopt;
}

}  // namespace lockstep::experiment::detail
