#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/cost/Probe.h"
#include "engine/diagnosis/rules/Judges.h"
#include "tests/engine/diagnosis/MadeEvidence.h"

namespace lockstep::diagnosis {
namespace {

using test::healthy;
using test::only;
using test::said;

/// Twelve steps of two ranks, eight gradients of 256 KiB that are ready 1 ms apart, each in a
/// bucket of its own, over a line that takes 3 ms and 1 ns a byte. The last to be ready may have
/// more.
Evidence manySmallBuckets(std::uint64_t lastBytes = 256 * 1024) {
  constexpr double kMs = 1e6;
  constexpr std::uint64_t kBytes = 256 * 1024;
  Evidence evidence = healthy();
  evidence.experiment->ddp.bucketCapMb = evidence.experiment->ddp.firstBucketMb = 0.01;
  analysis::RecordedSteps recorded;
  recorded.settings.experiment = *evidence.experiment;
  recorded.settings.worldSize = 2;
  recorded.layout.layout = 1;
  cost::RecordedRun run;
  run.known = cost::KnownTransfer{1, 3 * kMs};
  for (std::uint32_t parameter = 0; parameter < 8; ++parameter) {
    trace::ParametersMessage::Parameter& of = recorded.parameters.emplace_back();
    of.name = fmt::format("layers.{}.weight", parameter);
    of.bytes = parameter == 0 ? lastBytes : kBytes;
    of.dtype = "float32";
    trace::BucketsMessage::Bucket& bucket = recorded.layout.buckets.emplace_back();
    bucket.parameters = {7 - parameter};
    bucket.bytes = parameter == 7 ? lastBytes : kBytes;
  }
  for (std::uint32_t number = 0; number < 12; ++number) {
    cost::StepRecord& step = run.steps.emplace_back();
    step.step = number;
    for (int rank = 0; rank < 2; ++rank) {
      cost::RankStep& of = step.ranks.emplace_back();
      of.rank = rank;
      of.lastGradientNs = of.waitsNs = 18 * kMs;
      of.computing = {{0, 18 * kMs}};
      for (int parameter = 0; parameter < 8; ++parameter) {
        of.filledNs.push_back((18 - parameter) * kMs);
      }
    }
    double free = 0;
    for (std::uint32_t parameter = 8; parameter-- > 0;) {
      const double ready = (18.0 - parameter) * kMs;
      const std::uint64_t bytes = parameter == 0 ? lastBytes : kBytes;
      free = std::max(free, ready) + 3 * kMs + static_cast<double>(bytes);
      step.buckets.push_back(
          {{parameter}, bytes, {2, cost::BucketPart{ready, ready, free, free, free}}});
    }
    step.ranks[0].endNs = step.ranks[1].endNs = free + kMs;
  }
  evidence.stepMs = run.steps[0].ranks[0].endNs / kMs;
  evidence.forecaster = cost::Forecaster::make(std::move(run));
  evidence.data.parameters = recorded.parameters;
  evidence.recorded = std::move(recorded);
  return evidence;
}

TEST(BucketsTest, OfALatencyEachWantALargerCap) {
  const Evidence evidence = manySmallBuckets();
  ASSERT_TRUE(evidence.forecaster.ok()) << evidence.forecaster.error().message();
  const Finding finding = only(judgeBuckets(evidence));
  EXPECT_GT(finding.savingMs->low, 0.03 * evidence.stepMs);
  EXPECT_FALSE(finding.atMost);
  EXPECT_EQ(finding.title, "buckets are too small");
  EXPECT_NE(finding.sentence.find("in place of 8, and take "), std::string::npos)
      << finding.sentence;
  EXPECT_NE(finding.sentence.find(": each bucket costs a latency, and a rank's own work."),
            std::string::npos);
  ASSERT_EQ(finding.settings.size(), 1u);
  EXPECT_EQ(finding.settings[0].key, "ddp.bucket_cap_mb");
  EXPECT_EQ(finding.remedy, "Set ddp.bucket_cap_mb = " + finding.settings[0].value + ".");
}

TEST(LargeParameterTest, NamesTheOneThatMostBytesAreOf) {
  const Evidence evidence = manySmallBuckets(40 << 20);
  ASSERT_TRUE(evidence.forecaster.ok()) << evidence.forecaster.error().message();
  const Finding finding = only(judgeLargeParameter(evidence));
  EXPECT_EQ(finding.place.parameter, 0u);
  EXPECT_EQ(finding.place.bucket, 7);
  EXPECT_NEAR(finding.savingMs->mean, 41.9, 0.5) << "40 MiB at 1 ns a byte";
  EXPECT_EQ(finding.title, "layers.0.weight is most of what is sent");
  EXPECT_NE(
      finding.sentence.find("The gradient of layers.0.weight alone is 40 MiB of the 41.8 "
                            "MiB that a step reduces: without its transfer the replayed steps "
                            "take "),
      std::string::npos)
      << finding.sentence;
  EXPECT_EQ(finding.remedy,
            "Send less of layers.0.weight: a sparse gradient where a batch uses few of its rows, a "
            "hook that compresses, or one weight in place of two that are tied.");
  EXPECT_TRUE(judgeLargeParameter(manySmallBuckets()).empty()) << "all are alike";
}

TEST(TransferTest, SpeaksOfALinkOrOfTheHostThatCarries) {
  Evidence evidence = healthy();
  analysis::TailReason reason;
  reason.mean.cause = analysis::TailCause::kSlowLink;
  reason.mean.telling = true;
  reason.mean.transferMs = 40;
  reason.mean.calls = 4;
  reason.worst = reason.mean;
  reason.worst.rank = 1;
  evidence.causes = {reason};
  const Finding link = only(judgeTransfer(evidence));
  EXPECT_EQ(link.title, "the link is slow");
  EXPECT_EQ(link.sentence, analysis::explanation(reason.mean));
  EXPECT_EQ(link.remedy,
            "Send fewer bytes or send them less often: a hook that compresses (hook.name), "
            "ddp.sync_every, a larger batch a rank, a faster link.");
  EXPECT_EQ(link.place.rank, 1);
  evidence.causes[0].mean.cause = analysis::TailCause::kMuchTransfer;
  EXPECT_EQ(only(judgeTransfer(evidence)).title, "communication takes long");
  evidence.causes[0].mean.telling = false;
  EXPECT_TRUE(judgeTransfer(evidence).empty());
}

/// Three ranks whose messages to the next rank took these times, in ns, the quickest first.
Evidence withLinks(const std::vector<std::vector<double>>& linksNs) {
  Evidence evidence = healthy();
  for (std::size_t rank = 0; rank < linksNs.size(); ++rank) {
    std::vector<cost::TransferSample> samples{{4096, 1e5, false}};
    for (const double ns : linksNs[rank]) {
      samples.push_back({262'144, ns, false});
    }
    trace::RankInfo& info = evidence.ranks.emplace_back();
    info.rank = static_cast<int>(rank);
    info.environment["next_peer"] = cost::probeText(samples);
  }
  for (const analysis::StepOverlap& step : evidence.steps) {
    Evidence::ExposedTransfers& exposed = evidence.exposedTransfers[step.times.step];
    exposed.ms += 40;
    exposed.ranks += 1;
  }
  return evidence;
}

TEST(SlowRankLinkTest, IsOfTheRankWhoseTwoLinksTakeTwiceAsLongAsAllOthers) {
  const Finding finding = only(judgeRankLink(withLinks({{4e6, 5e6}, {4e6, 9e6}, {0.5e6, 1e6}})));
  EXPECT_EQ(finding.place.rank, 1);
  EXPECT_NEAR(finding.savingMs->mean, 30, 1e-6) << "a quarter of the transfer would remain";
  EXPECT_EQ(said(finding),
            "the link of rank 1 is slow | Before the first step a message of 256 KiB took 4.00 ms "
            "or more to and from rank 1, and 1.00 ms at most between all others: every transfer "
            "goes over it and waits for it. | Look at the network of rank 1's host: its port, its "
            "cable, who else sends there; or run without it.");
}

TEST(SlowRankLinkTest, AccusesNobodyForNoiseOrForWhatCostsNothing) {
  EXPECT_TRUE(judgeRankLink(withLinks({{4e6}, {4e6}, {0.5e6, 3e6}})).empty()) << "it was as slow";
  EXPECT_TRUE(judgeRankLink(withLinks({{4e6}, {0.5e6}, {0.5e6}, {0.5e6}})).empty())
      << "one link is no rank's";
  Evidence hidden = withLinks({{4e6}, {4e6}, {0.5e6}});
  for (auto& [step, exposed] : hidden.exposedTransfers) {
    exposed.ms = 0;
  }
  EXPECT_TRUE(judgeRankLink(hidden).empty());
}

/// A hook that works 15 ms a step and moves its data in 2; plain allreduces would take 6.
Evidence withCostlyHook() {
  Evidence evidence = healthy();
  evidence.experiment->hook.name = "powersgd";
  // 1 ms and 1 ns a byte: two buckets of 1 and 3 MB take 6 ms.
  evidence.ranks.resize(1);
  evidence.ranks[0].environment["probe"] = cost::probeText({{1'000'000, 2e6}, {4'000'000, 5e6}});
  trace::BucketsMessage& layout = evidence.data.layouts.emplace_back();
  layout.buckets.resize(2);
  layout.buckets[0].bytes = 1'000'000;
  layout.buckets[1].bytes = 3'000'000;
  for (std::uint32_t step = 1; step <= 20; ++step) {
    analysis::HookCall& call = evidence.hook.calls.emplace_back();
    call.step = step;
    call.ms[static_cast<std::size_t>(analysis::HookPhase::kEncode)] = 15;
    call.ms[static_cast<std::size_t>(analysis::HookPhase::kTransfer)] = 2;
  }
  return evidence;
}

/// The same on two cores, of which its ranks keep 1.8 busy.
Evidence onTwoCores(Evidence evidence) {
  evidence.info.environment["cores"] = "2";
  evidence.ranks.resize(2);
  for (int rank = 0; rank < 2; ++rank) {
    evidence.ranks[static_cast<std::size_t>(rank)].rank = rank;
    evidence.ranks[static_cast<std::size_t>(rank)].environment["device"] = "cpu";
    evidence.data.busy[rank] = {900, 10};
  }
  return evidence;
}

TEST(HookCostsTest, SetsItsWorkAgainstAPlainAllreduceOfTheSameBuckets) {
  Evidence evidence = withCostlyHook();
  const Finding finding = only(judgeHook(evidence));
  EXPECT_TRUE(finding.atMost);
  EXPECT_NEAR(finding.savingMs->mean, 17, 1e-6) << "all of it, as if what is plain were hidden";
  EXPECT_EQ(
      said(finding),
      "the hook powersgd costs more than it saves | It works 15.00 ms a step and moves its "
      "data in 2.00 ms; plain allreduces of the same buckets would move theirs in 6.00 ms over "
      "this link. | Take the plain allreduce here: hook.name = \"allreduce\".");
  for (analysis::HookCall& call : evidence.hook.calls) {
    call.ms[static_cast<std::size_t>(analysis::HookPhase::kEncode)] = 3;
  }
  EXPECT_TRUE(judgeHook(evidence).empty()) << "it pays";
}

// Of 100 ms 1.8 cores are busy, 30 ms with the two hooks: while they work, 3.5 cores are wanted of
// two, and 15 ms take 26.25.
TEST(HookCostsTest, WhereCoresAreShortWhatItHoldsUpMayBeSavedToo) {
  Evidence evidence = onTwoCores(withCostlyHook());
  const Finding finding = only(judgeHook(evidence));
  EXPECT_TRUE(finding.atMost);
  EXPECT_NEAR(finding.savingMs->mean, 17 + 11.25, 1e-6);
  EXPECT_TRUE(finding.sentence.ends_with(
      " The ranks share 2 cores, too few for its threads beside all else: the step may take up to "
      "11.25 ms more, which none of its spans holds."))
      << finding.sentence;
  evidence.info.environment["cores"] = "4";
  EXPECT_NEAR(only(judgeHook(evidence)).savingMs->mean, 17, 1e-6);
}

// Of 6 ms of work and 2 of transfers 2 are more than plain ones would take, which is not worth
// speaking of; with half of the 5.04 ms that they hold up it is.
TEST(HookCostsTest, HalfOfWhatItMayHoldUpIsCountedAsItsCost) {
  Evidence evidence = onTwoCores(withCostlyHook());
  const auto worksFor = [&](double ms) {
    for (analysis::HookCall& call : evidence.hook.calls) {
      call.ms[static_cast<std::size_t>(analysis::HookPhase::kEncode)] = ms;
    }
    return judgeHook(evidence).size();
  };
  EXPECT_EQ(worksFor(2), 0u);
  EXPECT_EQ(worksFor(6), 1u);
  evidence.info.environment["cores"] = "4";
  EXPECT_EQ(worksFor(6), 0u);
}

}  // namespace
}  // namespace lockstep::diagnosis
