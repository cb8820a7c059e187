#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/app/CommandLine.h"
#include "tests/app/GoldenRun.h"
#include "tests/app/SleepingRun.h"
#include "tests/app/VerifiedHalves.h"

namespace lockstep::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::json;

/// A run with buckets of 0.25, 0.5, 0.5, 0.5 and 0.25 MiB, which take 1.2486, 2.2972, 2.2972,
/// 2.2972 and 1.2486 ms. They are full at 11, 13, 15, 17 and 18 ms: from the second on they follow
/// each other, 13 + 3 * 2.2972 + 1.2486 = 21.1401. Exposed are 3.1401 ms.
class WhatIfTest : public CommandLineTest {
 protected:
  WhatIfTest() {
    run_.ddp.firstBucketMb = 0.25;
    run_.ddp.bucketCapMb = 0.5;
  }

  std::string written(const std::string& name = "run.lockstep") {
    std::filesystem::remove(folder / name);
    run_.writeTo(folder / name);
    return name;
  }

  Json forecast(const std::string& name, const std::string& cap) {
    const auto told = lockstep({"whatif", name, "--bucket-cap-mb", cap, "--json"});
    EXPECT_EQ(told.exitCode, 0) << told.err;
    return told.exitCode == 0 ? Json::parse(told.out) : Json();
  }

  /// The forecast of a change, of rank 0.
  Json changed(const std::string& name, std::vector<std::string> options) {
    options.insert(options.begin(), {"whatif", name, "--json"});
    const auto told = lockstep(options);
    EXPECT_EQ(told.exitCode, 0) << told.err;
    return told.exitCode == 0 ? Json::parse(told.out) : Json();
  }

  static double exposed(const Json& told, int rank = 0) {
    return told["ranks"][rank]["exposed_ms"]["value"].get<double>();
  }
  static double step(const Json& told, int rank = 0) {
    return told["ranks"][rank]["step_ms"]["value"].get<double>();
  }

  /// What `whatif` refuses a change with.
  std::string refusalOf(const std::string& name, std::vector<std::string> options) {
    options.insert(options.begin(), {"whatif", name});
    const auto told = lockstep(options);
    EXPECT_EQ(told.exitCode, 2) << told.out;
    EXPECT_EQ(lineCount(told.err), 1) << told.err;
    return told.err;
  }
  /// A cap.
  std::string refusal(const std::string& name, const std::string& cap) {
    return refusalOf(name, {"--bucket-cap-mb", cap});
  }

  SleepingRun run_;
};

// Of 0.25 MiB each, eight take 1.2486 ms from 11 ms on: until 20.9887, 2.9887 behind the last
// gradient. Of all but the first, one takes 7.5400 ms from 18 ms on.
TEST_F(WhatIfTest, ForecastsExposedTimeAndStepOfAnotherCap) {
  const std::string name = written();
  const Json smaller = forecast(name, "0.25");
  EXPECT_EQ(smaller["buckets"], 8);
  EXPECT_EQ(smaller["own_buckets"], 5);
  EXPECT_EQ(smaller["by_settings"], true);
  ASSERT_EQ(smaller["ranks"].size(), 2u);
  const Json& rank = smaller["ranks"][1];
  EXPECT_NEAR(rank["measured_exposed_ms"].get<double>(), 3.1401, 1e-3);
  EXPECT_NEAR(rank["replayed_exposed_ms"].get<double>(), 3.1401, 1e-3);
  EXPECT_NEAR(rank["exposed_ms"]["value"].get<double>(), 2.9887, 1e-3);
  EXPECT_LT(rank["exposed_ms"]["low"], rank["exposed_ms"]["value"]);
  EXPECT_GT(rank["exposed_ms"]["high"], rank["exposed_ms"]["value"]);
  EXPECT_NEAR(rank["step_ms"]["value"].get<double>(), 21.9887, 1e-3);
  EXPECT_NEAR(rank["measured_step_ms"].get<double>(), 22.1401, 1e-3);
  const Json larger = forecast(name, "25");
  EXPECT_EQ(larger["buckets"], 2);
  EXPECT_NEAR(larger["ranks"][0]["exposed_ms"]["value"].get<double>(), 7.5400, 1e-3);
  EXPECT_NEAR(larger["ranks"][0]["step_ms"]["value"].get<double>(), 26.5400, 1e-3);
}

// Rank 1 is 0.4 ms late with each gradient. Its exposed time stays, and rank 0 waits for it.
TEST_F(WhatIfTest, ForecastsEachRankForItself) {
  run_.lateMs = 0.4;
  const Json told = forecast(written(), "0.25");
  EXPECT_NEAR(told["ranks"][1]["exposed_ms"]["value"].get<double>(), 2.9887, 1e-3);
  EXPECT_NEAR(told["ranks"][0]["exposed_ms"]["value"].get<double>(), 3.3887, 1e-3);
}

TEST_F(WhatIfTest, FitsTheCostToTheRunWhereNoSettingsTellIt) {
  run_.linkInSettings = false;
  const Json told = forecast(written(), "2");
  EXPECT_EQ(told["by_settings"], false);
  EXPECT_NEAR(told["latency_ms"].get<double>(), 0.2, 1e-3);
  EXPECT_NEAR(told["ms_per_mib"].get<double>(), 4.1943, 1e-3);
  EXPECT_NEAR(told["ranks"][0]["exposed_ms"]["value"].get<double>(), 7.5400, 1e-3);
}

TEST_F(WhatIfTest, PrintsMeasuredReplayedAndForecastWithItsInterval) {
  const auto told = lockstep({"whatif", written(), "--bucket-cap-mb", "0.25"});
  ASSERT_EQ(told.exitCode, 0) << told.err;
  EXPECT_THAT(told.out, AllOf(StartsWith("Medians over 8 steps; in brackets, where nine of ten "
                                         "runs with this cap are expected. "),
                              HasSubstr("the communication of a bucket takes 200 µs and 4.19 ms a "
                                        "MiB, the latter by the settings"),
                              HasSubstr("measured, cap 0.5 MiB"), HasSubstr("the same, replayed"),
                              HasSubstr("forecast, cap 0.25 MiB"), HasSubstr("2.99 ms (")));
}

// 3.14 ms exposed would be 2.99: less than two runs of the same settings may differ by. All but the
// first in one bucket would be 7.54.
TEST_F(WhatIfTest, SaysADirectionOnlyWhereTheIntervalExcludesNoChange) {
  const std::string name = written();
  const Json little = forecast(name, "0.25")["ranks"][0];
  EXPECT_EQ(little["exposed_ms"]["change"], "unknown");
  EXPECT_EQ(little["step_ms"]["change"], "unknown");
  const Json much = forecast(name, "25")["ranks"][0];
  EXPECT_EQ(much["exposed_ms"]["change"], "more");
  EXPECT_EQ(much["step_ms"]["change"], "more");
  EXPECT_THAT(lockstep({"whatif", name, "--bucket-cap-mb", "0.25"}).out,
              HasSubstr("Exposed time of rank 0: no difference can be told; 2.99 ms ("));
  EXPECT_THAT(lockstep({"whatif", name, "--bucket-cap-mb", "25"}).out,
              HasSubstr("Exposed time of rank 1 would rise from 3.14 ms to 7.54 ms ("));
}

TEST_F(WhatIfTest, SaysWhyARunCannotTell) {
  run_.steps = 6;
  EXPECT_THAT(refusal(written("short.lockstep"), "1"),
              HasSubstr("this run cannot tell, because only 4 of its steps"));
  run_.steps = 0;
  EXPECT_THAT(refusal(written("none.lockstep"), "1"),
              HasSubstr("it has no buckets, or no step was recorded"));
  run_.steps = 10;
  run_.linkInSettings = false;
  run_.ddp.bucketCapMb = 0.25;
  EXPECT_THAT(refusal(written("alike.lockstep"), "1"), HasSubstr("too alike in size"));
  run_.ddp.bucketCapMbList = {0.25, 0.5};
  EXPECT_THAT(refusal(written("list.lockstep"), "1"), HasSubstr("a list of caps"));
}

// Of 1 Gbit/s: 2.2972 and 4.3943 ms, one after the other from 11 ms on until 28.7773.
TEST_F(WhatIfTest, ForecastsASlowerLink) {
  const std::string name = written();
  const Json told = changed(name, {"--bandwidth-gbps", "1"});
  EXPECT_NEAR(exposed(told), 10.7773, 1e-3);
  EXPECT_NEAR(step(told), 29.7773, 1e-3);
  EXPECT_NEAR(told["line"]["ms_per_mib"].get<double>(), 8.3886, 1e-3);
  EXPECT_EQ(told["changes"], Json::array({"1 Gbit/s"}));
  EXPECT_NEAR(exposed(changed(name, {"--bandwidth-gbps", "1", "--latency-us", "600"})), 10.7773 + 5,
              1e-3)
      << "five times 1 ms more";
  const auto said = lockstep({"whatif", name, "--bandwidth-gbps", "1"});
  EXPECT_THAT(said.out, AllOf(StartsWith("Medians over 8 steps; in brackets, where nine of ten "
                                         "runs with this change are expected. "),
                              HasSubstr("With the change it would take 200 µs and 8.39 ms a MiB, 1 "
                                        "at once."),
                              HasSubstr("forecast, 1 Gbit/s")));
}

// What its backend takes by itself was not recorded.
TEST_F(WhatIfTest, OfAFasterLinkItSaysWhyItCannotTell) {
  EXPECT_THAT(refusalOf(written(), {"--link", "ethernet_10g_8"}),
              HasSubstr("this run cannot tell, because its own link hid what its backend takes by "
                        "itself, which a faster one would show"));
}

// 16.3 Gbit/s take less than the backend that took 0.2 ms and 4 ns a byte; after the last byte come
// two hops of 37.4 µs.
TEST_F(WhatIfTest, ALinkOverABackendTakesNoLessThanThat) {
  run_.linkInSettings = false;
  const std::string name = written();
  const Json told = changed(name, {"--link", "ethernet_10g_8"});
  EXPECT_NEAR(exposed(told), 3.1401 + 0.0747, 1e-3);
  EXPECT_NEAR(told["line"]["backend"]["ms_per_mib"].get<double>(), 4.1943, 1e-3);
  EXPECT_THAT(refusalOf(name, {"--in-flight", "2"}),
              HasSubstr("its link is not a modelled one, and how many transfers travel at once is "
                        "its backend's own affair"));
  EXPECT_THAT(refusalOf(name, {"--latency-us", "10"}),
              HasSubstr("that link has no bandwidth of its own"));
}

// Bytes follow each other from 13 ms on, and a latency comes once: until 20.5401.
TEST_F(WhatIfTest, ForecastsMoreInFlight) {
  const Json told = changed(written(), {"--in-flight", "2"});
  EXPECT_NEAR(exposed(told), 2.5401, 1e-3);
  EXPECT_EQ(told["line"]["in_flight"], 2);
  EXPECT_THAT(lockstep({"whatif", written(), "--in-flight", "0"}).out,
              HasSubstr("forecast, any number in flight"));
}

// Buckets are full at 5.5, 6.5, ... 9 ms, and the last ends at 14.8888.
TEST_F(WhatIfTest, ForecastsFasterComputing) {
  const Json told = changed(written(), {"--compute-factor", "0.5"});
  EXPECT_NEAR(exposed(told), 5.8888, 1e-3);
  EXPECT_NEAR(step(told), 15.8888, 1e-3);
}

TEST_F(WhatIfTest, ForecastsAListOfCapsOfARunWithAnother) {
  EXPECT_EQ(changed(written(), {"--bucket-cap-mb-list", "0.25,0.75"})["buckets"], 4);
  EXPECT_THAT(lockstep({"whatif", written(), "--bucket-cap-mb-list", "0.25,0.75"}).out,
              HasSubstr("forecast, caps 0.25, 0.75 MiB"));
  run_.ddp.bucketCapMbList = {0.25, 0.5};
  const std::string list = written("list.lockstep");
  EXPECT_EQ(changed(list, {"--bucket-cap-mb-list", "0.25,0.75"})["buckets"], 4);
  EXPECT_THAT(lockstep({"whatif", list, "--in-flight", "2"}).out,
              HasSubstr("measured, a list of caps"));
}

TEST_F(WhatIfTest, ForecastsARankWithoutItsExcess) {
  run_.lateMs = 0.4;
  const std::string name = written();
  EXPECT_NEAR(exposed(forecast(name, "0.5")), 3.5401, 1e-3);
  EXPECT_NEAR(exposed(changed(name, {"--without-excess-of", "1"})), 3.1401, 1e-3);
  EXPECT_THAT(lockstep({"whatif", name, "--without-excess-of", "1"}).out,
              HasSubstr("forecast, rank 1 like the others"));
  EXPECT_THAT(refusalOf(name, {"--without-excess-of", "7"}), HasSubstr("it has no rank 7"));
}

// Encoded 0.5 ms after they are full, buckets take 0.7243 and 1.2486 ms: the last from 18.7486 to
// 19.4729, and 0.25 ms are decoded.
TEST_F(WhatIfTest, ForecastsTheHookOfAnotherRunAndBack) {
  const std::string plain = written();
  run_.halves = true;
  const std::string halves = written("halves.lockstep");
  const Json told = changed(plain, {"--hook-of", halves});
  EXPECT_EQ(told["hook"]["name"], "fp16");
  EXPECT_NEAR(told["hook"]["share"].get<double>(), 0.5, 1e-3);
  EXPECT_NEAR(exposed(told), 1.4729, 1e-3);
  EXPECT_NEAR(step(told), 20.7229, 1e-3);
  EXPECT_NEAR(told["ranks"][0]["measured_step_ms"].get<double>(), 22.1401, 1e-3);
  const Json back = changed(halves, {"--hook-of", plain});
  EXPECT_NEAR(back["ranks"][0]["measured_step_ms"].get<double>(), 20.7229, 1e-3);
  EXPECT_NEAR(step(back), 22.1401, 1e-2);
}

TEST_F(WhatIfTest, ForecastsAHookAsItWasVerified) {
  environment["XDG_CACHE_HOME"] = folder.string();
  const std::string plain = written();
  EXPECT_THAT(refusalOf(plain, {"--hook", "fp16"}),
              HasSubstr("--hook: the hook \"fp16\" was not verified on this machine, as lockstep "
                        "hooks fp16 --verify does it; no other was"));
  keepVerifiedHalves(folder);
  const Json told = changed(plain, {"--hook", "fp16"});
  EXPECT_EQ(told["hook"]["name"], "fp16");
  EXPECT_NEAR(told["hook"]["share"].get<double>(), 0.5, 1e-3);
  EXPECT_NEAR(exposed(told), 1.4729, 1e-3) << "as of a run with it";
  EXPECT_NEAR(step(told), 20.7229, 1e-3);
  const std::string sentence =
      "The hook fp16 is taken as it was verified on this machine, on 2 ranks: of each 4 bytes it "
      "sends 2.00, counted as one allreduce, and it works 750 µs on a bucket of ";
  EXPECT_THAT(told["hook"]["verified"].get<std::string>(), StartsWith(sentence));
  EXPECT_THAT(lockstep({"whatif", plain, "--hook", "fp16"}).out,
              AllOf(HasSubstr(sentence), HasSubstr("forecast, hook fp16")));
  EXPECT_THAT(refusalOf(plain, {"--hook", "fp16", "--hook-of", plain}), HasSubstr("--hook"));
}

TEST_F(WhatIfTest, ChangesCombine) {
  const Json told =
      changed(written(), {"--bucket-cap-mb", "25", "--in-flight", "4", "--compute-factor", "0.5"});
  EXPECT_EQ(told["buckets"], 2);
  EXPECT_EQ(told["changes"], Json::array({"cap 25 MiB", "4 in flight", "computing x 0.5"}));
  // 1.75 MiB from 9 ms on.
  EXPECT_NEAR(exposed(told), 7.5400, 1e-3);
}

TEST_F(WhatIfTest, BadInputIsOneLine) {
  EXPECT_THAT(refusal(written(), "-1"), HasSubstr("--bucket-cap-mb"));
  EXPECT_THAT(refusal("nowhere.lockstep", "1"), HasSubstr("nowhere.lockstep"));
  EXPECT_THAT(refusal(write("text.lockstep", "no run"), "1"), HasSubstr("text.lockstep"));
  EXPECT_THAT(refusal(goldenRun("1.0"), "1"), StartsWith("lockstep: "));
  run_.strategy = "data_parallel";
  EXPECT_THAT(refusal(written("parallel.lockstep"), "1"),
              HasSubstr("it is a run of DataParallel, which has no buckets"));
  run_.strategy = "ddp";
  EXPECT_THAT(refusalOf(written(), {}), HasSubstr("nothing is to be changed: name a cap"));
  EXPECT_THAT(refusalOf(written(), {"--link", "carrier_pigeon"}), HasSubstr("--link"));
  EXPECT_THAT(refusalOf(written(), {"--hook-of", "nowhere.lockstep"}),
              HasSubstr("nowhere.lockstep"));
}

}  // namespace
}  // namespace lockstep::cli
