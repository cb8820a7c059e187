#include "ui/canvas/DisplayList.h"

#include <gtest/gtest.h>

#include <QImage>
#include <QPainter>

#include "ui/canvas/Hatching.h"
#include "ui/canvas/PainterBackend.h"
#include "ui/canvas/TextMetrics.h"

namespace lockstep::ui {
namespace {

using Op = DisplayList::Op;

QImage painted(const DisplayList& list, int width = 100, int height = 60) {
  QImage image(width, height, QImage::Format_RGB32);
  image.fill(Qt::white);
  QPainter painter(&image);
  paint(list, painter);
  return image;
}

// The rectangle of all pixels that are not white.
QRect inked(const QImage& image) {
  QRect ink;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) {
      if (image.pixel(x, y) != qRgb(255, 255, 255)) {
        ink |= QRect(x, y, 1, 1);
      }
    }
  }
  return ink;
}

TEST(DisplayList, KeepsCommandsInDrawingOrder) {
  DisplayList list;
  list.fill(QRectF(0, 0, 10, 10), Qt::red);
  list.text(QRectF(0, 0, 10, 10), QStringLiteral("one"), Qt::black);
  list.polyline({{0, 0}, {1, 1}, {2, 0}}, Qt::blue);
  list.text(QRectF(0, 0, 10, 10), QStringLiteral("two"), Qt::black);
  ASSERT_EQ(list.commands().size(), 4u);
  EXPECT_EQ(list.commands()[0].op, Op::kFill);
  EXPECT_EQ(list.commands()[2].count, 3u);
  EXPECT_EQ(list.textOf(list.commands()[1]), "one");
  EXPECT_EQ(list.textOf(list.commands()[3]), "two");
}

TEST(DisplayList, AppendsAnotherListMovedAside) {
  DisplayList inner;
  inner.polygon({{0, 0}, {10, 0}, {0, 10}}, Qt::red);
  inner.text(QRectF(1, 2, 30, 10), QStringLiteral("inner"), Qt::black);
  DisplayList outer;
  outer.polyline({{5, 5}, {6, 6}}, Qt::blue);
  outer.text(QRectF(0, 0, 30, 10), QStringLiteral("outer"), Qt::black);
  outer.append(inner, QPointF(100, 50));
  EXPECT_EQ(outer.points()[outer.commands()[2].first], QPointF(100, 50));
  EXPECT_EQ(outer.commands()[3].rect.topLeft(), QPointF(101, 52));
  EXPECT_EQ(outer.textOf(outer.commands()[3]), "inner");
}

TEST(PainterBackend, FillsExactlyTheRectangle) {
  DisplayList list;
  list.fill(QRectF(10, 20, 30, 15), Qt::red);
  EXPECT_EQ(inked(painted(list)), QRect(10, 20, 30, 15));
}

TEST(PainterBackend, DrawsAnOutlineInsideTheRectangle) {
  DisplayList list;
  list.outline(QRectF(10, 20, 30, 15), Qt::red);
  const QImage image = painted(list);
  EXPECT_EQ(inked(image), QRect(10, 20, 30, 15));
  EXPECT_EQ(image.pixel(25, 27), qRgb(255, 255, 255)) << "hollow";
}

TEST(PainterBackend, ClipsWithinTheClipThatStands) {
  DisplayList list;
  list.clip(QRectF(0, 0, 50, 60));
  list.clip(QRectF(30, 0, 70, 60));
  list.fill(QRectF(0, 0, 100, 60), Qt::red);
  list.unclip();
  list.unclip();
  const QImage image = painted(list);
  EXPECT_EQ(inked(image), QRect(30, 0, 20, 60));
  list.fill(QRectF(90, 0, 10, 10), Qt::blue);
  EXPECT_EQ(painted(list).pixel(95, 5), qRgb(0, 0, 255)) << "unclip gives all back";
}

TEST(PainterBackend, HatchesWithinTheRectangleOnly) {
  DisplayList list;
  list.hatch(QRectF(20, 10, 40, 30), Qt::black);
  const QImage image = painted(list);
  const QRect ink = inked(image);
  EXPECT_TRUE(QRect(19, 9, 42, 32).contains(ink));
  EXPECT_GT(ink.width(), 35);
}

TEST(PainterBackend, AlignsText) {
  const auto at = [](Qt::Alignment alignment) {
    DisplayList list;
    list.text(QRectF(0, 0, 100, 60), QStringLiteral("mm"), Qt::black, FontRole::kNormal, alignment);
    return inked(painted(list));
  };
  const QRect left = at(Qt::AlignLeft | Qt::AlignTop);
  const QRect right = at(Qt::AlignRight | Qt::AlignBottom);
  const QRect middle = at(Qt::AlignHCenter | Qt::AlignVCenter);
  ASSERT_FALSE(left.isEmpty());
  EXPECT_LT(left.left(), 5);
  EXPECT_GT(right.right(), 94);
  EXPECT_NEAR(middle.center().x(), 50, 2);
  EXPECT_LT(left.top(), middle.top());
  EXPECT_GT(right.top(), middle.top());
}

TEST(PainterBackend, ElidesTextThatDoesNotFitAndDropsWhatSaysNothing) {
  const QString text = QStringLiteral("a parameter with a long name");
  const double room = textWidth(text, FontRole::kNormal) / 2;
  DisplayList list;
  list.text(QRectF(0, 0, room, 20), text, Qt::black);
  const QRect ink = inked(painted(list, 300, 20));
  EXPECT_LE(ink.right(), room + 1);
  EXPECT_GT(ink.right(), room / 2);
  DisplayList tiny;
  tiny.text(QRectF(0, 0, 8, 20), text, Qt::black);
  EXPECT_TRUE(inked(painted(tiny)).isEmpty());
}

TEST(PainterBackend, LeavesThePainterAsItWas) {
  QImage image(10, 10, QImage::Format_RGB32);
  QPainter painter(&image);
  painter.setPen(QPen(Qt::green, 3));
  DisplayList list;
  list.line({0, 0}, {5, 5}, Qt::red);
  list.clip(QRectF(0, 0, 2, 2));
  list.unclip();
  paint(list, painter);
  EXPECT_EQ(painter.pen().color(), QColor(Qt::green));
  EXPECT_FALSE(painter.hasClipping());
}

TEST(Hatching, JoinsTheLinesOfNeighbours) {
  std::vector<double> sums;
  for (const QRectF& rect : {QRectF(0, 0, 17, 12), QRectF(17, 0, 23, 12)}) {
    forEachHatchLine(rect, [&](QPointF from, QPointF to) {
      EXPECT_TRUE(rect.adjusted(-1e-9, -1e-9, 1e-9, 1e-9).contains(from));
      EXPECT_TRUE(rect.adjusted(-1e-9, -1e-9, 1e-9, 1e-9).contains(to));
      EXPECT_NEAR(from.x() + from.y(), to.x() + to.y(), 1e-9);
      sums.push_back(from.x() + from.y());
    });
  }
  for (const double sum : sums) {
    EXPECT_NEAR(std::remainder(sum, kHatchStep), 0, 1e-9);
  }
  EXPECT_GE(sums.size(), 8u);
}

}  // namespace
}  // namespace lockstep::ui
