#include "app/cli/FollowText.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "app/cli/ProgressLine.h"
#include "app/cli/TextTable.h"
#include "engine/base/NumberText.h"
#include "engine/base/PlainText.h"

namespace lockstep::cli {
namespace {

constexpr int kBarWidth = 24;
constexpr std::size_t kFindings = 3;

std::string ms(const std::optional<double>& value) {
  return value ? base::msText(*value) : "-";
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::string titleOf(const FollowedState& state) {
  return fmt::format("{}  {}  {}", state.info.name,
                     base::countedText(static_cast<std::uint64_t>(state.info.worldSize), "rank"),
                     trace::name(state.info.state));
}

std::string stepsOf(const FollowedState& state) {
  const auto& recorder = state.progress.recorder;
  const std::string text = progressText(state.progress, state.analysis.wallStepsPerSecond);
  return recorder.plannedSteps == 0
             ? text
             : progressBar(recorder.steps.front(), recorder.plannedSteps, kBarWidth) + " " + text;
}

std::vector<std::string> findingsOf(const FollowedState& state) {
  const auto& findings = state.diagnosis.findings;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min(findings.size(), kFindings); ++i) {
    lines.push_back(fmt::format("{}. {}", i + 1, diagnosis::headlineOf(findings[i])));
  }
  if (lines.empty() && !state.diagnosis.nothing.empty()) {
    lines.push_back(state.diagnosis.nothing);
  }
  return lines;
}

/// Its heading and at most `room` lines more; of more ranks than that those whose coming last cost
/// the others most.
std::vector<std::string> ranksOf(const FollowedState& state, std::size_t room) {
  std::vector<const analysis::RankAnalysis*> ranks;
  for (const analysis::RankAnalysis& rank : state.analysis.ranks) {
    ranks.push_back(&rank);
  }
  if (ranks.empty() || room < 2) {
    return {};
  }
  const std::size_t left = ranks.size() > room ? ranks.size() - room + 1 : 0;
  if (left > 0) {
    std::stable_sort(ranks.begin(), ranks.end(), [](const auto* a, const auto* b) {
      return a->waitingCausedMs > b->waitingCausedMs;
    });
    ranks.resize(ranks.size() - left);
  }
  TextTable table({"rank", "step ms", "exposed ms", "overlap %", "waiting ms", "last", ""});
  for (const analysis::RankAnalysis* rank : ranks) {
    const std::string overlap =
        rank->overlapPercent ? fmt::format("{:.1f}", *rank->overlapPercent) : "-";
    table.add({std::to_string(rank->rank), ms(rank->stepMs), ms(rank->exposedMs), overlap,
               ms(rank->waitingMs), std::to_string(rank->lastArrivals),
               state.analysis.isLate(rank->rank) ? "late" : ""});
  }
  std::vector<std::string> lines = linesOf(table.text());
  if (left > 0) {
    lines.push_back(
        fmt::format("  and {} for which the others waited less", base::countedText(left, "rank")));
  }
  return lines;
}

const char* stageName(analysis::BucketStage stage) {
  switch (stage) {
    case analysis::BucketStage::kEmpty:
    case analysis::BucketStage::kFilling:
      return "filling";
    case analysis::BucketStage::kReady:
      return "ready";
    case analysis::BucketStage::kLaunched:
      return "launched";
    case analysis::BucketStage::kInFlight:
      return "in flight";
    case analysis::BucketStage::kDone:
      return "done";
  }
  return "";
}

/// Its heading and at most `room` lines more; of more buckets than that those that are not done
/// before those that are.
std::vector<std::string> bucketsOf(const FollowedState& state, std::size_t room) {
  const std::size_t count = state.buckets.size();
  if (count == 0 || room < 2) {
    return {};
  }
  std::vector<std::string> lines{
      fmt::format("buckets of rank {}, step {}", state.bucketRank, state.bucketStep)};
  const std::size_t shown = count <= room ? count : room - 1;
  std::size_t first = 0;
  while (count - first > shown && state.buckets[first].stage == analysis::BucketStage::kDone) {
    ++first;
  }
  for (std::size_t i = first; i < first + shown; ++i) {
    const BucketProgress& bucket = state.buckets[i];
    lines.push_back(fmt::format("  {:>4}  {:>8}  {} {}", bucket.bucket,
                                base::bytesText(static_cast<double>(bucket.bytes)),
                                bucketBar(bucket, kBarWidth), stageName(bucket.stage)));
  }
  if (shown < count) {
    lines.push_back(fmt::format("  and {}", base::countedText(count - shown, "bucket")));
  }
  return lines;
}

/// As much of a line as a screen is wide; in UTF-8 no character is cut in two.
std::string clipped(const std::string& line, std::size_t columns) {
  std::size_t end = 0;
  for (std::size_t taken = 0; end < line.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(line[end]) & 0xC0) != 0x80;
    if (begins && taken++ == columns) {
      break;
    }
  }
  return line.substr(0, end);
}

}  // namespace

std::string bucketBar(const BucketProgress& bucket, int width) {
  switch (bucket.stage) {
    case analysis::BucketStage::kInFlight:
      return fmt::format("[{:=<{}}]", "", width);
    case analysis::BucketStage::kEmpty:
    case analysis::BucketStage::kFilling:
      return progressBar(static_cast<std::uint32_t>(bucket.ready),
                         static_cast<std::uint32_t>(bucket.parameters), width);
    default:
      return fmt::format("[{:#<{}}]", "", width);
  }
}

std::vector<std::string> followLines(const FollowedState& state, const ScreenSize& size) {
  std::vector<std::string> lines{titleOf(state), stepsOf(state)};
  const auto append = [&lines](const std::vector<std::string>& more) {
    if (!more.empty()) {
      lines.emplace_back();
      lines.insert(lines.end(), more.begin(), more.end());
    }
  };
  append(findingsOf(state));
  std::vector<std::string> problems;
  for (const trace::ProblemRow& problem : state.problems) {
    problems.push_back(problem.severity + ": " + problem.text);
  }
  const std::size_t most = std::max<std::size_t>(size.rows, 2) - 1;
  // Ranks and buckets share what is left, less their headings and the empty lines before these.
  constexpr std::size_t kAround = 4;
  const std::size_t taken = lines.size() + kAround + (problems.empty() ? 0 : problems.size() + 1);
  const std::size_t room = most > taken ? most - taken : 0;
  const std::size_t ranks = state.analysis.ranks.size();
  const std::size_t buckets = state.buckets.size();
  const std::size_t forRanks =
      std::max(std::min(ranks, room / 2), room > buckets ? room - buckets : 0);
  append(ranksOf(state, forRanks));
  append(bucketsOf(state, room - std::min(forRanks, ranks)));
  append(problems);
  lines.resize(std::min(lines.size(), most));
  for (std::string& line : lines) {
    line = clipped(base::plainText(line), size.columns - 1);
  }
  return lines;
}

}  // namespace lockstep::cli
