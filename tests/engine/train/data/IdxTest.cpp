#include "engine/train/data/Idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/train/Files.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::train {
namespace {

using support::TemporaryFolder;
using testing::HasSubstr;

TEST(ReadIdx, ReadsPlainAndGzippedFilesAlike) {
  const TemporaryFolder folder;
  const std::string bytes = idx({2, 1, 3}, "\x01\x02\x03\xFE\xFD\xFC");
  writeFile(folder / "plain", bytes);
  writeGzip(folder / "packed.gz", bytes);
  for (const char* name : {"plain", "packed.gz"}) {
    const auto tensor = readIdx(folder / name, 3);
    ASSERT_TRUE(tensor.ok()) << tensor.error().message();
    EXPECT_EQ(tensor.value().sizes(), at::IntArrayRef({2, 1, 3}));
    EXPECT_EQ(tensor.value()[1][0][0].item<int>(), 0xFE);
  }
}

TEST(ReadIdx, SaysHowManyBytesWereExpectedAndFoundWhenCutOff) {
  const TemporaryFolder folder;
  writeFile(folder / "short", idx({100, 28, 28}, std::string(500, 'x')));
  const auto tensor = readIdx(folder / "short", 3);
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.error().code, base::ExitCode::kBadInput);
  EXPECT_EQ(
      tensor.error().message(),
      (folder / "short").string() + ": cut off: 78400 bytes expected after the header, 500 found");
}

TEST(ReadIdx, SaysTheSameOfAGzipFileThatIsCutOff) {
  const TemporaryFolder folder;
  std::string noise;
  for (unsigned i = 0, x = 1; i < 20000; ++i, x = x * 1664525 + 1013904223) {
    noise += static_cast<char>(x >> 24);
  }
  writeGzip(folder / "full.gz", idx({20000}, noise));
  const std::string packed = readFile(folder / "full.gz");
  writeFile(folder / "half.gz", packed.substr(0, packed.size() / 2));
  const auto tensor = readIdx(folder / "half.gz", 1);
  ASSERT_FALSE(tensor.ok());
  EXPECT_THAT(tensor.error().message(), HasSubstr("cut off: 20000 bytes expected"));
}

TEST(ReadIdx, NamesDamagedGzipData) {
  const TemporaryFolder folder;
  writeGzip(folder / "full.gz", idx({9000}, std::string(9000, 'a')));
  std::string packed = readFile(folder / "full.gz");
  for (std::size_t i = 12; i < packed.size(); ++i) {
    packed[i] = static_cast<char>(~packed[i]);
  }
  writeFile(folder / "bad.gz", packed);
  const auto tensor = readIdx(folder / "bad.gz", 1);
  ASSERT_FALSE(tensor.ok());
  EXPECT_THAT(tensor.error().message(), HasSubstr("bad.gz: damaged gzip data"));
}

TEST(ReadIdx, ShowsTheFirstBytesOfWhatIsNoIdxFile) {
  const TemporaryFolder folder;
  writeFile(folder / "text", "hello, world, this is a text");
  const auto tensor = readIdx(folder / "text", 3);
  ASSERT_FALSE(tensor.ok());
  EXPECT_THAT(tensor.error().what, HasSubstr("opens with 68656c6c"));
  EXPECT_THAT(tensor.error().what, HasSubstr("000008"));
}

TEST(ReadIdx, RefusesTheWrongNumberOfDimensions) {
  const TemporaryFolder folder;
  writeFile(folder / "labels", idx({4}, "abcd"));
  EXPECT_THAT(readIdx(folder / "labels", 3).error().what, HasSubstr("3 dimensions"));
}

TEST(ReadIdx, RefusesAHeaderThatIsCutOffAndAnEmptyFile) {
  const TemporaryFolder folder;
  writeFile(folder / "header", idx({4, 5}, "").substr(0, 9));
  EXPECT_THAT(readIdx(folder / "header", 2).error().what, HasSubstr("12 bytes expected, 9 found"));
  writeFile(folder / "empty", "");
  EXPECT_THAT(readIdx(folder / "empty", 2).error().what, HasSubstr("0 found"));
}

TEST(ReadIdx, RefusesDataBehindTheEndAndSetsOfNothing) {
  const TemporaryFolder folder;
  writeFile(folder / "long", idx({2}, "abc"));
  EXPECT_THAT(readIdx(folder / "long", 1).error().what, HasSubstr("too long"));
  writeFile(folder / "none", idx({0, 28, 28}, ""));
  EXPECT_THAT(readIdx(folder / "none", 3).error().what, HasSubstr("no samples"));
}

TEST(ReadIdx, SurvivesAHeaderThatClaimsMoreThanThereIsMemory) {
  const TemporaryFolder folder;
  writeFile(folder / "huge", idx({0x7FFFFFFF, 28, 28}, "abc"));
  EXPECT_THAT(readIdx(folder / "huge", 3).error().what, HasSubstr("3 found"));
  writeFile(folder / "impossible", idx({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, "abc"));
  EXPECT_THAT(readIdx(folder / "impossible", 3).error().what, HasSubstr("impossible sizes"));
}

TEST(ReadIdx, NamesAFileThatIsNotThereAndAFolder) {
  const TemporaryFolder folder;
  EXPECT_THAT(readIdx(folder / "missing", 1).error().message(),
              HasSubstr("missing: cannot be read: No such file"));
  EXPECT_THAT(readIdx(folder.path(), 1).error().what, HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace lockstep::train
