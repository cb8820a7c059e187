#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <QAction>
#include <QPushButton>
#include <filesystem>
#include <fstream>

#include "tests/ui/shell/MainWindowFixture.h"
#include "ui/shell/Programs.h"
#include "ui/shell/RunController.h"

namespace lockstep {
namespace {

using tests::waitUntil;

// A folder of programs that app/run is still building: it holds a lock on the note in it.
class BuildWatchTest : public tests::MainWindowFixture {
 protected:
  BuildWatchTest()
      : note_(folder_.write("programs/BUILDING", "12 of 20 (60 %), about 5 min left\n")) {
    lock_ = open(note_.c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_EQ(flock(lock_, LOCK_EX | LOCK_NB), 0);
  }
  ~BuildWatchTest() override { endBuild(); }

  void write(const std::string& progress) { std::ofstream(note_) << progress << '\n'; }
  void addLockstep() {
    std::filesystem::create_symlink((tests::programs() + "/fake/lockstep").toStdString(),
                                    folder_ / "programs" / "lockstep");
  }
  // As app/run ends: the note goes, then the lock.
  void endBuild() {
    std::filesystem::remove(note_);
    if (lock_ >= 0) {
      close(lock_);
    }
    lock_ = -1;
  }
  QString programs() const { return QString::fromStdString((folder_ / "programs").string()); }
  // The window of these programs.
  ui::MainWindow& studio() {
    appearance_ = std::make_unique<ui::Appearance>();
    window_ = std::make_unique<ui::MainWindow>(
        ui::StudioPaths{.experiments = QString::fromStdString((folder_ / "experiments").string()),
                        .runs = runs(),
                        .experiment = {},
                        .programs = programs()},
        *appearance_);
    return *window_;
  }

  std::filesystem::path note_;
  int lock_ = -1;
};

TEST_F(BuildWatchTest, ProgramsThatAreBeingBuiltAreNotFoundEvenWhenTheyAreThere) {
  addLockstep();
  const ui::Programs programs = ui::findPrograms(this->programs());
  EXPECT_TRUE(programs.building);
  EXPECT_EQ(programs.lockstep, QString());
  EXPECT_EQ(ui::reasonAgainstStarting(programs),
            "lockstep is still being built: 12 of 20 (60 %), about 5 min left; runs can be started "
            "when it is done");
}

TEST_F(BuildWatchTest, ANoteThatIsJustBeingWrittenMakesAShorterSentence) {
  write("");
  EXPECT_EQ(ui::reasonAgainstStarting(ui::findPrograms(programs())),
            "lockstep is still being built; runs can be started when it is done");
}

TEST_F(BuildWatchTest, ANoteThatNobodyLocksIsOfABuildThatWasKilled) {
  addLockstep();
  close(lock_);
  lock_ = -1;
  const ui::Programs programs = ui::findPrograms(this->programs());
  EXPECT_FALSE(programs.building);
  EXPECT_EQ(programs.lockstep, this->programs() + "/lockstep");
  EXPECT_EQ(ui::reasonAgainstStarting(programs), QString());
}

TEST_F(BuildWatchTest, ARunThatIsStartedTooEarlyIsRefusedWithTheSentence) {
  addLockstep();
  ui::RunController controller(ui::findPrograms(programs()), runs());
  const auto run = controller.start(
      QString::fromStdString((folder_ / "experiments/first_steps/demo.toml").string()));
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().message(),
            "lockstep is still being built: 12 of 20 (60 %), about 5 min left; runs can be started "
            "when it is done");
}

TEST_F(BuildWatchTest, RunIsOffWithTheSentenceAndGoesOnWhenTheBuildIsDone) {
  studio();
  auto* action = find<QAction>("run");
  auto* button = find<QPushButton>("setupRun");
  EXPECT_FALSE(action->isEnabled());
  EXPECT_TRUE(action->toolTip().startsWith("lockstep is still being built: 12 of 20"))
      << action->toolTip().toStdString();
  EXPECT_FALSE(button->isEnabled());
  EXPECT_TRUE(button->toolTip().contains("lockstep is still being built"))
      << button->toolTip().toStdString();

  write("15 of 20 (75 %), about 2 min left");
  EXPECT_TRUE(waitUntil([&] { return action->toolTip().contains("15 of 20"); }))
      << action->toolTip().toStdString();

  addLockstep();
  endBuild();
  EXPECT_TRUE(waitUntil([&] { return action->isEnabled(); }));
  EXPECT_TRUE(messages().contains("Everything is built: runs can be started"));
  EXPECT_FALSE(action->toolTip().contains("built")) << action->toolTip().toStdString();
}

TEST_F(BuildWatchTest, ABuildThatEndsWithoutTheProgramIsToldOf) {
  studio();
  endBuild();
  ASSERT_TRUE(waitUntil([this] { return !messages().isEmpty(); }));
  EXPECT_TRUE(messages().front().startsWith("The build ended without lockstep"))
      << messages().front().toStdString();
  EXPECT_TRUE(find<QAction>("run")->toolTip().startsWith("No lockstep program in "));
}

}  // namespace
}  // namespace lockstep
