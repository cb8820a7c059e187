#include "engine/experiment/ExperimentText.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <functional>

#include "engine/experiment/detail/TextKeys.h"

namespace lockstep::experiment {
namespace {

using detail::kFaults;

constexpr const char* kBlank = " \t\r";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

}  // namespace

// Note [Changing a file in place]
// A form changes one key of a file that a person wrote, so everything else must stay byte for byte.
// A TOML library gives values and the places where they stand, but writes no file with its
// comments. So a change is made in the text and checked by reading it again:
//
//       read()     parses, and notes for each key where its value begins and ends (slots_), and in
//                  which lines tables begin (headers_)
//       put()      replaces those bytes, or adds a line after the last key of the table, or a table
//                  where the schema has it; reads again; is the key there now, with that value?
//       take()     removes the key's lines, and its table where nothing is left; reads again; is it
//                  gone, and nothing else?
//
// TOML has ways to write a key that this does not find the right place for: `a = {b = 1}`, `a.b =
// 1`, two keys in an inline table on one line. Then the answer is no, the text is put back as it
// was, written anew in a plain form (rewrite), and the change is made in that: rewritten() says so.

ExperimentText::ExperimentText(std::string text) {
  adopt(std::move(text));
}

void ExperimentText::adopt(std::string text) {
  text_ = std::move(text);
  read();
}

void ExperimentText::read() {
  slots_.clear();
  headers_.clear();
  faultCount_ = 0;
  lineStarts_.assign(1, 0);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') {
      lineStarts_.push_back(i + 1);
    }
  }
  toml::table root;
  try {
    root = toml::parse(text_);
    readable_ = true;
  // Without places nothing can be changed: the person has to mend the text first.
  } catch (const toml::parse_error&) {
    readable_ = false;
    return;
  }
  // Columns count characters, not bytes.
  const auto offset = [this](const toml::source_position& place) {
    std::size_t at = lineStarts_[place.line - 1];
    for (auto column = place.column; column > 1 && at < text_.size(); --column) {
      // One character: a byte, and the bytes of UTF-8 that continue it.
      do {
        ++at;
      } while (at < text_.size() && (static_cast<unsigned char>(text_[at]) & 0xC0U) == 0x80U);
    }
    return at;
  };
  const auto add = [&](std::string key, std::size_t fault, const toml::key& written,
                       const toml::node& node) {
    const auto& source = node.source();
    slots_.push_back({std::move(key), fault, written.source().begin.line - 1, offset(source.begin),
                      offset(source.end), source.end.line - 1});
  };
  const std::function<void(const std::string&, const toml::table&)> addTable =
      [&](const std::string& prefix, const toml::table& table) {
        for (const auto& [leaf, node] : table) {
          const std::string key = prefix + std::string(leaf.str());
          if (const auto* inner = node.as_table()) {
            addTable(key + ".", *inner);
          } else if (key == kFaults && node.is_array_of_tables()) {
            for (const auto& element : *node.as_array()) {
              for (const auto& [name, value] : *element.as_table()) {
                add(std::string(name.str()), faultCount_, name, value);
              }
              ++faultCount_;
            }
          } else {
            add(key, kNoFault, leaf, node);
          }
        }
      };
  addTable("", root);
  std::stable_sort(slots_.begin(), slots_.end(),
                   [](const Slot& a, const Slot& b) { return a.begin < b.begin; });
  readHeaders();
}

void ExperimentText::readHeaders() {
  std::size_t slot = 0;
  for (std::size_t line = 0; line < lineStarts_.size(); ++line) {
    while (slot < slots_.size() && slots_[slot].lastLine < line) {
      ++slot;
    }
    const bool inValue =
        slot < slots_.size() && slots_[slot].line <= line && line <= slots_[slot].lastLine;
    const std::string_view content = lineAt(line);
    // A list over several lines may have lines that begin with a bracket, and are no headers.
    if (inValue || !content.starts_with('[')) {
      continue;
    }
    const std::size_t open = content.starts_with("[[") ? 2 : 1;
    const auto close = content.find(']');
    headers_.push_back({std::string(trimmed(content.substr(open, close - open))), open == 2, line});
  }
}

const ExperimentText::Slot* ExperimentText::find(std::string_view key, std::size_t fault) const {
  const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) {
    return slot.fault == fault && slot.key == key;
  });
  return found == slots_.end() ? nullptr : &*found;
}

std::string ExperimentText::raw(const Slot& slot) const {
  return text_.substr(slot.begin, slot.end - slot.begin);
}

std::vector<ExperimentText::Pair> ExperimentText::pairs() const {
  std::vector<Pair> result;
  for (const Slot& slot : slots_) {
    if (slot.fault == kNoFault) {
      result.emplace_back(slot.key, raw(slot));
    }
  }
  return result;
}

std::optional<std::string> ExperimentText::value(std::string_view key) const {
  const Slot* slot = find(key, kNoFault);
  return slot == nullptr ? std::nullopt : std::optional(raw(*slot));
}

std::vector<ExperimentText::Pair> ExperimentText::fault(std::size_t index) const {
  std::vector<Pair> result;
  for (const Slot& slot : slots_) {
    if (slot.fault == index) {
      result.emplace_back(slot.key, raw(slot));
    }
  }
  return result;
}

std::optional<std::size_t> ExperimentText::faultAt(int line) const {
  std::optional<std::size_t> index;
  std::size_t met = 0;
  for (const Header& header : headers_) {
    if (static_cast<int>(header.line) + 1 > line) {
      break;
    }
    // A line after another table's header is of no fault, wherever the last fault stood.
    index.reset();
    if (header.list && header.table == kFaults) {
      index = met++;
    }
  }
  return index;
}

bool ExperimentText::isLineOf(std::string_view key, int line) const {
  const Slot* slot = find(key, kNoFault);
  return slot != nullptr && line > static_cast<int>(slot->line) &&
         line <= static_cast<int>(slot->lastLine) + 1;
}

void ExperimentText::set(const std::string& key, const std::string& toml) {
  put(key, kNoFault, toml);
}

void ExperimentText::remove(std::string_view key) {
  take(key, kNoFault);
}

void ExperimentText::removeBelow(std::string_view prefix) {
  for (const auto& [key, value] : pairs()) {
    if (key.starts_with(prefix)) {
      take(key, kNoFault);
    }
  }
}

void ExperimentText::setInFault(std::size_t index, const std::string& leaf,
                                const std::string& toml) {
  put(leaf, index, toml);
}

void ExperimentText::removeInFault(std::size_t index, std::string_view leaf) {
  take(leaf, index);
}

void ExperimentText::addFault(const std::vector<Pair>& pairs) {
  if (!readable_) {
    return;
  }
  if (!headerOf(kFaults, 0) && faultCount_ > 0) {
    rewrite();  // written as an inline list
  }
  std::string body;
  for (const auto& [leaf, value] : pairs) {
    body += fmt::format("{} = {}\n", leaf, value);
  }
  insertSection("[[faults]]", body, detail::tableOrder(kFaults));
}

void ExperimentText::removeFault(std::size_t index) {
  if (!readable_ || index >= faultCount_) {
    return;
  }
  if (!headerOf(kFaults, index)) {
    rewrite();
  }
  const std::size_t header = *headerOf(kFaults, index);
  std::size_t first = aboveComments(headers_[header].line);
  std::size_t behind = sectionEnd(header);
  // The blank line above goes with it; those below belong to what follows.
  if (first > 0 && lineAt(first - 1).empty()) {
    --first;
    while (behind > first + 1 && lineAt(behind - 1).empty()) {
      --behind;  // the blank lines before the next section stay
    }
  }
  removeLines(first, behind);
}

std::optional<std::size_t> ExperimentText::headerOf(std::string_view table,
                                                    std::size_t fault) const {
  std::size_t met = 0;
  for (std::size_t i = 0; i < headers_.size(); ++i) {
    if (headers_[i].table != table) {
      continue;
    }
    // Of a list of tables the one with this number; a plain table is there once.
    if (!headers_[i].list || met++ == fault) {
      return i;
    }
  }
  return std::nullopt;
}

std::size_t ExperimentText::sectionEnd(std::size_t header) const {
  if (header + 1 == headers_.size()) {
    return lineStarts_.size();
  }
  // A comment right above a header is about that table.
  return aboveComments(headers_[header + 1].line);
}

std::string_view ExperimentText::lineAt(std::size_t line) const {
  const std::size_t end = line + 1 < lineStarts_.size() ? lineStarts_[line + 1] - 1 : text_.size();
  return trimmed(std::string_view(text_).substr(lineStarts_[line], end - lineStarts_[line]));
}

std::size_t ExperimentText::aboveComments(std::size_t line) const {
  while (line > 0 && lineAt(line - 1).starts_with('#')) {
    --line;
  }
  return line;
}

std::size_t ExperimentText::insertionLine(std::string_view table, std::size_t fault) const {
  const auto header = table.empty() ? std::nullopt : headerOf(table, fault);
  const std::size_t first = header ? headers_[*header].line + 1 : 0;
  const std::size_t end =
      header ? sectionEnd(*header) : (headers_.empty() ? lineStarts_.size() : headers_[0].line);
  std::size_t line = first;
  // After the last key of the table, so before its blank lines and what is commented out below.
  for (const Slot& slot : slots_) {
    if (slot.line >= first && slot.lastLine < end) {
      line = std::max(line, slot.lastLine + 1);
    }
  }
  if (!header && line == 0) {
    while (line < end && text_.compare(lineStarts_[line], 1, "#") == 0) {
      ++line;  // below what the file says of itself
    }
  }
  return line;
}

void ExperimentText::put(const std::string& key, std::size_t fault, const std::string& toml) {
  if (!readable_) {
    return;
  }
  const ExperimentText before = *this;
  if (const Slot* slot = find(key, fault)) {
    adopt(text_.substr(0, slot->begin) + toml + text_.substr(slot->end));
  } else {
    insertKey(key, fault, toml);
  }
  const auto landed = [&] {
    const Slot* slot = readable_ ? find(key, fault) : nullptr;
    return slot != nullptr && raw(*slot) == toml && faultCount_ == before.faultCount_;
  };
  if (landed() || before.rewritten_) {
    return;
  }
  *this = before;
  rewrite();
  put(key, fault, toml);
}

void ExperimentText::insertKey(const std::string& key, std::size_t fault, const std::string& toml) {
  const auto parts = fault == kNoFault ? detail::textKey(key) : detail::TextKey{kFaults, key};
  const std::string line = fmt::format("{} = {}\n", parts.written, toml);
  if (!parts.table.empty() && !headerOf(parts.table, fault)) {
    insertSection(fmt::format("[{}]", parts.table), line, detail::tableOrder(parts.table));
    return;
  }
  const std::size_t at = insertionLine(parts.table, fault);
  std::string text = text_;
  if (at >= lineStarts_.size()) {
    text += text.empty() || text.back() == '\n' ? line : "\n" + line;
  } else {
    const bool first = parts.table.empty() && !headers_.empty() && at == headers_[0].line;
    text.insert(lineStarts_[at], first ? line + "\n" : line);
  }
  adopt(std::move(text));
}

void ExperimentText::insertSection(const std::string& title, const std::string& body,
                                   double order) {
  for (const Header& header : headers_) {
    if (detail::tableOrder(header.table) <= order) {
      continue;
    }
    const std::size_t line = aboveComments(header.line);
    std::string text = text_;
    text.insert(lineStarts_[line], fmt::format("{}\n{}\n", title, body));
    adopt(std::move(text));
    return;
  }
  std::string text = text_;
  if (!text.empty() && text.back() != '\n') {
    text += '\n';
  }
  if (!text.empty() && !text.ends_with("\n\n")) {
    text += '\n';
  }
  adopt(text + fmt::format("{}\n{}", title, body));
}

void ExperimentText::take(std::string_view key, std::size_t fault) {
  const Slot* slot = readable_ ? find(key, fault) : nullptr;
  if (slot == nullptr) {
    return;
  }
  const ExperimentText before = *this;
  const std::size_t line = slot->line;
  std::optional<std::size_t> header;
  for (std::size_t i = 0; i < headers_.size() && headers_[i].line < line; ++i) {
    header = i;
  }
  removeLines(line, slot->lastLine + 1);
  if (header && fault == kNoFault) {
    dropIfEmpty(*header);
  }
  const bool gone = readable_ && find(key, fault) == nullptr &&
                    slots_.size() + 1 == before.slots_.size() && faultCount_ == before.faultCount_;
  if (gone || before.rewritten_) {
    return;
  }
  *this = before;
  rewrite();
  take(key, fault);
}

void ExperimentText::removeLines(std::size_t first, std::size_t behind) {
  const std::size_t from = lineStarts_[first];
  const std::size_t to = behind < lineStarts_.size() ? lineStarts_[behind] : text_.size();
  adopt(text_.substr(0, from) + text_.substr(to));
}

void ExperimentText::dropIfEmpty(std::size_t header) {
  if (!readable_ || headers_[header].list) {
    return;
  }
  const std::size_t first = headers_[header].line;
  const std::size_t behind = sectionEnd(header);
  const std::size_t from = lineStarts_[first];
  const std::size_t to = behind < lineStarts_.size() ? lineStarts_[behind] : text_.size();
  const std::size_t bodyAt = first + 1 < lineStarts_.size() ? lineStarts_[first + 1] : to;
  if (text_.substr(bodyAt, to - bodyAt).find_first_not_of(" \t\r\n") != std::string::npos ||
      text_.substr(from, bodyAt - from).find('#') != std::string::npos) {
    return;  // a comment stays where it was written
  }
  removeLines(first, behind);
  if (behind >= lineStarts_.size() && text_.ends_with("\n\n")) {
    adopt(text_.substr(0, text_.size() - 1));
  }
}

void ExperimentText::rewrite() {
  struct Section {
    double order = 0;
    std::string title;
    std::string body;
  };
  std::vector<Section> sections{{-1, "", ""}};
  const auto sectionOf = [&](const std::string& title, double order) -> Section& {
    const auto found = std::find_if(sections.begin(), sections.end(),
                                    [&](const Section& s) { return s.title == title; });
    return found != sections.end() ? *found : sections.emplace_back(Section{order, title, ""});
  };
  std::string faults;
  for (const auto& [key, value] : pairs()) {
    const auto parts = detail::textKey(key);
    const std::string title = parts.table.empty() ? "" : fmt::format("[{}]", parts.table);
    sectionOf(title, detail::tableOrder(parts.table)).body +=
        fmt::format("{} = {}\n", parts.written, value);
  }
  for (std::size_t i = 0; i < faultCount_; ++i) {
    faults += "\n[[faults]]\n";
    for (const auto& [leaf, value] : fault(i)) {
      faults += fmt::format("{} = {}\n", leaf, value);
    }
  }
  std::stable_sort(sections.begin(), sections.end(),
                   [](const Section& a, const Section& b) { return a.order < b.order; });
  std::string text;
  for (const Section& section : sections) {
    if (section.title.empty()) {
      text += section.body;
    } else {
      text += fmt::format("{}{}\n{}", text.empty() ? "" : "\n", section.title, section.body);
    }
  }
  rewritten_ = true;
  adopt(text + faults);
}

}  // namespace lockstep::experiment
