#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "engine/trace/HostFacts.h"
#include "engine/trace/RunFile.h"
#include "tests/engine/trace/RunFileSupport.h"
#include "tests/golden/GoldenRun.h"
#include "tests/support/FileSizeLimit.h"

namespace lockstep::trace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// The refusal to open `path`, a single line.
std::string refusal(const std::filesystem::path& path, const RunFileReaderOptions& options = {}) {
  const auto opened = RunFileReader::open(path, options);
  EXPECT_FALSE(opened.ok()) << path << " was opened";
  const std::string message = opened.ok() ? "" : opened.error().message();
  EXPECT_THAT(message, AllOf(HasSubstr(path.filename().string()), Not(HasSubstr("\n"))));
  return message;
}

TEST(RunFileDamageTest, SaysThatThereIsNoSuchFile) {
  const TemporaryFolder folder;
  EXPECT_THAT(refusal(folder / "none.lockstep"), HasSubstr("No such file"));
  EXPECT_EQ(folder.listing(), "") << "opening must not create anything";
}

TEST(RunFileDamageTest, RefusesWhatIsNoRunFile) {
  const TemporaryFolder folder;
  EXPECT_THAT(refusal(folder.path()), HasSubstr("no file"));
  std::ofstream(folder / "empty.lockstep").flush();
  EXPECT_THAT(refusal(folder / "empty.lockstep"), HasSubstr("no run file of lockstep"));
  std::ofstream(folder / "text.lockstep") << std::string(10'000, 'x');
  EXPECT_THAT(refusal(folder / "text.lockstep"), HasSubstr("no run file of lockstep"));
  std::ofstream(folder / "other.lockstep").flush();
  query(folder / "other.lockstep", "CREATE TABLE t(x); INSERT INTO t VALUES(1)");
  EXPECT_THAT(refusal(folder / "other.lockstep"), HasSubstr("no run file of lockstep"));
}

TEST(RunFileDamageTest, RefusesANewerMajorAndNamesBothVersions) {
  const TemporaryFolder folder;
  makeFinishedRun(folder / "a.lockstep", 1);
  query(folder / "a.lockstep", "PRAGMA user_version=2003");
  EXPECT_THAT(refusal(folder / "a.lockstep"), AllOf(HasSubstr("2.3"), HasSubstr("1.x")));
}

TEST(RunFileDamageTest, OpensANewerMinorWithTablesAndColumnsItDoesNotKnow) {
  const TemporaryFolder folder;
  makeFinishedRun(folder / "a.lockstep", 12);
  query(folder / "a.lockstep",
        "PRAGMA user_version=1009; CREATE TABLE novelty(x); ALTER TABLE spans ADD COLUMN y; "
        "INSERT INTO changes VALUES(99, 1)");
  EXPECT_EQ(readAll(*openRun(folder / "a.lockstep")).spans.size(), 12);
}

TEST(RunFileDamageTest, SaysThatATruncatedFileIsDamaged) {
  const TemporaryFolder folder;
  makeFinishedRun(folder / "a.lockstep", 10'000);
  const auto whole = std::filesystem::file_size(folder / "a.lockstep");
  for (const auto size : {whole - 4096, whole / 2, std::uintmax_t{4096}}) {
    std::filesystem::resize_file(folder / "a.lockstep", size);
    EXPECT_THAT(refusal(folder / "a.lockstep"), HasSubstr("damaged or was cut short")) << size;
  }
}

TEST(RunFileDamageTest, SaysThatAFileWithAnOverwrittenPageIsDamaged) {
  const TemporaryFolder folder;
  makeFinishedRun(folder / "a.lockstep", 10'000);
  const auto size = std::filesystem::file_size(folder / "a.lockstep");
  {
    std::fstream file(folder / "a.lockstep", std::ios::in | std::ios::out | std::ios::binary);
    for (std::uintmax_t page = size / 4096 / 2; page < size / 4096; ++page) {
      file.seekp(static_cast<std::streamoff>(page * 4096));
      file << std::string(100, '\xAB');
    }
  }
  const auto reader = RunFileReader::open(folder / "a.lockstep");
  ASSERT_TRUE(reader.ok()) << reader.error().message();
  const auto polled = reader.value()->poll();
  ASSERT_FALSE(polled.ok());
  EXPECT_THAT(polled.error().message(), HasSubstr("damaged"));
}

TEST(RunFileDamageTest, SaysThatATableIsMissing) {
  const TemporaryFolder folder;
  makeFinishedRun(folder / "a.lockstep", 1);
  query(folder / "a.lockstep", "DROP TABLE logs");
  EXPECT_THAT(refusal(folder / "a.lockstep"), HasSubstr("it has no table logs"));
}

/// Expects that whoever opens `path` refuses it, in the same words, which contain `what`.
void expectOneVerdict(const std::filesystem::path& path, const std::string& what) {
  const std::string message = refusal(path);
  EXPECT_THAT(message, HasSubstr(what));
  const auto summary = readRunSummary(path);
  EXPECT_FALSE(summary.ok()) << "without " << what;
  EXPECT_EQ(summary.ok() ? "" : summary.error().message(), message);
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    all.push_back(line);
  }
  return all;
}

TEST(RunFileDamageTest, AllReadersRefuseAFileThatLacksATable) {
  const TemporaryFolder folder;
  makeFinishedRun(folder / "whole.lockstep", 1);
  const auto tables = lines(
      query(folder / "whole.lockstep", "SELECT name FROM sqlite_master WHERE type = 'table'"));
  EXPECT_GT(tables.size(), 15);
  for (const std::string& table : tables) {
    const auto path = folder / (table + ".lockstep");
    std::filesystem::copy_file(folder / "whole.lockstep", path);
    query(path, "DROP TABLE " + table);
    expectOneVerdict(path, "no table " + table);
  }
}

TEST(RunFileDamageTest, AllReadersRefuseAFileThatLacksAColumn) {
  const TemporaryFolder folder;
  makeFinishedRun(folder / "whole.lockstep", 1);
  const auto columns = lines(query(
      folder / "whole.lockstep",
      "SELECT t.name || '.' || c.name FROM sqlite_master AS t, pragma_table_info(t.name) AS c "
      "WHERE t.type = 'table'"));
  EXPECT_GT(columns.size(), 60);
  // Views refer to columns by their names, and no reader asks them.
  for (const std::string& view : lines(query(
           folder / "whole.lockstep", "SELECT name FROM sqlite_master WHERE type = 'view'"))) {
    query(folder / "whole.lockstep", "DROP VIEW " + view);
  }
  const auto path = folder / "part.lockstep";
  for (const std::string& column : columns) {
    std::filesystem::copy_file(folder / "whole.lockstep", path,
                               std::filesystem::copy_options::overwrite_existing);
    const auto dot = column.find('.');
    query(path, "ALTER TABLE " + column.substr(0, dot) + " RENAME COLUMN " +
                    column.substr(dot + 1) + " TO another");
    expectOneVerdict(path, "no column " + column);
  }
}

class ImpossibleParameterTest : public testing::TestWithParam<const char*> {};

TEST_P(ImpossibleParameterTest, IsDamageAndIsNotLaidOut) {
  const TemporaryFolder folder;
  const auto path = folder / "a.lockstep";
  ASSERT_TRUE(writeGoldenRun(path).ok());
  query(path, GetParam());
  const auto polled = openRun(path)->poll();
  ASSERT_FALSE(polled.ok()) << GetParam();
  EXPECT_THAT(polled.error().message(), HasSubstr("damaged"));
}

INSTANTIATE_TEST_SUITE_P(
    Numbers, ImpossibleParameterTest,
    testing::Values("UPDATE bucket_parameters SET parameter = 4000000000 WHERE position = 1",
                    "UPDATE bucket_parameters SET parameter = 2 WHERE position = 1",
                    "UPDATE bucket_parameters SET parameter = -1 WHERE position = 1",
                    "UPDATE bucket_parameters SET parameter = 4294967296",
                    "DELETE FROM parameters; UPDATE bucket_parameters SET parameter = 4000000000",
                    "UPDATE fingerprints SET parameter = 4000000000 WHERE id = 2",
                    "UPDATE fingerprints SET parameter = 4294967295",
                    "DELETE FROM parameters; UPDATE fingerprints SET parameter = 4000000000",
                    "DELETE FROM parameters WHERE parameter = 0"));

TEST(RunFileDamageTest, ReadsLayoutsAndFingerprintsThatCameBeforeTheParameters) {
  const TemporaryFolder folder;
  const auto path = folder / "a.lockstep";
  ASSERT_TRUE(writeGoldenRun(path).ok());
  query(path, "DELETE FROM parameters");
  const RunUpdate update = readAll(*openRun(path));
  EXPECT_EQ(update.layouts->size(), 2);
  EXPECT_EQ(update.fingerprints.size(), 4);
}

TEST(RunFileDamageTest, NoticesThatAnotherFileTookThePlace) {
  const TemporaryFolder folder;
  makeFinishedRun(folder / "a.lockstep", 5);
  makeFinishedRun(folder / "b.lockstep", 9);
  auto reader = openRun(folder / "a.lockstep");
  readAll(*reader);
  std::filesystem::rename(folder / "b.lockstep", folder / "a.lockstep");
  const auto polled = reader->poll();
  ASSERT_FALSE(polled.ok());
  EXPECT_THAT(polled.error().message(), HasSubstr("another file took the place"));
}

TEST(RunFileDamageTest, RefusesALiveRunOnANetworkFileSystem) {
  const TemporaryFolder folder;
  const RunFileReaderOptions onNfs{[](const std::filesystem::path&) { return "nfs"; }};
  auto writer = createRun(folder / "a.lockstep");
  writer->setInfo(runningInfo());
  ASSERT_TRUE(writer->commit().ok());
  EXPECT_THAT(refusal(folder / "a.lockstep", onNfs),
              AllOf(HasSubstr("network file system (nfs)"), HasSubstr("still being recorded")));
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_TRUE(RunFileReader::open(folder / "a.lockstep", onNfs).ok());
}

TEST(HostFactsTest, KnowsNetworkFileSystemsByTheirNumbers) {
  EXPECT_EQ(networkFileSystemName(0x6969), "nfs");
  EXPECT_EQ(networkFileSystemName(static_cast<std::int32_t>(0xFF534D42)), "cifs");
  EXPECT_EQ(networkFileSystemName(0xEF53), "");  // ext4
  EXPECT_EQ(networkFileSystemOf("/proc"), "");
}

/// Runs as a user for whom the permissions of files hold, which they do not for root.
class AsOrdinaryUser {
 public:
  AsOrdinaryUser() : wasRoot_(geteuid() == 0 && seteuid(65534) == 0) {}
  ~AsOrdinaryUser() {
    if (wasRoot_) {
      EXPECT_EQ(seteuid(0), 0);
    }
  }

 private:
  bool wasRoot_;
};

TEST(RunFileDamageTest, OpensAReadOnlyRunThatWasLeftInWalMode) {
  const TemporaryFolder folder;
  makeFinishedRun(folder / "a.lockstep", 42);
  query(folder / "a.lockstep", "PRAGMA journal_mode=WAL");
  using std::filesystem::perms;
  const perms readOnly = perms::owner_read | perms::group_read | perms::others_read;
  const perms search = perms::owner_exec | perms::group_exec | perms::others_exec;
  std::filesystem::permissions(folder / "a.lockstep", readOnly);
  std::filesystem::permissions(folder.path(), readOnly | search);
  {
    const AsOrdinaryUser user;
    EXPECT_EQ(readAll(*openRun(folder / "a.lockstep")).spans.size(), 42);
    EXPECT_EQ(readRunSummary(folder / "a.lockstep").value().info.name, "demo");
  }
  EXPECT_EQ(folder.listing(), "a.lockstep");
}

TEST(RunFileDamageTest, SaysThatTheDiskIsFullAndKeepsWhatWasCommitted) {
  const TemporaryFolder folder;
  auto writer = createRun(folder / "a.lockstep", {.maxBytes = 512 * 1024});
  RunInfo info = runningInfo();
  writer->setInfo(info);
  std::uint64_t committed = 0;
  base::Status status;
  while (status.ok() && committed < 1'000'000) {
    for (int i = 0; i < 1000; ++i) {
      writer->addEvent(0, numberedEvent(committed));
    }
    status = writer->commit();
    committed += status.ok() ? 1000 : 0;
  }
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message(), HasSubstr("disk is full"));
  EXPECT_EQ(readAll(*openRun(folder / "a.lockstep")).spans.size(), committed);

  writer->addEvent(0, numberedEvent(1));  // is dropped, and the first error stays
  EXPECT_EQ(writer->commit().error().message(), status.error().message());
  info.state = RunState::kFailed;
  info.failure = "the disk is full";
  writer->setInfo(info);
  EXPECT_EQ(writer->finish().error().message(), status.error().message());
  const RunUpdate update = readAll(*openRun(folder / "a.lockstep"));
  EXPECT_EQ(update.spans.size(), committed);
  EXPECT_EQ(update.info->state, RunState::kFailed) << "how it ended still fits in";
  EXPECT_EQ(folder.listing(), "a.lockstep");
}

/// Writes rows, `rowsACommit` at a time, until the file may not grow; then says how the run ended.
void fillAndFinish(const std::filesystem::path& path, int rowsACommit) {
  auto writer = createRun(path);
  RunInfo info = runningInfo();
  writer->setInfo(info);
  std::uint64_t committed = 0;
  {
    const support::FileSizeLimit limit(1 << 20);
    base::Status status;
    while (status.ok() && committed < 1'000'000) {
      for (int i = 0; i < rowsACommit; ++i) {
        writer->addEvent(0, numberedEvent(committed));
      }
      status = writer->commit();
      committed += status.ok() ? static_cast<std::uint64_t>(rowsACommit) : 0;
    }
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message(), HasSubstr("File too large"));
    info.state = RunState::kFailed;
    writer->setInfo(info);
    EXPECT_FALSE(writer->finish().ok());
  }
  EXPECT_GT(committed, 0);
  const RunUpdate update = readAll(*openRun(path));
  EXPECT_EQ(update.spans.size(), committed);
  EXPECT_EQ(update.info->state, RunState::kFailed);
}

TEST(RunFileDamageTest, StaysReadableAndSaysHowItEndedWhenTheSystemRefusesToLetItGrow) {
  const TemporaryFolder folder;
  fillAndFinish(folder / "a.lockstep", 1000);
}

TEST(RunFileDamageTest, SaysHowItEndedWhenTheFailedTransactionLeftNoRoom) {
  const TemporaryFolder folder;
  fillAndFinish(folder / "a.lockstep", 1);
}

}  // namespace
}  // namespace lockstep::trace
