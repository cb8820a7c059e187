#include "engine/store/detail/KeyTable.h"

#include <charconv>
#include <utility>

namespace lockstep::store::detail {

void KeyTable::set(const std::string& key, std::string value) {
  erase(key);
  bytes_ += key.size() + value.size();
  values_.emplace(key, std::move(value));
}

void KeyTable::append(const std::string& key, std::string_view value) {
  const auto [found, isNew] = values_.try_emplace(key);
  bytes_ += (isNew ? key.size() : 0) + value.size();
  found->second.append(value);
}

const std::string* KeyTable::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> KeyTable::sum(const std::string& key, std::int64_t amount) const {
  std::int64_t number = 0;
  if (const std::string* text = find(key)) {
    const char* end = text->data() + text->size();
    const auto parsed = std::from_chars(text->data(), end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      return std::nullopt;
    }
  }
  if (__builtin_add_overflow(number, amount, &number)) {
    return std::nullopt;
  }
  return number;
}

KeyTable::Comparison KeyTable::compare(const std::string& key, const std::string& expected,
                                       const std::string& desired) const {
  const std::string* now = find(key);
  if (now == nullptr) {
    // c10d's: an absent key equals "", and else the caller gets back what it expected.
    return expected.empty() ? Comparison{true, desired} : Comparison{false, expected};
  }
  return *now == expected ? Comparison{true, desired} : Comparison{false, *now};
}

bool KeyTable::erase(const std::string& key) {
  const auto found = values_.find(key);
  if (found == values_.end()) {
    return false;
  }
  bytes_ -= key.size() + found->second.size();
  values_.erase(found);
  return true;
}

std::vector<std::string> KeyTable::missing(const std::vector<std::string>& keys) const {
  std::vector<std::string> result;
  for (const std::string& key : keys) {
    if (find(key) == nullptr) {
      result.push_back(key);
    }
  }
  return result;
}

}  // namespace lockstep::store::detail
