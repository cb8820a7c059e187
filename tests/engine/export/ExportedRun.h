#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "engine/trace/RunFile.h"

namespace lockstep::exports {

/// A run file made event by event. Each rank has track 10 * rank for its step thread and
/// 10 * rank + 1 for its communication.
class ExportedRun {
 public:
  /// A run of that many ranks which this process records. `nsPerTick`: 1000 makes a tick a µs.
  ExportedRun(const std::filesystem::path& path, int ranks, double nsPerTick = 1000);
  ~ExportedRun();

  ExportedRun& step(int rank, trace::EventKind kind, std::uint64_t begin, std::uint64_t end,
                    std::uint32_t step = 0, std::uint64_t value = 0);
  /// An allreduce of the default group.
  ExportedRun& collective(int rank, std::uint64_t begin, std::uint64_t end, std::uint64_t sequence,
                          std::uint64_t bytes, std::uint32_t step = 0,
                          std::uint16_t bucket = trace::kNoBucket);
  ExportedRun& metric(int rank, const std::string& name, std::uint32_t step, std::uint64_t at,
                      double value);
  /// Makes what was added visible to readers; the run goes on.
  void commit();
  /// Ends the run.
  void finish();

  trace::RunInfo info;  ///< of the end
  [[nodiscard]] trace::RunFileWriter& writer() { return *writer_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::unique_ptr<trace::RunFileWriter> writer_;
};

}  // namespace lockstep::exports
