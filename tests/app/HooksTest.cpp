// Communication hooks of plugins in real runs: what an experiment says of them, what is wrong with
// them, what they leave in the run file and in checkpoints.
#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/app/CommandLine.h"

namespace lockstep::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

class HooksTest : public CommandLineTest {
 protected:
  HooksTest() {
    // A crash is to end a rank by its signal, under sanitizers, too.
    for (const char* name : {"ASAN_OPTIONS", "TSAN_OPTIONS"}) {
      const char* given = std::getenv(name);
      environment[name] = (given == nullptr ? "" : std::string(given) + ":") + "handle_segv=0";
    }
  }

  Ended run(const std::string& hook, const std::vector<std::string>& sets = {}) {
    std::vector<std::string> arguments{"run", experiment(hook), "--json", "--out",
                                       "r" + std::to_string(runs_++) + ".lockstep", "--quiet"};
    for (const auto& set : sets) {
      arguments.insert(arguments.end(), {"--set", set});
    }
    return lockstep(arguments);
  }

  /// The parameter hash of rank 0 after a run that must end well.
  std::string hashAfter(const std::string& hook, const std::vector<std::string>& sets = {}) {
    const auto ended = run(hook, sets);
    EXPECT_EQ(ended.exitCode, 0) << ended.err;
    return ended.exitCode == 0 ? Json::parse(ended.out)["ranks"][0]["parameter_hash"] : "";
  }

  /// Does it on rank 1 in step 4, in the last bucket.
  static std::string misbehaving(const std::string& wrong) {
    return "[hook]\nname = \"misbehaving\"\nlibrary = \"" +
           programBeside("broken_hooks/misbehaving.so").string() + "\"\nstep = 4\nwrong = \"" +
           wrong + "\"\n";
  }

 private:
  int runs_ = 0;
};

TEST_F(HooksTest, TrainAndTellWhatTheyCounted) {
  const auto ended = run("[hook]\nname = \"topk\"\ndensity = 0.1\n");
  ASSERT_EQ(ended.exitCode, 0) << ended.err;
  const auto json = Json::parse(ended.out);
  EXPECT_EQ(json["ranks"][0]["parameter_hash"], json["ranks"][1]["parameter_hash"]);
  // 784 x 32 + 32 + 32 x 10 + 10 parameters in one bucket, a tenth of them.
  EXPECT_EQ(json["ranks"][1]["ddp_logging"]["hook.kept"], 2545);
  EXPECT_EQ(json["ranks"][1]["ddp_logging"]["hook.density"], 0.1);
}

TEST_F(HooksTest, ExposeWhatTheyCommunicateAfterTheOptimizersStep) {
  const auto ended = run("[hook]\nname = \"gossip\"\nmix = \"parameters\"\n");
  ASSERT_EQ(ended.exitCode, 0) << ended.err;
  const auto json = Json::parse(ended.out);
  for (const auto& rank : json["ranks"]) {
    EXPECT_GT(rank["figures"]["exposed_ms"].get<double>(), 0);
    EXPECT_LT(rank["figures"]["overlap_percent"].get<double>(), 50);
  }
}

TEST_F(HooksTest, LoseNoEventHoweverManyGroupsTheyMake) {
  const auto chained = run("[hook]\nname = \"fp16\"\n[hook.inner]\nname = \"allreduce\"\n",
                           {"link.latency_us=10"});
  ASSERT_EQ(chained.exitCode, 0) << chained.err;
  EXPECT_EQ(Json::parse(chained.out)["events_dropped"], 0);
  const auto nodes = run("[hook]\nname = \"hierarchical\"\nranks_per_node = 2\n",
                         {"processes.world_size=4", "link.latency_us=10"});
  ASSERT_EQ(nodes.exitCode, 0) << nodes.err;
  EXPECT_EQ(Json::parse(nodes.out)["events_dropped"], 0);
}

TEST_F(HooksTest, HoldOneAnother) {
  EXPECT_EQ(hashAfter("[hook]\nname = \"bf16\"\n[hook.inner]\nname = \"allreduce\"\n"),
            hashAfter("[hook]\nname = \"bf16\"\n"));
}

TEST_F(HooksTest, GoOnFromACheckpointAsIfNothingHadBeen) {
  const std::string topk = "[hook]\nname = \"topk\"\ndensity = 0.05\n";
  const auto whole = hashAfter(topk);
  hashAfter(topk, {"train.steps=6", "train.checkpoint=half.st"});
  EXPECT_EQ(hashAfter(topk, {"train.resume_from=half.st"}), whole);
  EXPECT_NE(hashAfter("[hook]\nname = \"allreduce\"\n", {"train.resume_from=half.st"}), whole);
}

TEST_F(HooksTest, RefuseTheStateOfAnotherNumberOfRanks) {
  const std::string topk = "[hook]\nname = \"topk\"\n";
  hashAfter(topk, {"train.steps=6", "train.checkpoint=half.st"});
  const auto ended = run(topk, {"train.resume_from=half.st", "processes.world_size=1"});
  EXPECT_EQ(ended.exitCode, 6);
  EXPECT_THAT(ended.err, HasSubstr("hook 'topk': loading its state: its state was saved on 2 ranks "
                                   "and there are 1 now"));
}

TEST_F(HooksTest, AreCheckedWithTheExperiment) {
  const auto ended =
      lockstep({"validate", experiment("[hook]\nname = \"topk\"\ndensity = 2\nzebra = 1\n")});
  EXPECT_EQ(ended.exitCode, 2);
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("small.toml:16:11: hook.density: must be a number from 1e-06 to 1, "
                              "not 2\n"),
                    HasSubstr("small.toml:17:1: hook.zebra: unknown key; the parameters of hook "
                              "\"topk\" are density, error_feedback\n")));
}

TEST_F(HooksTest, AreFoundBesideTheExperiment) {
  std::filesystem::create_directory(folder / "hooks");
  std::filesystem::copy(programBeside("broken_hooks/misbehaving.so"), folder / "hooks/own.so");
  const auto ended = run("[hook]\nname = \"misbehaving\"\n");
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
}

struct Mistake {
  const char* wrong;
  int exitCode;
  const char* sentence;
};

class MisbehavingHook : public HooksTest, public testing::WithParamInterface<Mistake> {};

TEST_P(MisbehavingHook, EndsTheRunInOneSentence) {
  const Mistake& mistake = GetParam();
  const auto ended =
      run(misbehaving(mistake.wrong), {"processes.world_size=3", "processes.timeout_seconds=3"});
  EXPECT_EQ(ended.exitCode, mistake.exitCode);
  EXPECT_EQ(lineCount(ended.err), 1) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("rank 1 "), HasSubstr(mistake.sentence)));
  // The run file holds what was done.
  const auto info = lockstep({"info", "r0.lockstep", "--json"});
  ASSERT_EQ(info.exitCode, 0) << info.err;
  const auto json = Json::parse(info.out);
  EXPECT_EQ(json["state"], "failed");
  EXPECT_GE(json["steps"], std::string(mistake.wrong) == "create" ? 0 : 4);
}

INSTANTIATE_TEST_SUITE_P(
    Mistakes, MisbehavingHook,
    testing::Values(
        Mistake{"create", 6, "hook 'misbehaving' could not be created: it would rather not"},
        Mistake{"throw", 6,
                "hook 'misbehaving', rank 1: bucket 0 of step 4: a matrix of 0 columns"},
        Mistake{"status", 6, "hook 'misbehaving', rank 1: bucket 0 of step 4: not this bucket"},
        Mistake{"crash", 5, "ended by SIGSEGV in iteration 4, "},
        Mistake{"hang", 6,
                "hook 'misbehaving', rank 1: bucket 0 of step 4: gave no result within 8000 ms of "
                "the backward's end, and has not come back"},
        Mistake{"never", 6,
                "hook 'misbehaving', rank 1: bucket 0 of step 4: gave no result within"},
        Mistake{"twice", 6,
                "hook 'misbehaving': it called complete() for bucket 0 of step 4 after that had "
                "ended"},
        Mistake{"open", 6,
                "hook 'misbehaving', rank 1: bucket 0 of step 4: it called complete() while 1 of "
                "its operations had not been resumed"},
        Mistake{"after_no_more", 6,
                "bucket 0 of step 4: all_reduce was refused: an operation was "
                "queued after no_more()"},
        Mistake{"short", 6,
                "bucket 0 of step 4: all_gather was refused: all_gather: out: 25450 "
                "elements of Float are not 3 times 25450 of Float"},
        Mistake{"exit", 6,
                "in hook 'misbehaving', bucket 0 of step 4: it ended the process by exit(0)"},
        Mistake{"step_throw", 6,
                "hook 'misbehaving': after_optimizer of step 4: the averaging failed"},
        Mistake{"step_never", 6,
                "hook 'misbehaving': after_optimizer of step 4 did not end within 3000 ms"}),
    [](const auto& info) { return info.param.wrong; });

TEST_F(HooksTest, ThatMakeAnotherCallThanTheOtherRanksAreNamed) {
  const auto ended = run(misbehaving("mismatch"));
  EXPECT_EQ(ended.exitCode, 4);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("of group hook 'misbehaving', rank "),
                               HasSubstr("the ranks do not make the same call")));
}

TEST_F(HooksTest, ThatHangAreNamedWithTheBucketThatTheyAreIn) {
  // The first bucket is still on its way when the hook is called for the second.
  const auto ended = run(misbehaving("hang"),
                         {"ddp.bucket_cap_mb=0.05", "ddp.first_bucket_mb=0.001",
                          "link.latency_us=50000", "processes.timeout_seconds=2", "train.steps=6"});
  EXPECT_EQ(ended.exitCode, 6);
  EXPECT_THAT(ended.err,
              HasSubstr("hook 'misbehaving', rank 1: bucket 1 of step 4: gave no result"));
}

TEST_F(HooksTest, ThatMakeANanAreNamed) {
  const auto ended = run(misbehaving("nan"));
  EXPECT_EQ(ended.exitCode, 8);
  EXPECT_THAT(ended.err, HasSubstr("hook 'misbehaving' made the gradients of the steps before"));
}

/// A hook that does not come back from a call of the step thread.
class StallingHook : public HooksTest {
 protected:
  static std::string stalling(const std::string& call) {
    return "[hook]\nname = \"stalling\"\nlibrary = \"" +
           programBeside("broken_hooks/stalling.so").string() + "\"\nstalls = \"" + call + "\"\n";
  }
  static void expectNamed(const Ended& ended, const std::string& call) {
    EXPECT_EQ(ended.exitCode, 6);
    EXPECT_THAT(ended.err,
                AllOf(StartsWith("lockstep: rank 1 failed"),
                      HasSubstr("hook 'stalling': " + call + ": it did not come back within 2 s")));
  }
  const std::vector<std::string> soon{"processes.timeout_seconds=2"};
};

TEST_F(StallingHook, InCreateIsNamedWithItsRank) {
  expectNamed(run(stalling("create"), soon), "create");
}

TEST_F(StallingHook, InConfigureIsNamedWithItsRank) {
  expectNamed(run(stalling("configure"), soon), "configure");
}

TEST_F(StallingHook, InSaveIsNamedWithItsRank) {
  expectNamed(run(stalling("save"), {"processes.timeout_seconds=2", "train.checkpoint=c.st"}),
              "saving its state");
}

TEST_F(StallingHook, InLoadIsNamedWithItsRank) {
  hashAfter(stalling("nowhere"), {"train.steps=6", "train.checkpoint=c.st"});
  expectNamed(run(stalling("load"), {"processes.timeout_seconds=2", "train.resume_from=c.st"}),
              "loading its state");
}

TEST_F(StallingHook, InSetIsNamedWithItsRank) {
  RunningCommand running(folder,
                         {"run", experiment(stalling("set")), "--quiet", "--out", "r.lockstep",
                          "--set", "processes.timeout_seconds=2", "--set", "train.steps=10000000"},
                         environment);
  while (!running.hasEnded() && lockstep({"set", "r.lockstep", "hook.pace=2"}).exitCode != 0) {
  }
  expectNamed(running.wait(), "changing pace");
}

TEST_F(HooksTest, ThatCrashAreNamedWithTheirBucket) {
  const auto ended = run(misbehaving("crash"));
  EXPECT_EQ(ended.exitCode, 5);
  EXPECT_THAT(ended.err, HasSubstr(": in hook 'misbehaving', bucket 0 of step 4\n"));
}

}  // namespace
}  // namespace lockstep::cli
