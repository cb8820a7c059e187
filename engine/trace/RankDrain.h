#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/trace/Event.h"
#include "engine/trace/RunFile.h"
#include "engine/trace/SegmentReader.h"

namespace lockstep::trace {

/// Carries one rank's events into the run file, and remembers what the recorder wants to know
/// of them. Without a writer it empties the rings all the same. [recorder thread]
class RankDrain {
 public:
  RankDrain(int rank, Segment& segment);

  /// Moves what waits, and returns how full the fullest ring was, that of messages too, 0..1.
  /// `nextTrack` is the number of the next track of the run file; `host` is the one whose ticks the
  /// events have.
  double drain(RunFileWriter* writer, std::int32_t& nextTrack, int host);

  /// Writes the gaps that the lanes could not write any more (Note [Gaps]).
  void writeLastGaps(RunFileWriter& writer);

  /// Returns the messages that came since the last call, in order, as JSON.
  std::vector<std::string> takeMessages();

  /// Returns the highest fill of the rank's lanes since the last call, 0..100.
  double takeRingFillPercent();

  [[nodiscard]] int rank() const { return rank_; }
  /// How many events came, gaps not counted.
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] std::uint64_t dropped() const;
  [[nodiscard]] std::uint64_t messagesDropped() const;
  [[nodiscard]] std::uint32_t stepsDone() const { return stepsDone_; }
  [[nodiscard]] std::optional<double> loss() const { return loss_; }
  /// The latest start-up stage that began.
  [[nodiscard]] StartupStage startupStage() const { return startupStage_; }
  [[nodiscard]] const SegmentHeader& wire() const { return segment_.header(); }
  /// The step the rank is in, by its last words.
  [[nodiscard]] std::uint32_t currentStep() const;

 private:
  struct LaneState {
    std::int32_t track = 0;
    std::uint64_t gapEvents = 0;  // in kGap spans of this lane
    std::uint64_t lastTicks = 0;
    std::uint32_t lastStep = 0;
  };

  void take(LaneState& lane, const Event& event, RunFileWriter* writer);
  void noteStartup(std::uint16_t stage);

  int rank_;
  int host_ = kRecordingHost;
  Segment& segment_;
  SegmentReader reader_;
  std::vector<LaneState> lanes_;
  std::vector<std::string> messages_;
  std::uint64_t events_ = 0;
  std::uint32_t stepsDone_ = 0;
  std::optional<double> loss_;
  StartupStage startupStage_ = StartupStage::kSpawn;
  double ringFillPercent_ = 0;
};

}  // namespace lockstep::trace
