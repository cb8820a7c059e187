// What a hook does to its process, as whoever asked for a verification sees it.
#include "engine/plugin/VerifyHook.h"
#include "tests/support/BuiltFiles.h"
#include "tests/support/TemporaryFolder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>

namespace lockstep::plugin {
namespace {

using support::built;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Verification verified(const ChosenHook& hook, std::chrono::milliseconds limit) {
  VerifyOptions options;
  options.timeLimit = limit;
  options.program = built("lockstep-hookverify");
  return verifyHook(hook, options);
}

struct Misdeed {
  const char* name;
  ChosenHook hook;
  const char* sentence;
  int limitMs = 1000;
};

ChosenHook misbehaving(const std::string& wrong) {
  return {"broken_hooks/misbehaving.so", "misbehaving", {{"wrong", wrong}, {"step", 4.0}}};
}
ChosenHook lying(const std::string& lie) {
  return {"broken_hooks/lying.so", "lying", {{"lie", lie}}};
}

class AMisdeed : public testing::TestWithParam<Misdeed> {};

TEST_P(AMisdeed, IsOneSentence) {
  ChosenHook hook = GetParam().hook;
  hook.library = built(hook.library);
  EXPECT_THAT(verified(hook, std::chrono::milliseconds(GetParam().limitMs)).problems,
              ElementsAre(StartsWith(GetParam().sentence)));
}

INSTANTIATE_TEST_SUITE_P(
    Misdeeds, AMisdeed,
    testing::Values(
        Misdeed{"create", misbehaving("create"),
                "hook 'misbehaving', rank 1: could not be created: it would rather not"},
        Misdeed{"throw", misbehaving("throw"),
                "hook 'misbehaving', rank 1: bucket 2 of step 4: a matrix of 0 columns"},
        Misdeed{"status", misbehaving("status"),
                "hook 'misbehaving', rank 1: bucket 2 of step 4: not this bucket"},
        Misdeed{"crash", misbehaving("crash"),
                "hook 'misbehaving', rank 1: bucket 2 of step 4: it crashed (SEGV: "},
        Misdeed{"hang", misbehaving("hang"),
                "hook 'misbehaving', rank 1: bucket 2 of step 4: it gave no result within "},
        Misdeed{"never", misbehaving("never"),
                "hook 'misbehaving', rank 1: bucket 2 of step 4: it gave no result within "},
        Misdeed{"twice", misbehaving("twice"),
                "hook 'misbehaving', rank 1: it called complete() for bucket 2 of step 4 after "
                "that had ended"},
        Misdeed{"open", misbehaving("open"),
                "hook 'misbehaving', rank 1: bucket 2 of step 4: it called complete() while 1 of "
                "its operations had not been resumed"},
        Misdeed{"after_no_more", misbehaving("after_no_more"),
                "hook 'misbehaving', rank 1: bucket 2 of step 4: all_reduce was refused: an "
                "operation was queued after no_more()"},
        Misdeed{"short", misbehaving("short"),
                "hook 'misbehaving', rank 1: bucket 2 of step 4: all_gather was refused: "
                "all_gather: out: 41 elements of Float are not 2 times 41 of Float"},
        Misdeed{"step_throw", misbehaving("step_throw"),
                "hook 'misbehaving', rank 1: after_optimizer of step 4: the averaging failed"},
        Misdeed{"step_never", misbehaving("step_never"),
                "hook 'misbehaving', rank 1: after_optimizer of step 4 did not end within "},
        Misdeed{"exit", lying("exit"),
                "hook 'lying', rank 1: bucket 2 of step 3: it ended the process, with exit code 3"},
        Misdeed{"_exit", lying("_exit"), "hook 'lying': it ended the process, with exit code 3"},
        Misdeed{"create_crashes", lying("create_crashes"),
                "hook 'lying', rank 1: create: it crashed (ABRT: "},
        Misdeed{"create_hangs", lying("create_hangs"),
                "hook 'lying', rank 1: create: it did not come back within 1 s"},
        Misdeed{"save_hangs", lying("save_hangs"),
                "hook 'lying', rank 1: after step 109: it did not come back within 1 s"},
        Misdeed{"destroy_hangs", lying("destroy_hangs"),
                "hook 'lying', rank 1: destroy: it did not come back within 1 s"},
        Misdeed{"slow", lying("slow"), "hook 'lying': the verification did not end within 8 s",
                400}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(VerifyHook, SaysAtOnceThatAHookStopsItsProcess) {
  ChosenHook hook = misbehaving("stop");
  hook.library = built(hook.library);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(verified(hook, std::chrono::seconds(20)).problems,
              ElementsAre("hook 'misbehaving': it stopped its process (SIGSTOP)"));
  // Far less than the 430 s that a verification may take.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(100));
}

/// Whether the process is gone, or goes within seconds: a signal takes effect when it runs.
bool ends(pid_t pid) {
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (handle < 0) {
    return true;
  }
  pollfd wait{handle, POLLIN, 0};
  const bool ended = poll(&wait, 1, 10'000) == 1;
  close(handle);
  return ended;
}

TEST(VerifyHook, EndsWhatAHookLeavesBehindAndDoesNotWaitForIt) {
  const support::TemporaryFolder folder;
  const std::string file = (folder / "pid").string();
  setenv("LOCKSTEP_TEST_LEFT_BEHIND", file.c_str(), 1);
  ChosenHook hook = misbehaving("fork");
  hook.library = built(hook.library);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(verified(hook, std::chrono::seconds(20)).problems, testing::IsEmpty());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(100));
  unsetenv("LOCKSTEP_TEST_LEFT_BEHIND");
  pid_t pid = 0;
  ASSERT_TRUE(std::ifstream(file) >> pid);
  EXPECT_TRUE(ends(pid)) << pid;
}

TEST(VerifyHook, TellsWhatCameOut) {
  const Verification verification =
      verified({built("hooks/topk.so"), "topk", {{"density", 0.25}}}, std::chrono::seconds(20));
  EXPECT_THAT(verification.problems, testing::IsEmpty());
  EXPECT_EQ(verification.ranks, 2);
  // A quarter of 101,091 gradients, each bucket's rounded up, as 8 bytes.
  EXPECT_NEAR(static_cast<double>(verification.sentBytes), 101091 / 4.0 * 8, 100);
}

TEST(VerifyHook, SaysThatItsProgramIsMissing) {
  VerifyOptions options;
  options.program = "/nowhere/at/all";
  EXPECT_THAT(verifyHook({built("hooks/topk.so"), "topk", {}}, options).problems,
              ElementsAre(HasSubstr("cannot be started")));
}

TEST(Verification, GoesThroughJsonAsItIs) {
  Verification verification{
      4,    {"a \"sentence\""}, "no", {"a note"}, "adam", true, true, false,
      0.25, 12, 1.5, 0.5, 77, 1000, 4000, 0.75, {{4096, 1.25, 2.5}}};
  const auto read = verificationFromJson(toJson(verification));
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read.value(), verification);
  EXPECT_FALSE(verificationFromJson("{}").ok());
}

TEST(Values, GoThroughJsonAsTheyAre) {
  const std::map<std::string, HookValue> values{{"density", 0.1}, {"mix", "parameters"}};
  const auto read = valuesFromJson(valuesToJson(values));
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read.value(), values);
  EXPECT_FALSE(valuesFromJson("[1").ok());
  EXPECT_FALSE(valuesFromJson("{\"a\": [1]}").ok());
}

}  // namespace
}  // namespace lockstep::plugin
