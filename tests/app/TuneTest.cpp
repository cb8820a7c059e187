#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/trace/RunFile.h"
#include "tests/app/CommandLine.h"
#include "tests/app/GoldenRun.h"
#include "tests/app/SleepingRun.h"

namespace lockstep::cli {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::json;

/// A run of four buckets: 0.25, 0.75, 0.75 and 0.25 MiB.
class TuneTest : public CommandLineTest {
 protected:
  TuneTest() {
    run_.ddp.firstBucketMb = 0.25;
    run_.ddp.bucketCapMb = 0.75;
  }

  std::string written(const std::string& name = "run.lockstep") {
    std::filesystem::remove(folder / name);
    run_.writeTo(folder / name);
    return name;
  }

  SleepingRun run_;
};

TEST_F(TuneTest, ItsListMakesTheBucketsThatItPromises) {
  const auto tuned = lockstep({"tune", written(), "--json"});
  ASSERT_EQ(tuned.exitCode, 0) << tuned.err;
  const Json all = Json::parse(tuned.out);
  ASSERT_EQ(all["cuts"].size(), 3u);
  EXPECT_EQ(all["cuts"][0]["rule"], "run");
  EXPECT_EQ(all["cuts"][0]["buckets"], 4);
  write("layers.json", kSleepingLayers);
  for (int cut = 0; cut < 3; ++cut) {
    const std::string out = "again" + std::to_string(cut) + ".lockstep";
    const auto again = lockstep(
        {"run", experiment(), "--quiet", "--out", out, "--set", "model.kind=shapes", "--set",
         "model.file=layers.json", "--set", "data.kind=synthetic", "--set", "train.steps=3",
         "--set", "ddp.bucket_cap_mb_list=" + all["cuts"][cut]["bucket_cap_mb_list"].dump()});
    ASSERT_EQ(again.exitCode, 0) << again.err;
    auto reader = trace::RunFileReader::open(folder / out);
    ASSERT_TRUE(reader.ok());
    auto update = reader.value()->poll();
    ASSERT_TRUE(update.ok() && update.value().layouts);
    Json bytes = Json::array();
    for (const auto& bucket : update.value().layouts->back().buckets) {
      bytes.push_back(bucket.bytes);
    }
    EXPECT_EQ(bytes, all["cuts"][cut]["bytes"]) << all["cuts"][cut]["rule"];
  }
}

// {7} until 12.2486, {6 5 4} from 14 ms to 17.3457, {3 2 1} to 20.6915, {0} to 21.9400: 3.94 ms
// behind the last gradient. The exact cut: three buckets pay for three latencies; any two of them
// wait for 18 ms with more. The best of all 128 cuts ends at 20.6515 ms.
TEST_F(TuneTest, ForecastsTheCutsAndTheExactOneIsTheBest) {
  const auto tuned = lockstep({"tune", written(), "--json"});
  ASSERT_EQ(tuned.exitCode, 0) << tuned.err;
  const Json all = Json::parse(tuned.out);
  const auto exposed = [&](int cut) {
    return all["cuts"][cut]["ranks"][0]["exposed_ms"]["value"].get<double>();
  };
  EXPECT_NEAR(exposed(0), 3.9401, 1e-3);
  EXPECT_LE(exposed(2), exposed(1) + 1e-9);
  EXPECT_LT(exposed(2), exposed(0) - 0.5);
}

TEST_F(TuneTest, PrintsAListToPutIntoTheExperiment) {
  const auto tuned = lockstep({"tune", written(), "--rule", "mg-wfbp"});
  ASSERT_EQ(tuned.exitCode, 0) << tuned.err;
  EXPECT_THAT(
      tuned.out,
      AllOf(StartsWith("Medians over 8 steps; in brackets behind a forecast, where nine of "
                       "ten runs with such buckets are expected. "),
            HasSubstr("exposed on rank 0"), HasSubstr("this run"), HasSubstr("3.94 ms (measured)"),
            HasSubstr("The buckets by \"mg-wfbp\", for [ddp]")));
  EXPECT_THAT(tuned.out, HasSubstr("\n\nbucket_cap_mb_list = ["));
}

// The exact cut of a run is its own: with less than the interval between them none is promised.
TEST_F(TuneTest, SaysWhereItsBucketsMayDoNoBetter) {
  const auto tuned = lockstep({"tune", written(), "--json"});
  ASSERT_EQ(tuned.exitCode, 0) << tuned.err;
  const Json all = Json::parse(tuned.out);
  for (const Json& cap : all["cuts"][2]["bucket_cap_mb_list"]) {
    run_.ddp.bucketCapMbList.push_back(cap.get<double>());
  }
  const auto again = lockstep({"tune", written("tuned.lockstep")});
  ASSERT_EQ(again.exitCode, 0) << again.err;
  EXPECT_THAT(again.out, AllOf(HasSubstr("Step time of rank 0: no difference can be told"),
                               HasSubstr("which may do no better than those of this run")));
}

TEST_F(TuneTest, RanksSettingsByTheirReplay) {
  const auto tuned = lockstep({"tune", written(), "--json"});
  ASSERT_EQ(tuned.exitCode, 0) << tuned.err;
  const Json candidates = Json::parse(tuned.out)["candidates"];
  ASSERT_GT(candidates.size(), 2u);
  EXPECT_EQ(candidates[0]["settings"], "the run's own");
  const auto step = [&](std::size_t of) {
    return candidates[of]["step_ms"]["value"].get<double>();
  };
  for (std::size_t of = 2; of < candidates.size(); ++of) {
    EXPECT_LE(step(of - 1), step(of) + 1e-6);
  }
  // Its latencies of 0.2 ms are hidden where several travel at once.
  EXPECT_THAT(candidates[1]["settings"].get<std::string>(), HasSubstr("in flight"));
  EXPECT_LT(step(1), step(0));
  const auto text = lockstep({"tune", written()}).out;
  EXPECT_THAT(text, HasSubstr("Settings by how short a step they make in the replay; the first row "
                              "is the replay of this run's own:"));
  EXPECT_THAT(text, HasSubstr("step, mean of all ranks"));
}

TEST_F(TuneTest, TriesTheHookOfAnotherRun) {
  const std::string plain = written();
  run_.halves = true;
  const std::string halves = written("halves.lockstep");
  const auto hooked = lockstep({"tune", plain, "--hook-of", halves, "--json"});
  ASSERT_EQ(hooked.exitCode, 0) << hooked.err;
  EXPECT_THAT(hooked.out, HasSubstr("hook.name = \\\"fp16\\\""));
}

/// A run in which a bucket for each gradient costs 2 ms of latency, beside gradients of 1 ms.
class LateTuneTest : public TuneTest {
 protected:
  LateTuneTest() {
    run_.ddp.bucketCapMb = 0.25;
    run_.latencyUs = 1000;
  }
};

TEST_F(LateTuneTest, WritesTheExperimentThatIsSurelyBetter) {
  const std::string name = written();
  const auto applied = lockstep({"tune", name, "--apply", "tuned.toml"});
  ASSERT_EQ(applied.exitCode, 0) << applied.err;
  EXPECT_THAT(applied.out, HasSubstr("tuned.toml has the experiment with "));
  EXPECT_EQ(lockstep({"validate", "tuned.toml"}).exitCode, 0);
  const auto again = lockstep({"tune", name, "--apply", "tuned.toml"});
  EXPECT_EQ(again.exitCode, 2);
  EXPECT_THAT(again.err, HasSubstr("there is such a file; --force overwrites it"));
  EXPECT_EQ(lockstep({"tune", name, "--apply", "tuned.toml", "--force"}).exitCode, 0);
}

TEST_F(LateTuneTest, RunsTheBestInAlternationAndSaysWhoWon) {
  write("layers.json", kSleepingLayers);
  run_.layers = (folder / "layers.json").string();
  const auto tuned = lockstep({"tune", written(), "--run", "--candidates", "2", "--rounds", "3",
                               "--steps", "8", "--out", "rounds", "--apply", "tuned.toml"});
  EXPECT_THAT(tuned.out,
              AnyOf(HasSubstr("\" won: its steps took"),
                    HasSubstr("No difference beyond noise: the steps of \""),
                    HasSubstr("The run's own settings won: the steps of the next best")));
  EXPECT_THAT(tuned.out, AllOf(HasSubstr("steps [ms], by round"), HasSubstr("of the run's own")));
  EXPECT_THAT(tuned.err, HasSubstr("round 2 of at most 3: the run's own"));
  EXPECT_TRUE(std::filesystem::exists(folder / "rounds" / "round-2-settings-1.lockstep"));
  EXPECT_EQ(std::filesystem::exists(folder / "tuned.toml"), tuned.exitCode == 0) << tuned.err;
}

TEST_F(LateTuneTest, WritesNothingThatDidNotWin) {
  write("layers.json", kSleepingLayers);
  run_.layers = (folder / "layers.json").string();
  const auto tuned = lockstep({"tune", written(), "--run", "--candidates", "2", "--rounds", "1",
                               "--steps", "6", "--apply", "tuned.toml"});
  EXPECT_EQ(tuned.exitCode, 2);
  EXPECT_THAT(tuned.out, HasSubstr("Nothing can be told: it takes two rounds to tell chance from "
                                   "effect."));
  EXPECT_THAT(tuned.err, HasSubstr("not written: no other settings won"));
  EXPECT_FALSE(std::filesystem::exists(folder / "tuned.toml"));
}

// Of next to no latency each gradient alone is the best.
TEST_F(TuneTest, WritesNothingThatIsNotSurelyBetter) {
  run_.ddp.bucketCapMbList.assign(8, 0.25);
  run_.latencyUs = 1;
  const auto again = lockstep({"tune", written("tuned.lockstep"), "--apply", "tuned.toml"});
  EXPECT_EQ(again.exitCode, 2);
  EXPECT_THAT(again.out, HasSubstr("not surely shorter"));
  EXPECT_THAT(again.err, HasSubstr("not written: no other settings would surely make shorter "
                                   "steps; --run measures the best"));
  EXPECT_THAT(lockstep({"tune", "tuned.lockstep", "--run"}).out,
              HasSubstr("Nothing is run: no other settings make shorter steps in the replay."));
  EXPECT_FALSE(std::filesystem::exists(folder / "tuned.toml"));
}

TEST_F(TuneTest, BadInputIsOneLine) {
  run_.ddp.bucketCapMb = 0.25;
  run_.linkInSettings = false;
  written("alike.lockstep");
  SleepingRun job;
  job.observed = true;
  job.writeTo(folder / "job.lockstep");
  for (const auto& [run, text] :
       {std::pair<std::string, std::string>{"alike.lockstep", "too alike in size"},
        {"job.lockstep", "it is a job of PyTorch: no experiment says its caps and its link"},
        {"nowhere.lockstep", "nowhere.lockstep"},
        {write("text.lockstep", "no run"), "text.lockstep"},
        {goldenRun("1.0"), "experiment cannot be read"}}) {
    const auto ended = lockstep({"tune", run});
    EXPECT_EQ(ended.exitCode, 2) << ended.err;
    EXPECT_EQ(lineCount(ended.err), 1) << ended.err;
    EXPECT_THAT(ended.err, AllOf(StartsWith("lockstep: "), HasSubstr(text)));
  }
}

}  // namespace
}  // namespace lockstep::cli
