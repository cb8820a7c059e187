#include "engine/experiment/detail/Document.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <functional>
#include <optional>
#include <sstream>
#include <utility>

namespace lockstep::experiment::detail {
namespace {

/// Each mistake of syntax costs another reading; a text with more is no experiment file.
constexpr std::size_t kMostMistakes = 50;

Place placeOf(const toml::source_region& source) {
  return {static_cast<int>(source.begin.line), static_cast<int>(source.begin.column)};
}

/// Returns a list of integers, of numbers or of texts, or nothing for any other.
/// Every integer is counted as a real, too: [1, 2.5] is a list of reals. An empty list is all three
/// and becomes one of integers.
std::optional<Value> listOf(const toml::array& array) {
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string> texts;
  for (const auto& element : array) {
    if (const auto* text = element.as_string()) {
      texts.push_back(text->get());
    } else if (const auto* integer = element.as_integer()) {
      integers.push_back(integer->get());
      reals.push_back(static_cast<double>(integer->get()));
    } else if (const auto* real = element.as_floating_point()) {
      reals.push_back(real->get());
    }
  }
  if (integers.size() == array.size()) {
    return integers;
  }
  if (reals.size() == array.size()) {
    return reals;
  }
  return texts.size() == array.size() ? std::optional<Value>(std::move(texts)) : std::nullopt;
}

Value valueOf(const toml::node& node) {
  if (const auto* held = node.as_boolean()) {
    return held->get();
  }
  if (const auto* held = node.as_integer()) {
    return held->get();
  }
  if (const auto* held = node.as_floating_point()) {
    return held->get();
  }
  if (const auto* held = node.as_string()) {
    return held->get();
  }
  if (const auto* held = node.as_array()) {
    if (auto list = listOf(*held)) {
      return *std::move(list);
    }
  }
  if (node.is_table()) {
    return OtherValue{"a table"};
  }
  if (node.is_array_of_tables()) {
    return OtherValue{"an array of tables"};
  }
  // Dates, times and lists of lists: nothing takes them, but a message shows what stands there.
  std::ostringstream text;
  node.visit([&text](const auto& held) { text << held; });
  return OtherValue{text.str()};
}

/// [hook.inner], [hook.inner.inner], ... are the only tables in tables.
bool mayHoldTable(std::string_view table, std::string_view leaf) {
  return leaf == "inner" && (table == "hook" || table.starts_with("hook.inner"));
}

/// Takes [sweep] apart: "ddp.bucket_cap_mb" in quotes or as a table in it, to any depth.
void flattenSweep(const std::string& prefix, const toml::table& table, const std::string& name,
                  Document& document) {
  for (const auto& [leaf, node] : table) {
    const std::string key = prefix + std::string(leaf.str());
    if (const auto* inner = node.as_table()) {
      flattenSweep(key + ".", *inner, name, document);
      continue;
    }
    const Place keyPlace = placeOf(leaf.source());
    if (key == "group" || key == "run") {
      document.entries.push_back(
          {"sweep." + key, valueOf(node), name, keyPlace, placeOf(node.source())});
      continue;
    }
    SweepEntry entry{key, name, keyPlace, placeOf(node.source()), node.is_array(), {}};
    if (const auto* values = node.as_array()) {
      for (const auto& value : *values) {
        entry.values.push_back({key, valueOf(value), name, keyPlace, placeOf(value.source())});
      }
    }
    document.sweep.push_back(std::move(entry));
  }
}

void flatten(const toml::table& root, const std::string& name, Document& document) {
  const auto add = [&](std::string key, const toml::key& written, const toml::node& node) {
    document.entries.push_back(
        {std::move(key), valueOf(node), name, placeOf(written.source()), placeOf(node.source())});
  };
  const std::function<void(const std::string&, const toml::table&)> addTable =
      [&](const std::string& prefix, const toml::table& table) {
        for (const auto& [leaf, value] : table) {
          const std::string key = fmt::format("{}.{}", prefix, leaf.str());
          if (value.is_table() && mayHoldTable(prefix, leaf.str())) {
            addTable(key, *value.as_table());
          } else {
            add(key, leaf, value);
          }
        }
      };
  for (const auto& [key, node] : root) {
    if (node.is_array_of_tables()) {
      for (const auto& element : *node.as_array()) {
        ElementEntry& held = document.elements.emplace_back();
        held.list = std::string(key.str());
        held.place = placeOf(element.source());
        for (const auto& [leaf, value] : *element.as_table()) {
          held.entries.push_back({fmt::format("{}.{}", key.str(), leaf.str()), valueOf(value), name,
                                  placeOf(leaf.source()), placeOf(value.source())});
        }
      }
      continue;
    }
    const auto* table = node.as_table();
    if (table == nullptr) {
      add(std::string(key.str()), key, node);
      continue;
    }
    document.tables.push_back({std::string(key.str()), placeOf(key.source())});
    if (key.str() == "sweep") {
      flattenSweep("", *table, name, document);
      continue;
    }
    addTable(std::string(key.str()), *table);
  }
}

/// The text as lines, so that one of them can be taken out and the places of others stay.
std::vector<std::string> splitLines(std::string_view text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

std::string joinLines(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) {
    text += line;
    text += '\n';
  }
  return text;
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) {
    return {};
  }
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

/// Returns the key of a line `key = ...` with plain names only, or nothing.
/// The table is the header above, looked for by hand, since the text cannot be parsed.
std::optional<std::string> keyOfLine(const std::vector<std::string>& lines, std::size_t index) {
  const auto equals = lines[index].find('=');
  if (equals == std::string::npos) {
    return std::nullopt;
  }
  const std::string key = trimmed(std::string_view(lines[index]).substr(0, equals));
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  if (key.empty() || key.find_first_not_of(kPlain) != std::string::npos) {
    return std::nullopt;
  }
  for (std::size_t above = index; above-- > 0;) {
    const std::string line = trimmed(lines[above]);
    const auto close = line.find(']');
    if (line.starts_with('[') && close != std::string::npos) {
      const std::size_t opened = line.starts_with("[[") ? 2 : 1;
      return fmt::format("{}.{}", trimmed(std::string_view(line).substr(opened, close - opened)),
                         key);
    }
  }
  return key;
}

std::string sentence(const toml::parse_error& error) {
  return fmt::format("not valid TOML: {}", error.description());
}

}  // namespace

Document readDocument(std::string_view toml, const std::string& name) {
  Document document;
  std::vector<std::string> lines = splitLines(toml);
  // Note [Reading on after a mistake]
  // A TOML parser stops at the first mistake of syntax. Where that stands in a line `key = ...`,
  // the line is emptied and the text is parsed again, with the lines below in their places; the key
  // is noted, so that its absence is no mistake of its own. Anywhere else, such as a quote that was
  // never closed, what follows may have been read wrongly: then the first mistake stands alone,
  // and nothing else is judged (complete = false).

  for (;;) {
    try {
      flatten(toml::parse(joinLines(lines), name), name, document);
      return document;
    } catch (const toml::parse_error& error) {
      const Place place = placeOf(error.source());
      Mistake mistake{name, place.line, place.column, {}, sentence(error)};
      const auto index = static_cast<std::size_t>(place.line - 1);
      const auto key =
          place.line >= 1 && index < lines.size() ? keyOfLine(lines, index) : std::nullopt;
      if (!key || document.mistakes.size() == kMostMistakes) {
        // Going on would make mistakes out of sound lines, so the first one stands alone.
        if (document.mistakes.empty()) {
          document.mistakes.push_back(std::move(mistake));
        }
        document.mistakes.resize(1);
        document.unreadable.clear();
        document.complete = false;
        return document;
      }
      mistake.key = *key;
      document.mistakes.push_back(std::move(mistake));
      document.unreadable.insert(*key);
      lines[index].clear();
    }
  }
}

base::Result<Value> readValue(const std::string& text) {
  const base::Error notOne{base::ExitCode::kBadInput, "not a value in TOML", ""};
  try {
    // "1\nworld_size = 3" would be two keys.
    const toml::table table = toml::parse("value = " + text);
    const toml::node* node = table.get("value");
    if (table.size() != 1 || node == nullptr) {
      return notOne;
    }
    return valueOf(*node);
  } catch (const toml::parse_error& error) {
    return base::Error{base::ExitCode::kBadInput, sentence(error), ""};
  }
}

}  // namespace lockstep::experiment::detail
