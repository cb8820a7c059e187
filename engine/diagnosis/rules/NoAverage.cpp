#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/NumberText.h"
#include "engine/cost/Sample.h"
#include "engine/diagnosis/rules/Judges.h"

namespace lockstep::diagnosis {
namespace {

// Note [No average is longer]
// The mean of n vectors is no longer than the mean of their lengths (the triangle inequality), and
// their sum is n times as long as their mean. So a bucket that comes back longer than the mean of
// the ranks' norms before is no average of theirs, whatever the gradients are. A hook that sends
// less than the bucket is left out: what it left out of earlier buckets may come with this one.

/// A bucket of a step on its way through the hook.
struct Passage {
  int ranks = 0;
  bool finite = true;
  double before = 0;  ///< sum of the norms of all ranks
  double after = 0;   ///< the same, of what they got back
};

/// By step and bucket.
std::map<std::pair<std::uint32_t, std::uint16_t>, Passage> passagesOf(const Evidence& evidence) {
  std::map<std::pair<std::uint32_t, std::uint16_t>, Passage> passages;
  for (const trace::GradientRow& row : evidence.data.gradients) {
    if (row.gradients.reduced) {
      Passage& passage = passages[{row.step, row.gradients.bucket}];
      passage.ranks += 1;
      passage.finite &= row.gradients.nans + row.gradients.infinities == 0;
      passage.before += row.gradients.norm;
      passage.after += row.gradients.reduced->norm;
    }
  }
  return passages;
}

/// Whether the hook hands to its collectives at least as many bytes as each bucket has.
bool sendsAll(const Evidence& evidence) {
  const auto& buckets = evidence.data.layouts.back().buckets;
  const auto& calls = evidence.hook.calls;
  return !calls.empty() &&
         std::all_of(calls.begin(), calls.end(), [&](const analysis::HookCall& call) {
           return call.bucket < buckets.size() && call.payloadBytes >= buckets[call.bucket].bytes;
         });
}

}  // namespace

std::vector<Finding> judgeAverage(const Evidence& evidence) {
  // What rounding of small numbers may add, and more; no interval, since chance adds nothing.
  constexpr double kClearlyLonger = 1.1;
  constexpr std::size_t kFewestSteps = 3;
  if (!evidence.experiment || evidence.experiment->hook.isOwn() ||
      !evidence.info.driftingHook.empty() || evidence.data.layouts.empty() || !sendsAll(evidence)) {
    return {};
  }
  std::map<std::uint32_t, std::vector<double>> ratios;  // by step
  std::optional<std::pair<std::uint32_t, std::uint16_t>> first;
  for (const auto& [at, passage] : passagesOf(evidence)) {
    if (passage.ranks == evidence.info.worldSize && passage.finite && passage.before > 0) {
      ratios[at.first].push_back(passage.after / passage.before);
      first = first ? first : at;
    }
  }
  std::vector<double> samples;
  for (auto& [step, of] : ratios) {
    samples.push_back(*cost::median(std::move(of)));
  }
  if (samples.size() < kFewestSteps) {
    return {};
  }
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
  if (*least < kClearlyLonger) {
    return {};
  }
  const std::string& hook = evidence.experiment->hook.name;
  Finding finding;
  finding.weight = Weight::kWrong;
  finding.title = fmt::format("the hook {} does not average", hook);
  finding.sentence = fmt::format(
      "In each of the {} that were looked at, what it gives back is longer than the ranks' own "
      "gradients are, by their norms: {:.2f} to {:.2f} times. An average is never longer; a sum "
      "over {} is up to {} times as long.",
      base::countedText(samples.size(), "step"), *least, *most,
      base::countedText(static_cast<std::uint64_t>(evidence.info.worldSize), "rank"),
      evidence.info.worldSize);
  finding.remedy = fmt::format(
      "Divide by the number of ranks in the hook, once; lockstep hooks {} --verify compares it "
      "with "
      "the plain average.",
      hook);
  finding.place = {.step = first->first, .bucket = first->second, .phase = "backward"};
  return {finding};
}

}  // namespace lockstep::diagnosis
