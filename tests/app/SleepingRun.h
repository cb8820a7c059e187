#pragma once

#include <filesystem>
#include <string>

#include "engine/experiment/Experiment.h"

namespace lockstep::cli {

/// Writes a finished run of two ranks, as one of sleeping layers would be to the nanosecond: eight
/// gradients of 0.25 MiB each, `ddp`'s buckets, and a link that is taken for 0.2 ms (twice
/// `latencyUs`) and 4 ns a byte by each of them, one at a time. In each of `steps` iterations the
/// gradients 7 to 0 are ready at 11, 12, ... 18 ms on rank 0 and as much later on rank 1 as
/// `lateMs`; an iteration ends 1 ms after the last bucket. The first iteration used the buckets of
/// the construction.
struct SleepingRun {
  int steps = 10;
  double lateMs = 0;
  bool observed = false;         ///< as a job that was only recorded: it has no settings
  /// The hook fp16: half of each bucket travels, once it is encoded, in 0.5 ms from when it is
  /// full; 0.25 ms after it has come it is decoded.
  bool halves = false;
  double latencyUs = 100;
  std::string layers;            ///< a file of kSleepingLayers: the settings can be run
  bool linkInSettings = true;    ///< else it is as if a real network had been so fast
  std::string strategy = "ddp";  ///< in the settings; with another one there are no buckets
  experiment::DdpConfig ddp;

  void writeTo(const std::filesystem::path& path) const;
};

/// The layers of such a run, as model.file takes them.
extern const char* const kSleepingLayers;

}  // namespace lockstep::cli
