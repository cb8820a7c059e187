#include "engine/store/detail/Errors.h"

#include <fmt/format.h>

namespace lockstep::store::detail {
namespace {

/// Values and keys are bytes; a message shows what can be printed of the first 60.
std::string shown(const std::string& bytes) {
  constexpr std::size_t kLongest = 60;
  std::string text = "\"";
  for (const char c : bytes.substr(0, kLongest)) {
    text += c >= 0x20 && c < 0x7f ? c : '?';
  }
  return text + (bytes.size() > kLongest ? "...\"" : "\"");
}

}  // namespace

std::string quoted(const std::vector<std::string>& keys) {
  constexpr std::size_t kMost = 16;
  std::string text;
  for (std::size_t i = 0; i < keys.size() && i < kMost; ++i) {
    text += (i == 0 ? "" : ", ") + shown(keys[i]);
  }
  if (keys.size() > kMost) {
    text += fmt::format(" and {} more", keys.size() - kMost);
  }
  return text;
}

StoreError timeoutError(const std::string& place, const std::string& operation,
                        std::chrono::milliseconds timeout,
                        const std::vector<std::string>& missing) {
  return StoreError(fmt::format("{}: {}: timeout after {} ms; missing key{}: {}", place, operation,
                                timeout.count(), missing.size() == 1 ? "" : "s", quoted(missing)));
}

StoreError notANumber(const std::string& place, const std::string& key, const std::string& value) {
  return StoreError(fmt::format("{}: add {}: the value {} is not a number that can be added to",
                                place, shown(key), shown(value)));
}

void requirePairs(const std::string& place, const std::vector<std::string>& keys,
                  const std::vector<std::string>& values) {
  if (keys.size() != values.size()) {
    throw StoreError(fmt::format("{}: multiSet {}: {} keys and {} values; give one value a key",
                                 place, quoted(keys), keys.size(), values.size()));
  }
}

}  // namespace lockstep::store::detail
