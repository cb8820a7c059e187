#pragma once

#include <fmt/format.h>

#include <string>

namespace lockstep::base {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Sends the log of this process to stderr, one line a record:
/// "[level] text", or "[rank 1] [level] text" when `prefix` is "rank 1".
void configureLog(const std::string& prefix, LogLevel lowest = LogLevel::kInfo);

/// Writes one line. [any-thread]
void logLine(LogLevel level, const std::string& text);

template <typename... Args>
void logInfo(fmt::format_string<Args...> format, Args&&... args) {
  logLine(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void logWarning(fmt::format_string<Args...> format, Args&&... args) {
  logLine(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void logError(fmt::format_string<Args...> format, Args&&... args) {
  logLine(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace lockstep::base
