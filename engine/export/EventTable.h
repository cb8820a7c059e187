#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/export/Csv.h"
#include "engine/trace/EventRecord.h"
#include "engine/trace/Messages.h"

namespace lockstep::exports {

// The table of events as a file: of one event the same cells under the same titles, whether
// `lockstep export` writes them or the studio. [any-thread]

/// One span or instant.
struct EventRow {
  std::int64_t id = 0;  ///< in the run file
  int rank = 0;
  std::string_view thread;  ///< that recorded it
  trace::EventKind kind{};
  double startNs = 0;                 ///< since the origin of the run's clock
  double durationNs = 0;              ///< 0: an instant
  double stepStartNs = std::nan("");  ///< where its iteration began on its rank; NaN: unknown
  std::uint32_t step = 0;
  std::uint16_t bucket = trace::kNoBucket;
  std::uint16_t detail = 0;
  std::uint64_t value = 0;
};

/// The titles of the columns, the unit last in each.
const std::vector<std::string_view>& eventTitles();

/// Adds a row under these titles.
void write(Csv& csv, const EventRow& row,
           const std::vector<trace::ParametersMessage::Parameter>& parameters);

/// Returns what a span is beside its kind: an operation, a stage of the start-up, a fault, a half
/// of the step on a device, a name of the training script's. Empty: its kind says all.
std::string whatOf(trace::EventKind kind, std::uint16_t detail, std::uint64_t value);

/// Whether a span is of no iteration, though it carries the number of one: it is of the start-up,
/// or ended before its iteration began on its rank.
bool isOfNoStep(trace::EventKind kind, double endNs, double stepStartNs);

}  // namespace lockstep::exports
