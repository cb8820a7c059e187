#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "tests/engine/trace/RunFileSupport.h"

// Long files, which two threads read half of each: from 20,000 new rows in one poll on.
namespace lockstep::trace {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kMany = 50'000;

TEST(SpanReaderTest, GivesManyRowsOnceAndInTheirOrder) {
  const TemporaryFolder folder;
  makeFinishedRun(folder / "a.lockstep", kMany);
  for (const std::size_t most : {std::size_t{200'000}, std::size_t{30'001}, std::size_t{1'000}}) {
    const RunUpdate update = readAll(*openRun(folder / "a.lockstep"), most);
    ASSERT_EQ(update.spans.size(), kMany) << most;
    for (std::uint64_t i = 0; i < kMany; ++i) {
      ASSERT_EQ(update.spans[i].value, i) << most;
      ASSERT_EQ(update.spans[i].id, static_cast<std::int64_t>(i) + 1) << most;
    }
  }
}

TEST(SpanReaderTest, TakesAnyNumberForTheMost) {
  const TemporaryFolder folder;
  makeFinishedRun(folder / "a.lockstep", kMany);
  auto reader = openRun(folder / "a.lockstep");
  EXPECT_EQ(reader->poll(std::numeric_limits<std::size_t>::max()).value().spans.size(), kMany);
  EXPECT_TRUE(reader->poll(std::numeric_limits<std::size_t>::max()).value().spans.empty());
}

TEST(SpanReaderTest, FindsTheRowsBehindHolesInTheirIds) {
  const TemporaryFolder folder;
  makeFinishedRun(folder / "a.lockstep", kMany);
  query(folder / "a.lockstep",
        "DELETE FROM spans WHERE id BETWEEN 11 AND 49990; "
        "UPDATE spans SET id = id + 4000000000000000000 WHERE id > 49995");
  for (const std::size_t most : {std::size_t{200'000}, std::size_t{7}, std::size_t{1}}) {
    const RunUpdate update = readAll(*openRun(folder / "a.lockstep"), most);
    ASSERT_EQ(update.spans.size(), 20) << most;
    EXPECT_EQ(update.spans[9].value, 9);
    EXPECT_EQ(update.spans[10].value, 49'990);
    EXPECT_EQ(update.spans[19].value, 49'999);
    EXPECT_EQ(update.spans[19].id, 4'000'000'000'000'050'000);
  }
}

TEST(SpanReaderTest, ReadsWhatALiveRunHasInItsWalAndThenFollowsIt) {
  const TemporaryFolder folder;
  auto writer = createRun(folder / "a.lockstep");
  writer->setInfo(runningInfo());
  std::uint64_t next = writeEvents(*writer, 0, kMany);
  auto reader = openRun(folder / "a.lockstep");
  EXPECT_EQ(reader->poll(30'000).value().spans.size(), 30'000);
  next = writeEvents(*writer, next, kMany);  // while the reader is in the middle
  const RunUpdate rest = readAll(*reader, 30'000);
  ASSERT_EQ(rest.spans.size(), 70'000);
  for (std::uint64_t i = 0; i < rest.spans.size(); ++i) {
    ASSERT_EQ(rest.spans[i].value, 30'000 + i);
  }
  writeEvents(*writer, next, 3);
  EXPECT_EQ(reader->poll().value().spans.size(), 3);
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_EQ(folder.listing(), "a.lockstep") << "a connection of the reader kept the WAL";
}

TEST(SpanReaderTest, SaysThatAFileIsDamagedInTheHalfOfEitherThread) {
  const TemporaryFolder folder;
  makeFinishedRun(folder / "good.lockstep", kMany);
  const auto pages = std::filesystem::file_size(folder / "good.lockstep") / 4096;
  for (const auto page : {pages / 4, pages - pages / 4}) {
    std::filesystem::copy_file(folder / "good.lockstep", folder / "a.lockstep",
                               std::filesystem::copy_options::overwrite_existing);
    {
      std::fstream file(folder / "a.lockstep", std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(page * 4096));
      file << std::string(100, '\xAB');
    }
    const auto polled = openRun(folder / "a.lockstep")->poll();
    ASSERT_FALSE(polled.ok()) << page;
    EXPECT_THAT(polled.error().message(), HasSubstr("damaged")) << page;
  }
}

}  // namespace
}  // namespace lockstep::trace
