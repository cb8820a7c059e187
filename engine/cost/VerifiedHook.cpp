#include "engine/cost/VerifiedHook.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "engine/base/NumberText.h"

namespace lockstep::cost {
namespace {

constexpr double kSameShare = 0.1;  // of each other, shares of unlike numbers of ranks
constexpr double kAlsoHolds = 2;    // times the largest bucket that was verified
constexpr double kBeyond = 0.5;     // of the work on a larger one may be more, or less

base::Error notKnown(std::string why) {
  return {base::ExitCode::kBadInput, std::move(why), ""};
}

bool isMeasured(const VerifiedOnRanks& run) {
  return run.ranks > 1 && run.elements > 0 && run.bytes > 0 && run.sentBytes > 0 &&
         !run.calls.encode.empty();
}

double shareOf(const VerifiedOnRanks& run) {
  const double ofRing = 2.0 * (run.ranks - 1) / run.ranks * static_cast<double>(run.bytes);
  return static_cast<double>(run.sentBytes) / ofRing;
}

/// The share on each of the numbers of ranks; none: it is not one.
std::optional<double> shareOn(const VerifiedHook& hook, const std::vector<int>& ranks) {
  const auto [least, most] = std::ranges::minmax(hook.runs, {}, shareOf);
  if (shareOf(most) <= (1 + kSameShare) * shareOf(least)) {
    return (shareOf(most) + shareOf(least)) / 2;
  }
  std::optional<double> share;
  for (const int number : ranks) {
    const auto run = std::ranges::find(hook.runs, number, &VerifiedOnRanks::ranks);
    if (run == hook.runs.end() || (share && *share != shareOf(*run))) {
      return std::nullopt;
    }
    share = shareOf(*run);
  }
  return share;
}

std::uint64_t largestBytes(const HookCalls& calls) {
  std::uint64_t most = 0;
  for (const TransferSample& call : calls.encode) {
    most = std::max(most, call.bytes);
  }
  return most;
}

std::vector<int> ranksOf(const VerifiedHook& hook) {
  std::vector<int> ranks;
  for (const VerifiedOnRanks& run : hook.runs) {
    ranks.push_back(run.ranks);
  }
  return ranks;
}

}  // namespace

base::Result<VerifiedWork> verifiedWork(const VerifiedHook& hook, const std::vector<int>& ranks,
                                        double bucketBytes) {
  const std::string& name = hook.hook.name;
  if (hook.runs.empty() || !std::ranges::all_of(hook.runs, isMeasured)) {
    return notKnown(fmt::format("the verification of {} saw it send nothing", name));
  }
  if (!std::ranges::all_of(hook.runs, &VerifiedOnRanks::sameResult)) {
    return notKnown(
        fmt::format("{} leaves ranks with unlike results, so that its steps are not alike; a run "
                    "with that hook tells more",
                    name));
  }
  VerifiedWork of;
  of.work.share = shareOn(hook, ranks);
  if (!of.work.share) {
    return notKnown(
        fmt::format("{} sends otherwise among other ranks than an allreduce does, and was verified "
                    "on {} ranks",
                    name, fmt::join(ranksOf(hook), " and ")));
  }
  // Of the fewest ranks: more of them share the machine's cores.
  const VerifiedOnRanks& measured =
      *std::ranges::min_element(hook.runs, {}, &VerifiedOnRanks::ranks);
  fitWork(measured.calls, of.work);
  of.work.aroundStepNs = measured.aroundStepNs;
  const auto most = static_cast<double>(largestBytes(measured.calls));
  const auto typical = static_cast<std::uint64_t>(bucketBytes);
  const double workNs = of.work.encode.ns(typical) + of.work.decode.ns(typical);
  const bool isBeyond = bucketBytes > kAlsoHolds * most;
  of.work.offNs = std::hypot(of.work.offNs, isBeyond ? kBeyond * workNs : 0);
  const double elementBytes =
      static_cast<double>(measured.bytes) / static_cast<double>(measured.elements);
  of.text = fmt::format(
      "The hook {} is taken as it was verified on this machine, on {} ranks: of each {:g} bytes it "
      "sends {:.2f}, counted as one allreduce, and it works {} on a bucket of {}, give or take "
      "{}.{}",
      name, fmt::join(ranksOf(hook), " and "), elementBytes, *of.work.share * elementBytes,
      base::durationText(workNs), base::bytesText(bucketBytes), base::durationText(of.work.offNs),
      isBeyond ? fmt::format(" Buckets so large it was not verified with: {} were the most.",
                             base::bytesText(most))
               : "");
  return of;
}

}  // namespace lockstep::cost
