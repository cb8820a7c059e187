#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "engine/trace/PackedSteps.h"
#include "engine/trace/RunFile.h"
#include "engine/trace/Sqlite.h"

namespace lockstep::trace {

// The table of packed steps, which format 1.8 added: Note [Packed steps]. Errors stick in the
// database.

class PackedStepsWriter {
 public:
  explicit PackedStepsWriter(sqlite::Database& database);

  /// Keeps a step until its row is full, or the next step of its rank is not the one after it.
  void add(std::int32_t track, const Event& step, const StepSumsRow& sums);
  /// Writes all that are kept.
  void writeAll();
  [[nodiscard]] bool empty() const { return kept_ == 0; }
  /// Whether some have been kept for a second: whoever follows the run waits for them.
  [[nodiscard]] bool isDue() const;

 private:
  struct Kept {
    std::int32_t track = 0;
    std::vector<SummedStep> steps;
  };
  void write(Kept& kept);

  sqlite::Statement insert_;
  std::map<int, Kept> ranks_;
  std::chrono::steady_clock::time_point since_;  // the first of those that are kept came
  std::size_t kept_ = 0;
};

class PackedStepsReader {
 public:
  /// Adds the steps of rows that are new since the last call until there are `most` spans or more:
  /// each as a span of kind kStep without an id, and its sums. None of a file without this table.
  void read(sqlite::Database& database, std::size_t most, std::vector<SpanRow>& spans,
            std::vector<StepSumsRow>& sums);

 private:
  std::int64_t last_ = 0;
};

}  // namespace lockstep::trace
