#include "engine/glossary/Glossary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>

#include "engine/base/Nearest.h"
#include "engine/glossary/Terms.h"

namespace lockstep::glossary {
namespace {

using ByName = std::map<std::string, const Entry*, std::less<>>;

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return out;
}

const ByName& byName() {
  static const ByName names = [] {
    ByName all;
    for (const Entry& entry : entries()) {
      all.emplace(lower(entry.term), &entry);
      for (const std::string_view other : entry.alsoCalled) {
        all.emplace(lower(other), &entry);
      }
    }
    return all;
  }();
  return names;
}

void cutFrom(std::string& text, std::string_view mark) {
  if (const auto at = text.find(mark); at != std::string::npos && at > 0) {
    text.resize(at);
  }
}

void cutEnd(std::string& text, std::string_view end) {
  if (text.size() > end.size() && text.ends_with(end)) {
    text.resize(text.size() - end.size());
  }
}

}  // namespace

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = [] {
    std::vector<Entry> merged;
    for (auto part : {stepTerms(), bucketTerms(), runTerms()}) {
      std::move(part.begin(), part.end(), std::back_inserter(merged));
    }
    std::ranges::sort(merged, {}, &Entry::term);
    return merged;
  }();
  return all;
}

const Entry* find(std::string_view text) {
  std::string name = lower(text);
  const auto named = [&name]() -> const Entry* {
    const auto at = byName().find(name);
    return at == byName().end() ? nullptr : at->second;
  };
  if (const Entry* whole = named()) {
    return whole;
  }
  // What a heading adds to its term: of which rank it is, then in which unit.
  for (const std::string_view mark : {", ", " on rank ", " [", " ("}) {
    cutFrom(name, mark);
  }
  for (const std::string_view end : {" a step", " ms", " %", " mib"}) {
    cutEnd(name, end);
  }
  return named();
}

std::string nearest(std::string_view text) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : byName()) {
    names.push_back(name);
  }
  return base::nearestOf(lower(text), names);
}

std::vector<Line> linesOf(const Entry& entry) {
  std::vector<Line> lines;
  const auto add = [&lines](std::string_view label, std::string text) {
    if (!text.empty()) {
      lines.push_back({label, std::move(text)});
    }
  };
  add("Formula", std::string(entry.formula));
  add("Unit", std::string(entry.unit));
  add("Seen in", std::string(entry.seen));
  add("Also called", fmt::format("{}", fmt::join(entry.alsoCalled, ", ")));
  add("See also", fmt::format("{}", fmt::join(entry.related, ", ")));
  return lines;
}

}  // namespace lockstep::glossary
