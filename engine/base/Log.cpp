#include "engine/base/Log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace lockstep::base {
namespace {

spdlog::level::level_enum toSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::info;
}

}  // namespace

void configureLog(const std::string& prefix, LogLevel lowest) {
  auto logger = std::make_shared<spdlog::logger>(
      "lockstep", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern(prefix.empty() ? "[%l] %v" : "[" + prefix + "] [%l] %v");
  logger->set_level(toSpdlog(lowest));
  // A process that dies has written what it said.
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

void logLine(LogLevel level, const std::string& text) { spdlog::log(toSpdlog(level), text); }

}  // namespace lockstep::base
