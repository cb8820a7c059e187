#include "engine/plugin/PluginScan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/BuiltFiles.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::plugin {
namespace {

using support::built;

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class PluginScan : public testing::Test {
 protected:
  FoundLibrary scan(const std::string& path) {
    return scanLibrary(path, PluginFolder::Kind::kUser, options);
  }

  const support::TemporaryFolder folder;
  ScanOptions options{"", (folder / "cache.json").string(), std::chrono::seconds(20)};
};

TEST_F(PluginScan, FindsHooksByTheirId) {
  const auto libraries = scanFolders({{PluginFolder::Kind::kBuiltIn, built("hooks")}}, options);
  const FoundHook found = findHook(libraries, "fp16");
  ASSERT_NE(found.hook, nullptr);
  EXPECT_EQ(found.library->path, built("hooks/fp16.so"));
  EXPECT_EQ(found.library->error, "");
  EXPECT_EQ(findHook(libraries, "fp8").hook, nullptr);
}

TEST_F(PluginScan, RefusesALibraryThatCrashesWhenItIsOpened) {
  EXPECT_EQ(scan(built("broken_hooks/incomplete_7.so")).error,
            "it crashed while it was opened (ABRT: Aborted)");
}

TEST_F(PluginScan, TellsWhatIsKnownOnlyOfAHookThatWasMade) {
  const FoundLibrary topk = scan(built("hooks/topk.so"));
  ASSERT_EQ(topk.info.hooks.size(), 1U) << topk.error;
  EXPECT_TRUE(topk.info.hooks[0].has("state"));
  EXPECT_EQ(topk.info.hooks[0].refusal, "");
  EXPECT_FALSE(scan(built("hooks/noop.so")).info.hooks.at(0).has("state"));
}

TEST_F(PluginScan, RefusesALibraryThatHangsWhenItIsOpened) {
  options.timeLimit = std::chrono::milliseconds(300);
  EXPECT_EQ(scan(built("broken_hooks/incomplete_8.so")).error,
            "it did not describe itself within 0.3 s");
}

TEST_F(PluginScan, RefusesALibraryThatWritesIntoItsDescription) {
  EXPECT_THAT(scan(built("broken_hooks/incomplete_9.so")).error,
              HasSubstr("it disturbed its own description"));
}

TEST_F(PluginScan, PassesOnTheSentenceOfARefusal) {
  EXPECT_EQ(scan(built("broken_hooks/incomplete_2.so")).error, "its init() refused with status -5");
  EXPECT_EQ(scan("/nowhere/at/all.so").error, "there is no such file");
}

TEST_F(PluginScan, RemembersALibraryUntilItChanges) {
  const fs::path copy = folder / "own.so";
  fs::copy_file(built("hooks/fp16.so"), copy);
  ASSERT_EQ(scan(copy).error, "");
  options.hookscan = "/nowhere/at/all";
  EXPECT_EQ(scan(copy).info.hooks.at(0).id, "fp16") << "from the cache";
  fs::last_write_time(copy, fs::last_write_time(copy) + std::chrono::seconds(1));
  EXPECT_THAT(scan(copy).error, HasSubstr("cannot be started"));
}

TEST_F(PluginScan, AsksARefusedLibraryAgain) {
  const std::string path = built("hooks/fp16.so");
  options.hookscan = "/bin/false";
  ASSERT_EQ(scan(path).error, "it ended the scan with exit code 1");
  options.hookscan = "";
  EXPECT_EQ(scan(path).error, "") << "what was for the refusal lay outside of the library";
}

TEST_F(PluginScan, GoesOnWithoutACacheThatCannotBeReadOrWritten) {
  std::ofstream(options.cache) << "{ not json";
  EXPECT_EQ(scan(built("hooks/fp16.so")).error, "");
  options.cache = "/proc/nowhere/cache.json";
  EXPECT_EQ(scan(built("hooks/fp16.so")).error, "");
}

}  // namespace
}  // namespace lockstep::plugin
