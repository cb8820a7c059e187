#include "ui/canvas/Typeface.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QFile>
#include <QFontDatabase>
#include <QFontInfo>
#include <QRawFont>
#include <QTemporaryDir>
#include <algorithm>

#include "ui/canvas/FontTables.h"
#include "ui/canvas/Picture.h"
#include "ui/canvas/TabularFigures.h"
#include "ui/canvas/TextMetrics.h"

namespace lockstep::ui {
namespace {

constexpr int kFigures = 10;

QRawFont anyFont() { return QRawFont::fromFont(canvasFont(FontRole::kNormal)); }

/// A "GSUB" table with the feature "tnum", which puts `to` in the place of `from`.
QByteArray substitution(const QList<quint32>& from, const QList<quint32>& to) {
  QByteArray table;
  const auto words = [&](std::initializer_list<int> all) {
    for (const int word : all) {
      appendBigEndian<quint16>(table, static_cast<quint16>(word));
    }
  };
  const int count = static_cast<int>(from.size());
  words({1, 0, 0, 10, 24});  // version; places of scripts (none), features, lookups
  words({1});                // one feature
  table.append("tnum");
  words({8, 0, 1, 0});  // its place; no parameters, one lookup, the first
  words({1, 4});        // one lookup, and its place
  words({1, 0, 1, 8});  // single substitution, no flags, one part, and its place
  words({2, 6 + 2 * count, count});
  for (const quint32 glyph : to) {
    words({static_cast<int>(glyph)});
  }
  words({1, count});  // which glyphs, one by one
  for (const quint32 glyph : from) {
    words({static_cast<int>(glyph)});
  }
  return table;
}

/// The font that is there, to which a table is added.
QByteArray withTable(const QRawFont& font, const char* tag, const QByteArray& bytes) {
  std::vector<FontTable> tables;
  for (const char* one : {"CFF ", "GSUB", "OS/2", "cmap", "glyf", "head", "hhea", "hmtx", "loca",
                          "maxp", "name", "post"}) {
    const QByteArray table = qstrcmp(one, tag) == 0 ? bytes : font.fontTable(one);
    if (!table.isEmpty()) {
      tables.push_back({one, table});
    }
  }
  return assembled(tables);
}

TEST(TabularFigures, AreTheGlyphsThatTheFontNamesAsSuch) {
  const QRawFont font = anyFont();
  ASSERT_TRUE(font.isValid());
  const QList<quint32> figures = font.glyphIndexesForString(QStringLiteral("0123456789"));
  const QList<quint32> letters = font.glyphIndexesForString(QStringLiteral("abcdefghij"));
  ASSERT_EQ(figures.size(), kFigures);
  // Coverage stands in the order of the glyphs, which is that of the figures in every font we know.
  ASSERT_TRUE(std::is_sorted(figures.begin(), figures.end()));
  const QRawFont with(withTable(font, "GSUB", substitution(figures, letters)), 12);
  ASSERT_TRUE(with.isValid());
  const QRawFont ours(withTabularFigures(with, QStringLiteral("Test")), 12);
  ASSERT_TRUE(ours.isValid());
  EXPECT_EQ(ours.familyName(), "Test");
  EXPECT_EQ(ours.glyphIndexesForString(QStringLiteral("0123456789")), letters);
  EXPECT_EQ(ours.glyphIndexesForString(QStringLiteral("abcµ…")),
            font.glyphIndexesForString(QStringLiteral("abcµ…")));
}

TEST(TabularFigures, AreNotMadeUp) {
  const QRawFont without(withTable(anyFont(), "GSUB", {}), 12);
  ASSERT_TRUE(without.isValid());
  EXPECT_TRUE(withTabularFigures(without, QStringLiteral("Test")).isEmpty());
  const QRawFont damaged(withTable(anyFont(), "GSUB", QByteArray(24, '\x7f')), 12);
  ASSERT_TRUE(damaged.isValid());
  EXPECT_TRUE(withTabularFigures(damaged, QStringLiteral("Test")).isEmpty());
}

class TypefaceTest : public testing::Test {
 protected:
  ~TypefaceTest() override { QApplication::setFont(before_); }

  const QFont before_ = QApplication::font();
};

TEST_F(TypefaceTest, WithoutInterTheDesktopsFaceStays) {
  if (QFontDatabase::families().contains("Inter")) {
    GTEST_SKIP() << "Inter is installed here";
  }
  useTypeface();
  EXPECT_EQ(QApplication::font(), before_);
}

TEST_F(TypefaceTest, WithInterNumbersOfOneColumnStandUnderEachOtherInWidgetsAndCanvases) {
  if (!QFontDatabase::families().contains("Inter")) {
    GTEST_SKIP() << "Inter is not installed here; its package is fonts-inter";
  }
  useTypeface();
  EXPECT_EQ(QFontInfo(QApplication::font()).family(), "Inter Tabular");
  EXPECT_EQ(QApplication::font().pointSizeF(), before_.pointSizeF());
  for (const FontRole role : {FontRole::kNormal, FontRole::kSmall, FontRole::kBold}) {
    for (const char* number : {"111.11", "444.44", "707.17"}) {
      EXPECT_NEAR(textWidth(QLatin1String(number), role), textWidth("000.00", role), 0.25)
          << number;  // beside a point some stand a little nearer
    }
  }
  EXPECT_LT(textWidth("iii", FontRole::kNormal), textWidth("mmm", FontRole::kNormal));
}

TEST_F(TypefaceTest, ADrawingWhoseTextIsTextNamesFacesThatOthersHave) {
  QFont font = before_;
  font.setFamilies({"Inter Tabular", "Inter", "DejaVu Sans"});
  QApplication::setFont(font);
  Picture picture;
  picture.size = QSizeF(200, 40);
  picture.list.text(QRectF(0, 0, 200, 40), QStringLiteral("12.3 ms"), Qt::black);
  const QTemporaryDir folder;
  const QString path = folder.filePath("a.svg");
  ASSERT_TRUE(savePicture(picture, path, 1).ok());
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  const QByteArray svg = file.readAll();
  EXPECT_TRUE(svg.contains("font-family=\"Inter, DejaVu Sans, sans-serif\"")) << svg.constData();
  EXPECT_FALSE(svg.contains("Inter Tabular"));
}

}  // namespace
}  // namespace lockstep::ui
