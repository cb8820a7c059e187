#include "ui/panels/setup/SetupDraft.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <QDir>
#include <QFileInfo>

#include "tests/support/TemporaryFolder.h"

namespace lockstep::ui {
namespace {

const experiment::Field& field(const char* key) {
  return *experiment::findField(key);
}

QString pathOf(const std::filesystem::path& path) {
  return QString::fromStdString(path.string());
}

TEST(SetupDraft, BeginsWithAnExperimentThatRuns) {
  const SetupDraft draft;
  EXPECT_TRUE(draft.mistakes().empty());
  EXPECT_FALSE(draft.isDirty());
  EXPECT_FALSE(draft.canUndo());
}

TEST(SetupDraft, WritesOnlyWhatIsNotTheDefault) {
  SetupDraft draft;
  draft.setKey(field("ddp.bucket_cap_mb"), "4");
  EXPECT_EQ(draft.text().value("ddp.bucket_cap_mb"), "4");
  draft.setKey(field("ddp.bucket_cap_mb"), "25.0");
  EXPECT_FALSE(draft.text().value("ddp.bucket_cap_mb"));
  EXPECT_FALSE(draft.isDirty());
}

TEST(SetupDraft, ChangesOfOneKeyInARowAreOneStepToUndo) {
  SetupDraft draft;
  draft.setKey(field("ddp.bucket_cap_mb"), "4");
  draft.setKey(field("ddp.bucket_cap_mb"), "48");
  draft.setKey(field("data.batch_size"), "8");
  draft.undo();
  EXPECT_FALSE(draft.text().value("data.batch_size"));
  EXPECT_EQ(draft.text().value("ddp.bucket_cap_mb"), "48");
  draft.undo();
  EXPECT_FALSE(draft.isDirty());
  EXPECT_FALSE(draft.canUndo());
  draft.redo();
  draft.redo();
  EXPECT_EQ(draft.text().value("data.batch_size"), "8");
  EXPECT_FALSE(draft.canRedo());
}

TEST(SetupDraft, KeysThatAChoiceMakesMeaninglessGoWithItAndComeBackByUndo) {
  SetupDraft draft;
  draft.setKey(field("model.layers"), "[784, 10]");
  draft.setKey(field("model.kind"), "\"cnn\"");
  EXPECT_FALSE(draft.text().value("model.layers"));
  EXPECT_FALSE(draft.applies(field("model.layers")));
  EXPECT_TRUE(draft.applies(field("model.classes")));
  EXPECT_TRUE(draft.mistakes().empty());
  draft.undo();
  EXPECT_EQ(draft.text().value("model.layers"), "[784, 10]");
}

TEST(SetupDraft, EpochsTakeThePlaceOfSteps) {
  SetupDraft draft;
  draft.setKey(field("train.epochs"), "2");
  EXPECT_FALSE(draft.text().value("train.steps"));
  EXPECT_TRUE(draft.mistakes().empty());
}

TEST(SetupDraft, ShowsTheParsersMistakeAtItsKey) {
  SetupDraft draft;
  draft.setKey(field("processes.world_size"), "9999");
  EXPECT_EQ(draft.mistakeOf("processes.world_size").toStdString(),
            "must be an integer from 1 to 1024, not 9999");
  EXPECT_TRUE(draft.mistakeOf("processes.backend").isEmpty());
}

TEST(SetupDraft, ShowsTheMistakeOfAFaultAtThatFault) {
  SetupDraft draft;
  draft.edit("", [](auto& text) {
    text.addFault({{"kind", "\"kill\""}, {"rank", "1"}, {"step", "3"}});
    text.addFault({{"kind", "\"delay\""}, {"rank", "7"}, {"milliseconds", "3"}});
  });
  EXPECT_TRUE(draft.mistakeOfFault(0, "rank").isEmpty());
  EXPECT_EQ(draft.mistakeOfFault(1, "rank"), "there is no rank 7 among 2");
}

TEST(SetupDraft, AFileThatIsSavedKeepsItsCommentsAndIsOneThatLockstepRunTakes) {
  const support::TemporaryFolder folder;
  const auto path = folder.write("e.toml",
                                 "# Why.\nname = \"e\"\n[ddp]\nbucket_cap_mb = 4  # small\n"
                                 "[train]\nsteps = 5\n");
  SetupDraft draft;
  ASSERT_TRUE(draft.open(pathOf(path)).ok());
  EXPECT_EQ(draft.title(), "e.toml");
  draft.setKey(field("ddp.bucket_cap_mb"), "8");
  EXPECT_TRUE(draft.isDirty());
  ASSERT_TRUE(draft.save(draft.path()).ok());
  EXPECT_FALSE(draft.isDirty());
  EXPECT_EQ(support::readFile(path),
            "# Why.\nname = \"e\"\n[ddp]\nbucket_cap_mb = 8  # small\n[train]\nsteps = 5\n");
  const auto parsed = experiment::parseFile(path);
  EXPECT_TRUE(parsed.mistakes.empty());
  EXPECT_EQ(parsed.experiment.ddp.bucketCapMb, 8);
}

// Makes this process an ordinary user's, whom the permissions of files hold, where it is root's.
class AsOrdinaryUser {
 public:
  AsOrdinaryUser() : wasRoot_(geteuid() == 0) {
    EXPECT_TRUE(!wasRoot_ || setresuid(kNobody, kNobody, 0) == 0);
  }
  ~AsOrdinaryUser() { EXPECT_TRUE(!wasRoot_ || setresuid(0, 0, 0) == 0); }
  AsOrdinaryUser(const AsOrdinaryUser&) = delete;
  AsOrdinaryUser& operator=(const AsOrdinaryUser&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  bool wasRoot_;
};

TEST(SetupDraft, AFileOfAnInstallationIsSavedAsACopyElsewhere) {
  const support::TemporaryFolder folder;
  const auto path = folder.write("shipped/e.toml", "name = \"e\"\n");
  SetupDraft draft;
  EXPECT_FALSE(draft.canSaveInPlace());
  EXPECT_EQ(QFileInfo(draft.placeForACopy()).fileName(), "experiment.toml");
  ASSERT_TRUE(draft.open(pathOf(path)).ok());
  EXPECT_TRUE(draft.canSaveInPlace());
  EXPECT_EQ(draft.placeForACopy(), draft.path());

  using std::filesystem::perms;
  std::filesystem::permissions(folder / "shipped", perms::owner_read | perms::owner_exec);
  {
    const AsOrdinaryUser user;
    EXPECT_FALSE(draft.canSaveInPlace());
    EXPECT_EQ(QFileInfo(draft.placeForACopy()).fileName(), "e.toml");
    EXPECT_NE(draft.placeForACopy(), draft.path());
    EXPECT_TRUE(QFileInfo(draft.placeForACopy()).dir().exists());
  }
  std::filesystem::permissions(folder / "shipped", perms::owner_all);
}

TEST(SetupDraft, AShippedExperimentIsNeverWrittenOver) {
  const support::TemporaryFolder folder;
  const auto path = folder.write("shipped/ddp/e.toml", "name = \"e\"\n");
  const auto mine = folder.write("mine/e.toml", "name = \"e\"\n");
  std::filesystem::create_directory_symlink(folder / "shipped", folder / "link");
  SetupDraft draft;
  draft.setShipped(pathOf(folder / "shipped"));
  ASSERT_TRUE(draft.open(pathOf(folder / "link/ddp/e.toml")).ok());
  draft.setKey(field("ddp.bucket_cap_mb"), "4");
  EXPECT_FALSE(draft.canSaveInPlace());
  EXPECT_NE(draft.placeForACopy(), draft.path());
  for (const auto& place : {path, folder / "link/ddp/new.toml"}) {
    const auto saved = draft.save(pathOf(place));
    ASSERT_FALSE(saved.ok());
    EXPECT_NE(saved.error().message().find(
                  "stands among the experiments that come with Lockstep, which stay as they are"),
              std::string::npos)
        << saved.error().message();
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "shipped/ddp/new.toml"));
  EXPECT_TRUE(draft.isDirty());
  ASSERT_TRUE(draft.save(pathOf(mine)).ok());
  EXPECT_TRUE(draft.canSaveInPlace());
}

TEST(SetupDraft, AFileWithMistakesIsOpenedAndOneThatCannotBeReadIsNot) {
  const support::TemporaryFolder folder;
  SetupDraft draft;
  ASSERT_TRUE(draft.open(pathOf(folder.write("w.toml", "[train]\nsteps = 0\n"))).ok());
  EXPECT_FALSE(draft.mistakes().empty());
  ASSERT_TRUE(draft.open(pathOf(folder.write("broken.toml", "[train\n"))).ok());
  EXPECT_FALSE(draft.text().readable());
  EXPECT_FALSE(draft.open(pathOf(folder / "none.toml")).ok());
  EXPECT_FALSE(draft.open(pathOf(folder.path())).ok());
  EXPECT_FALSE(draft.save(pathOf(folder / "no" / "such" / "folder.toml")).ok());
}

}  // namespace
}  // namespace lockstep::ui
