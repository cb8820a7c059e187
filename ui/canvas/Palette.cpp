#include "ui/canvas/Palette.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lockstep::ui {
namespace {

using Tones = std::array<QRgb, kTones>;

// Order of Tone.
constexpr Tones kLightTones{
    0xffc3cad6,  // step
    0xffcdb6e3,  // data
    0xff5b9bd5,  // forward
    0xff2f5f98,  // backward
    0xff4ba58a,  // optimizer
    0xffe0b64a,  // evaluate
    0xffa8b3c1,  // startup
    0xffc7739c,  // rebuild
    0xff2f5f98,  // gradient
    0xff8ab6e0,  // copy
    0xffcf5f43,  // wait
    0xffa9b4c4,  // finalize
    0xff9a7fd1,  // encode
    0xffe9a23b,  // communicate
    0xff4ba58a,  // decode
    0xffe9a23b,  // transfer
    0xffb4bcc8,  // neutral
    0xff3f9fad,  // check
    0xffd6b48a,  // undivided
    0xff8298bd,  // shadow
    0xffffd21f,  // fault
    0xffc48438,  // link
};
constexpr Tones kDarkTones{
    0xff4a5364,  // step
    0xff9a80c4,  // data
    0xff5aa2e0,  // forward
    0xff3a70b5,  // backward
    0xff45a586,  // optimizer
    0xffcfa53c,  // evaluate
    0xff66717f,  // startup
    0xffbd6a93,  // rebuild
    0xff7ab4ec,  // gradient
    0xff6f9fcf,  // copy
    0xffd2654a,  // wait
    0xff5c687a,  // finalize
    0xff8d72c9,  // encode
    0xffdd9932,  // communicate
    0xff45a586,  // decode
    0xffdd9932,  // transfer
    0xff5f6978,  // neutral
    0xff3f9dac,  // check
    0xffa8834f,  // undivided
    0xff5f77a3,  // shadow
    0xffffd21f,  // fault
    0xffbe8030,  // link
};

// Okabe and Ito's order, the black replaced; lightness alternates.
constexpr std::array<QRgb, 8> kLightSeries{0xff0072b2, 0xffe69f00, 0xff009e73, 0xffcc79a7,
                                           0xff6a51a3, 0xff56b4e9, 0xffd55e00, 0xffb8a800};
constexpr std::array<QRgb, 8> kDarkSeries{0xff3d9be0, 0xffe6a832, 0xff2bb38b, 0xffd58cb5,
                                          0xff9a84d6, 0xff7cc8f2, 0xffe5793a, 0xffd6cc4a};

Palette makeLight() {
  Palette p;
  p.theme = Theme::kLight;
  p.background = QColor(0xff, 0xff, 0xff);
  p.surface = QColor(0xf4, 0xf6, 0xf9);
  p.raised = QColor(0xe6, 0xea, 0xf0);
  p.lane = QColor(0xfa, 0xfb, 0xfc);
  p.grid = QColor(0xec, 0xef, 0xf3);
  p.gridStrong = QColor(0xc9, 0xd0, 0xda);
  p.text = QColor(0x1c, 0x23, 0x2e);
  p.textMuted = QColor(0x55, 0x60, 0x70);
  p.action = QColor(0x1d, 0x5b, 0xb3);
  p.chosen = QColor(0xe1, 0xeb, 0xf8);
  p.accent = QColor(0xb3, 0x24, 0x5e);
  p.hover = QColor(0x1c, 0x23, 0x2e);
  p.warning = QColor(0xc0, 0x39, 0x1b);
  p.error = QColor(0xb7, 0x1c, 0x1c);
  p.good = QColor(0x17, 0x68, 0x3f);
  p.measure = QColor(0x2f, 0x5f, 0x98);
  return p;
}

Palette makeDark() {
  Palette p;
  p.theme = Theme::kDark;
  p.background = QColor(0x15, 0x19, 0x20);
  p.surface = QColor(0x1d, 0x22, 0x2b);
  p.raised = QColor(0x28, 0x2f, 0x3a);
  p.lane = QColor(0x19, 0x1e, 0x26);
  p.grid = QColor(0x23, 0x29, 0x33);
  p.gridStrong = QColor(0x3d, 0x46, 0x55);
  p.text = QColor(0xe7, 0xeb, 0xf1);
  p.textMuted = QColor(0x9d, 0xa8, 0xb8);
  p.action = QColor(0x78, 0xb4, 0xf5);
  p.chosen = QColor(0x23, 0x37, 0x50);
  p.accent = QColor(0xff, 0x7d, 0xad);
  p.hover = QColor(0xff, 0xff, 0xff);
  p.warning = QColor(0xff, 0x8a, 0x5c);
  p.error = QColor(0xff, 0x76, 0x6c);
  p.good = QColor(0x55, 0xc9, 0x93);
  p.measure = QColor(0x7a, 0xb4, 0xec);
  return p;
}

// From sRGB to linear light, and the relative luminance of that: WCAG 2.1, "relative luminance".
double linear(double channel) {
  return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
}

double luminance(const QColor& c) {
  return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
}

QColor fromSeries(Theme theme, int index) {
  const auto& series = theme == Theme::kDark ? kDarkSeries : kLightSeries;
  const int size = static_cast<int>(series.size());
  // Also for negative numbers, of which % gives a negative rest.
  return QColor::fromRgb(series[static_cast<std::size_t>((index % size + size) % size)]);
}

}  // namespace

const Palette& Palette::of(Theme theme) {
  static const Palette kLight = makeLight();
  static const Palette kDark = makeDark();
  return theme == Theme::kDark ? kDark : kLight;
}

QColor Palette::tone(Tone tone) const {
  const Tones& tones = theme == Theme::kDark ? kDarkTones : kLightTones;
  return QColor::fromRgb(tones[static_cast<std::size_t>(tone)]);
}

QColor Palette::bucket(int index) const { return fromSeries(theme, index); }

QColor Palette::rank(int index) const { return fromSeries(theme, index); }

QColor Palette::textOn(const QColor& fill) {
  const QColor dark(0x10, 0x14, 0x1a);
  return contrastRatio(fill, dark) >= contrastRatio(fill, Qt::white) ? dark : QColor(Qt::white);
}

QColor mixed(const QColor& a, const QColor& b, double part) {
  const auto channel = [part](float x, float y) {
    return static_cast<float>(x * part + y * (1 - part));
  };
  return QColor::fromRgbF(channel(a.redF(), b.redF()), channel(a.greenF(), b.greenF()),
                          channel(a.blueF(), b.blueF()));
}

QColor withAlpha(QColor colour, float alpha) {
  colour.setAlphaF(alpha);
  return colour;
}

double contrastRatio(const QColor& a, const QColor& b) {
  // WCAG 2.1: 0.05 stands for light that a screen reflects.
  const double la = luminance(a);
  const double lb = luminance(b);
  return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

}  // namespace lockstep::ui
