// `lockstep hooks`: what it tells of plugins, and --verify in real processes.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/app/CommandLine.h"

namespace lockstep::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

const std::vector<std::string> kBuiltIn{
    "allreduce", "bf16",         "delayed", "dgc",  "ef_sign", "fp16",
    "gossip",    "hierarchical", "int8",    "noop", "onebit",  "post_local_sgd",
    "powersgd",  "qsgd",         "randomk", "sign", "topk",    "zero_rs"};

class VerifyHooksTest : public CommandLineTest {
 protected:
  Ended verify(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "hooks");
    arguments.insert(arguments.end(), {"--verify"});
    return lockstep(arguments);
  }

  /// Makes `python3` of the path this one, or none where it is empty.
  void usePython(const std::string& program) {
    std::filesystem::create_directory(folder / "path");
    if (!program.empty()) {
      std::filesystem::create_symlink(program, folder / "path" / "python3");
    }
    environment["PATH"] = (folder / "path").string();
  }

  /// An experiment with a hook of a library that was made for tests.
  std::string experimentWith(const std::string& library, const std::string& id,
                             const std::string& values) {
    return experiment("[hook]\nname = \"" + id + "\"\nlibrary = \"" +
                      programBeside("broken_hooks/" + library).string() + "\"\n" + values);
  }
};

class BuiltInHook : public VerifyHooksTest, public testing::WithParamInterface<std::string> {};

TEST_P(BuiltInHook, KeepsItsContractOn2AndOn4Ranks) {
  const auto ended = verify({GetParam(), "--json", "--timeout", "30"});
  EXPECT_EQ(ended.exitCode, 0) << ended.out << ended.err;
  const auto hooks = Json::parse(ended.out);
  ASSERT_EQ(hooks.size(), 1U);
  EXPECT_EQ(hooks[0]["hook"], GetParam());
  EXPECT_EQ(hooks[0]["passes"], true);
  ASSERT_EQ(hooks[0]["runs"].size(), 2U);
  for (const auto& run : hooks[0]["runs"]) {
    EXPECT_EQ(run["problems"], Json::array());
    EXPECT_EQ(run["notes"], Json::array());
    EXPECT_EQ(run["refusal"], "");
    EXPECT_GT(run["step_ms"], 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Hooks, BuiltInHook, testing::ValuesIn(kBuiltIn),
                         [](const auto& info) { return info.param; });

TEST_F(VerifyHooksTest, WhatIsMeasuredOfOneThatPassesIsKeptForForecasts) {
  environment["XDG_CACHE_HOME"] = (folder / "cache").string();
  ASSERT_EQ(verify({"fp16"}).exitCode, 0);
  std::ifstream file(folder / "cache/lockstep/verified.json");
  const auto kept = Json::parse(file);
  ASSERT_EQ(kept.size(), 1U);
  const Json& entry = *kept.begin();
  EXPECT_EQ(entry["hook"], "fp16");
  EXPECT_EQ(entry["built_in"], true);
  ASSERT_EQ(entry["runs"].size(), 2U);
  for (const auto& run : entry["runs"]) {
    EXPECT_EQ(run["elements"], 101091);
    EXPECT_EQ(run["calls"].size(), 36U);
  }
}

TEST_F(VerifyHooksTest, AreTriedOnEveryHookThatLockstepBrings) {
  const auto ended = lockstep({"hooks", "--json"});
  ASSERT_EQ(ended.exitCode, 0) << ended.err;
  std::vector<std::string> ids;
  for (const auto& library : Json::parse(ended.out)) {
    for (const auto& hook : library["hooks"]) {
      if (library["from"] == "built-in") {
        ids.push_back(hook["id"]);
      }
    }
  }
  EXPECT_THAT(ids, testing::UnorderedElementsAreArray(kBuiltIn));
}

// A Python without the sanitizer's runtime loads no hook that was built with it.
#if defined(LOCKSTEP_TEST_PYTORCH) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
// A link to the Python of a virtual environment would be another one.
std::string starting(const std::filesystem::path& folder) {
  const auto script = folder / "with-torch";
  std::ofstream(script) << "#!/bin/sh\nexec " LOCKSTEP_TEST_PYTORCH " \"$@\"\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  return script.string();
}

TEST_F(VerifyHooksTest, InPyTorchAllThatLockstepBringsAreTriedAtOnceWithThePython3OfThePath) {
  usePython(starting(folder));
  const auto ended = verify({"--in", "pytorch", "--json", "--timeout", "60"});
  EXPECT_EQ(ended.exitCode, 0) << ended.out << ended.err;
  std::vector<std::string> ids;
  std::vector<std::string> refused;
  for (const auto& hook : Json::parse(ended.out)) {
    const auto& run = hook["in_pytorch"];
    ids.push_back(hook["hook"]);
    EXPECT_EQ(hook["passes"], true) << hook;
    EXPECT_NE(run["torch"], "");
    if (run["refusal"] != "") {
      refused.push_back(hook["hook"]);
      continue;
    }
    EXPECT_EQ(run["ranks"], 2);
    EXPECT_EQ(run["steps"], 20);
    EXPECT_EQ(run["sent_bytes"], run["engine_sent_bytes"]) << hook["hook"];
  }
  EXPECT_THAT(ids, testing::UnorderedElementsAreArray(kBuiltIn));
  EXPECT_THAT(refused,
              testing::UnorderedElementsAre("gossip", "onebit", "post_local_sgd", "zero_rs"));
}

TEST_F(VerifyHooksTest, InPyTorchTheTableSaysWhatARefusedHookCannot) {
  const auto ended = verify({"gossip", "--in", "pytorch", "--python", LOCKSTEP_TEST_PYTORCH});
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.out,
              AllOf(testing::StartsWith("PyTorch "), HasSubstr("\n  gossip      2  refused"),
                    HasSubstr("hook 'gossip' works on the parameters after each step")));
}
#endif

TEST_F(VerifyHooksTest, InPyTorchAPythonThatIsNotThereOrHasNoPyTorchIsOneLine) {
  usePython("");
  auto ended = verify({"fp16", "--in", "pytorch"});
  EXPECT_EQ(ended.exitCode, 3);
  EXPECT_EQ(ended.err, "lockstep: python3: cannot be started: No such file or directory\n");
  ended = verify({"fp16", "--in", "pytorch", "--python", "/bin/false"});
  EXPECT_NE(ended.exitCode, 0);
  EXPECT_THAT(ended.out + ended.err, HasSubstr("exit code 1"));
}

TEST_F(VerifyHooksTest, PrintATableAndASentenceAndEndWith6) {
  const auto ended = verify({programBeside("broken_hooks/lying.so").string()});
  EXPECT_EQ(ended.exitCode, 6);
  EXPECT_EQ(ended.err, "");
  EXPECT_THAT(ended.out,
              AllOf(HasSubstr("  hook       ranks  verdict"), HasSubstr("\n  lying      "),
                    HasSubstr("\n  forgetful  "),
                    HasSubstr("\non 2 ranks: hook 'forgetful', rank 0: bucket 0 of step 110: "),
                    HasSubstr("\non 4 ranks: hook 'forgetful', rank 0: bucket 0 of step 110: "),
                    Not(HasSubstr("ranks: hook 'lying'"))));
  // Headings, two hooks on two worlds, two sentences.
  EXPECT_EQ(lineCount(ended.out), 7) << ended.out;
}

TEST_F(VerifyHooksTest, TakeTheParametersOfTheExperimentsHook) {
  const auto ended = verify(
      {"misbehaving", "--json", "--for",
       experimentWith("misbehaving.so", "misbehaving", "wrong = \"throw\"\nrank = 0\nstep = 7\n")});
  EXPECT_EQ(ended.exitCode, 6);
  const auto hook = Json::parse(ended.out)[0];
  EXPECT_EQ(hook["values"]["step"], 7);
  EXPECT_EQ(hook["passes"], false);
  for (const auto& run : hook["runs"]) {
    EXPECT_EQ(
        run["problems"],
        Json::array({"hook 'misbehaving', rank 0: bucket 2 of step 7: a matrix of 0 columns"}));
  }
}

TEST_F(VerifyHooksTest, OutliveAHookThatCrashes) {
  const auto ended =
      verify({"misbehaving", "--for",
              experimentWith("misbehaving.so", "misbehaving", "wrong = \"crash\"\nstep = 2\n")});
  EXPECT_EQ(ended.exitCode, 6);
  EXPECT_THAT(ended.out,
              AllOf(HasSubstr("on 2 ranks: hook 'misbehaving', rank 1: bucket 2 of step 2: it "
                              "crashed (SEGV: Segmentation fault)\n"),
                    HasSubstr("on 4 ranks: hook 'misbehaving', rank 1: bucket 2 of step 2: it "
                              "crashed (SEGV: Segmentation fault)\n")));
}

TEST_F(VerifyHooksTest, OutliveAHookThatHangs) {
  const auto ended =
      verify({"misbehaving", "--timeout", "0.5", "--for",
              experimentWith("misbehaving.so", "misbehaving", "wrong = \"hang\"\nstep = 2\n")});
  EXPECT_EQ(ended.exitCode, 6);
  EXPECT_THAT(ended.out, HasSubstr("on 4 ranks: hook 'misbehaving', rank 1: bucket 2 of step 2: it "
                                   "gave no result within 1.5 s\n"));
}

TEST_F(VerifyHooksTest, LetAHookRefuseAWorldThatItIsNotMadeFor) {
  const auto ended = verify({"hierarchical", "--for",
                             experiment("[hook]\nname = \"hierarchical\"\nranks_per_node = 4\n")});
  EXPECT_EQ(ended.exitCode, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("on 2 ranks: hook 'hierarchical' refuses: ranks_per_node is 4, "
                                   "which does not divide the world of 2 ranks\n"));
}

TEST_F(VerifyHooksTest, SayWhatIsWrongWithTheExperiment) {
  const auto ended = verify({"--for", experiment("[hook]\nname = \"topk\"\ndensity = 2\n")});
  EXPECT_EQ(ended.exitCode, 2);
  EXPECT_THAT(ended.err, HasSubstr("hook.density: must be a number from 1e-06 to 1, not 2\n"));
}

TEST_F(VerifyHooksTest, TellWhyALibraryWasRefused) {
  std::filesystem::create_directory(folder / "hooks");
  std::filesystem::copy(programBeside("broken_hooks/incomplete_2.so"), folder / "hooks/mine.so");
  const auto ended = verify({"mine", "--for", experiment()});
  EXPECT_EQ(ended.exitCode, 6);
  EXPECT_THAT(ended.err, HasSubstr("hooks/mine.so: its init() refused with status -5\n"));
  EXPECT_EQ(verify({"zebra"}).exitCode, 2);
}

TEST_F(VerifyHooksTest, TellWhatAHookTakesGivesAndKeeps) {
  const auto topk = lockstep({"hooks", "topk"});
  EXPECT_EQ(topk.exitCode, 0) << topk.err;
  EXPECT_THAT(topk.out, AllOf(HasSubstr("gradients of float32 on cpu\n"),
                              HasSubstr("the same on all ranks; how near it is to the mean is not "
                                        "promised\n"),
                              HasSubstr("kept with checkpoints\n"), HasSubstr("density = 0.01 "),
                              HasSubstr("a number from 1e-06 to 1; live: lockstep set\n")));
  EXPECT_THAT(lockstep({"hooks", "fp16"}).out,
              AllOf(HasSubstr("gradients of float32 on cpu, cuda\n"),
                    HasSubstr("at most 0.005 away from the mean"), HasSubstr("state    none\n"),
                    HasSubstr("takes another hook inside")));
  EXPECT_THAT(topk.out, Not(HasSubstr("drift")));
  for (const char* drifting : {"gossip", "noop", "post_local_sgd"}) {
    EXPECT_THAT(lockstep({"hooks", drifting}).out,
                HasSubstr("lets the replicas drift apart, by design"));
  }
  const auto json = Json::parse(lockstep({"hooks", "topk", "--json"}).out)[0]["hooks"][0];
  EXPECT_EQ(json["keeps_state"], true);
  EXPECT_EQ(json["takes"], Json::array({"float32"}));
  EXPECT_EQ(json["takes_on"], Json::array({"cpu"}));
  EXPECT_EQ(json["same_result"], true);
  EXPECT_EQ(json["mean_error"], -1);
}

}  // namespace
}  // namespace lockstep::cli
