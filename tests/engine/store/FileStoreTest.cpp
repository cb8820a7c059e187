#include "engine/store/FileStore.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "tests/engine/store/StoreFixtures.h"
#include "tests/support/ChildProcess.h"
#include "tests/support/ChildRole.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::store {
namespace {

using namespace std::chrono_literals;
using support::ChildProcess;
using support::ExitStatus;
using testing::AllOf;
using testing::HasSubstr;

/// Adds 100 times and waits for the others; a rank of AddsUpAmongProcesses.
int addUp(const std::vector<std::string>& arguments) {
  FileStore store({arguments.at(0), 4, "job", 30s});
  for (int i = 0; i < 100; ++i) {
    store.add("counter", 1);
  }
  const auto done = store.add("done", 1);
  store.set("done " + std::to_string(done), "");
  store.wait({"done 1", "done 2", "done 3", "done 4"});
  return store.get("counter") == "400" ? 0 : 1;
}

/// Writes without end, to be killed in the middle of it.
int scribble(const std::vector<std::string>& arguments) {
  FileStore store({arguments.at(0), 1, "job", 30s});
  std::printf("writing\n");
  std::fflush(stdout);
  for (;;) {
    store.set("key", std::string(200'000, 'x'));
  }
}

const support::RegisterChildRole adding("add-up", addUp);
const support::RegisterChildRole scribbling("scribble", scribble);

class FileStoreTest : public testing::Test {
 protected:
  support::TemporaryFolder folder;
  std::string path = (folder / "store").string();
};

TEST_F(FileStoreTest, GoesWithTheLastInstance) {
  auto first = std::make_unique<FileStore>(FileStoreOptions{path, 1});
  auto second = std::make_unique<FileStore>(FileStoreOptions{path, 1});
  first.reset();
  EXPECT_TRUE(std::filesystem::exists(path));
  second.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(FileStoreTest, StaysForRanksThatHaveNotComeYet) {
  {
    FileStore early({path, 2});
    early.set("key", "for the late");
  }
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(FileStore({path, 2}).get("key"), "for the late");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(FileStoreTest, AddsUpAmongProcesses) {
  auto ranks = support::spawnSelfAsRanks(4, "add-up", {path});
  for (auto& rank : ranks) {
    EXPECT_EQ(rank.wait(), ExitStatus{}) << rank.errors();
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(FileStoreTest, ReadsOnAfterAWriterWasKilled) {
  auto child = ChildProcess::self("scribble", {path});
  child.readLine();
  child.kill(SIGKILL);
  EXPECT_EQ(child.wait().signal, SIGKILL);
  FileStore store({path, 1, "job", 30s});
  store.set("after", "all is well");
  EXPECT_EQ(store.get("after"), "all is well");
}

TEST_F(FileStoreTest, CutsATornRecordOff) {
  FileStore store({path, 1});
  store.set("key", "value");
  const std::string torn("\x01\x04\0\0\0\xe8\x03\0\0torn, and then the writer died", 40);
  folder.write("store", support::readFile(path) + torn);
  EXPECT_FALSE(store.check({"torn"}));
  store.set("next", "value");
  FileStore reader({path, 1});
  EXPECT_EQ(reader.get("next"), "value");
  EXPECT_EQ(reader.get("key"), "value");
}

TEST_F(FileStoreTest, SaysThatSomebodyCutTheFile) {
  FileStore store({path, 1});
  store.set("key", "value");
  const std::string whole = support::readFile(path);
  folder.write("store", whole.substr(0, whole.size() - 3));
  EXPECT_THAT(failureOf([&] { store.check({"key"}); }), HasSubstr("shorter than it was"));
  folder.write("store", whole);
}

TEST_F(FileStoreTest, RefusesTheFileOfAnotherJob) {
  FileStore store({path, 1, "monday"});
  EXPECT_THAT(
      failureOf([&] {
        FileStore({path, 1, "tuesday"});
      }),
      AllOf(HasSubstr("monday"), HasSubstr("tuesday"), HasSubstr(path), HasSubstr("delete it")));
}

TEST_F(FileStoreTest, RefusesAFileThatIsNoStore) {
  folder.write("store", "a letter to my aunt");
  EXPECT_THAT(failureOf([&] { FileStore({path, 1}); }), HasSubstr("not a store's file"));
  EXPECT_EQ(support::readFile(path), "a letter to my aunt");
}

TEST_F(FileStoreTest, RefusesToAppendBeyondTheLongestValue) {
  FileStore store({path, 1});
  store.set("large", std::string(60U << 20, 'x'));
  EXPECT_THAT(failureOf([&] { store.append("large", std::string(5U << 20, 'x')); }),
              AllOf(HasSubstr("append"), HasSubstr("large\""), HasSubstr("67108864")));
  store.append("large", "y");
  EXPECT_EQ(store.get("large").size(), (60U << 20) + 1);
}

TEST_F(FileStoreTest, TakesAnEmptyFileOver) {
  folder.write("store", "");
  FileStore store({path, 1});
  store.set("key", "value");
  EXPECT_EQ(store.get("key"), "value");
}

TEST_F(FileStoreTest, SaysWhereAFileIsDamaged) {
  FileStore store({path, 1});
  const std::string sound = support::readFile(path);
  folder.write("store", sound + std::string("\x07\x01\0\0\0\x01\0\0\0ab", 11));
  EXPECT_THAT(failureOf([&] { store.check({"key"}); }),
              HasSubstr("damaged at byte " + std::to_string(sound.size())));
  folder.write("store", sound);
}

TEST_F(FileStoreTest, NamesEachMistakeOfItsOptions) {
  EXPECT_THAT(failureOf([] { FileStore({"", 1}); }), HasSubstr("path is missing"));
  EXPECT_THAT(failureOf([&] { FileStore({path, 0}); }), HasSubstr("world size is 0"));
  EXPECT_THAT(failureOf([&] {
                FileStore({(folder / "no/where").string(), 1});
              }),
              AllOf(HasSubstr("no/where"), HasSubstr("No such file or directory")));
  EXPECT_THAT(failureOf([&] {
                FileStore({folder.path().string(), 1});
              }),
              HasSubstr("Is a directory"));
}

TEST_F(FileStoreTest, GivesUpOnALockThatIsNeverReleased) {
  FileStore store({path, 1, "", 100ms});
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  EXPECT_THAT(failureOf([&] { store.set("key", "value"); }),
              AllOf(HasSubstr("timeout"), HasSubstr("lock")));
  close(fd);
  store.set("key", "value");
  EXPECT_EQ(store.get("key"), "value");
}

}  // namespace
}  // namespace lockstep::store
