#include "ui/panels/hooks/HookManagerPanel.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <QApplication>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QLabel>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <QUrl>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "plugins/abi/include/lockstep/comm_hook.h"
#include "tests/ui/panels/hooks/MadeUpHooks.h"
#include "ui/panels/hooks/DisabledHooks.h"
#include "ui/panels/hooks/HookDetails.h"
#include "ui/panels/hooks/HookLoader.h"

namespace lockstep::ui {
namespace {

using State = HookRow::State;
using testing::HasSubstr;

constexpr int kPatienceMs = 30'000;

class HookManagerPanelTest : public testing::Test {
 protected:
  HookManagerPanelTest() {
    // Nobody's settings are read or changed.
    static const support::TemporaryFolder kSettings;
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope,
                       QString::fromStdString(kSettings.path().string()));
  }

  void open() {
    panel_ = std::make_unique<HookManagerPanel>(hooks_.options());
    panel_->resize(900, 600);
    panel_->QWidget::show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(panel_.get()));
    ASSERT_TRUE(settled());
  }

  bool settled() {
    return QTest::qWaitFor([this] { return !panel_->isBusy(); }, kPatienceMs);
  }

  HookRow row(const char* id) {
    const auto index = panel_->hooks().find(QString::fromLatin1(id));
    EXPECT_GE(index, 0) << id;
    return index ? panel_->hooks().row(*index) : HookRow();
  }

  void press(const char* name) {
    auto* button = panel_->findChild<QPushButton*>(QLatin1String(name));
    ASSERT_TRUE(button->isEnabled()) << name;
    QTest::mouseClick(button, Qt::LeftButton);
  }

  template <typename Child>
  Child* child(const char* name) {
    return panel_->findChild<Child*>(QLatin1String(name));
  }

  test::MadeUpHooks hooks_;
  std::unique_ptr<HookManagerPanel> panel_;
};

TEST_F(HookManagerPanelTest, ListsWhatTheFoldersHoldAndWhyALibraryWasRefused) {
  hooks_.add("mine", "2.3");
  hooks_.addRefused("user/old.so", "it was built for version 0 of the border, this is version 1");
  open();
  EXPECT_EQ(row("mine").version, "2.3");
  EXPECT_EQ(row("mine").abi, QString::number(LOCKSTEP_ABI_MAJOR) + ".0");
  EXPECT_EQ(row("mine").from, "user");
  EXPECT_EQ(row("mine").state, State::kReady);
  EXPECT_EQ(row("old").state, State::kRefused);
  EXPECT_EQ(row("old").error, "it was built for version 0 of the border, this is version 1");
  const auto refused = panel_->hooks().find("old");
  ASSERT_TRUE(refused.has_value());
  EXPECT_TRUE(foundRows(panel_->hooks().rows())->look(*refused, 0, Qt::BackgroundRole).isValid());
  EXPECT_FALSE(panel_->hooks().offered().contains("old"));
}

TEST_F(HookManagerPanelTest, ReloadFindsWhatCameMeanwhile) {
  open();
  EXPECT_FALSE(panel_->hooks().find("late").has_value());
  hooks_.add("late");
  press("hookReload");
  ASSERT_TRUE(settled());
  EXPECT_EQ(row("late").state, State::kReady);
}

TEST_F(HookManagerPanelTest, ShowsParametersWithRangesAndHelp) {
  hooks_.add("mine");
  open();
  panel_->show("mine");
  const QAbstractItemModel& table = *child<QTableView>("hookParameters")->model();
  ASSERT_EQ(table.rowCount(), 1);
  EXPECT_EQ(table.index(0, 0).data().toString(), "density");
  EXPECT_EQ(table.index(0, 1).data().toString(), "0.01");
  EXPECT_EQ(table.index(0, 2).data().toString(), "a number from 0.001 to 1");
  EXPECT_EQ(table.index(0, 3).data().toString(), "yes");
  EXPECT_EQ(table.index(0, 4).data().toString(), "part that is sent");
}

TEST_F(HookManagerPanelTest, ALibraryThatIsDroppedIsCopiedAndChosen) {
  open();
  const auto path = hooks_.addAt("elsewhere/fresh.so", "fresh");
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(QString::fromStdString(path.string()))});
  QDragEnterEvent enter(QPoint(20, 20), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(panel_.get(), &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(20, 20), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(panel_.get(), &drop);
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return panel_->hooks().find("fresh").has_value(); }, kPatienceMs));
  EXPECT_TRUE(std::filesystem::exists(hooks_.userFolder() / "fresh.so"));
  EXPECT_THAT(panel_->message().toStdString(), HasSubstr("Loaded fresh"));
  EXPECT_EQ(panel_->view()->currentIndex().siblingAtColumn(0).data().toString(), "fresh");
}

TEST_F(HookManagerPanelTest, ARefusedLibraryIsNotCopiedAndSaysWhy) {
  open();
  const auto path = hooks_.addRefused("elsewhere/bad.so", "it has no entry");
  panel_->load({QString::fromStdString(path.string())});
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return panel_->hooks().find("bad").has_value(); }, kPatienceMs));
  EXPECT_EQ(row("bad").state, State::kRefused);
  EXPECT_FALSE(std::filesystem::exists(hooks_.userFolder() / "bad.so"));
  EXPECT_THAT(panel_->message().toStdString(), HasSubstr("it has no entry"));
}

TEST_F(HookManagerPanelTest, ALibraryThatWasRefusedAndMendedIsListedOnce) {
  open();
  const QString path =
      QString::fromStdString(hooks_.addRefused("elsewhere/bad.so", "it has no entry").string());
  const auto rows = [&](const char* id) {
    const auto& all = panel_->hooks().rows();
    return std::count_if(all.begin(), all.end(), [&](const auto& row) { return row.id == id; });
  };
  for (int times = 0; times < 2; ++times) {
    panel_->load({path});
    ASSERT_TRUE(QTest::qWaitFor([&] { return rows("bad") > 0; }, kPatienceMs));
    ASSERT_TRUE(settled());
    EXPECT_EQ(rows("bad"), 1);
  }
  hooks_.addAt("elsewhere/bad.so", "good");
  panel_->load({path});
  ASSERT_TRUE(QTest::qWaitFor([&] { return rows("good") > 0; }, kPatienceMs));
  EXPECT_EQ(rows("bad"), 0);
}

TEST_F(HookManagerPanelTest, WithoutAFolderOfTheUsersNothingWaitsForOne) {
  const std::string home = getenv("HOME");
  const std::string data = getenv("XDG_DATA_HOME");
  for (const char* variable : {"HOME", "XDG_DATA_HOME", "LOCKSTEP_HOOKS"}) {
    unsetenv(variable);
  }
  QWidget window;
  HookLoader loader({}, {}, &window);
  setenv("HOME", home.c_str(), 1);
  setenv("XDG_DATA_HOME", data.c_str(), 1);
  QSignalSpy said(&loader, &HookLoader::said);
  loader.load({"a.so", "b.so"});
  ASSERT_EQ(said.count(), 1);
  EXPECT_THAT(said[0][0].toString().toStdString(), HasSubstr("There is no folder for hooks"));
  loader.hold(false);  // as after a scan
  EXPECT_EQ(said.count(), 1);
}

TEST_F(HookManagerPanelTest, AnotherFileOfTheSameNameIsReplacedOnlyWhenTheUserSaysSo) {
  hooks_.add("mine", "1.0");
  open();
  const auto path = hooks_.addAt("elsewhere/mine.so", "mine", "2.0");
  const auto answer = [&](QMessageBox::StandardButton button) {
    panel_->load({QString::fromStdString(path.string())});
    QMessageBox* box = nullptr;
    ASSERT_TRUE(QTest::qWaitFor(
        [&] { return (box = child<QMessageBox>("replaceHook")) != nullptr && box->isVisible(); },
        kPatienceMs));
    QTest::mouseClick(box->button(button), Qt::LeftButton);
    ASSERT_TRUE(
        QTest::qWaitFor([&] { return child<QMessageBox>("replaceHook") == nullptr; }, kPatienceMs));
    ASSERT_TRUE(settled());
  };
  answer(QMessageBox::No);
  EXPECT_EQ(row("mine").version, "1.0");
  answer(QMessageBox::Yes);
  EXPECT_TRUE(QTest::qWaitFor([&] { return row("mine").version == "2.0"; }, kPatienceMs));
}

TEST_F(HookManagerPanelTest, AVerifiedHookShowsWhatWasMeasured) {
  const auto path = hooks_.add("mine");
  hooks_.setVerdict(test::verdictJson("mine", true));
  open();
  panel_->show("mine");
  QSignalSpy verified(panel_.get(), &HookManagerPanel::verified);
  press("hookVerify");
  EXPECT_EQ(row("mine").state, State::kVerifying);
  ASSERT_TRUE(settled());
  EXPECT_EQ(row("mine").state, State::kVerified);
  EXPECT_EQ(verified.count(), 1) << "forecasts may take what it measured";
  const QAbstractItemModel& table = *child<QTableView>("hookVerdict")->model();
  ASSERT_EQ(table.rowCount(), 1);
  EXPECT_EQ(table.index(0, 2).data().toString(), "2.5e-01");
  EXPECT_EQ(table.index(0, 3).data().toString(), "5.0e-01");
  EXPECT_EQ(table.index(0, 5).data().toString(), "1.50 ms");
  EXPECT_EQ(table.index(0, 6).data().toString(), "3.00 ms");
  std::ifstream asked(hooks_.folder() / "asked");
  std::string arguments;
  std::getline(asked, arguments);
  EXPECT_EQ(arguments, "hooks " + path.string() + " --verify --json");
}

TEST_F(HookManagerPanelTest, AHookThatBreaksItsPromiseIsRedWithTheReason) {
  hooks_.add("mine");
  hooks_.setVerdict(test::verdictJson("mine", false, "hook 'mine': rank 1 has other gradients"), 6);
  open();
  panel_->show("mine");
  press("hookVerify");
  ASSERT_TRUE(settled());
  EXPECT_EQ(row("mine").state, State::kFailed);
  EXPECT_EQ(row("mine").error, "hook 'mine': rank 1 has other gradients");
  EXPECT_THAT(child<QLabel>("hookFindings")->text().toStdString(),
              HasSubstr("On 2 ranks: hook 'mine'"));
}

TEST_F(HookManagerPanelTest, AChangedLibraryIsNoLongerVerified) {
  const auto path = hooks_.add("mine");
  hooks_.setVerdict(test::verdictJson("mine", true));
  open();
  panel_->show("mine");
  press("hookVerify");
  ASSERT_TRUE(settled());
  ASSERT_EQ(row("mine").state, State::kVerified);
  hooks_.add("mine", "1.0.1");
  press("hookReload");
  ASSERT_TRUE(settled());
  EXPECT_EQ(row("mine").state, State::kReady);
}

TEST_F(HookManagerPanelTest, ALibraryThatChangesWhileItIsVerifiedIsNotVerified) {
  const auto path = hooks_.add("mine");
  const auto kUser = plugin::PluginFolder::Kind::kUser;
  FoundHooks found;
  found.setLibraries({plugin::scanLibrary(path.string(), kUser, hooks_.options().scan)});
  const QString library = QString::fromStdString(path.string());
  found.setVerifying(library);
  hooks_.add("mine", "1.0.1");
  found.setVerdicts(library, {{"mine", {true, {}, {}}}}, {});
  EXPECT_EQ(found.row(0).state, State::kReady);
}

TEST_F(HookManagerPanelTest, CancelEndsTheVerificationAndAllThatItStarted) {
  hooks_.add("mine");
  hooks_.setEndless();
  open();
  panel_->show("mine");
  press("hookVerify");
  const auto child = hooks_.folder() / "child";
  ASSERT_TRUE(QTest::qWaitFor([&] { return std::filesystem::exists(child); }, kPatienceMs));
  pid_t pid = 0;
  std::ifstream(child) >> pid;
  ASSERT_GT(pid, 0);
  press("hookVerify");  // says Cancel now
  ASSERT_TRUE(settled());
  EXPECT_EQ(row("mine").state, State::kReady);
  EXPECT_THAT(panel_->message().toStdString(), HasSubstr("cancelled"));
  // An orphan that was killed may still be in the table of processes until init reaps it.
  const auto isGone = [pid] {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string number, name, state;
    return kill(pid, 0) != 0 || !(stat >> number >> name >> state) || state == "Z";
  };
  EXPECT_TRUE(QTest::qWaitFor(isGone, kPatienceMs));
}

TEST_F(HookManagerPanelTest, AVerificationThatTakesTooLongIsGivenUp) {
  hooks_.setEndless();
  HookVerifier verifier(hooks_.options().lockstep);
  verifier.setLimit(50);
  QString sentence;
  QObject::connect(&verifier, &HookVerifier::finished,
                   [&](const QString&, const auto&, const QString& error) { sentence = error; });
  verifier.start("any.so");
  ASSERT_TRUE(QTest::qWaitFor([&] { return !verifier.isRunning(); }, kPatienceMs));
  EXPECT_THAT(sentence.toStdString(), HasSubstr("did not end within 0.05 s"));
}

TEST_F(HookManagerPanelTest, AProgramThatCannotBeStartedIsASentence) {
  HookVerifier verifier("/no/such/lockstep");
  QString sentence;
  QObject::connect(&verifier, &HookVerifier::finished,
                   [&](const QString&, const auto&, const QString& error) { sentence = error; });
  verifier.start("any.so");
  ASSERT_TRUE(QTest::qWaitFor([&] { return !sentence.isEmpty(); }, kPatienceMs));
  EXPECT_THAT(sentence.toStdString(), HasSubstr("/no/such/lockstep cannot be started"));
}

TEST_F(HookManagerPanelTest, ADisabledHookIsNotOfferedAndThatIsRemembered) {
  const QString path = QString::fromStdString(hooks_.add("mine").string());
  open();
  panel_->show("mine");
  QSignalSpy offered(panel_.get(), &HookManagerPanel::offeredChanged);
  press("hookDisable");
  EXPECT_EQ(row("mine").state, State::kDisabled);
  EXPECT_FALSE(offered.back().at(0).toStringList().contains("mine"));
  EXPECT_FALSE(child<QPushButton>("hookUse")->isEnabled());
  open();
  EXPECT_EQ(row("mine").state, State::kDisabled);
  EXPECT_TRUE(isHookDisabled("mine", path));
  panel_->show("mine");
  press("hookDisable");  // says Enable now
  EXPECT_EQ(row("mine").state, State::kReady);
  EXPECT_TRUE(panel_->hooks().offered().contains("mine"));
}

TEST_F(HookManagerPanelTest, AHookIsUsedInTheSetupForm) {
  hooks_.add("mine");
  open();
  QSignalSpy used(panel_.get(), &HookManagerPanel::useRequested);
  EXPECT_FALSE(child<QPushButton>("hookUse")->isEnabled());
  EXPECT_EQ(child<QPushButton>("hookUse")->toolTip(), "Choose a hook first");
  panel_->show("mine");
  press("hookUse");
  ASSERT_EQ(used.count(), 1);
  EXPECT_EQ(used[0][0].toString(), "mine");
}

TEST_F(HookManagerPanelTest, TheDetailsSayThatAHookLetsReplicasDrift) {
  HookRow hook;
  hook.info.id = "mine";
  HookDetails details;
  const auto facts = [&] { return details.findChild<QLabel*>("hookFacts")->text(); };
  details.show(&hook);
  EXPECT_FALSE(facts().contains("drift"));
  hook.info.extensions = {"replicas"};
  details.show(&hook);
  EXPECT_TRUE(facts().contains("Lets the replicas drift apart, by design."));
}

TEST_F(HookManagerPanelTest, OfTwoHooksOfOneNameTheFirstHidesTheSecond) {
  hooks_.addAt("user/a.so", "mine", "1.0");
  hooks_.addAt("user/b.so", "mine", "2.0");
  open();
  EXPECT_EQ(row("mine").version, "1.0");
  const HookRow hidden = panel_->hooks().row(*panel_->hooks().find("mine") + 1);
  EXPECT_EQ(hidden.state, State::kHidden);
  EXPECT_THAT(hidden.error.toStdString(), HasSubstr("a.so has a hook of this name"));
}

}  // namespace
}  // namespace lockstep::ui
