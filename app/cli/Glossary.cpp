#include "engine/glossary/Glossary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "app/cli/AddCommand.h"
#include "app/cli/Complaint.h"

namespace lockstep::cli {
namespace {

constexpr std::size_t kLineWidth = 96;

/// Breaks a text into lines that stand `indent` columns in; the first is where the text begins.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (column > indent && column + 1 + word.size() > kLineWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    begin = end + 1;
  }
  return out + "\n";
}

void printAll() {
  std::size_t width = 0;
  for (const glossary::Entry& entry : glossary::entries()) {
    width = std::max(width, entry.term.size());
  }
  for (const glossary::Entry& entry : glossary::entries()) {
    printPlain(fmt::format("{:<{}}  {}", entry.term, width, wrapped(entry.meaning, width + 2)));
  }
}

void printOne(const glossary::Entry& entry) {
  constexpr std::size_t kLabel = 13;
  printPlain(fmt::format("{}\n  {}", entry.term, wrapped(entry.meaning, 2)));
  for (const glossary::Line& line : glossary::linesOf(entry)) {
    printPlain(fmt::format("  {:<{}}{}", line.label, kLabel, wrapped(line.text, 2 + kLabel)));
  }
}

base::Result<int> showGlossary(const std::vector<std::string>& words) {
  if (words.empty()) {
    printAll();
    return 0;
  }
  const std::string term = fmt::format("{}", fmt::join(words, " "));
  if (const glossary::Entry* entry = glossary::find(term)) {
    printOne(*entry);
    return 0;
  }
  const std::string near = glossary::nearest(term);
  return base::Error{
      base::ExitCode::kBadInput,
      fmt::format("the glossary has no \"{}\"{}; lockstep glossary lists all terms", term,
                  near.empty() ? std::string() : fmt::format("; did you mean {}?", near)),
      ""};
}

}  // namespace

void addGlossary(CLI::App& app, Command& chosen) {
  auto [command, words] =
      addCommand(app, chosen, "glossary",
                 "What the terms of figures and views mean, with formula and unit", showGlossary);
  command->add_option("TERM", *words, "A term, as in: lockstep glossary wire bytes; default: all");
}

}  // namespace lockstep::cli
