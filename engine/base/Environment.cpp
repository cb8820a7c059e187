#include "engine/base/Environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "engine/base/ReadNumber.h"

namespace lockstep::base {

std::optional<std::string> readEnvironmentVariable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::optional<std::int64_t> EnvironmentReader::optionalNumber(
    std::initializer_list<const char*> names, std::int64_t lowest, std::int64_t highest) {
  for (const char* name : names) {
    const auto text = read_(name);
    if (!text) {
      continue;
    }
    const auto number = readNumber<std::int64_t>(*text);
    if (!number) {
      fail(fmt::format("is \"{}\", a whole number is needed", *text), name);
      return std::nullopt;
    }
    if (*number < lowest || *number > highest) {
      fail(fmt::format("is {}; allowed: {} to {}", *number, lowest, highest), name);
      return std::nullopt;
    }
    return number;
  }
  return std::nullopt;
}

std::int64_t EnvironmentReader::number(std::initializer_list<const char*> names,
                                       std::int64_t lowest, std::int64_t highest) {
  const auto found = optionalNumber(names, lowest, highest);
  if (!found) {
    failMissing(*names.begin());
  }
  return found.value_or(lowest);
}

std::string EnvironmentReader::text(const char* name) {
  auto found = read_(name);
  if (!found || found->empty()) {
    failMissing(name);
    return "";
  }
  return *found;
}

void EnvironmentReader::failMissing(const char* name) {
  fail("is not set; " + whoSetsThem_, name);
}

void EnvironmentReader::fail(const std::string& what, const char* name) {
  if (!error_) {
    error_ = Error{ExitCode::kBadInput, what, std::string("environment ") + name};
  }
}

std::vector<std::string> inheritedEnvironment() {
  std::vector<std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    result.emplace_back(*entry);
  }
  return result;
}

void setVariable(std::vector<std::string>& environment, const std::string& name,
                 const std::string& value) {
  // Programs differ in which of two values of one name they take.
  removeVariable(environment, name);
  environment.push_back(fmt::format("{}={}", name, value));
}

void removeVariable(std::vector<std::string>& environment, const std::string& name) {
  std::erase_if(environment,
                [&](const std::string& entry) { return entry.starts_with(name + "="); });
}

}  // namespace lockstep::base
