#include "ui/views/timeline/TimelinePicture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QFile>
#include <QImage>
#include <algorithm>
#include <set>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/model/DemoRun.h"

namespace lockstep::ui {
namespace {

class TimelinePicture : public testing::Test {
 protected:
  TimelinePicture() { model_.applyUpdate(test::demoRun()); }

  QString path(const char* name) { return QString::fromStdString((folder_ / name).string()); }

  static QByteArray head(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.read(4096) : QByteArray();
  }

  [[nodiscard]] base::Status save(const QString& file) const {
    return savePicture(timelinePicture(model_, QSize(900, 0), Theme::kLight), file);
  }

  support::TemporaryFolder folder_;
  RunModel model_;
};

TEST_F(TimelinePicture, HasTheSizeAskedForAndManyColours) {
  const QImage image = renderPicture(timelinePicture(model_, QSize(900, 500), Theme::kLight), 2);
  EXPECT_EQ(image.size(), QSize(1800, 1000));
  std::set<QRgb> colours;
  for (int y = 0; y < image.height(); y += 2) {
    for (int x = 0; x < image.width(); x += 2) {
      colours.insert(image.pixel(x, y));
    }
  }
  const Palette& palette = Palette::of(Theme::kLight);
  for (const Tone tone : {Tone::kForward, Tone::kBackward, Tone::kOptimizer, Tone::kTransfer}) {
    EXPECT_TRUE(colours.contains(palette.tone(tone).rgb())) << static_cast<int>(tone);
  }
}

TEST_F(TimelinePicture, TakesTheHeightItsLanesNeed) {
  const QImage image = renderPicture(timelinePicture(model_, QSize(900, 0), Theme::kDark));
  EXPECT_EQ(image.width(), 900);
  EXPECT_GT(image.height(), 350);
  EXPECT_LT(image.height(), 900);
}

TEST_F(TimelinePicture, OfManyRanksIsNoHigherThanTwoScreensHoweverManyHaveLanes) {
  RunModel many;
  many.applyUpdate(test::demoRun({.ranks = 40, .steps = 4}));
  const Picture whole = timelinePicture(many, QSize(900, 0), Theme::kLight);
  EXPECT_LT(whole.size.height(), 700);
  EXPECT_THAT(whole.list.texts(), testing::Contains(QStringLiteral("All 40 ranks")));
  const PicturedRanks eight{.shown = {0, 5, 10, 15, 20, 25, 30, 39}, .unlike = {39}};
  const Picture few = timelinePicture(many, QSize(900, 0), Theme::kLight, std::nullopt, eight);
  EXPECT_LE(few.size.height(), kHighestPicture);
  EXPECT_GT(few.size.height(), whole.size.height());
  EXPECT_THAT(few.list.texts(), testing::Contains(QStringLiteral("Rank 39")));
  const auto says = [&](const char* opening) {
    return std::ranges::any_of(few.list.texts(), [&](const QString& text) {
      return text.startsWith(QString::fromUtf8(opening));
    });
  };
  EXPECT_TRUE(says("8 of 40 ranks  ·  "));
  EXPECT_TRUE(says("unlike the rest: 39"));
}

TEST_F(TimelinePicture, IsWrittenAsPngSvgOrPdfByItsEnding) {
  for (const char* name : {"a.png", "a.svg", "a.pdf"}) {
    const base::Status saved = save(path(name));
    ASSERT_TRUE(saved.ok()) << saved.error().message();
  }
  EXPECT_TRUE(head(path("a.png")).startsWith("\x89PNG"));
  EXPECT_TRUE(head(path("a.svg")).contains("<svg"));
  EXPECT_TRUE(head(path("a.pdf")).startsWith("%PDF"));
}

TEST_F(TimelinePicture, RefusesInOneLineWhatCannotBeWritten) {
  const auto message = [&](const char* file) {
    const base::Status saved = save(path(file));
    return saved.ok() ? std::string("saved") : saved.error().message();
  };
  EXPECT_NE(message("a.gif").find(".png, .svg or .pdf"), std::string::npos);
  EXPECT_NE(message("no/such/folder/a.png").find("folder exists"), std::string::npos);
  EXPECT_NE(message("no/such/folder/a.svg").find("folder exists"), std::string::npos);
  EXPECT_NE(message("no/such/folder/a.pdf").find("folder exists"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::ui
