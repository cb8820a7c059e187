#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/trace/Messages.h"
#include "engine/trace/RankAgreement.h"
#include "engine/trace/RunFile.h"

namespace lockstep::trace {

class DivergenceWatch;
class Recorder;

/// What becomes of the ranks' messages: rows of the run file, facts of the run and its ranks, and
/// problems where a rank says other than rank 0. [recorder thread]
class RankMessages {
 public:
  /// Both outlive this. `recorder` is told the facts, `divergence` all that it judges by.
  RankMessages(Recorder& recorder, DivergenceWatch& divergence)
      : recorder_(recorder), divergence_(divergence) {}

  /// Takes a message as the rank sent it (Messages.h). Without a writer no row is written.
  void take(int rank, const std::string& text, RunFileWriter* writer);

 private:
  void take(int rank, ParametersMessage message);
  void take(int rank, BucketsMessage message);
  void take(int rank, EnvironmentMessage message);
  void take(int rank, DdpLoggingMessage message);
  void take(int rank, EvaluationMessage message);
  void take(int rank, const BadLossMessage& message);
  void take(int rank, SummaryMessage message);
  void take(int rank, const FingerprintMessage& message);
  void take(int rank, const GradientsMessage& message);
  void take(int rank, ProblemMessage message);
  void problem(std::string severity, int rank, std::uint32_t step, std::string text);

  Recorder& recorder_;
  DivergenceWatch& divergence_;
  RunFileWriter* writer_ = nullptr;  // of the message that is taken
  Agreement<ParametersMessage> parameters_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Agreement<BucketsMessage>> layouts_;
  std::map<std::pair<int, std::uint32_t>, std::uint32_t> layoutLives_;
  std::map<std::uint32_t, std::vector<BucketsMessage::Bucket>> layoutsOfRank0_;
};

}  // namespace lockstep::trace
