#include "engine/trace/UserPhases.h"

#include <charconv>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace lockstep::trace {
namespace {

struct Known {
  std::shared_mutex mutex;
  std::unordered_map<std::uint64_t, std::string> names;  // only grows: its texts never move
};

Known& known() {
  static auto& all = *new Known;  // threads may ask until the process has ended
  return all;
}

}  // namespace

std::uint64_t userPhaseNumber(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325ull;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  }
  // 48 bits as SQLite's integers have a sign; the upper 16 are folded in so that none is lost.
  constexpr std::uint64_t kMask = (std::uint64_t{1} << 48) - 1;
  return (hash ^ hash >> 48) & kMask;
}

void learnUserPhases(const std::map<std::string, std::string>& environment) {
  for (auto at = environment.lower_bound(kUserPhasePrefix);
       at != environment.end() && at->first.starts_with(kUserPhasePrefix); ++at) {
    std::uint64_t number = 0;
    const std::string_view digits = std::string_view(at->first).substr(kUserPhasePrefix.size());
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    // A damaged file must not give one phase the name of another.
    if (read.ec == std::errc() && number == userPhaseNumber(at->second)) {
      std::unique_lock lock(known().mutex);
      known().names.try_emplace(number, at->second);
    }
  }
}

std::string_view userPhaseName(std::uint64_t number) {
  std::shared_lock lock(known().mutex);
  const auto found = known().names.find(number);
  return found == known().names.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace lockstep::trace
