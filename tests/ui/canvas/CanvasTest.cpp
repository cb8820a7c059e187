#include "ui/canvas/Canvas.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QFont>
#include <QFontDatabase>
#include <QRawFont>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <memory>

#include "ui/canvas/FontFile.h"
#include "ui/canvas/TextMetrics.h"

namespace lockstep::ui {
namespace {

constexpr QColor kGround(20, 40, 60);
constexpr QColor kBar(250, 120, 10);

class Client : public CanvasClient {
 public:
  void paintCanvas(DisplayList& list, QSizeF size) override {
    list.fill(QRectF(QPointF(0, 0), size), kGround);
    list.fill(QRectF(40, 20, 60, 30), kBar);
    list.text(QRectF(120, 20, 80, 30), words, Qt::white);
    list.hatch(QRectF(40, 60, 60, 20), Qt::white);
    ++asked;
  }
  void canvasPainted() override { ++painted; }
  void pointerPressed(const PointerInput& input) override { pressed.push_back(input); }
  void pointerMoved(const PointerInput& input) override { moved.push_back(input); }
  void pointerReleased(const PointerInput& input) override { released.push_back(input); }
  void wheelTurned(const WheelInput& input) override { wheels.push_back(input); }
  void pointerLeft() override { ++left; }

  QString words = QStringLiteral("words");
  int asked = 0;
  int painted = 0;
  int left = 0;
  std::vector<PointerInput> pressed, moved, released;
  std::vector<WheelInput> wheels;
};

struct Shown {
  explicit Shown(Renderer renderer) : canvas(&client, &window, {renderer, QStringLiteral("test")}) {
    window.resize(300, 120);
    canvas.setGeometry(0, 0, 300, 120);
    window.show();
    exposed = QTest::qWaitForWindowExposed(&window);
    exposed = QTest::qWaitFor([this] { return client.painted > 0; }) && exposed;
  }

  QImage write(const QString& words) {
    client.words = words;
    const int before = client.painted;
    canvas.repaintSoon();
    EXPECT_TRUE(QTest::qWaitFor([&] { return client.painted > before; }));
    return canvas.grab().toImage();
  }

  // A case that finds no GL falls back; then the surface is new.
  QWidget* surface() { return canvas.childAt(10, 10); }

  Client client;
  QWidget window;
  Canvas canvas;
  bool exposed = false;
};

bool offscreen() {
  return QGuiApplication::platformName() == QLatin1String("offscreen");
}

bool near(const QColor& a, const QColor& b) {
  return std::abs(a.red() - b.red()) <= 2 && std::abs(a.green() - b.green()) <= 2 &&
         std::abs(a.blue() - b.blue()) <= 2;
}

class CanvasOn : public testing::TestWithParam<Renderer> {
 protected:
  void SetUp() override {
    if (GetParam() == Renderer::kGl && !probeGl().usable) {
      GTEST_SKIP() << "no OpenGL here: " << probeGl().device.toStdString();
    }
  }
};

TEST_P(CanvasOn, OutlivesItsClient) {
  auto client = std::make_unique<Client>();
  QWidget window;
  Canvas canvas(client.get(), &window, {GetParam(), QStringLiteral("test")});
  window.resize(300, 120);
  canvas.setGeometry(0, 0, 300, 120);
  window.show();
  ASSERT_TRUE(QTest::qWaitFor([&] { return client->painted > 0; }));
  client.reset();
  canvas.repaintSoon();
  QTest::mouseClick(canvas.childAt(10, 10), Qt::LeftButton);
  QTest::qWait(50);
  EXPECT_FALSE(near(canvas.grabImage().pixelColor(10, 10), kGround));
}

TEST_P(CanvasOn, ShowsWhatItsClientDraws) {
  Shown shown(GetParam());
  ASSERT_TRUE(shown.exposed);
  ASSERT_EQ(shown.canvas.renderer(), GetParam());
  const QImage image = shown.canvas.grab().toImage();
  EXPECT_TRUE(near(image.pixelColor(10, 10), kGround))
      << image.pixelColor(10, 10).name().toStdString();
  EXPECT_TRUE(near(image.pixelColor(70, 35), kBar))
      << image.pixelColor(70, 35).name().toStdString();
  EXPECT_TRUE(near(image.pixelColor(39, 35), kGround));
  EXPECT_TRUE(near(image.pixelColor(40, 35), kBar));
  EXPECT_TRUE(near(image.pixelColor(99, 35), kBar));
  EXPECT_TRUE(near(image.pixelColor(100, 35), kGround));
  int lettered = 0;
  int hatched = 0;
  for (int x = 0; x < 60; ++x) {
    for (int y = 20; y < 50; ++y) {
      lettered += near(image.pixelColor(120 + x, y), kGround) ? 0 : 1;
    }
    for (int y = 60; y < 80; ++y) {
      hatched += near(image.pixelColor(40 + x, y), kGround) ? 0 : 1;
    }
  }
  EXPECT_GT(lettered, 40) << "text is drawn";
  EXPECT_GT(hatched, 100) << "the hatch is drawn";
}

TEST_P(CanvasOn, HasTheSignsThatViewsWrite) {
  Shown shown(GetParam());
  const QImage unknown = shown.write(QString(QChar(0x2603)));  // no view writes a snowman
  const QRawFont font = QRawFont::fromFont(canvasFont(FontRole::kNormal));
  for (const QChar sign : QStringLiteral("µΔ…→∑▍▲◆✓✚")) {
    if (font.supportsCharacter(sign)) {
      EXPECT_NE(shown.write(QString(sign)), unknown) << QString(sign).toStdString();
    }
  }
}

TEST_P(CanvasOn, WritesInTheFontOfTheApplicationThoughItChanges) {
  Shown shown(GetParam());
  const QFont before = QApplication::font();
  const QByteArray file = fontFile(canvasFont(FontRole::kNormal));
  const QImage words = shown.write(QStringLiteral("words"));
  bool another = false;
  for (const QString& family : QFontDatabase::families()) {
    QApplication::setFont(QFont(family));
    const QByteArray now = fontFile(canvasFont(FontRole::kNormal));
    another = !now.isEmpty() && now != file;
    if (another) {
      break;
    }
  }
  if (another) {
    EXPECT_NE(shown.write(QStringLiteral("words")), words);
  }
  QApplication::setFont(before);
  EXPECT_EQ(shown.write(QStringLiteral("words")), words);
  if (!another) {
    GTEST_SKIP() << "there is one font here";
  }
}

TEST_P(CanvasOn, HandsTheMouseOnInLogicalPixels) {
  Shown shown(GetParam());
  QWidget* surface = shown.surface();
  QTest::mousePress(surface, Qt::RightButton, Qt::ControlModifier, {50, 40});
  QTest::mouseRelease(surface, Qt::RightButton, Qt::ControlModifier, {60, 44});
  ASSERT_EQ(shown.client.pressed.size(), 1u);
  EXPECT_EQ(shown.client.pressed[0].position, QPointF(50, 40));
  EXPECT_EQ(shown.client.pressed[0].button, Qt::RightButton);
  EXPECT_TRUE(shown.client.pressed[0].modifiers.testFlag(Qt::ControlModifier));
  ASSERT_EQ(shown.client.released.size(), 1u);
  EXPECT_EQ(shown.client.released[0].position, QPointF(60, 44));
}

TEST_P(CanvasOn, PaintsOnlyWhenAsked) {
  Shown shown(GetParam());
  QTest::qWait(50);
  const int before = shown.client.painted;
  QTest::qWait(100);
  EXPECT_EQ(shown.client.painted, before) << "an idle canvas sleeps";
  for (int i = 0; i < 10; ++i) {
    shown.canvas.repaintSoon();
  }
  ASSERT_TRUE(QTest::qWaitFor([&] { return shown.client.painted > before; }));
  QTest::qWait(30);
  EXPECT_EQ(shown.client.painted, before + 1) << "ten wishes give one frame";
}

TEST_P(CanvasOn, SurvivesBeingHiddenShownResizedAndMovedToAnotherWindow) {
  Shown shown(GetParam());
  shown.window.hide();
  shown.window.show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&shown.window));
  shown.canvas.resize(200, 100);
  QWidget other;
  other.resize(400, 300);
  shown.canvas.setParent(&other);
  other.show();
  shown.canvas.show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&other));
  const int before = shown.client.painted;
  shown.canvas.repaintSoon();
  EXPECT_TRUE(QTest::qWaitFor([&] { return shown.client.painted > before; }));
  EXPECT_TRUE(near(shown.canvas.grab().toImage().pixelColor(70, 35), kBar));
  shown.canvas.setParent(&shown.window);
}

INSTANTIATE_TEST_SUITE_P(Renderers, CanvasOn, testing::Values(Renderer::kRaster, Renderer::kGl),
                         [](const auto& info) {
                           return info.param == Renderer::kGl ? "Gl" : "Raster";
                         });

TEST(Canvas, TwoOnGlKeepTheirContextsApart) {
  if (offscreen() || !probeGl().usable) {
    GTEST_SKIP() << "no OpenGL here";
  }
  Shown a(Renderer::kGl);
  {
    Shown b(Renderer::kGl);
    EXPECT_TRUE(near(b.canvas.grab().toImage().pixelColor(70, 35), kBar));
  }
  EXPECT_TRUE(near(a.canvas.grab().toImage().pixelColor(70, 35), kBar));
}

TEST(Canvas, GrabsAPictureAtTheScaleAskedFor) {
  Shown shown(Renderer::kRaster);
  const QImage image = shown.canvas.grabImage(2);
  EXPECT_EQ(image.size(), QSize(600, 240));
  EXPECT_TRUE(near(image.pixelColor(140, 70), kBar));
}

TEST(Canvas, SaysWhatItDrawsWith) {
  Client client;
  Canvas canvas(&client, nullptr, {Renderer::kRaster, QStringLiteral("it was asked for")});
  EXPECT_EQ(canvas.rendererName(), "the processor: it was asked for");
}

TEST(FontFile, PutsTogetherAFileThatHasTheTablesOfATrueTypeFont) {
  const QByteArray file = fontFile(canvasFont(FontRole::kNormal));
  ASSERT_GT(file.size(), 10'000);
  const auto word = [&](int at) {
    return static_cast<unsigned char>(file[at]) << 8 | static_cast<unsigned char>(file[at + 1]);
  };
  const int tables = word(4);
  EXPECT_GE(tables, 6);
  QStringList tags;
  for (int i = 0; i < tables; ++i) {
    tags << QString::fromLatin1(file.mid(12 + 16 * i, 4));
  }
  for (const char* tag : {"cmap", "head", "hhea", "hmtx", "maxp"}) {
    EXPECT_TRUE(tags.contains(QLatin1String(tag))) << tag;
  }
  EXPECT_TRUE(std::is_sorted(tags.begin(), tags.end()));
}

}  // namespace
}  // namespace lockstep::ui
