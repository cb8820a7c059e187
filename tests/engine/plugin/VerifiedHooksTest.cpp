#include "engine/plugin/VerifiedHooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/TemporaryFolder.h"

namespace lockstep::plugin {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Verification measured(int ranks) {
  Verification run;
  run.ranks = ranks;
  run.gradientsSame = true;
  run.elements = 100;
  run.gradientBytes = 400;
  run.sentBytes = 200;
  run.aroundStepMs = 0.5;
  run.calls = {{400, 2, 1}};
  return run;
}

class VerifiedHooksTest : public testing::Test {
 protected:
  VerifiedHooksTest() { std::ofstream(library) << "a library"; }

  const support::TemporaryFolder folder;
  const std::string library = (folder / "halves.so").string();
  const std::string file = (folder / "cache" / "verified.json").string();
};

TEST_F(VerifiedHooksTest, AreKeptWithWhatTheVerificationMeasured) {
  keepVerified({library, "halves", {}}, false, {measured(2), measured(4)}, file);
  keepVerified({library, "again", {}}, true, {measured(2)}, file);
  const auto hooks = verifiedHooks(file);
  ASSERT_EQ(hooks.size(), 2u);
  EXPECT_EQ(hooks[0].hook.name, "again");
  EXPECT_EQ(hooks[0].hook.library, "") << "it is found by its name";
  EXPECT_EQ(hooks[1].hook.library, library);
  ASSERT_EQ(hooks[1].runs.size(), 2u);
  const cost::VerifiedOnRanks& run = hooks[1].runs[1];
  EXPECT_EQ(run.ranks, 4);
  EXPECT_TRUE(run.sameResult);
  EXPECT_EQ(run.elements, 100u);
  EXPECT_EQ(run.bytes, 400u);
  EXPECT_EQ(run.sentBytes, 200u);
  EXPECT_DOUBLE_EQ(run.aroundStepNs, 0.5e6);
  ASSERT_EQ(run.calls.encode.size(), 1u);
  EXPECT_EQ(run.calls.encode[0].bytes, 400u);
  EXPECT_DOUBLE_EQ(run.calls.encode[0].ns, 2e6);
  EXPECT_DOUBLE_EQ(run.calls.decode[0].ns, 1e6);
  EXPECT_EQ(verifiedHook("halves", file).value().hook.name, "halves");
}

TEST_F(VerifiedHooksTest, OneOfAnotherLibraryByNowIsNone) {
  keepVerified({library, "halves", {}}, false, {measured(2)}, file);
  std::ofstream(library) << "another library, of another size";
  EXPECT_THAT(verifiedHooks(file), IsEmpty());
  std::ofstream(file) << "{\"x\": {\"stamp\": 7}}";
  EXPECT_THAT(verifiedHooks(file), IsEmpty()) << "of another Lockstep";
}

TEST_F(VerifiedHooksTest, OfParametersThatWereGivenAndOfNothingNothingIsKept) {
  keepVerified({library, "halves", {{"part", 0.5}}}, false, {measured(2)}, file);
  keepVerified({library, "silent", {}}, false, {Verification()}, file);
  EXPECT_THAT(verifiedHooks(file), IsEmpty());
}

TEST_F(VerifiedHooksTest, ANameThatIsNoneSaysWhichThereAre) {
  EXPECT_EQ(verifiedHook("fp16", file).error().message(),
            "--hook: the hook \"fp16\" was not verified on this machine, as lockstep hooks fp16 "
            "--verify does it; no other was");
  keepVerified({library, "halves", {}}, false, {measured(2)}, file);
  EXPECT_THAT(verifiedHook("fp16", file).error().message(), HasSubstr("; there are halves"));
}

}  // namespace
}  // namespace lockstep::plugin
