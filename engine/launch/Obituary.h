#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/trace/Segment.h"

namespace lockstep::launch {

/// What a rank was last in, read from its last words (which outlive it, kill -9 included).
struct Obituary {
  bool spoke = false;     ///< the rank got as far as its first start-up stage
  bool training = false;  ///< it had begun its first iteration
  bool finished = false;  ///< it said that its work was done
  std::uint32_t step = 0;
  trace::EventKind phase{};      ///< the innermost that was open; 0: between two
  std::uint64_t sinceTicks = 0;  ///< when it began
  /// "in iteration 312, in backward: allreduce of bucket 3 (sequence 1251, hook allreduce)
  /// for 1.2 s", "during start-up, in rendezvous for 3.0 s".
  std::string lastIn;
  /// The same of one that has died: "30.2 ms into iteration 312", "in iteration 312, 1.2 s into
  /// backward: allreduce of bucket 3 (sequence 1251, hook allreduce)".
  std::string diedIn;
  std::string error;  ///< text of the error it ended with, or ""
  trace::Fault fault = trace::Fault::kNone;
  std::vector<int> culprits;  ///< whom that error finds at fault
  bool inputsEnded = false;   ///< it ran out of inputs before the others, and was in no Join
};

/// `clock` converts to nanoseconds; `nowTicks` is when it died or was looked at.
Obituary readLastWords(const trace::LastWords& words, const base::ClockCalibration& clock,
                       std::uint64_t nowTicks);

/// As of now, `start` being an earlier reading of the clock.
Obituary readLastWords(const trace::LastWords& words, const base::ClockReading& start);

/// Returns "SIGKILL" for 9; "signal 77" for one without a name.
std::string signalName(int signal);

}  // namespace lockstep::launch
