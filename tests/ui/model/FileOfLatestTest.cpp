#include "ui/model/FileOfLatest.h"

#include <gtest/gtest.h>

#include <QThreadPool>
#include <filesystem>
#include <future>
#include <optional>

#include "tests/support/TemporaryFolder.h"
#include "ui/model/BackgroundJob.h"

namespace lockstep::ui {
namespace {

class FileOfLatestTest : public testing::Test {
 protected:
  FileOfLatestTest() { file_.emplace(QString::fromStdString(path_.string())); }

  // Keeps every thread of the pool until `release_` has its value.
  void occupyThePool() {
    for (int i = 0; i < backgroundPool().maxThreadCount(); ++i) {
      backgroundPool().start([until = released_] { until.wait(); });
    }
  }

  void TearDown() override {
    release_.set_value();
    backgroundPool().waitForDone();
  }

  support::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / "figures.json";
  std::optional<FileOfLatest> file_;
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
};

TEST_F(FileOfLatestTest, IsWrittenByThePoolAndHoldsTheLastText) {
  for (int i = 0; i < 100; ++i) {
    file_->write(QByteArray::number(i));
  }
  backgroundPool().waitForDone();
  EXPECT_EQ(support::readFile(path_), "99");
  EXPECT_EQ(file_->mistake(), "");
}

TEST_F(FileOfLatestTest, NeverMakesTheCallerWaitAndIsWholeWhenItEnds) {
  occupyThePool();
  file_->write("one");
  file_->write("two");
  EXPECT_FALSE(std::filesystem::exists(path_)) << "nobody has had the time to write it";
  file_.reset();
  EXPECT_EQ(support::readFile(path_), "two");
}

TEST_F(FileOfLatestTest, SaysWhyItCannotBeWrittenAndLeavesNothing) {
  for (const std::filesystem::path& path : {folder_.path(), folder_ / "none/figures.json"}) {
    file_.emplace(QString::fromStdString(path.string()));
    file_->write("text");
    backgroundPool().waitForDone();
    EXPECT_TRUE(file_->mistake().startsWith(QString::fromStdString(path.string())))
        << file_->mistake().toStdString();
    file_->write("text");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

}  // namespace
}  // namespace lockstep::ui
