#include "ui/shell/JobRequest.h"

#include <gtest/gtest.h>

#include <QDir>

#include "tests/support/TemporaryFolder.h"

namespace lockstep::ui {
namespace {

class JobRequestTest : public testing::Test {
 protected:
  JobRequestTest() {
    job_.command = "sh train.sh --lr 0.1";
    job_.folder = path("");
  }
  [[nodiscard]] QString path(const std::string& name) const {
    return QString::fromStdString((folder_ / name).string());
  }
  JobStart started() {
    const auto start = checkedJob(job_);
    EXPECT_TRUE(start.ok()) << start.error().message();
    return start.ok() ? start.value() : JobStart{};
  }
  std::string mistake() {
    const auto start = checkedJob(job_);
    EXPECT_FALSE(start.ok()) << job_.command.toStdString();
    return start.ok() ? std::string() : start.error().message();
  }

  support::TemporaryFolder folder_;
  JobRequest job_;
};

TEST_F(JobRequestTest, IsStartedWithItsWordsInItsFolder) {
  job_.environment = {"OMP_NUM_THREADS=1"};
  const JobStart start = started();
  EXPECT_EQ(start.words, (QStringList{"sh", "train.sh", "--lr", "0.1"}));
  EXPECT_EQ(start.environment, QStringList{"OMP_NUM_THREADS=1"});
  EXPECT_EQ(start.folder, QDir::cleanPath(job_.folder));
  EXPECT_EQ(start.name, "sh");
  EXPECT_EQ(start.runFile, "");
  job_.command = "sh -c 'exec python train.py'";
  EXPECT_EQ(started().words.back(), "exec python train.py");
}

TEST_F(JobRequestTest, SaysHowOftenReplicasAreCompared) {
  EXPECT_EQ(started().checkReplicas, 0);
  job_.checkReplicas = 20;
  EXPECT_EQ(started().checkReplicas, 20);
}

TEST_F(JobRequestTest, SaysWhatTheRunFileKeepsAndHowLargeItMayBecome) {
  EXPECT_EQ(started().detail, "full");
  EXPECT_EQ(started().limitMb, 0);
  job_.detail = "outliers";
  job_.limitMb = 50;
  EXPECT_EQ(started().detail, "outliers");
  EXPECT_EQ(started().limitMb, 50);
}

TEST_F(JobRequestTest, IsNamedForItsScriptOrAsItsUserSays) {
  job_.command = "sh src/train.py";
  EXPECT_EQ(started().name, "train");
  job_.run = "first try";
  EXPECT_EQ(started().name, "first try");
  EXPECT_EQ(started().runFile, "");
}

TEST_F(JobRequestTest, MayBeRecordedIntoAFileThatIsNotThereYet) {
  job_.run = "./mine";
  EXPECT_EQ(started().runFile, path("mine.lockstep"));
  EXPECT_EQ(started().name, "mine");
  job_.run = path("mine.lockstep");
  EXPECT_EQ(started().runFile, path("mine.lockstep"));
  folder_.write("mine.lockstep", "");
  EXPECT_EQ(mistake(), "there is a run " + path("mine.lockstep").toStdString() + " already");
  job_.run = path("none/mine.lockstep");
  EXPECT_EQ(mistake(), "there is no folder " + path("none").toStdString() + " for the run");
}

TEST_F(JobRequestTest, TakesVariablesBeforeTheProgramAsAShellDoes) {
  job_.command = "A=1 B='two words' sh x.sh";
  EXPECT_EQ(started().environment, (QStringList{"A=1", "B=two words"}));
  EXPECT_EQ(started().words, (QStringList{"sh", "x.sh"}));
  job_.command = "A=1";
  EXPECT_EQ(mistake(), "write the command that starts the job");
}

TEST_F(JobRequestTest, SaysInOneLineWhatIsWrongWithTheCommand) {
  job_.command = "";
  EXPECT_EQ(mistake(), "write the command that starts the job");
  job_.command = "sh 'train.sh";
  EXPECT_EQ(mistake(), "a ' is not closed");
  job_.command = "no-such-trainer train.py";
  EXPECT_EQ(mistake(), "there is no program no-such-trainer on the path; write where it stands");
  job_.command = "./train.sh";
  EXPECT_EQ(mistake(), "there is no program " + path("train.sh").toStdString());
  folder_.write("train.sh", "echo");
  EXPECT_EQ(mistake(), path("train.sh").toStdString() + " cannot be executed; python3 before it?");
  std::filesystem::permissions(folder_ / "train.sh", std::filesystem::perms::owner_all);
  EXPECT_EQ(started().words, QStringList{"./train.sh"});
}

TEST_F(JobRequestTest, LooksForTheProgramOnThePathThatTheJobHas) {
  folder_.write("bin/trainer", "");
  std::filesystem::permissions(folder_ / "bin/trainer", std::filesystem::perms::owner_all);
  job_.command = "trainer";
  EXPECT_EQ(mistake(), "there is no program trainer on the path; write where it stands");
  job_.environment = {"PATH=" + path("bin")};
  EXPECT_EQ(started().words, QStringList{"trainer"});
}

TEST_F(JobRequestTest, SaysWhichFolderIsMissing) {
  job_.folder = " ";
  EXPECT_EQ(mistake(), "name the folder that it runs in");
  job_.folder = path("none");
  EXPECT_EQ(mistake(), "there is no folder " + path("none").toStdString());
  job_.folder = "src";
  EXPECT_EQ(mistake(), "src: write the folder from / on");
  job_.folder = "~";
  EXPECT_EQ(started().folder, QDir::homePath());
}

TEST_F(JobRequestTest, SaysWhichVariableIsNone) {
  job_.environment = {"OMP_NUM_THREADS"};
  EXPECT_EQ(mistake(), "OMP_NUM_THREADS has no value; a variable is written NAME=value");
  job_.environment = {"2ND=x"};
  EXPECT_EQ(mistake(), "2ND is no name of a variable: letters, digits and _, no digit first");
  job_.environment = {"A=1", "A=2"};
  EXPECT_EQ(mistake(), "A is set twice");
  job_.environment = {"A="};
  EXPECT_EQ(started().environment, QStringList{"A="}) << "empty is a value";
}

TEST_F(JobRequestTest, AsksAgainForWhatIsNotKept) {
  job_.environment = {"WANDB_API_KEY="};
  EXPECT_EQ(
      mistake(),
      "WANDB_API_KEY is empty: the studio keeps no keys, tokens and passwords; write it again");
  job_.environment = {"WANDB_API_KEY=x"};
  EXPECT_EQ(started().environment, QStringList{"WANDB_API_KEY=x"});
  job_.environment = {};
  job_.command = "WANDB_API_KEY=x sh train.sh";
  EXPECT_EQ(mistake(),
            "WANDB_API_KEY stands in the command, which is kept for the next time: write it under "
            "Variables, where its value is not");
}

}  // namespace
}  // namespace lockstep::ui
