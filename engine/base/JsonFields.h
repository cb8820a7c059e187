#pragma once

#include <fmt/format.h>

#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/base/Result.h"

namespace lockstep::base {

// Note [Fields of JSON]
// A struct that is a JSON object has a function `fields(codec, value)` in its own namespace, which
// gives each key and its member to `codec`, once for both directions. A member may be whatever
// nlohmann::json converts, such a struct again, or a list of them. JSON has no infinity: an infinite
// number is written as null, and read back as it was.

class JsonWriter;

template <typename T>
concept HasFields = requires(JsonWriter& writer, const T& value) { fields(writer, value); };

/// T, const when it is written.
template <typename M, typename T>
concept Like = std::is_same_v<std::remove_const_t<M>, T>;

/// Puts members into a JSON object.
class JsonWriter {
 public:
  template <typename T>
  static nlohmann::json of(const T& value) {
    nlohmann::json object;
    if constexpr (HasFields<T>) {
      JsonWriter writer(object);
      fields(writer, value);
    } else {
      object = value;
    }
    return object;
  }
  template <HasFields T>
  static nlohmann::json of(const std::vector<T>& values) {
    auto list = nlohmann::json::array();
    for (const T& value : values) {
      list.push_back(of(value));
    }
    return list;
  }

  template <typename T, typename... Rest>
  void operator()(const char* key, const T& value, const Rest&... rest) {
    target_[key] = of(value);
    if constexpr (sizeof...(rest) > 0) {
      (*this)(rest...);
    }
  }

 private:
  explicit JsonWriter(nlohmann::json& target) : target_(target) {}

  nlohmann::json& target_;
};

/// Takes members from a JSON object; one that is not there, or of another type, is an exception of
/// nlohmann::json.
class JsonReader {
 public:
  /// `source` outlives this.
  explicit JsonReader(const nlohmann::json& source) : source_(source) {}

  template <typename T, typename... Rest>
  void operator()(const char* key, T& value, Rest&... rest) {
    read(source_.at(key), value);
    if constexpr (sizeof...(rest) > 0) {
      (*this)(rest...);
    }
  }

  template <typename T>
  static void read(const nlohmann::json& from, T& value) {
    if constexpr (HasFields<T>) {
      JsonReader reader(from);
      fields(reader, value);
    } else {
      from.get_to(value);
    }
  }
  static void read(const nlohmann::json& from, double& value) {
    value = from.is_null() ? std::numeric_limits<double>::infinity() : from.get<double>();
  }
  template <HasFields T>
  static void read(const nlohmann::json& from, std::vector<T>& values) {
    for (const nlohmann::json& each : from) {
      read(each, values.emplace_back());
    }
  }

 private:
  const nlohmann::json& source_;
};

/// Returns the struct that a text holds. Error (kHookFailed): "<otherwise>: <what is wrong>".
template <HasFields T>
Result<T> fromJsonText(std::string_view text, const char* otherwise) {
  try {
    T value;
    JsonReader::read(nlohmann::json::parse(text), value);
    return value;
  } catch (const std::exception& error) {
    return Error{ExitCode::kHookFailed, fmt::format("{}: {}", otherwise, error.what()), {}};
  }
}

}  // namespace lockstep::base
