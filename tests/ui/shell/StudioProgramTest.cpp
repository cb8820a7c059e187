// Drives the program itself from outside: input through the X server, the screen and the run
// files as the only answers.
#include <gtest/gtest.h>
#include <signal.h>

#include <QImage>
#include <QRect>
#include <algorithm>

#include "engine/base/ExitCodes.h"
#include "tests/support/ChildProcess.h"
#include "tests/support/TemporaryFolder.h"
#include "tests/ui/shell/SampleRun.h"
#include "tests/ui/shell/Screen.h"
#include "ui/canvas/Palette.h"
#include "ui/shell/Appearance.h"

namespace lockstep {
namespace {

using support::ChildProcess;
using tests::waitUntil;
using trace::RunState;
using namespace std::chrono_literals;

constexpr const char* kDemoExperiment =
    "name = \"demo\"\nshows = \"Two ranks learn digits.\"\n"
    "[train]\nsteps = 60\n";

std::string bin() { return tests::programs().toStdString(); }

std::uint32_t rgb(const QColor& color) { return color.rgb() & 0xFFFFFF; }

int countPixels(const QImage& picture, std::uint32_t color) {
  int count = 0;
  for (int y = 0; y < picture.height(); ++y) {
    for (int x = 0; x < picture.width(); ++x) {
      count += (picture.pixel(x, y) & 0xFFFFFF) == color ? 1 : 0;
    }
  }
  return count;
}

class StudioProgramTest : public testing::Test {
 protected:
  StudioProgramTest() {
    folder_.write("experiments/first_steps/demo.toml", kDemoExperiment);
    std::filesystem::create_directory(folder_ / "tmp");
  }

  ChildProcess studio(std::vector<std::string> more = {}, const std::string& steps = "60") {
    std::vector<std::string> arguments{"--experiments", (folder_ / "experiments").string(),
                                       "--runs",        (folder_ / "runs").string(),
                                       "--programs",    bin() + "/fake",
                                       "--theme",       "light"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return ChildProcess({.program = bin() + "/lockstep-studio",
                         .arguments = arguments,
                         .environment = {{"FAKE_LOCKSTEP_STEPS", steps},
                                         {"TMPDIR", (folder_ / "tmp").string()},
                                         {"XDG_CONFIG_HOME", folder_.path().string()}}});
  }
  testing::AssertionResult waitForTitle(const std::string& part, ChildProcess& program) {
    if (waitUntil([&] { return input_.title().find(part) != std::string::npos; })) {
      return testing::AssertionSuccess();
    }
    tests::keep(input_.screenshot(), "no-title");
    return testing::AssertionFailure()
           << "the title is \"" << input_.title() << "\"; " << program.situation();
  }
  // The border of the first card is the one long line in the accent colour.
  QRect firstCard() {
    QRect top;
    const std::uint32_t accent = rgb(ui::widgetPalette(ui::Theme::kLight).color(QPalette::Link));
    waitUntil([&] {
      top = tests::findLine(input_.screenshot(), accent, 300);
      return !top.isEmpty();
    });
    return top;
  }
  std::filesystem::path onlyRun() {
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "runs")) {
      if (entry.path().extension() == ".lockstep") return entry.path();
    }
    return {};
  }
  bool waitForRun(RunState state) {
    return waitUntil([&] {
      const auto summary = trace::readRunSummary(onlyRun());
      return summary.ok() && summary.value().info.state == state;
    });
  }

  support::TemporaryFolder folder_;
  tests::XTestClient input_;
};

TEST_F(StudioProgramTest, AClickOnTheFirstCardStartsTheDemoAndItsTimelineAppears) {
  auto program = studio();
  ASSERT_TRUE(waitForTitle("Lockstep", program));
  const QRect card = firstCard();
  ASSERT_FALSE(card.isEmpty());
  tests::keep(input_.screenshot(), "start");

  // Its button stands below the card's text at the left: press downwards until one starts it.
  for (int below = 60; below < 140 && input_.title() == "Lockstep"; below += 12) {
    input_.click(card.left() + 60, card.top() + below);
    waitUntil([&] { return input_.title() != "Lockstep"; }, 300ms);
  }
  ASSERT_TRUE(waitForTitle("running", program));
  const std::uint32_t forward =
      rgb(ui::Palette::of(ui::Theme::kLight).tone(ui::Tone::kForward));
  EXPECT_TRUE(waitUntil(
      [&] { return tests::countPixels(input_.screenshot(), forward, 1) > 500; }));
  ASSERT_TRUE(waitForTitle("finished", program));
  tests::keep(input_.screenshot(), "finished");
  program.kill(SIGTERM);
}

TEST_F(StudioProgramTest, ItsWindowIsNoLargerThanTheScreenAtAnyScale) {
  std::filesystem::create_directory(folder_ / "runs");
  tests::writeFinishedRun(folder_ / "runs" / "old.lockstep", 10);
  for (const int scale : {100, 200, 300}) {
    folder_.write("lockstep/studio.conf", "[General]\nscale=" + std::to_string(scale) + "\n");
    auto program = studio({(folder_ / "runs" / "old.lockstep").string()});
    ASSERT_TRUE(waitForTitle("demo – finished", program)) << scale;
    // Qt knows the screen in whole logical pixels, rounded.
    const int rounding = scale / 100 - 1;
    const auto within = [this, rounding] {
      const auto place = input_.window();
      return place && QRect(0, 0, tests::kScreenWidth + rounding, tests::kScreenHeight + rounding)
                          .contains(QRect(place->x, place->y, place->width, place->height));
    };
    EXPECT_TRUE(waitUntil(within)) << scale << " %";
    tests::keep(input_.screenshot(), QStringLiteral("scale-%1").arg(scale));
    program.kill(SIGTERM);
    ASSERT_TRUE(waitUntil([this] { return input_.title().empty(); }));
  }
}

TEST_F(StudioProgramTest, ItsWindowHasAnIconThoughNothingIsInstalled) {
  auto program = studio();
  ASSERT_TRUE(waitForTitle("Lockstep", program));
  EXPECT_TRUE(waitUntil([&] { return input_.hasIcon(); }));
  program.kill(SIGTERM);
}

TEST_F(StudioProgramTest, EnterStartsAndShiftF5StopsARun) {
  auto program = studio({}, "3000");
  ASSERT_TRUE(waitForTitle("Lockstep", program));
  ASSERT_FALSE(firstCard().isEmpty());
  input_.key(tests::kKeyReturn);
  ASSERT_TRUE(waitForTitle("running", program));
  input_.key(tests::kKeyF5, {tests::kKeyShift});
  EXPECT_TRUE(waitForTitle("stopped", program));
  EXPECT_TRUE(waitForRun(RunState::kStopped));
}

TEST_F(StudioProgramTest, KillingTheStudioLeavesItsRunAlone) {
  {
    auto program = studio({}, "100");
    ASSERT_TRUE(waitForTitle("Lockstep", program));
    ASSERT_FALSE(firstCard().isEmpty());
    input_.key(tests::kKeyReturn);
    ASSERT_TRUE(waitForTitle("running", program));
    program.kill(SIGKILL);
    program.wait();
  }
  ASSERT_TRUE(waitForRun(RunState::kFinished));
  const auto summary = trace::readRunSummary(onlyRun());
  EXPECT_EQ(summary.value().lastStep, 99U);

  auto again = studio({onlyRun().string()});
  EXPECT_TRUE(waitForTitle("demo – finished", again));
}

// As where the user chooses another scale: with the arguments of before, and what is open now.
TEST_F(StudioProgramTest, AStartWithRestoreOpensWhatWasOpenLastWhateverElseItIsGiven) {
  const auto run = folder_ / "elsewhere.lockstep";
  tests::writeFinishedRun(run, 5);
  {
    auto program = studio({run.string()});
    ASSERT_TRUE(waitForTitle("demo – finished", program));
    program.kill(SIGTERM);
    program.wait();
  }
  auto again = studio({"--experiment", (folder_ / "experiments/first_steps/demo.toml").string(),
                       "gone.lockstep", "--restore"});
  EXPECT_TRUE(waitForTitle("demo – finished", again));
  again.kill(SIGTERM);
}

TEST_F(StudioProgramTest, WritesWhatItMeasuresOfItselfUntilTheRunHasEnded) {
  const auto figures = folder_ / "figures.json";
  auto program = studio({"--figures", figures.string()}, "100");
  ASSERT_TRUE(waitForTitle("Lockstep", program));
  ASSERT_FALSE(firstCard().isEmpty());
  input_.key(tests::kKeyReturn);
  const auto tells = [&](const std::string& text) {
    return std::filesystem::exists(figures) &&
           support::readFile(figures).find(text) != std::string::npos;
  };
  ASSERT_TRUE(waitUntil([&] { return tells("\"state\": \"finished\""); }));
  EXPECT_TRUE(tells("\"gui_wait_ms\"")) << support::readFile(figures);
  EXPECT_TRUE(tells("\"event_to_pixel_ms\"")) << support::readFile(figures);
  EXPECT_FALSE(tells("\"spans\": 0,")) << support::readFile(figures);
  program.kill(SIGTERM);
}

TEST_F(StudioProgramTest, QuitsOnControlQ) {
  auto program = studio();
  ASSERT_TRUE(waitForTitle("Lockstep", program));
  ASSERT_FALSE(firstCard().isEmpty());
  input_.key('q', {tests::kKeyControl});
  EXPECT_EQ(program.wait(), (support::ExitStatus{.code = 0}));
}

TEST_F(StudioProgramTest, ASignalClosesItAsItsWindowsButtonDoes) {
  for (const int signal : {SIGTERM, SIGINT}) {
    auto program = studio();
    ASSERT_TRUE(waitForTitle("Lockstep", program));
    ASSERT_FALSE(firstCard().isEmpty());
    program.kill(signal);
    EXPECT_EQ(program.wait(), (support::ExitStatus{.code = 128 + signal}));
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "tmp")) << "it left a folder of its own";
    EXPECT_TRUE(std::filesystem::remove_all(folder_ / "lockstep") > 0) << "its settings";
  }
}

class StudioCommandLineTest : public testing::Test {
 protected:
  // Runs the program to its end, without a display.
  support::ExitStatus run(std::vector<std::string> arguments) {
    ChildProcess program({.program = bin() + "/lockstep-studio",
                          .arguments = std::move(arguments),
                          .environment = {{"DISPLAY", ""},
                                          {"WAYLAND_DISPLAY", ""},
                                          {"XDG_RUNTIME_DIR", ""},
                                          {"QT_QPA_PLATFORM", ""}}});
    const auto status = program.wait();
    errors_ = program.errors();
    output_ = program.output();
    return status;
  }
  void expectOneLine(const std::string& part) {
    EXPECT_NE(errors_.find(part), std::string::npos) << errors_;
    EXPECT_EQ(std::count(errors_.begin(), errors_.end(), '\n'), 1) << errors_;
  }
  static constexpr support::ExitStatus kBadInput{
      .code = static_cast<int>(base::ExitCode::kBadInput)};

  support::TemporaryFolder folder_;
  std::string errors_;
  std::string output_;
};

TEST_F(StudioCommandLineTest, DrawsPicturesWithoutADisplay) {
  const auto path = folder_ / "run.lockstep";
  tests::writeFinishedRun(path, 12);
  const auto png = (folder_ / "timeline.png").string();
  const auto svg = (folder_ / "timeline.svg").string();
  EXPECT_EQ(run({"--picture", "timeline=" + png, "--picture", "timeline=" + svg, "--size", "900x0",
                 path.string()}),
            (support::ExitStatus{.code = 0}))
      << errors_;
  EXPECT_EQ(errors_, "");
  EXPECT_EQ(support::readFile(png).substr(1, 3), "PNG");
  EXPECT_NE(support::readFile(svg).find("<svg"), std::string::npos);
}

TEST_F(StudioCommandLineTest, TakesTheRunBeforeAndAfterThePicture) {
  const auto path = (folder_ / "run.lockstep").string();
  tests::writeFinishedRun(path, 12);
  const auto after = (folder_ / "after.png").string();
  const auto before = (folder_ / "before.png").string();
  EXPECT_EQ(run({"--picture", "timeline=" + after, path}), (support::ExitStatus{.code = 0}))
      << errors_;
  EXPECT_EQ(run({path, "--picture", "timeline=" + before}), (support::ExitStatus{.code = 0}))
      << errors_;
  const QImage picture(QString::fromStdString(after));
  EXPECT_GT(picture.width(), 1000);
  // Bars of the phases, and not an empty window or the words that there is nothing to show.
  const auto& palette = ui::Palette::of(ui::Theme::kLight);
  for (const auto tone : {ui::Tone::kForward, ui::Tone::kBackward}) {
    EXPECT_GT(countPixels(picture, rgb(palette.tone(tone))), 500);
  }
  EXPECT_EQ(picture, QImage(QString::fromStdString(before)));
}

TEST_F(StudioCommandLineTest, NamesAMissingRun) {
  EXPECT_EQ(run({(folder_ / "no.lockstep").string()}), kBadInput);
  expectOneLine("no.lockstep");
  EXPECT_EQ(run({"--picture", "timeline=" + (folder_ / "a.png").string(),
                 (folder_ / "no.lockstep").string()}),
            kBadInput);
  expectOneLine("no.lockstep");
}

TEST_F(StudioCommandLineTest, NamesAPictureThatCannotBeWritten) {
  const auto path = folder_ / "run.lockstep";
  tests::writeFinishedRun(path, 2);
  const auto file = (folder_ / "no-such-folder" / "a.png").string();
  EXPECT_EQ(run({"--picture", "timeline=" + file, path.string()}),
            (support::ExitStatus{.code = static_cast<int>(base::ExitCode::kEnvironment)}));
  expectOneLine(file);
}

TEST_F(StudioCommandLineTest, NamesAFileThatIsNoRun) {
  const auto path = folder_.write("notes.lockstep", "these are notes, not a run");
  EXPECT_EQ(run({"--picture", "timeline=" + (folder_ / "a.png").string(), path.string()}),
            kBadInput);
  expectOneLine("notes.lockstep");
}

TEST_F(StudioCommandLineTest, RefusesAPictureItCannotDraw) {
  EXPECT_EQ(run({"--picture", "timeline=a.gif", "run.lockstep"}), kBadInput);
  expectOneLine("a picture ends in .png, .svg or .pdf");
  EXPECT_EQ(run({"--picture", "loss=a.png", "run.lockstep"}), kBadInput);
  expectOneLine("expected VIEW=FILE.png with a view of timeline, buckets");
  EXPECT_EQ(run({"--picture", "timeline=a.png"}), kBadInput);
  expectOneLine("--picture timeline needs exactly one RUN");
  EXPECT_EQ(run({"--picture", "compare=a.png", "run.lockstep"}), kBadInput);
  expectOneLine("--picture compare needs exactly two RUNs, got 1");
}

TEST_F(StudioCommandLineTest, APictureShowsTheRanksThatAreNamed) {
  const auto path = (folder_ / "run.lockstep").string();
  tests::writeFinishedRun(path, 12);
  const auto all = (folder_ / "all.png").string();
  const auto one = (folder_ / "one.png").string();
  EXPECT_EQ(run({"--picture", "timeline=" + all, path}).code, 0) << errors_;
  EXPECT_EQ(run({"--picture", "timeline=" + one, "--ranks", "1", path}).code, 0) << errors_;
  EXPECT_LT(QImage(QString::fromStdString(one)).height(),
            QImage(QString::fromStdString(all)).height());
  EXPECT_EQ(run({"--picture", "timeline=" + one, "--ranks", "9", path}), kBadInput);
  expectOneLine("rank 9 is not in this run");
  EXPECT_EQ(run({"--picture", "timeline=" + one, "--ranks", "first", path}), kBadInput);
  expectOneLine("write ranks as 3,17,100-120, or outliers");
  EXPECT_EQ(run({"--ranks", "1", path}), kBadInput);
  expectOneLine("--ranks says what a picture shows: add --picture");
}

TEST_F(StudioCommandLineTest, RefusesASizeThatIsNone) {
  EXPECT_EQ(run({"--size", "big"}), kBadInput);
  expectOneLine("expected WIDTHxHEIGHT");
}

TEST_F(StudioCommandLineTest, SaysThatAWindowNeedsADisplay) {
  EXPECT_EQ(run({}), (support::ExitStatus{.code = static_cast<int>(base::ExitCode::kEnvironment)}));
  expectOneLine("--picture draws without one");
}

TEST_F(StudioCommandLineTest, PrintsItsVersion) {
  EXPECT_EQ(run({"--version"}), (support::ExitStatus{.code = 0}));
  EXPECT_EQ(output_.rfind("lockstep-studio ", 0), 0U) << output_;
}

}  // namespace
}  // namespace lockstep
