#include "engine/export/OutputFile.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/support/TemporaryFolder.h"

#ifdef LOCKSTEP_HAVE_ZLIB
#include <zlib.h>
#endif

namespace lockstep::exports {
namespace {

using support::readFile;
using testing::HasSubstr;

std::size_t filesIn(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

std::unique_ptr<OutputFile> create(const std::filesystem::path& path) {
  auto created = OutputFile::create(path);
  EXPECT_TRUE(created.ok()) << created.error().message();
  return std::move(created).value();
}

TEST(OutputFile, TakesItsNameOnlyWhenItIsWhole) {
  const support::TemporaryFolder folder;
  folder.write("table.csv", "old");
  auto file = create(folder / "table.csv");
  file->write("new");
  EXPECT_EQ(readFile(folder / "table.csv"), "old");
  EXPECT_TRUE(file->commit().ok());
  EXPECT_EQ(readFile(folder / "table.csv"), "new");
  EXPECT_EQ(filesIn(folder.path()), 1u);
}

TEST(OutputFile, LeavesNothingWhenItIsGivenUp) {
  const support::TemporaryFolder folder;
  {
    auto file = create(folder / "table.csv");
    file->write(std::string(1 << 20, 'x'));
  }
  EXPECT_EQ(filesIn(folder.path()), 0u);
}

TEST(OutputFile, AFullDiskIsToldOnceAndTheDeviceStaysOne) {
  auto file = create("/dev/full");
  file->write(std::string(1 << 20, 'x'));
  EXPECT_FALSE(file->ok());
  const base::Status written = file->commit();
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, base::ExitCode::kEnvironment);
  EXPECT_THAT(written.error().message(), HasSubstr("/dev/full: cannot be written: No space left"));
  struct stat facts {};
  ASSERT_EQ(stat("/dev/full", &facts), 0);
  EXPECT_TRUE(S_ISCHR(facts.st_mode));
}

TEST(OutputFile, AFolderAndAMissingOneAreRefused) {
  const support::TemporaryFolder folder;
  const auto here = OutputFile::create(folder.path());
  ASSERT_FALSE(here.ok());
  EXPECT_THAT(here.error().message(), HasSubstr("is a folder"));
  const auto missing = OutputFile::create(folder / "no/such/table.csv");
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message(), HasSubstr("No such file or directory"));
}

TEST(OutputFile, ALinkStaysOne) {
  const support::TemporaryFolder folder;
  folder.write("there/table.csv", "old");
  std::filesystem::create_symlink(folder / "there/table.csv", folder / "table.csv");
  auto file = create(folder / "table.csv");
  file->write("new");
  EXPECT_TRUE(file->commit().ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "table.csv"));
  EXPECT_EQ(readFile(folder / "there/table.csv"), "new");
}

#ifdef LOCKSTEP_HAVE_ZLIB
TEST(OutputFile, ANameInGzIsCompressed) {
  const support::TemporaryFolder folder;
  const auto path = folder / "table.csv.gz";
  auto file = create(path);
  std::string content;
  for (int i = 0; i < 200'000; ++i) {
    content += std::to_string(i) + '\n';
  }
  for (std::size_t at = 0; at < content.size(); at += 1'000) {
    file->write(std::string_view(content).substr(at, 1'000));
  }
  ASSERT_TRUE(file->commit().ok());
  EXPECT_LT(file->bytes(), content.size() / 2);
  EXPECT_EQ(std::filesystem::file_size(path), file->bytes());

  std::string back(content.size() + 1, '\0');
  gzFile reader = gzopen(path.c_str(), "rb");
  const int size = gzread(reader, back.data(), static_cast<unsigned>(back.size()));
  gzclose(reader);
  back.resize(static_cast<std::size_t>(size));
  EXPECT_EQ(back, content);
}
#endif

}  // namespace
}  // namespace lockstep::exports
