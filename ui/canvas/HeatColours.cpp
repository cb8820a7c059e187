#include "ui/canvas/HeatColours.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lockstep::ui {
namespace {

// Evenly along the map, from dark blue to yellow; what lies between is mixed.
constexpr std::array<QRgb, 10> kCividis{0xff00224e, 0xff123570, 0xff3b496c, 0xff575d6d, 0xff707173,
                                        0xff8a8678, 0xffa59c74, 0xffc3b369, 0xffe1cc55, 0xfffee838};

}  // namespace

QColor heatColour(double part, Theme theme) {
  const double along = std::clamp(theme == Theme::kLight ? 1 - part : part, 0.0, 1.0) *
                       static_cast<double>(kCividis.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(along), kCividis.size() - 2);
  return mixed(QColor::fromRgb(kCividis[below + 1]), QColor::fromRgb(kCividis[below]),
               along - static_cast<double>(below));
}

}  // namespace lockstep::ui
