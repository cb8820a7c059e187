#include "ui/canvas/Palette.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace lockstep::ui {
namespace {

constexpr double kReadable = 4.5;  // WCAG AA

class PaletteOf : public testing::TestWithParam<Theme> {
 protected:
  const Palette& palette_ = Palette::of(GetParam());
};

TEST_P(PaletteOf, TextReadsOnEverySurface) {
  for (const QColor& ground :
       {palette_.background, palette_.surface, palette_.raised, palette_.lane, palette_.chosen}) {
    for (const QColor& ink : {palette_.text, palette_.textMuted, palette_.warning, palette_.error,
                              palette_.good, palette_.accent, palette_.action}) {
      EXPECT_GE(contrastRatio(ink, ground), kReadable)
          << ink.name().toStdString() << " on " << ground.name().toStdString();
    }
  }
}

TEST_P(PaletteOf, TextReadsOnEveryBar) {
  for (int tone = 0; tone < kTones; ++tone) {
    const QColor fill = palette_.tone(static_cast<Tone>(tone));
    EXPECT_GE(contrastRatio(Palette::textOn(fill), fill), kReadable) << "tone " << tone;
  }
  for (int bucket = 0; bucket < 8; ++bucket) {
    const QColor fill = palette_.bucket(bucket);
    EXPECT_GE(contrastRatio(Palette::textOn(fill), fill), kReadable) << "bucket " << bucket;
  }
}

// How a colour looks to eyes without red-sensitive cones (Viénot, Brettel and Mollon, 1999).
QColor protanope(const QColor& c) {
  const double r = 0.11238 * c.redF() + 0.88762 * c.greenF();
  const double b = 0.00401 * c.redF() - 0.00401 * c.greenF() + c.blueF();
  return QColor::fromRgbF(static_cast<float>(r), static_cast<float>(r),
                          static_cast<float>(std::clamp(b, 0.0, 1.0)));
}

double distance(const QColor& a, const QColor& b) {
  return std::abs(a.redF() - b.redF()) + std::abs(a.greenF() - b.greenF()) +
         std::abs(a.blueF() - b.blueF());
}

TEST_P(PaletteOf, PhasesThatMeetCanBeToldApartWithoutSeeingRed) {
  const Tone order[] = {Tone::kData, Tone::kForward, Tone::kBackward, Tone::kOptimizer,
                        Tone::kData};
  for (int i = 0; i < 4; ++i) {
    const QColor a = palette_.tone(order[i]);
    const QColor b = palette_.tone(order[i + 1]);
    EXPECT_GE(distance(a, b), 0.2) << i;
    EXPECT_GE(distance(protanope(a), protanope(b)), 0.2) << i;
  }
}

TEST_P(PaletteOf, NeighbouringBucketsDiffer) {
  for (int bucket = 0; bucket < 20; ++bucket) {
    EXPECT_GE(distance(palette_.bucket(bucket), palette_.bucket(bucket + 1)), 0.3) << bucket;
  }
}

INSTANTIATE_TEST_SUITE_P(Themes, PaletteOf, testing::Values(Theme::kLight, Theme::kDark));

TEST(ContrastRatio, AgreesWithTheDefinition) {
  EXPECT_NEAR(contrastRatio(Qt::black, Qt::white), 21, 1e-6);
  EXPECT_NEAR(contrastRatio(QColor(0x77, 0x77, 0x77), Qt::white), 4.48, 0.01);
}

}  // namespace
}  // namespace lockstep::ui
