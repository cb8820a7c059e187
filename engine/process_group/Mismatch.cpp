#include "engine/process_group/Mismatch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "engine/process_group/Majority.h"

namespace lockstep::process_group {
namespace {

// A note is "<fingerprint>|<description>|<bytes to rank 0>,...|<bytes from rank 0>,...", the
// last two for alltoall only.
struct Note {
  std::string fingerprint;
  std::string description;
  std::vector<std::uint64_t> to;
  std::vector<std::uint64_t> from;
};

std::vector<std::uint64_t> numbers(const std::string& text) {
  std::vector<std::uint64_t> result;
  for (std::size_t begin = 0; begin < text.size();) {
    result.push_back(std::strtoull(text.c_str() + begin, nullptr, 10));
    const std::size_t comma = text.find(',', begin);
    begin = comma == std::string::npos ? text.size() : comma + 1;
  }
  return result;
}

Note parse(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char letter : text) {
    if (letter == '|') {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  // A damaged note lacks parts; they are empty then.
  parts.resize(4);
  return Note{parts[0], parts[1], numbers(parts[2]), numbers(parts[3])};
}

// alltoall: every pair of ranks agrees for itself.
std::string pairMismatch(int sender, const Note& sent, int receiver, const Note& received) {
  const auto to = static_cast<std::size_t>(receiver);
  const auto from = static_cast<std::size_t>(sender);
  if (to < sent.to.size() && from < received.from.size() && sent.to[to] != received.from[from]) {
    return unlikePartsText(sender, sent.to[to], receiver, received.from[from]);
  }
  return {};
}

}  // namespace

std::string unlikeCallsText(int rank, std::string_view called, int other,
                            std::string_view otherCalled) {
  // Descriptions give counts and bytes; what tells calls apart knows the dtypes and sizes of each
  // tensor, too.
  return fmt::format("{}rank {} {}, rank {} {}{}", kNotTheSameCall, rank, called, other,
                     otherCalled,
                     called == otherCalled ? " (of tensors with other dtypes or sizes)" : "");
}

std::string unlikePartsText(int sender, std::uint64_t sent, int receiver, std::uint64_t expected) {
  return fmt::format("{}rank {} sends {} bytes to rank {}, which expects {}", kNotTheSameCall,
                     sender, sent, receiver, expected);
}

std::string note(const Call& call) {
  return fmt::format("{:x}|{}|{}|{}", fingerprint(call), describe(call), fmt::join(call.bytesTo, ","),
                     fmt::join(call.bytesFrom, ","));
}

Difference mismatch(const Call& call, int self, int size,
                    const std::vector<std::pair<int, std::string>>& notes) {
  const Note mine = parse(note(call));
  std::vector<std::pair<int, std::uint64_t>> calls{{self, fingerprint(call)}};
  for (const auto& [rank, text] : notes) {
    calls.emplace_back(rank, std::strtoull(parse(text).fingerprint.c_str(), nullptr, 16));
  }
  // The first difference is said in words; all votes say who differs from most.
  for (const auto& [rank, text] : notes) {
    const Note other = parse(text);
    if (other.fingerprint != mine.fingerprint) {
      return {unlikeCallsText(self, mine.description, rank, other.description),
              outvoted(calls, size)};
    }
    // An alltoall: both ways, for the sizes of a pair need not be symmetric.
    for (const std::string& found : {pairMismatch(self, mine, rank, other),
                                     pairMismatch(rank, other, self, mine)}) {
      if (!found.empty()) {
        return {found, {std::min(self, rank), std::max(self, rank)}};
      }
    }
  }
  return {};
}

}  // namespace lockstep::process_group
