#include "engine/trace/RankMessages.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "engine/base/Clock.h"
#include "engine/trace/DivergenceWatch.h"
#include "engine/trace/Recorder.h"

namespace lockstep::trace {

void RankMessages::take(int rank, const std::string& text, RunFileWriter* writer) {
  writer_ = writer;
  // A message that is not understood is a problem of the run and not the end of it: the rank may
  // be of another version.
  base::Result<Message> message = messageFromJson(text);
  if (message.ok()) {
    std::visit([&](auto& content) { take(rank, std::move(content)); }, message.value());
  } else {
    problem("warning", rank, 0,
            fmt::format("a message of rank {} was not understood: {}", rank,
                        message.error().message()));
  }
}

void RankMessages::take(int rank, ParametersMessage message) {
  // The file has one list of parameters: rank 0's. What another rank has different is a problem.
  if (rank == 0 && writer_ != nullptr) {
    writer_->setParameters(message);
    divergence_.setNames(message);
  }
  for (const auto& [other, text] : parameters_.add(rank, std::move(message))) {
    problem("error", other, 0, "the ranks' models differ: " + text);
  }
}

void RankMessages::take(int rank, BucketsMessage message) {
  // Ranks that were started again say it again, each when it gets there: the second is compared
  // with the second, and what the file has of the first stays where nothing is new.
  const std::uint32_t life = layoutLives_[{rank, message.layout}]++;
  if (rank == 0 && writer_ != nullptr) {
    const auto [known, isFirst] = layoutsOfRank0_.try_emplace(message.layout, message.buckets);
    if (isFirst || known->second != message.buckets) {
      known->second = message.buckets;
      writer_->addLayout(message);
    }
  }
  const std::uint32_t step = message.step;
  for (const auto& [other, text] : layouts_[{message.layout, life}].add(rank, std::move(message))) {
    problem("error", other, step, "the ranks' buckets differ: " + text);
  }
}

void RankMessages::take(int rank, EnvironmentMessage message) {
  if (const auto planned = message.values.find("planned_steps");
      rank == 0 && planned != message.values.end()) {
    // Only a rank knows it when the experiment counts epochs.
    const std::string& text = planned->second;
    recorder_.updateInfo([&](RunInfo& info) {
      std::from_chars(text.data(), text.data() + text.size(), info.plannedSteps);
    });
  }
  if (const auto hook = message.values.find(kHook);
      hook != message.values.end() && recorder_.info().kind == RunKind::kExperiment) {
    divergence_.setPlugin(hook->second);
  }
  if (const auto hook = message.values.find(kDriftingHook); hook != message.values.end()) {
    recorder_.updateInfo([&](RunInfo& info) { info.driftingHook = hook->second; });
    divergence_.letDrift();
  }
  if (message.values.contains(kIgnoredParameters)) {
    divergence_.ignoreHashes();
  }
  recorder_.updateRank(rank, [&](RankInfo& info) {
    for (auto& [key, value] : message.values) {
      info.environment.insert_or_assign(key, std::move(value));
    }
  });
}

void RankMessages::take(int rank, DdpLoggingMessage message) {
  // A message has no time of its own: it gets the recorder's, within a pass of the rank's.
  const std::uint64_t now = base::ticks();
  for (auto& [name, value] : message.numbers) {
    if (writer_ != nullptr) {
      writer_->addMetric(MetricRow{0, rank, name, message.step, now, value});
    }
  }
  if (message.facts.empty()) {
    return;
  }
  recorder_.updateRank(rank, [&](RankInfo& info) {
    for (auto& [name, value] : message.facts) {
      info.environment.insert_or_assign(kDdpLoggingPrefix + name, std::move(value));
    }
  });
}

void RankMessages::take(int rank, EvaluationMessage message) {
  divergence_.take(rank, message);
  const std::uint64_t now = base::ticks();
  if (writer_ != nullptr) {
    writer_->addMetric(MetricRow{0, rank, "test_loss", message.step, now, message.loss});
    writer_->addMetric(MetricRow{0, rank, "test_accuracy", message.step, now, message.accuracy});
  }
}

void RankMessages::take(int rank, const BadLossMessage& message) {
  divergence_.take(rank, message);
}

void RankMessages::take(int rank, SummaryMessage message) {
  divergence_.take(rank, message);
  if (writer_ != nullptr && message.steps > 0) {
    writer_->addMetric(
        MetricRow{0, rank, "final_loss", message.steps - 1, base::ticks(), message.loss});
  }
  recorder_.updateRank(
      rank, [&](RankInfo& info) { info.parameterHash = std::move(message.parameterHash); });
}

void RankMessages::take(int rank, const FingerprintMessage& message) {
  if (writer_ != nullptr) {
    writer_->addFingerprint(rank, message);
  }
  divergence_.take(rank, message);
}

void RankMessages::take(int rank, const GradientsMessage& message) {
  divergence_.take(rank, message);
  if (writer_ == nullptr) {
    return;
  }
  double squares = 0;
  for (const GradientsMessage::Bucket& bucket : message.buckets) {
    const bool finite = bucket.nans == 0 && bucket.infinities == 0;
    // The norm of a bucket is of its finite elements alone: the whole's is then not known.
    squares += finite ? bucket.norm * bucket.norm : std::numeric_limits<double>::quiet_NaN();
  }
  writer_->addMetric(
      MetricRow{0, rank, "gradient_norm", message.step, base::ticks(), std::sqrt(squares)});
  writer_->addGradients(rank, message);
}

void RankMessages::take(int rank, ProblemMessage message) {
  problem(message.severity, rank, message.step, std::move(message.text));
}

void RankMessages::problem(std::string severity, int rank, std::uint32_t step, std::string text) {
  if (writer_ != nullptr) {
    writer_->addProblem(ProblemRow{0, std::move(severity), rank, step, std::move(text)});
  }
}

}  // namespace lockstep::trace
