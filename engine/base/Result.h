#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "engine/base/Check.h"
#include "engine/base/ExitCodes.h"

namespace lockstep::base {

/// Describes an expected failure at a border (file, process, socket, plugin).
///
/// `what` says what was wrong and what to do, in one line; `where` names the place
/// ("demo.toml:7:3", "rank 1, bucket 4", "127.0.0.1:29500"). `code` is the exit code
/// a program ends with when nobody handles the error.
struct Error {
  ExitCode code = ExitCode::kUnexpected;
  std::string what;
  std::string where;

  /// Returns "where: what", or `what` alone when there is no place.
  [[nodiscard]] std::string message() const;

  /// Puts `context` before the text; lower text is kept.
  [[nodiscard]] Error within(const std::string& context) const;
};

/// Holds a value or an Error. There is no conversion to bool: ask `ok()`.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }

  [[nodiscard]] T& value() & {
    LOCKSTEP_CHECK(ok(), "value() of a failed Result: {}", std::get<1>(state_).message());
    return std::get<0>(state_);
  }
  [[nodiscard]] const T& value() const& {
    LOCKSTEP_CHECK(ok(), "value() of a failed Result: {}", std::get<1>(state_).message());
    return std::get<0>(state_);
  }
  [[nodiscard]] T&& value() && {
    LOCKSTEP_CHECK(ok(), "value() of a failed Result: {}", std::get<1>(state_).message());
    return std::move(std::get<0>(state_));
  }
  [[nodiscard]] const Error& error() const {
    LOCKSTEP_CHECK(!ok(), "error() of a successful Result");
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  [[nodiscard]] const Error& error() const {
    LOCKSTEP_CHECK(!ok(), "error() of a successful Status");
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

/// Builds an Error from the current `errno`: "<what>: <strerror>".
[[nodiscard]] Error systemError(ExitCode code, const std::string& what, const std::string& where);

}  // namespace lockstep::base
