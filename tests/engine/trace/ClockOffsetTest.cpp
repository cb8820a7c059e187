#include "engine/trace/ClockOffset.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

namespace lockstep::trace {
namespace {

constexpr std::int64_t kUs = 1'000;
constexpr std::int64_t kMs = 1'000 * kUs;
constexpr std::int64_t kSecond = 1'000 * kMs;

/// Two hosts whose clocks are known to the test alone.
struct TwoHosts {
  std::int64_t offsetNs = 5 * kMs;  // of the other one's clock when the one here says 0
  double driftPpm = 0;

  [[nodiscard]] std::int64_t thereNs(std::int64_t hereNs) const {
    return hereNs + offsetNs + std::llround(static_cast<double>(hereNs) * driftPpm / 1e6);
  }
  [[nodiscard]] std::int64_t offsetAt(std::int64_t hereNs) const {
    return thereNs(hereNs) - hereNs;
  }
  /// A question sent at `hereNs`, and its answer.
  [[nodiscard]] PingSample ping(std::int64_t hereNs, std::int64_t forthNs, std::int64_t thereForNs,
                                std::int64_t backNs) const {
    return {hereNs, thereNs(hereNs + forthNs), thereNs(hereNs + forthNs + thereForNs),
            hereNs + forthNs + thereForNs + backNs};
  }
};

/// One way through a network: 20 µs and, mostly, some more.
class JitteryWay {
 public:
  std::int64_t operator()() {
    const double uniform = (static_cast<double>(random_()) + 0.5) / 4294967296.0;
    return 20 * kUs + static_cast<std::int64_t>(-std::log(uniform) * 200 * kUs);
  }

 private:
  std::mt19937 random_{20'240'506};
};

void expectWithin(const std::optional<ClockOffset>& found, std::int64_t truth) {
  ASSERT_TRUE(found.has_value());
  EXPECT_LE(std::abs(found->offsetNs - truth), found->uncertaintyNs)
      << found->offsetNs << " +- " << found->uncertaintyNs << " for " << truth;
}

TEST(ClockOffsetTest, KnowsNothingBeforeTheFirstExchange) {
  const ClockOffsetEstimator estimator;
  EXPECT_FALSE(estimator.at(0).has_value());
  EXPECT_FALSE(estimator.clock({}).has_value());
}

TEST(ClockOffsetTest, FindsFiveMillisecondsThroughEqualWays) {
  const TwoHosts hosts;
  ClockOffsetEstimator estimator;
  EXPECT_EQ(estimator.add(hosts.ping(kSecond, 40 * kUs, 7 * kMs, 40 * kUs)),
            ClockOffsetEstimator::Taken::kYes);
  const auto found = estimator.at(kSecond + 7 * kMs + 80 * kUs);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->offsetNs, 5 * kMs);
  EXPECT_NEAR(static_cast<double>(found->uncertaintyNs), 40e3, 300)
      << "half of the round trip without the time there";
}

TEST(ClockOffsetTest, KeepsTheTruthWithinItsBoundWhenOneWayIsSlow) {
  const TwoHosts hosts;
  for (const auto& [forth, back] :
       {std::pair{10 * kUs, 400 * kUs}, std::pair{400 * kUs, 0 * kUs}}) {
    ClockOffsetEstimator estimator;
    estimator.add(hosts.ping(kSecond, forth, 0, back));
    const auto found = estimator.at(kSecond + forth + back);
    expectWithin(found, 5 * kMs);
    EXPECT_GT(std::abs(found->offsetNs - 5 * kMs), 190 * kUs) << "the middle is off by as much";
  }
}

TEST(ClockOffsetTest, TakesTheShortestWayForthAndTheShortestBackOfDifferentExchanges) {
  const TwoHosts hosts;
  ClockOffsetEstimator estimator;
  estimator.add(hosts.ping(kSecond, 10 * kUs, 0, 900 * kUs));
  estimator.add(hosts.ping(kSecond + kMs, 900 * kUs, 0, 10 * kUs));
  const auto found = estimator.at(kSecond + 2 * kMs);
  expectWithin(found, 5 * kMs);
  EXPECT_LT(found->uncertaintyNs, 11 * kUs) << "either exchange alone says 455 us";
}

TEST(ClockOffsetTest, NarrowsThroughJitterAndNeverLosesTheTruth) {
  const TwoHosts hosts{-3 * kMs, 0};
  JitteryWay way;
  ClockOffsetEstimator estimator;
  for (int i = 0; i < 64; ++i) {
    const PingSample sample = hosts.ping(kSecond + i * kMs, way(), 5 * kUs, way());
    ASSERT_EQ(estimator.add(sample), ClockOffsetEstimator::Taken::kYes);
    expectWithin(estimator.at(sample.receivedNs), -3 * kMs);
  }
  EXPECT_LT(estimator.at(kSecond + 64 * kMs)->uncertaintyNs, 30 * kUs)
      << "near the 20 us that no way goes below";
  EXPECT_EQ(estimator.restarts(), 0);
}

TEST(ClockOffsetTest, ASlowExchangeIsOfNoUseAndNoHarm) {
  const TwoHosts hosts;
  ClockOffsetEstimator estimator;
  estimator.add(hosts.ping(kSecond, 30 * kUs, 0, 30 * kUs));
  estimator.add(hosts.ping(kSecond + kMs, 80 * kMs, 0, 30 * kUs));
  EXPECT_LT(estimator.at(kSecond + 82 * kMs)->uncertaintyNs, 34 * kUs);
}

TEST(ClockOffsetTest, GrowsWiderByTheDriftThatIsAssumed) {
  const TwoHosts hosts;
  ClockOffsetEstimator estimator({.driftPpm = 10});
  estimator.add(hosts.ping(kSecond, 30 * kUs, 0, 30 * kUs));
  EXPECT_NEAR(static_cast<double>(estimator.at(11 * kSecond)->uncertaintyNs), 130e3, 10)
      << "10 us a second on top of 30";
}

TEST(ClockOffsetTest, LeavesOutReadingsThatCannotBe) {
  const TwoHosts hosts;
  ClockOffsetEstimator estimator;
  const PingSample good = hosts.ping(kSecond, 30 * kUs, 10 * kUs, 30 * kUs);
  PingSample backwards = good;
  std::swap(backwards.sentNs, backwards.receivedNs);
  PingSample answeredFirst = good;
  std::swap(answeredFirst.receivedThereNs, answeredFirst.answeredThereNs);
  PingSample longerThere = good;
  longerThere.answeredThereNs += kMs;
  for (const PingSample& sample : {backwards, answeredFirst, longerThere}) {
    EXPECT_EQ(estimator.add(sample), ClockOffsetEstimator::Taken::kImpossible);
  }
  EXPECT_FALSE(estimator.at(kSecond).has_value());
}

TEST(ClockOffsetTest, StartsAnewWhenAClockWasStepped) {
  TwoHosts hosts;
  ClockOffsetEstimator estimator;
  for (int i = 0; i < 10; ++i) {
    estimator.add(hosts.ping(kSecond + i * kMs, 30 * kUs, 0, 30 * kUs));
  }
  hosts.offsetNs += kMs;
  const PingSample after = hosts.ping(2 * kSecond, 30 * kUs, 0, 30 * kUs);
  EXPECT_EQ(estimator.add(after), ClockOffsetEstimator::Taken::kStartedAnew);
  EXPECT_EQ(estimator.restarts(), 1);
  expectWithin(estimator.at(after.receivedNs), 6 * kMs);
  const auto clock = estimator.clock({});
  EXPECT_LT(clock->offset.uncertaintyNs, 35 * kUs) << "what was known before counts no more";
  EXPECT_EQ(estimator.add(hosts.ping(2 * kSecond + kMs, 30 * kUs, 0, 30 * kUs)),
            ClockOffsetEstimator::Taken::kYes);
}

TEST(ClockOffsetTest, NoticesADriftAboveTheBound) {
  const TwoHosts hosts{5 * kMs, 400};
  ClockOffsetEstimator estimator({.driftPpm = 30});
  for (std::int64_t now = kSecond; now < 20 * kSecond; now += kSecond) {
    const PingSample sample = hosts.ping(now, 30 * kUs, 0, 30 * kUs);
    estimator.add(sample);
    expectWithin(estimator.at(sample.receivedNs), hosts.offsetAt(sample.receivedNs));
  }
  EXPECT_GT(estimator.restarts(), 5);
}

/// A host that ticks three times a nanosecond, and drifts for an hour.
class DriftingHostTest : public testing::TestWithParam<double> {};

TEST_P(DriftingHostTest, OneClockPlacesItsEarliestTicksAndItsLatest) {
  const TwoHosts hosts{5 * kMs, GetParam()};
  const std::uint64_t firstTicks = 1'000'000;
  const base::ClockCalibration calibration{firstTicks, hosts.thereNs(0), 1 / 3.0};
  const auto ticksAt = [&](std::int64_t hereNs) {
    return firstTicks + 3 * static_cast<std::uint64_t>(hosts.thereNs(hereNs) - hosts.thereNs(0));
  };
  JitteryWay way;
  ClockOffsetEstimator estimator;
  std::int64_t now = 0;
  const auto ping = [&] {
    const PingSample sample = hosts.ping(now, way(), 5 * kUs, way());
    ASSERT_EQ(estimator.add(sample), ClockOffsetEstimator::Taken::kYes);
    expectWithin(estimator.at(sample.receivedNs), hosts.offsetAt(sample.receivedNs));
  };
  for (int i = 0; i < 64; ++i, now += kMs) {
    ping();
  }
  const auto expectPlaced = [&] {
    const auto clock = estimator.clock(calibration);
    ASSERT_TRUE(clock.has_value());
    for (std::int64_t at = 0; at <= now; at += std::max<std::int64_t>(now / 16, 1)) {
      EXPECT_LE(std::abs(clock->toNs(ticksAt(at)) - at), clock->offset.uncertaintyNs + 2)
          << "at " << at << " of " << now;
    }
  };
  expectPlaced();
  for (; now < 3'600 * kSecond; now += kSecond) {
    ping();
    if (now % (300 * kSecond) < kSecond) {
      expectPlaced();
    }
  }
  expectPlaced();
  EXPECT_LT(estimator.clock(calibration)->offset.uncertaintyNs, 250 * kUs)
      << "one way takes 220 us; an hour of 20 ppm without a slope is 72 ms";
}

INSTANTIATE_TEST_SUITE_P(Ppm, DriftingHostTest, testing::Values(0.0, 20.0, -29.0),
                         [](const auto& ppm) {
                           return ppm.param == 0 ? "None" : ppm.param > 0 ? "Fast" : "Slow";
                         });

}  // namespace
}  // namespace lockstep::trace
