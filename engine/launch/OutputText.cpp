#include "engine/launch/OutputText.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "engine/base/NumberText.h"
#include "engine/base/PlainText.h"

namespace lockstep::launch {
namespace {

/// Returns how many of the first `limit` bytes to take so that no character is cut.
std::size_t characterBorder(std::string_view text, std::size_t limit) {
  std::size_t at = limit;
  // A character has at most three continuation bytes; text that has more is no UTF-8.
  while (at > limit - 3 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) {
    --at;
  }
  // Four continuation bytes are no UTF-8: cut anywhere.
  return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80 ? limit : at;
}

}  // namespace

void LineSplitter::feed(std::string_view bytes, const Sink& sink) {
  pending_.append(bytes);
  std::string_view rest = pending_;
  while (true) {
    const std::size_t end = rest.find('\n');
    // npos is larger than any limit, and so a line without an end.
    if (end <= kMaxLineBytes) {
      std::string_view line = rest.substr(0, end);
      if (line.ends_with('\r')) {
        line.remove_suffix(1);
      }
      sink(line);
      rest.remove_prefix(end + 1);
    } else if (rest.size() > kMaxLineBytes) {
      const std::size_t border = characterBorder(rest, kMaxLineBytes);
      sink(rest.substr(0, border));
      rest.remove_prefix(border);
    } else {
      break;
    }
  }
  pending_.erase(0, pending_.size() - rest.size());
}

void LineSplitter::flush(const Sink& sink) {
  if (!pending_.empty()) {
    sink(pending_);
    pending_.clear();
  }
}

bool LineBudget::take(std::string_view line) {
  const std::size_t bytes = line.size() + 1;
  // Once a line was left out all that follow are: short ones in between would read as if nothing
  // were missing.
  if (lines_ == 0 && kept_ + bytes <= kMaxBytes) {
    kept_ += bytes;
    return true;
  }
  ++lines_;
  bytes_ += bytes;
  return false;
}

std::string LineBudget::text() const {
  return lines_ == 0 ? std::string()
                     : fmt::format("{} ({}) after the first {} {} left out",
                                   base::countedText(lines_, "line"), base::bytesText(bytes_),
                                   base::bytesText(kMaxBytes), lines_ == 1 ? "was" : "were");
}

void OutputTail::feed(std::string_view bytes) {
  bytes_.append(bytes);
  // Cut seldom: erasing from the front moves everything that follows.
  if (bytes_.size() > 4 * kMaxBytes) {
    bytes_.erase(0, bytes_.size() - kMaxBytes);
    cut_ = true;
  }
}

std::string OutputTail::text() const {
  if (!cut_ && bytes_.size() <= kMaxBytes) {
    return bytes_;
  }
  std::string tail = bytes_.size() > kMaxBytes ? bytes_.substr(bytes_.size() - kMaxBytes) : bytes_;
  // The first line kept is a part of one.
  if (const std::size_t end = tail.find('\n'); end != std::string::npos) {
    tail.erase(0, end + 1);
  }
  return tail;
}

std::string OutputTail::lastLine() const {
  return base::lastLine(text());
}

std::string OutputTail::firstWords() const {
  std::istringstream lines(text());
  for (std::string line; std::getline(lines, line);) {
    const bool said = std::any_of(line.begin(), line.end(),
                                  [](unsigned char letter) { return std::isalpha(letter) != 0; });
    if (said) {
      const std::size_t begin = line.find_first_not_of(" \t");
      return line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
    }
  }
  return "";
}

}  // namespace lockstep::launch
