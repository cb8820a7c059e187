#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/Result.h"

namespace lockstep::base {

/// Gives the value of a variable, or nothing when it is not set.
using ReadVariable = std::function<std::optional<std::string>(const char* name)>;

/// Reads this process' environment.
std::optional<std::string> readEnvironmentVariable(const char* name);

/// Returns this process' environment as "KEY=value" texts.
std::vector<std::string> inheritedEnvironment();

/// Sets a variable of such an environment, in place of what it was there.
void setVariable(std::vector<std::string>& environment, const std::string& name,
                 const std::string& value);
void removeVariable(std::vector<std::string>& environment, const std::string& name);

/// Takes values from the environment and keeps the first mistake in it (kBadInput, where
/// "environment NAME"), so that a list of variables reads without an `if` after each. One thread.
class EnvironmentReader {
 public:
  /// `whoSetsThem` ends the sentence about a variable that is missing: "start ranks with ...".
  EnvironmentReader(const ReadVariable& read, std::string whoSetsThem)
      : read_(read), whoSetsThem_(std::move(whoSetsThem)) {}

  /// Returns the first of `names` that is set, a whole number in [lowest, highest].
  std::optional<std::int64_t> optionalNumber(std::initializer_list<const char*> names,
                                             std::int64_t lowest, std::int64_t highest);

  /// The same; it is a mistake when none is set. Returns `lowest` after a mistake.
  std::int64_t number(std::initializer_list<const char*> names, std::int64_t lowest,
                      std::int64_t highest);

  /// Returns a text that must not be empty; "" after a mistake.
  std::string text(const char* name);

  void fail(const std::string& what, const char* name);

  [[nodiscard]] bool ok() const { return !error_; }
  [[nodiscard]] const Error& error() const { return *error_; }

 private:
  void failMissing(const char* name);

  const ReadVariable& read_;
  const std::string whoSetsThem_;
  std::optional<Error> error_;
};

}  // namespace lockstep::base
