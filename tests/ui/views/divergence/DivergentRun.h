#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <utility>

#include "engine/base/Result.h"
#include "tests/engine/analysis/HandMadeRun.h"
#include "ui/views/divergence/DivergenceFacts.h"

namespace lockstep::ui::test {

/// What is wrong in the run of `writeDivergentRun`.
inline constexpr std::uint32_t kFlippedStep =
    30;  ///< rank 1 differs from here on, sampled every 10
inline constexpr std::uint32_t kFlippedParameter = 2;  ///< "conv2.weight"
inline constexpr std::uint32_t kNanStep = 20;          ///< of rank 1's gradients, in bucket 0
inline constexpr std::uint32_t kMismatchStep = 40;     ///< rank 1 calls broadcast for bucket 2

/// Writes the demo run of two ranks with fingerprints and gradient checks, and its faults where
/// `faulty` says so.
base::Status writeDivergentRun(const std::filesystem::path& path, bool faulty = true);

/// Returns the facts of a run that was made by hand.
inline std::shared_ptr<const DivergenceFacts> factsOfRun(analysis::RunData data,
                                                         bool complete = true,
                                                         const QString& driftingHook = {}) {
  auto run = std::make_shared<AnalysedRun>();
  run->data = std::move(data);
  run->analysis = analysis::analyse(run->data);
  FactsInput input;
  input.run = run;
  input.complete = complete;
  input.driftingHook = driftingHook;
  return divergenceFacts(std::move(input));
}

/// Adds what one rank recorded of one parameter.
inline void addFingerprint(analysis::RunData& data, int rank, std::uint32_t step,
                           std::uint32_t parameter, std::uint64_t hash, double norm = 1) {
  trace::FingerprintRow row;
  row.rank = rank;
  row.step = step;
  row.parameter = parameter;
  row.hash = hash;
  row.norm = norm;
  data.fingerprints.push_back(row);
}

/// Two ranks, `samples` samples ten steps apart, `parameters` parameters, equal but for one
/// parameter at one sample; none differs when that sample is beyond the last.
inline analysis::RunData replicas(std::size_t samples, std::uint32_t parameters,
                                  std::size_t badSample, std::uint32_t badParameter) {
  analysis::RunData data;
  for (int rank = 0; rank < 2; ++rank) {
    data.tracks.push_back({rank, rank, "step"});
    for (std::size_t sample = 0; sample < samples; ++sample) {
      for (std::uint32_t parameter = 0; parameter < parameters; ++parameter) {
        const bool bad = rank == 1 && sample == badSample && parameter == badParameter;
        addFingerprint(data, rank, static_cast<std::uint32_t>(sample * 10), parameter,
                       bad ? 666 : 100 + parameter, bad ? 1.5 : 1);
      }
    }
  }
  return data;
}

}  // namespace lockstep::ui::test
