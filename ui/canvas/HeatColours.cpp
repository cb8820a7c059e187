#include "ui/canvas/HeatColours.h"

#include <algorithm>
#include <array>
#include <span>

namespace lockstep::ui {
namespace {

// Each evenly along its map; what lies between is mixed. On a dark ground from dark blue to yellow,
// on a light one from near white to dark blue: yellow, cividis' light end, would be all one sees.
constexpr std::array<QRgb, 10> kCividis{0xff00224e, 0xff123570, 0xff3b496c, 0xff575d6d, 0xff707173,
                                        0xff8a8678, 0xffa59c74, 0xffc3b369, 0xffe1cc55, 0xfffee838};
constexpr std::array<QRgb, 9> kBlues{0xffe9f1fa, 0xffdeebf7, 0xffc6dbef, 0xff9ecae1, 0xff6baed6,
                                     0xff4292c6, 0xff2171b5, 0xff08519c, 0xff08306b};

}  // namespace

QColor heatColour(double part, Theme theme) {
  const std::span<const QRgb> map =
      theme == Theme::kLight ? std::span<const QRgb>(kBlues) : std::span<const QRgb>(kCividis);
  const double along = std::clamp(part, 0.0, 1.0) * static_cast<double>(map.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(along), map.size() - 2);
  return mixed(QColor::fromRgb(map[below + 1]), QColor::fromRgb(map[below]),
               along - static_cast<double>(below));
}

}  // namespace lockstep::ui
