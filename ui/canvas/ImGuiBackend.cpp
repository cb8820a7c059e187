#include "ui/canvas/ImGuiBackend.h"

#include <imgui.h>

#include <cmath>
#include <string>

#include "ui/canvas/Hatching.h"

namespace lockstep::ui {
namespace {

using Op = DisplayList::Op;
using Command = DisplayList::Command;

ImVec2 vec(QPointF point) {
  return {static_cast<float>(point.x()), static_cast<float>(point.y())};
}

class ImGuiDrawing {
 public:
  ImGuiDrawing(const DisplayList& list, ImDrawList& out, const ImGuiFonts& fonts)
      : list_(list), out_(out), fonts_(fonts) {}

  void draw(const Command& command) {
    const QRgb c = command.colour;
    const ImU32 colour = IM_COL32(qRed(c), qGreen(c), qBlue(c), qAlpha(c));
    const ImVec2 from = vec(command.rect.topLeft());
    const ImVec2 to = vec(command.rect.bottomRight());
    switch (command.op) {
      case Op::kFill:
        out_.AddRectFilled(from, to, colour, command.width);
        break;
      // AddRect draws its line half a pixel inside.
      case Op::kOutline:
        out_.AddRect(from, to, colour, command.width);
        break;
      case Op::kHatch:
        hatch(command, colour);
        break;
      case Op::kLine:
        out_.AddLine(from, to, colour, command.width);
        break;
      case Op::kPolyline:
        out_.AddPolyline(points(command).data(), static_cast<int>(command.count), colour,
                         ImDrawFlags_None, command.width);
        break;
      case Op::kPolygon:
        out_.AddConvexPolyFilled(points(command).data(), static_cast<int>(command.count), colour);
        break;
      case Op::kText:
        text(command, colour);
        break;
      case Op::kClip:
        // true: within the clip that stands, as DisplayList::clip has it.
        out_.PushClipRect(from, to, true);
        break;
      case Op::kUnclip: out_.PopClipRect(); break;
    }
  }

 private:
  std::vector<ImVec2> points(const Command& command) const {
    std::vector<ImVec2> points;
    points.reserve(command.count);
    for (std::uint32_t i = 0; i < command.count; ++i) {
      points.push_back(vec(list_.points()[command.first + i]));
    }
    return points;
  }

  void hatch(const Command& command, ImU32 colour) {
    forEachHatchLine(command.rect, [&](QPointF from, QPointF to) {
      out_.AddLine(vec(from), vec(to), colour, static_cast<float>(kHatchWidth));
    });
  }

  [[nodiscard]] float widthOf(ImFont* font, const char* begin, const char* end) const {
    return font->CalcTextSizeA(font->FontSize * fonts_.scale, FLT_MAX, 0, begin, end).x;
  }

  void text(const Command& command, ImU32 colour) {
    ImFont* font = fonts_.fonts[static_cast<std::size_t>(command.font)];
    const float size = font->FontSize * fonts_.scale;
    std::string shown = list_.textOf(command).toStdString();
    // Its advances differ from Qt's by a hair; what was measured to fit there fits here.
    const auto room = static_cast<float>(command.rect.width() * 1.03 + 1);
    float width = widthOf(font, shown.data(), shown.data() + shown.size());
    if (width > room) {
      shown = elided(font, list_.textOf(command), room);
      if (shown.empty()) {
        return;
      }
      width = widthOf(font, shown.data(), shown.data() + shown.size());
    }
    QPointF at = command.rect.topLeft();
    if ((command.alignment & Qt::AlignRight) != 0) {
      at.setX(command.rect.right() - width);
    } else if ((command.alignment & Qt::AlignHCenter) != 0) {
      at.setX(command.rect.left() + (command.rect.width() - width) / 2);
    }
    if ((command.alignment & Qt::AlignBottom) != 0) {
      at.setY(command.rect.bottom() - size);
    } else if ((command.alignment & Qt::AlignTop) == 0) {
      at.setY(command.rect.top() + (command.rect.height() - size) / 2);
    }
    // Whole device pixels keep the baked glyphs sharp.
    const float device = fonts_.scale > 0 ? 1 / fonts_.scale : 1;
    const ImVec2 snapped(std::round(static_cast<float>(at.x()) * device) / device,
                         std::floor(static_cast<float>(at.y()) * device) / device);
    out_.AddText(font, size, snapped, colour, shown.data(), shown.data() + shown.size());
  }

  // The longest beginning that fits with its dots; empty when that is under two letters.
  std::string elided(ImFont* font, const QString& text, float room) const {
    // By halving, since a width is a walk over all its letters.
    qsizetype low = 1;
    qsizetype high = text.size();
    std::string best;
    while (low <= high) {
      const qsizetype middle = (low + high) / 2;
      const std::string candidate = text.left(middle).toStdString() + "…";
      if (widthOf(font, candidate.data(), candidate.data() + candidate.size()) <= room) {
        if (middle >= 2) {
          best = candidate;
        }
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return best;
  }

  const DisplayList& list_;
  ImDrawList& out_;
  const ImGuiFonts& fonts_;
};

}  // namespace

void paint(const DisplayList& list, ImDrawList& out, const ImGuiFonts& fonts) {
  ImGuiDrawing drawing(list, out, fonts);
  for (const Command& command : list.commands()) {
    drawing.draw(command);
  }
}

}  // namespace lockstep::ui
