#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lockstep::store::detail {

/// The keys and values of a store and what its operations mean, apart from waiting. No locks:
/// the owner guards it.
class KeyTable {
 public:
  void set(const std::string& key, std::string value);
  /// Appends `value` to what stands at `key`; absent counts as empty.
  void append(const std::string& key, std::string_view value);
  [[nodiscard]] const std::string* find(const std::string& key) const;

  /// Returns the sum without writing it; nothing when the value is no decimal number or the
  /// sum does not fit 64 bits.
  [[nodiscard]] std::optional<std::int64_t> sum(const std::string& key, std::int64_t amount) const;

  /// c10d's rule (Store::compareSet): says what stands afterwards and whether to write it.
  struct Comparison {
    bool writes = false;
    std::string value;
  };
  [[nodiscard]] Comparison compare(const std::string& key, const std::string& expected,
                                   const std::string& desired) const;

  bool erase(const std::string& key);
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  /// Of all keys and values.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  /// Returns those of `keys` that do not exist, in their order.
  [[nodiscard]] std::vector<std::string> missing(const std::vector<std::string>& keys) const;

 private:
  std::unordered_map<std::string, std::string> values_;
  std::size_t bytes_ = 0;
};

}  // namespace lockstep::store::detail
