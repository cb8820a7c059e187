#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <thread>

#include "engine/trace/HostFacts.h"
#include "tests/engine/trace/Peer.h"
#include "tests/engine/trace/RunFileSupport.h"

namespace lockstep::trace {
namespace {

using testing::HasSubstr;

TEST(RunFileTailTest, GivesEachCommittedRowOnce) {
  const TemporaryFolder folder;
  auto writer = createRun(folder / "a.lockstep");
  writer->setInfo(runningInfo());
  std::uint64_t next = writeEvents(*writer, 0, 10);
  auto reader = openRun(folder / "a.lockstep");
  EXPECT_EQ(readAll(*reader).spans.size(), 10);
  EXPECT_TRUE(reader->poll().value().empty());

  writer->addEvent(0, numberedEvent(next));
  EXPECT_TRUE(reader->poll().value().empty()) << "an uncommitted row must not be seen";
  ASSERT_TRUE(writer->commit().ok());
  const RunUpdate update = reader->poll().value();
  ASSERT_EQ(update.spans.size(), 1);
  EXPECT_EQ(update.spans[0].value, next);
  EXPECT_EQ(update.spans[0].id, 11);
}

TEST(RunFileTailTest, GivesSmallTablesOnlyWhenTheyChanged) {
  const TemporaryFolder folder;
  auto writer = createRun(folder / "a.lockstep");
  writer->setInfo(runningInfo());
  writer->addTrack(TrackInfo{0, 0, "step"});
  ASSERT_TRUE(writer->commit().ok());
  auto reader = openRun(folder / "a.lockstep");
  EXPECT_TRUE(reader->poll().value().tracks.has_value());

  writer->addTrack(TrackInfo{1, 1, "step"});
  ASSERT_TRUE(writer->commit().ok());
  const RunUpdate update = reader->poll().value();
  EXPECT_FALSE(update.info.has_value());
  ASSERT_TRUE(update.tracks.has_value());
  EXPECT_EQ(update.tracks->size(), 2);
}

TEST(RunFileTailTest, GivesAtMostAsManySpansAsAsked) {
  const TemporaryFolder folder;
  makeFinishedRun(folder / "a.lockstep", 25);
  auto reader = openRun(folder / "a.lockstep");
  EXPECT_EQ(reader->poll(10).value().spans.size(), 10);
  EXPECT_EQ(reader->poll(10).value().spans.size(), 10);
  EXPECT_EQ(reader->poll(10).value().spans.size(), 5);
  EXPECT_EQ(reader->poll(10).value().spans.size(), 0);
}

TEST(RunFileTailTest, HoldsNothingThatKeepsTheWalFromBeingEmptied) {
  const TemporaryFolder folder;
  auto writer = createRun(folder / "a.lockstep");
  writer->setInfo(runningInfo());
  writeEvents(*writer, 0, 1000);
  auto reader = openRun(folder / "a.lockstep");
  EXPECT_EQ(reader->poll(100).value().spans.size(), 100);  // in the middle of catching up
  // Columns: busy, pages in the WAL, pages moved. Nothing is left after a complete checkpoint.
  EXPECT_EQ(query(folder / "a.lockstep", "PRAGMA wal_checkpoint(TRUNCATE)"), "0|0|0");
  EXPECT_EQ(std::filesystem::file_size(folder / "a.lockstep-wal"), 0);
  EXPECT_EQ(readAll(*reader).spans.size(), 900);
}

TEST(RunFileTailTest, LeavesTheFileAloneSoThatTheWriterCanCloseIt) {
  const TemporaryFolder folder;
  auto writer = createRun(folder / "a.lockstep", {.finishPatience = std::chrono::milliseconds(0)});
  writer->setInfo(runningInfo());
  writeEvents(*writer, 0, 10);
  auto reader = openRun(folder / "a.lockstep");
  readAll(*reader);
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_EQ(folder.listing(), "a.lockstep");
}

TEST(RunFileTailTest, KeepsUpWithAWriterOnAnotherThread) {
  const TemporaryFolder folder;
  constexpr std::uint64_t kCommits = 200;
  constexpr std::uint64_t kRows = 50;
  auto writer = createRun(folder / "a.lockstep");
  writer->setInfo(runningInfo());
  ASSERT_TRUE(writer->commit().ok());
  auto reader = openRun(folder / "a.lockstep");
  std::thread writing([&] {
    std::uint64_t next = 0;
    for (std::uint64_t i = 0; i < kCommits; ++i) {
      next = writeEvents(*writer, next, kRows);
    }
    RunInfo info = runningInfo();
    info.state = RunState::kFinished;
    writer->setInfo(info);
    EXPECT_TRUE(writer->finish().ok());
  });
  std::uint64_t seen = 0;
  bool ordered = true;
  bool whole = true;
  RunState state = RunState::kStarting;
  while (state != RunState::kFinished) {
    const RunUpdate update = reader->poll().value();
    for (const SpanRow& span : update.spans) {
      ordered &= span.value == seen++;
    }
    whole &= seen % kRows == 0;
    state = update.info.has_value() ? update.info->state : state;
  }
  writing.join();
  EXPECT_TRUE(ordered);
  EXPECT_TRUE(whole) << "a part of a commit was seen";
  EXPECT_EQ(seen, kCommits * kRows) << "the end was told before the last row";
  EXPECT_EQ(folder.listing(), "a.lockstep");
}

TEST(RunFileTailTest, FollowsARunThatAnotherProcessRecords) {
  const TemporaryFolder folder;
  Peer peer("write", folder / "a.lockstep");
  auto reader = openRun(folder / "a.lockstep");
  EXPECT_EQ(reader->poll().value().info->state, RunState::kRunning);
  std::uint64_t next = 0;
  for (int round = 0; round < 5; ++round) {
    peer.command("rows 100");
    const RunUpdate update = reader->poll().value();
    for (const SpanRow& span : update.spans) {
      EXPECT_EQ(span.value, next++);
    }
    EXPECT_EQ(next, 100 * (round + 1));
  }
  peer.command("finish");
  EXPECT_EQ(reader->poll().value().info->state, RunState::kFinished);
  EXPECT_EQ(folder.listing(), "a.lockstep");
}

TEST(RunFileTailTest, SaysThatTheRecorderDiedAndKeepsWhatWasCommitted) {
  const TemporaryFolder folder;
  Peer peer("write", folder / "a.lockstep");
  peer.command("rows 1000");
  peer.command("uncommitted 5");
  auto tail = openRun(folder / "a.lockstep");
  EXPECT_EQ(tail->poll().value().info->state, RunState::kRunning);
  peer.command("rows 10");
  peer.kill();

  const RunUpdate update = tail->poll().value();
  EXPECT_EQ(update.spans.size(), 15);
  ASSERT_TRUE(update.info.has_value());
  EXPECT_EQ(update.info->state, RunState::kRecorderDied);
  EXPECT_TRUE(tail->poll().value().empty());
  EXPECT_EQ(folder.listing(), "a.lockstep") << "the tail tidies up";
}

TEST(RunFileTailTest, MakesOneFileOfARunWhoseRecorderDiedWhenItIsOpened) {
  const TemporaryFolder folder;
  {
    Peer peer("write", folder / "a.lockstep");
    peer.command("rows 1001");
    peer.kill();
  }
  ASSERT_TRUE(exists(folder / "a.lockstep-wal"));
  EXPECT_EQ(readRunSummary(folder / "a.lockstep").value().info.state, RunState::kRecorderDied);
  auto reader = openRun(folder / "a.lockstep");
  EXPECT_EQ(folder.listing(), "a.lockstep");
  EXPECT_EQ(query(folder / "a.lockstep", "PRAGMA journal_mode"), "delete");
  const RunUpdate update = readAll(*reader);
  EXPECT_EQ(update.spans.size(), 1001);
  EXPECT_EQ(update.info->state, RunState::kRecorderDied);
}

TEST(RunFileTailTest, NoticesThatAnotherProcessHasTheSupervisorsNumber) {
  const TemporaryFolder folder;
  auto writer = createRun(folder / "a.lockstep");
  RunInfo info = runningInfo();
  info.supervisorStart = "of an earlier process";
  writer->setInfo(info);
  ASSERT_TRUE(writer->commit().ok());
  EXPECT_EQ(openRun(folder / "a.lockstep")->poll().value().info->state, RunState::kRecorderDied);
}

TEST(RunFileTailTest, ReadsARunThatWasJustCreatedAsStarting) {
  const TemporaryFolder folder;
  auto writer = createRun(folder / "a.lockstep");
  EXPECT_EQ(openRun(folder / "a.lockstep")->poll().value().info->state, RunState::kStarting);
}

TEST(RunFileTailTest, EndsWellWhenAnotherProgramKeepsTheFileOpen) {
  const TemporaryFolder folder;
  const auto path = folder / "a.lockstep";
  {
    Peer peer("write", path);
    peer.command("rows 100");
    sqlite3* other = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &other), SQLITE_OK);
    sqlite3_stmt* open = nullptr;
    ASSERT_EQ(sqlite3_prepare_v2(other, "SELECT * FROM spans", -1, &open, nullptr), SQLITE_OK);
    ASSERT_EQ(sqlite3_step(open), SQLITE_ROW);
    peer.command("finish");  // waits as long as `finishPatience`, then ends all the same
    sqlite3_finalize(open);
    sqlite3_close(other);
  }
  const RunUpdate update = readAll(*openRun(path));
  EXPECT_EQ(update.info->state, RunState::kFinished);
  EXPECT_EQ(update.spans.size(), 100);
  EXPECT_EQ(folder.listing(), "a.lockstep");
}

TEST(RunFileCopyTest, CopiesALiveRunWithEveryCommittedRow) {
  const TemporaryFolder folder;
  Peer peer("write", folder / "a.lockstep");
  peer.command("rows 1001");
  peer.command("uncommitted 7");
  const base::Status copied = copyRunFile(folder / "a.lockstep", folder / "copy.lockstep");
  ASSERT_TRUE(copied.ok()) << copied.error().message();
  EXPECT_FALSE(exists(folder / "copy.lockstep-wal"));
  EXPECT_EQ(query(folder / "copy.lockstep", "PRAGMA journal_mode"), "delete");

  const RunUpdate update = readAll(*openRun(folder / "copy.lockstep"));
  EXPECT_EQ(update.spans.size(), 1001);
  EXPECT_EQ(update.info->state, RunState::kRecorderDied) << "nobody will write to the copy";
  EXPECT_THAT(update.info->failure, HasSubstr("copy"));
  peer.command("finish");
  EXPECT_EQ(readAll(*openRun(folder / "a.lockstep")).spans.size(), 1008);
}

TEST(RunFileCopyTest, CopiesAFinishedRunAsItIs) {
  const TemporaryFolder folder;
  makeFinishedRun(folder / "a.lockstep", 10);
  ASSERT_TRUE(copyRunFile(folder / "a.lockstep", folder / "copy.lockstep").ok());
  EXPECT_EQ(readAll(*openRun(folder / "copy.lockstep")).info->state, RunState::kFinished);
  EXPECT_EQ(folder.listing(), "a.lockstep copy.lockstep");
}

TEST(RunFileCopyTest, OverwritesNothing) {
  const TemporaryFolder folder;
  makeFinishedRun(folder / "a.lockstep", 10);
  const base::Status copied = copyRunFile(folder / "a.lockstep", folder / "a.lockstep");
  ASSERT_FALSE(copied.ok());
  EXPECT_THAT(copied.error().message(), HasSubstr("exists already"));
}

TEST(HostFactsTest, TellsOneProcessFromAnother) {
  EXPECT_FALSE(processStart(getpid()).empty());
  EXPECT_EQ(processStart(getpid()), processStart(getpid()));
  EXPECT_NE(processStart(getpid()), processStart(1));
  EXPECT_EQ(processStart(0), "");
  EXPECT_EQ(processStart(-1), "");
}

TEST(HostFactsTest, TakesAZombieForGone) {
  Peer peer("write", TemporaryFolder() / "a.lockstep");
  EXPECT_FALSE(processStart(peer.pid()).empty());
  peer.kill();
  EXPECT_EQ(processStart(peer.pid()), "");
}

}  // namespace
}  // namespace lockstep::trace
