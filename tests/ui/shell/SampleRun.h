#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "engine/experiment/Experiment.h"
#include "engine/trace/RunFile.h"

namespace lockstep::tests {

/// Writes a run file as a run of two ranks would leave it, step by step, without training:
/// six parameters in three buckets, one collective a bucket, rank 1 always late.
class SampleRun {
 public:
  static constexpr int kRanks = 2;
  static constexpr std::int64_t kStepNs = 20'000'000;
  static constexpr std::int64_t kLateNs = 400'000;  ///< rank 1 at every collective

  /// Creates the file in state "starting". The clock of the run starts now.
  SampleRun(const std::filesystem::path& path, std::uint32_t plannedSteps,
            const std::string& name = "demo");

  /// Adds the start-up spans of every rank, and the state "running".
  void startUp();
  /// Adds the next iteration of every rank and commits.
  void step();
  void steps(int count) {
    for (int i = 0; i < count; ++i) step();
  }
  /// Rank 1 comes so much later to its collectives from now on.
  void late(std::int64_t ns) { lateNs_ = ns; }
  /// From now on every step searches for unused parameters for so long, and finds none; the
  /// experiment asks for that.
  void searchUnused(std::int64_t ns);
  void log(int rank, const std::string& text);
  void problem(const trace::ProblemRow& problem);
  void drop(std::uint64_t events);
  /// What the ranks say that carries their collectives.
  void backend(const std::string& taken);
  /// Moves rank 1 to a host of its own, whose clock is 5.012 ms ahead and known that well.
  void twoHosts(std::int64_t uncertaintyNs);
  /// Says something else about the run as a whole.
  void setInfo(const trace::RunInfo& info);
  /// Writes the results, the state and leaves one file.
  void finish(trace::RunState state, const std::string& failure = {});
  void commit();

  /// When the next iteration would begin, on the clock of the run.
  [[nodiscard]] std::int64_t nextStepNs() const { return nowNs_; }

 private:
  void event(std::int32_t track, trace::EventKind kind, std::int64_t startNs,
             std::int64_t durationNs, std::uint16_t bucket = trace::kNoBucket,
             std::uint16_t detail = 0, std::uint64_t value = 0);
  void stepOf(int rank);
  [[nodiscard]] std::uint64_t ticksAt(std::int64_t ns) const;

  std::unique_ptr<trace::RunFileWriter> writer_;
  trace::RunInfo info_;
  experiment::Experiment experiment_;
  base::ClockCalibration clock_;
  std::int64_t nowNs_ = 0;
  std::int64_t lateNs_ = kLateNs;
  std::int64_t searchNs_ = 0;
  std::uint32_t step_ = 0;
  std::uint32_t sequence_ = 0;
  int hostOfRank1_ = 0;
};

/// Writes a finished run of `steps` iterations.
void writeFinishedRun(const std::filesystem::path& path, int steps,
                      const std::string& name = "demo");

/// Writes a finished run without iterations that says this of itself, beside its ranks.
void writeRunThatSays(const std::filesystem::path& path, trace::RunInfo info);

}  // namespace lockstep::tests
