#pragma once

#include <cstdint>

namespace lockstep::base {

/// Exit codes of `lockstep`, `lockstep-rank` and `lockstep-hookscan`.
enum class ExitCode : std::uint8_t {
  kOk = 0,
  kUnexpected = 1,    ///< a defect of ours, or an exception nobody expected
  kBadInput = 2,      ///< command line, experiment file, data file, run file
  kEnvironment = 3,   ///< port taken, output not writable, library or device missing
  kCommFailed = 4,    ///< a collective or the store failed or timed out
  kRankKilled = 5,    ///< a rank was ended by a signal
  kHookFailed = 6,    ///< a communication hook reported or caused an error
  kTimeout = 7,       ///< start-up or shut-down took longer than its limit
  kDiverged = 8,      ///< training went to its end, but its result is worthless: replicas differ
                      ///< against their hook's word, or a loss or parameter is not finite
  kInterrupted = 130  ///< Ctrl-C or `lockstep stop`
};

}  // namespace lockstep::base
