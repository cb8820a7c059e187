#include "ui/table/TableText.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QStandardItemModel>
#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/table/Numbers.h"
#include "ui/table/RowsModel.h"

namespace lockstep::ui {
namespace {

namespace fs = std::filesystem;

constexpr auto kText = "Bucket,Took\r\n0,\"1,5 ms\"\r\n";

class WriteTableTest : public testing::Test {
 protected:
  WriteTableTest() {
    model_.setHorizontalHeaderLabels({"Bucket", "Took"});
    model_.appendRow({new QStandardItem("0"), new QStandardItem("1,5 ms")});
  }

  QString write(const fs::path& path) {
    return writeTable(model_, QString::fromStdString(path.string()));
  }

  support::TemporaryFolder folder_;
  QStandardItemModel model_;
};

TEST_F(WriteTableTest, TakesThePlaceOfAnOlderFileAndLeavesNothingElse) {
  const fs::path path = folder_ / "täble.csv";
  EXPECT_EQ(write(path), "");
  EXPECT_EQ(write(path), "");
  EXPECT_EQ(support::readFile(path), kText);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 1);
}

TEST_F(WriteTableTest, ALongTableIsWrittenWholeThoughItIsHandedOutInPages) {
  constexpr auto kRows = static_cast<std::size_t>(RowsModel::kPage) * 2 + 5;
  RowsModel model;
  model.setRows(std::make_shared<test::Numbers>(kRows));
  ASSERT_TRUE(model.canFetchMore({}));
  const fs::path path = folder_ / "long.csv";
  ASSERT_EQ(writeTable(model, QString::fromStdString(path.string())), "");
  const std::string text = support::readFile(path);
  EXPECT_EQ(std::ranges::count(text, '\n'), static_cast<std::ptrdiff_t>(kRows + 1));
}

TEST_F(WriteTableTest, ALinkStaysAndWhatItLeadsToIsWritten) {
  const fs::path target = folder_.write("elsewhere/real.csv", "old");
  fs::create_symlink(target, folder_ / "link.csv");
  EXPECT_EQ(write(folder_ / "link.csv"), "");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.csv"));
  EXPECT_EQ(support::readFile(target), kText);
}

TEST_F(WriteTableTest, WhatIsNoPlainFileIsWrittenToAndStays) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EXPECT_EQ(write(pipe), "");
  std::array<char, 256> read{};
  const ssize_t size = ::read(reader, read.data(), read.size());
  EXPECT_EQ(std::string(read.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))), kText);
  EXPECT_TRUE(fs::is_fifo(pipe));
  close(reader);
  ASSERT_FALSE(HasFailure()) << "a device would be replaced";
  EXPECT_EQ(write("/dev/full"), "/dev/full: cannot be written: No space left on device.");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(WriteTableTest, SaysWhyItCannot) {
  EXPECT_EQ(write("/nowhere/at/all.csv"),
            "/nowhere/at/all.csv: cannot be written: No such file or directory.");
  EXPECT_EQ(write(folder_.path()),
            QString::fromStdString(folder_.path().string()) + ": is a folder; name a file in it.");
}

}  // namespace
}  // namespace lockstep::ui
