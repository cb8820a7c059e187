#include "engine/plugin/PluginFolders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/TemporaryFolder.h"

namespace lockstep::plugin {
namespace {

using testing::ElementsAre;

std::vector<std::string> pathsOf(const std::vector<PluginFolder>& folders, PluginFolder::Kind kind) {
  std::vector<std::string> paths;
  for (const PluginFolder& folder : folders) {
    if (folder.kind == kind) {
      paths.push_back(folder.path);
    }
  }
  return paths;
}

TEST(PluginFolders, AreTheExperimentsThenTheUsersThenLocksteps) {
  setenv("LOCKSTEP_HOOKS", "/a/hooks:/b/hooks", 1);
  setenv("XDG_DATA_HOME", "/data", 1);
  const auto folders = pluginFolders("/lab/my.toml");
  EXPECT_EQ(folders.front().kind, PluginFolder::Kind::kExperiment);
  EXPECT_EQ(folders.front().path, "/lab/hooks");
  EXPECT_THAT(pathsOf(folders, PluginFolder::Kind::kUser),
              ElementsAre("/a/hooks", "/b/hooks", "/data/lockstep/hooks"));
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  EXPECT_THAT(pathsOf(folders, PluginFolder::Kind::kBuiltIn),
              ElementsAre((program / "hooks").string(),
                          (program.parent_path() / "lib/lockstep/hooks").string()));
  unsetenv("LOCKSTEP_HOOKS");
  unsetenv("XDG_DATA_HOME");
}

TEST(PluginFolders, HoldLibrariesInTheOrderOfTheirNames) {
  const support::TemporaryFolder folder;
  for (const char* file : {"b.so", "a.so", "c.txt"}) {
    std::ofstream(folder / file) << "x";
  }
  EXPECT_THAT(librariesIn({PluginFolder::Kind::kUser, folder.path()}),
              ElementsAre((folder / "a.so").string(), (folder / "b.so").string()));
  EXPECT_THAT(librariesIn({PluginFolder::Kind::kUser, "/nowhere/at/all"}), testing::IsEmpty());
}

}  // namespace
}  // namespace lockstep::plugin
