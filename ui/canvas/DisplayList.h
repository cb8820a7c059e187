#pragma once

#include <QColor>
#include <QPointF>
#include <QRectF>
#include <QString>
#include <QStringList>
#include <Qt>
#include <cstdint>
#include <vector>

namespace lockstep::ui {

enum class FontRole : std::uint8_t { kSmall, kNormal, kBold, kMono };
inline constexpr int kFontRoles = 4;

inline constexpr Qt::Alignment kToTheLeft = Qt::AlignLeft | Qt::AlignVCenter;
inline constexpr Qt::Alignment kToTheRight = Qt::AlignRight | Qt::AlignVCenter;

struct Palette;

/// What a canvas shows in one frame, in logical pixels, in drawing order: the seam between the
/// views and the back ends. Views fill it; tests read it; QPainter, ImGui, PNG, SVG and PDF
/// show it alike.
class DisplayList {
 public:
  enum class Op : std::uint8_t { kFill, kOutline, kHatch, kLine, kPolyline, kPolygon, kText, kClip, kUnclip };

  struct Command {
    Op op{};
    FontRole font = FontRole::kNormal;
    std::uint32_t colour = 0;     ///< QRgb with alpha
    std::uint32_t first = 0;      ///< into points() or texts()
    std::uint32_t count = 0;      ///< of points
    float width = 1;              ///< of lines; radius of corners for kFill and kOutline
    int alignment = 0;            ///< Qt::Alignment of kText
    QRectF rect;                  ///< kLine: from topLeft to bottomRight
  };

  void fill(const QRectF& rect, const QColor& colour, double radius = 0);
  /// The line lies inside the rectangle.
  void outline(const QRectF& rect, const QColor& colour, double radius = 0);
  /// Diagonal lines, 6 px apart, clipped to the rectangle.
  void hatch(const QRectF& rect, const QColor& colour);
  void line(QPointF from, QPointF to, const QColor& colour, double width = 1);
  void polyline(const std::vector<QPointF>& points, const QColor& colour, double width = 1);
  /// A filled convex polygon.
  void polygon(const std::vector<QPointF>& points, const QColor& colour);
  /// One line of text, aligned in `rect`, elided at the right when it does not fit, and left
  /// out when not even two letters do.
  void text(const QRectF& rect, const QString& text, const QColor& colour,
            FontRole font = FontRole::kNormal, Qt::Alignment alignment = kToTheLeft);
  /// The same in the colours of a palette: bold, over what follows; small; small and muted.
  void title(const QRectF& rect, const QString& text, const Palette& palette);
  void label(const QRectF& rect, const QString& text, const Palette& palette,
             Qt::Alignment alignment = kToTheLeft);
  void note(const QRectF& rect, const QString& text, const Palette& palette,
            Qt::Alignment alignment = kToTheLeft);
  /// Small lines below each other, the first of them in `line`.
  void lines(QRectF line, const QStringList& lines, const QColor& colour);
  /// Narrows drawing to the rectangle, within the clip that stands, until `unclip`.
  void clip(const QRectF& rect);
  void unclip();
  /// Adds all of another list, moved by `offset`.
  void append(const DisplayList& other, QPointF offset);
  void clear();

  [[nodiscard]] const std::vector<Command>& commands() const { return commands_; }
  [[nodiscard]] const std::vector<QPointF>& points() const { return points_; }
  [[nodiscard]] const QString& textOf(const Command& command) const { return texts_[command.first]; }
  /// All texts in drawing order: for tests.
  [[nodiscard]] const std::vector<QString>& texts() const { return texts_; }

 private:
  Command& add(Op op, const QRectF& rect, const QColor& colour);

  std::vector<Command> commands_;
  std::vector<QPointF> points_;
  std::vector<QString> texts_;
};

/// What a scene draws, to stand in a larger drawing.
template <typename Scene>
DisplayList drawn(Scene&& scene) {
  DisplayList list;
  scene.draw(list);
  return list;
}

}  // namespace lockstep::ui
