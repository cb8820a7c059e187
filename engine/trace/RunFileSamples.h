#pragma once

#include <cstdint>
#include <optional>

#include "engine/trace/RunFile.h"
#include "engine/trace/Sqlite.h"

namespace lockstep::trace {

// The tables of sampled parameters and gradients, which format 1.2 added. Errors stick in the
// database.

class SampleWriter {
 public:
  explicit SampleWriter(sqlite::Database& database);

  void write(int rank, const FingerprintMessage& fingerprint);
  void write(int rank, const GradientsMessage& gradients);

 private:
  sqlite::Statement fingerprint_;
  sqlite::Statement sketch_;
  sqlite::Statement gradient_;
};

class SampleReader {
 public:
  /// Adds the rows that are new since the last call; none of a file without these tables.
  void read(sqlite::Database& database, RunUpdate& update);

 private:
  void readFingerprints(sqlite::Database& database, RunUpdate& update);
  void readSketches(sqlite::Database& database, RunUpdate& update);
  void readGradients(sqlite::Database& database, RunUpdate& update);

  std::optional<bool> present_;
  std::int64_t lastFingerprint_ = 0;
  std::int64_t lastSketch_ = 0;
  std::int64_t lastGradient_ = 0;
};

}  // namespace lockstep::trace
