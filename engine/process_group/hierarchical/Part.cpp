#include "engine/process_group/hierarchical/Part.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdlib>

namespace lockstep::process_group::hierarchical {
namespace {

// Enclose a failure that travels inside a text of a part.
constexpr char kOpen = '\x02';
constexpr char kClose = '\x03';

bool isDigit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Whether a number list begins after `text[at]`, "rank " or "ranks ".
std::size_t wordAt(const std::string& text, std::size_t at) {
  for (const char* word : {"rank ", "ranks ", "Rank ", "Ranks "}) {
    const std::string sought(word);
    if (text.compare(at, sought.size(), sought) == 0 && at + sought.size() < text.size() &&
        isDigit(text[at + sought.size()])) {
      return sought.size();
    }
  }
  return 0;
}

std::string mapped(const std::string& digits, const std::vector<int>& members) {
  const auto number = static_cast<std::size_t>(std::strtoul(digits.c_str(), nullptr, 10));
  return number < members.size() ? std::to_string(members[number]) : digits;
}

// Finds what told() has written; false when nobody has.
bool readTold(const std::string& text, Failure& failure) {
  // The last one: a text may have passed several groups, each of which put its own around it.
  const std::size_t open = text.rfind(kOpen);
  if (open == std::string::npos) {
    return false;
  }
  char* end = nullptr;
  failure.origin = static_cast<int>(std::strtol(text.c_str() + open + 1, &end, 10));
  failure.peer = static_cast<int>(std::strtol(end, &end, 10));
  const std::size_t begin = static_cast<std::size_t>(end - text.c_str()) + 1;
  failure.cause = text.substr(begin, text.find(kClose, begin) - begin);
  return true;
}

}  // namespace

// Texts are written for people, with the numbers of a part. They are changed as text, since the
// error of a part has nothing else to say whom it names.
std::string renumbered(const std::string& text, const std::vector<int>& members) {
  std::string result;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t word = wordAt(text, at);
    if (word == 0) {
      result += text[at++];
      continue;
    }
    result += text.substr(at, word);
    at += word;
    for (;;) {
      std::size_t end = at;
      while (end < text.size() && isDigit(text[end])) {
        ++end;
      }
      result += mapped(text.substr(at, end - at), members);
      at = end;
      const bool list =
          text.compare(at, 2, ", ") == 0 && at + 2 < text.size() && isDigit(text[at + 2]);
      if (!list) {
        break;
      }
      result += ", ";
      at += 2;
    }
  }
  return result;
}

Failure failureOf(const std::exception_ptr& error, const Part& part, int rank) {
  const auto titled = [&](const std::string& text) {
    return part.place.empty() ? text : part.place + ": " + text;
  };
  Failure failure;
  failure.origin = rank;
  try {
    std::rethrow_exception(error);
  } catch (const CommError& lower) {
    // The part was aborted by a rank that knew the reason: that reason is reported, not the abort.
    if (readTold(lower.reason(), failure)) {
      failure.what = fmt::format("rank {} gave up: {}{}", failure.origin, failure.cause,
                                 failure.peer == rank ? " (it waited for this rank)" : "");
      // Whoever waited for this rank is the nearest that this rank can name.
      if (failure.peer < 0 || failure.peer == rank) {
        failure.peer = failure.origin;
      }
      failure.kind = CommErrorKind::kRemote;
      return failure;
    }
    failure.kind = lower.kind();
    const int peer = lower.where().peer;
    if (peer >= 0 && peer < static_cast<int>(part.members.size())) {
      failure.peer = part.members[static_cast<std::size_t>(peer)];
    }
    failure.what = titled(renumbered(lower.reason(), part.members));
  } catch (const std::exception& lower) {
    failure.what = titled(lower.what());
  }
  failure.cause = failure.what;
  return failure;
}

std::string told(const Failure& failure) {
  return fmt::format("{}{} {} {}{}", kOpen, failure.origin, failure.peer, failure.cause, kClose);
}

}  // namespace lockstep::process_group::hierarchical
