#pragma once

#include <cstddef>

#include "ui/views/timeline/layers/TimelineLayer.h"

namespace lockstep::ui {

/// Neighbouring folds of one colour, drawn as one.
struct SpanFold {
  std::size_t count = 0;
  double left = 0;
  double right = 0;
  QColor colour;
  bool instants = false;
};

/// How a span looks in its row: as a bar, as a mark where it is an instant, or folded with others.
class SpanBars : public TimelineLayer {
 public:
  using TimelineLayer::TimelineLayer;

  /// Returns true where its words stand in it, or none should.
  [[nodiscard]] bool drawBar(DisplayList& list, const Span& span, const QRectF& bar) const;
  /// `roomRight`: where the next one begins.
  void drawBeside(DisplayList& list, const Span& span, const QRectF& bar, double roomRight) const;
  /// `roomRight`: where the next one begins.
  void drawMark(DisplayList& list, const Span& span, double x, const QRectF& row,
                double roomRight) const;
  void drawFold(DisplayList& list, const SpanFold& fold, const QRectF& row) const;

 private:
  // Each returns whether there was room for words.
  bool drawBarItself(DisplayList& list, const Span& span, const QRectF& bar) const;
  bool drawCollective(DisplayList& list, const Span& span, const QRectF& bar) const;
  bool drawCoreWait(DisplayList& list, const Span& span, const QRectF& body) const;
  bool drawText(DisplayList& list, const Span& span, const QRectF& bar, const QColor& fill) const;
  bool drawTextOnHatch(DisplayList& list, const Span& span, const QRectF& hatched,
                       const QColor& ground) const;
  void drawFault(DisplayList& list, const Span& span, double x, const QRectF& row,
                 double roomRight) const;
  void drawBucketMark(DisplayList& list, const Span& span, double x, const QRectF& row,
                      double roomRight) const;
};

}  // namespace lockstep::ui
