#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace lockstep::base {

static_assert(std::endian::native == std::endian::little, "numbers travel as they lie in memory");

// Note [Bytes on a wire]
// Numbers and plain structs are their bytes in little endian; a text or a list is a u32 of how many
// and then each; an optional is a byte that says whether it is there, and the value or zero. A
// struct with texts or lists has a function `fields(codec, value)` in its own namespace, which
// gives its members to `codec` in their order, once for both directions.

/// What is written as it lies in memory.
template <typename T>
concept Plain = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_array_v<T>;

/// Appends fields to a text.
class ByteWriter {
 public:
  /// `target` outlives this.
  explicit ByteWriter(std::string& target) : target_(target) {}

  /// Appends values of the types that they have.
  template <typename... T>
  void operator()(const T&... values) {
    (add(values), ...);
  }
  /// Appends one number, of the type that is named.
  template <Plain T>
  void put(std::type_identity_t<T> value) {
    add(value);
  }
  void text(std::string_view value) {
    put<std::uint32_t>(static_cast<std::uint32_t>(value.size()));
    target_ += value;
  }

 private:
  void add(std::string_view value) { text(value); }
  void add(const std::string& value) { text(value); }
  template <Plain T>
  void add(const T& value) {
    target_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  template <Plain T>
  void add(const std::optional<T>& value) {
    add(value.has_value());
    add(value.value_or(T{}));
  }
  template <typename T>
  void add(const std::vector<T>& values) {
    put<std::uint32_t>(static_cast<std::uint32_t>(values.size()));
    if constexpr (Plain<T>) {
      target_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    } else {
      for (const T& value : values) {
        add(value);
      }
    }
  }
  template <typename K, typename V>
  void add(const std::map<K, V>& values) {
    put<std::uint32_t>(static_cast<std::uint32_t>(values.size()));
    for (const auto& [key, value] : values) {
      (*this)(key, value);
    }
  }
  template <typename T>
  void add(const T& value) {
    fields(*this, value);
  }

  std::string& target_;
};

/// Takes fields off a text in which nothing can be relied on. Once it is too short for one, that
/// and all that follow give nothing.
class ByteReader {
 public:
  /// What `source` looks at outlives this.
  explicit ByteReader(std::string_view source) : source_(source) {}

  /// Takes values of the types that they have, and leaves them as they are where there is none.
  template <typename... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  template <typename T>
  std::optional<T> take() {
    T value{};
    get(value);
    return sound_ ? std::optional<T>(std::move(value)) : std::nullopt;
  }
  std::optional<std::string_view> bytes(std::size_t count) {
    sound_ = sound_ && count <= source_.size();
    if (!sound_) {
      return std::nullopt;
    }
    const std::string_view taken = source_.substr(0, count);
    source_.remove_prefix(count);
    return taken;
  }
  /// A text of at most `longest` bytes; a longer one counts as none.
  std::optional<std::string> text(std::size_t longest) {
    const auto size = take<std::uint32_t>();
    const auto taken = size && *size <= longest ? bytes(*size) : std::nullopt;
    sound_ = taken.has_value();
    return taken ? std::optional<std::string>(*taken) : std::nullopt;
  }

  /// Whether all were there, and nothing is left.
  [[nodiscard]] bool atEnd() const { return sound_ && source_.empty(); }

 private:
  template <Plain T>
  void get(T& value) {
    if (const auto taken = bytes(sizeof(value))) {
      std::memcpy(&value, taken->data(), sizeof(value));
    }
  }
  void get(bool& value) { value = take<std::uint8_t>().value_or(0) != 0; }
  void get(std::string& value) {
    if (const auto taken = bytes(take<std::uint32_t>().value_or(0))) {
      value = *taken;
    }
  }
  template <Plain T>
  void get(std::optional<T>& value) {
    bool there = false;
    T content{};
    (*this)(there, content);
    value = there ? std::optional<T>(content) : std::nullopt;
  }
  template <typename T>
  void get(std::vector<T>& values) {
    const std::size_t count = take<std::uint32_t>().value_or(0);
    if constexpr (Plain<T>) {
      if (const auto taken = bytes(count * sizeof(T)); taken && count > 0) {
        values.resize(count);
        std::memcpy(values.data(), taken->data(), taken->size());
      }
    } else {
      for (std::size_t i = 0; i < count && sound_; ++i) {
        get(values.emplace_back());
      }
    }
  }
  template <typename K, typename V>
  void get(std::map<K, V>& values) {
    const std::size_t count = take<std::uint32_t>().value_or(0);
    for (std::size_t i = 0; i < count && sound_; ++i) {
      K key{};
      get(key);
      get(values[std::move(key)]);
    }
  }
  template <typename T>
  void get(T& value) {
    fields(*this, value);
  }

  std::string_view source_;
  bool sound_ = true;
};

}  // namespace lockstep::base
