#include "engine/plugin/PluginLibrary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/support/BuiltFiles.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::plugin {
namespace {

using support::built;
using testing::HasSubstr;

std::string refusal(const std::string& path) {
  const auto library = PluginLibrary::open(path);
  if (library.ok()) {
    return "was opened";
  }
  EXPECT_EQ(library.error().code, base::ExitCode::kHookFailed);
  EXPECT_THAT(library.error().message(), HasSubstr(path));
  return library.error().what;
}

TEST(PluginLibrary, TellsWhatItsHooksAre) {
  const auto library = PluginLibrary::open(built("hooks/fp16.so"));
  ASSERT_TRUE(library.ok()) << library.error().message();
  const HookInfo* hook = library.value()->find("fp16");
  ASSERT_NE(hook, nullptr);
  EXPECT_EQ(hook->version, "1.0");
  EXPECT_EQ(hook->dtypes, 1U << LOCKSTEP_F32);
  EXPECT_NE(hook->caps & LOCKSTEP_CAP_INNER, 0U);
  EXPECT_GT(hook->meanError, 0);
  EXPECT_EQ(library.value()->find("fp32"), nullptr);
}

TEST(PluginLibrary, TellsWhatParametersAHookHas) {
  const auto library = PluginLibrary::open(built("broken_hooks/misbehaving.so"));
  ASSERT_TRUE(library.ok()) << library.error().message();
  const auto& params = library.value()->find("misbehaving")->params;
  ASSERT_EQ(params.size(), 3U);
  EXPECT_EQ(params[0].type, HookParam::Type::kChoice);
  EXPECT_EQ(params[0].initialText, "nothing");
  EXPECT_THAT(params[0].choices, testing::Contains("hang"));
  EXPECT_EQ(params[1].type, HookParam::Type::kInteger);
  EXPECT_EQ(params[1].max, 64);
}

TEST(PluginLibrary, RefusesWhatIsNoFile) {
  EXPECT_EQ(refusal("/nowhere/at/all.so"), "there is no such file");
}

TEST(PluginLibrary, RefusesWhatIsNoSharedLibraryWithTheLoadersReason) {
  const support::TemporaryFolder folder;
  std::ofstream(folder / "text.so") << "not a library";
  EXPECT_THAT(refusal(folder / "text.so"), HasSubstr("cannot be loaded: "));
}

TEST(PluginLibrary, RefusesALibraryWithoutAnEntry) {
  const support::TemporaryFolder folder;
  ASSERT_EQ(std::system(("echo 'int x;' | cc -shared -x c -o " + (folder / "x.so").string() + " -").c_str()),
            0);
  EXPECT_EQ(refusal(folder / "x.so"),
            "exports no lockstep_comm_hook_plugin_v1: it is no plugin of Lockstep");
}

TEST(PluginLibrary, NamesBothVersionsOfABorderThatIsNotThisOne) {
  EXPECT_THAT(refusal(built("broken_hooks/wrong_version.so")),
              HasSubstr("was built for version 7 of the plugin border, this Lockstep has version 1"));
}

struct Incomplete {
  int number;
  const char* sentence;
};

class RefusedEntry : public testing::TestWithParam<Incomplete> {};

TEST_P(RefusedEntry, IsASentence) {
  const auto [number, sentence] = GetParam();
  EXPECT_EQ(refusal(built("broken_hooks/incomplete_" + std::to_string(number) + ".so")), sentence);
}

INSTANTIATE_TEST_SUITE_P(
    Broken, RefusedEntry,
    testing::Values(
        Incomplete{1, "its entry says that it is 8 bytes long, 48 are needed"},
        Incomplete{2, "its init() refused with status -5"},
        Incomplete{3, "says that it has 0 hooks"},
        Incomplete{4, "hook 0 has no usable id (''): lower-case letters, digits and _"},
        Incomplete{5, "hook incomplete: parameter 'Bad Key' has no usable key: lower-case letters, "
                      "digits and _"},
        Incomplete{6, "hook incomplete: parameter 'rank': its default 9 does not lie in its range, "
                      "1 to 8"},
        Incomplete{10, "its entry has no function create"}),
    [](const auto& info) { return "number_" + std::to_string(info.param.number); });

}  // namespace
}  // namespace lockstep::plugin
