#include "engine/trace/RunFileSamples.h"

#include <bit>
#include <cstring>
#include <optional>
#include <string>

#include "engine/trace/RunFileSchema.h"
#include "engine/trace/RunFileTables.h"

namespace lockstep::trace {

using sqlite::Database;
using sqlite::Statement;

static_assert(std::endian::native == std::endian::little, "counters are little-endian in the file");

SampleWriter::SampleWriter(Database& database)
    : fingerprint_(database,
                   "INSERT INTO fingerprints(rank, step, parameter, hash, norm) "
                   "VALUES(?, ?, ?, ?, ?)"),
      sketch_(database, "INSERT INTO sketches(rank, step, counters) VALUES(?, ?, ?)"),
      gradient_(database,
                "INSERT INTO gradients(rank, step, bucket, norm, largest, nans, infinities, "
                "parameter, reduced_norm, reduced_hash) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)") {}

void SampleWriter::write(int rank, const FingerprintMessage& fingerprint) {
  for (std::size_t i = 0; i < fingerprint.hashes.size(); ++i) {
    fingerprint_.runWith(rank, fingerprint.step, static_cast<std::uint32_t>(i),
                         fingerprint.hashes[i], fingerprint.norms[i]);
  }
  const std::string_view counters(reinterpret_cast<const char*>(fingerprint.sketch.data()),
                                  fingerprint.sketch.size() * sizeof(double));
  sketch_.bind(1, rank);
  sketch_.bind(2, fingerprint.step);
  // An empty view has no address, and SQLite takes a blob without one for a NULL.
  sketch_.bindBlob(3, counters.empty() ? std::string_view("") : counters);
  sketch_.run();
}

void SampleWriter::write(int rank, const GradientsMessage& gradients) {
  for (const GradientsMessage::Bucket& bucket : gradients.buckets) {
    const auto& reduced = bucket.reduced;
    gradient_.runWith(rank, gradients.step, tables::writtenBucket(bucket.bucket), bucket.norm,
                      bucket.largest, bucket.nans, bucket.infinities, bucket.parameter,
                      reduced ? std::optional(reduced->norm) : std::nullopt,
                      reduced ? reduced->hash : std::nullopt);
  }
}

void SampleReader::read(Database& database, RunUpdate& update) {
  if (!present_) {
    Statement table(database, "SELECT 1 FROM sqlite_master WHERE name = 'fingerprints'");
    // Asked once: tables are made with the file, and never later.
    const bool found = table.row();
    if (!database.ok()) {
      return;
    }
    present_ = found;
  }
  if (*present_) {
    readFingerprints(database, update);
    readSketches(database, update);
    readGradients(database, update);
  }
}

void SampleReader::readFingerprints(Database& database, RunUpdate& update) {
  Statement select(database,
                   "SELECT id, rank, step, parameter, hash, norm FROM fingerprints WHERE id > ? "
                   "ORDER BY id");
  select.bind(1, lastFingerprint_);
  std::optional<std::int64_t> limit;
  while (select.row()) {
    // Only where there are rows: it counts the whole table.
    limit = limit ? limit : tables::parameterLimit(database, "fingerprints");
    if (select.integer(3) < 0 || select.integer(3) >= *limit) {
      // Readers make lists that are as long as the highest number.
      database.note(SQLITE_CORRUPT);
      return;
    }
    FingerprintRow& row = update.fingerprints.emplace_back();
    row.id = lastFingerprint_ = select.integer(0);
    row.rank = static_cast<int>(select.integer(1));
    row.step = static_cast<std::uint32_t>(select.integer(2));
    row.parameter = static_cast<std::uint32_t>(select.integer(3));
    row.hash = static_cast<std::uint64_t>(select.integer(4));
    row.norm = select.numberOrNan(5);
  }
}

void SampleReader::readSketches(Database& database, RunUpdate& update) {
  Statement select(database,
                   "SELECT id, rank, step, counters FROM sketches WHERE id > ? ORDER BY id");
  select.bind(1, lastSketch_);
  while (select.row()) {
    SketchRow& row = update.sketches.emplace_back();
    row.id = lastSketch_ = select.integer(0);
    row.rank = static_cast<int>(select.integer(1));
    row.step = static_cast<std::uint32_t>(select.integer(2));
    const std::string_view bytes = select.blob(3);
    row.counters.resize(bytes.size() / sizeof(double));
    if (!row.counters.empty()) {
      std::memcpy(row.counters.data(), bytes.data(), row.counters.size() * sizeof(double));
    }
  }
}

void SampleReader::readGradients(Database& database, RunUpdate& update) {
  Statement select(database,
                   schema::hasReducedBuckets(database)
                       ? "SELECT id, rank, step, bucket, norm, largest, nans, infinities, "
                         "parameter, reduced_norm, reduced_hash FROM gradients WHERE id > ? "
                         "ORDER BY id"
                       : "SELECT id, rank, step, bucket, norm, largest, nans, infinities, "
                         "parameter, NULL, NULL FROM gradients WHERE id > ? ORDER BY id");
  select.bind(1, lastGradient_);
  while (select.row()) {
    GradientRow& row = update.gradients.emplace_back();
    row.id = lastGradient_ = select.integer(0);
    row.rank = static_cast<int>(select.integer(1));
    row.step = static_cast<std::uint32_t>(select.integer(2));
    row.gradients.bucket =
        select.isNull(3) ? kNoBucket : static_cast<std::uint16_t>(select.integer(3));
    row.gradients.norm = select.numberOrNan(4);
    row.gradients.largest = select.numberOrNan(5);
    row.gradients.nans = static_cast<std::uint64_t>(select.integer(6));
    row.gradients.infinities = static_cast<std::uint64_t>(select.integer(7));
    if (!select.isNull(8)) {
      row.gradients.parameter = static_cast<std::uint32_t>(select.integer(8));
    }
    if (!select.isNull(9)) {
      row.gradients.reduced.emplace().norm = select.number(9);
    }
    if (row.gradients.reduced && !select.isNull(10)) {
      row.gradients.reduced->hash = static_cast<std::uint64_t>(select.integer(10));
    }
  }
}

}  // namespace lockstep::trace
