#pragma once

#include <QRectF>
#include <QString>
#include <vector>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/chart/TimeAxis.h"
#include "ui/model/SpanFacts.h"
#include "ui/views/divergence/StepSeries.h"

namespace lockstep::ui {

/// Returns the title of a strip: "Loss", "Gradient norm", "Consensus distance".
QString titleOf(StripData::Kind kind);
/// Returns what its numbers mean, in a sentence.
QString meaningOf(const StripData& strip);
/// Returns a number with three significant digits, with an exponent where it is far from 1.
QString formatValue(double value);

/// Draws one strip into `plot`, its title and scale left of it from `left` on; `axis` counts
/// steps. A line a rank, each of its colour; the scale is logarithmic where the values need it,
/// and says so.
void drawStrip(DisplayList& list, const StripData& strip, const TimeAxis& axis, const QRectF& plot,
               double left, const Palette& palette);

/// Returns what the ranks had at a step, for the hover card.
std::vector<Fact> factsAt(const StripData& strip, std::uint32_t step);

/// Draws which colour is which rank, right-aligned in `area`; as many as there is room for.
void drawRankLegend(DisplayList& list, const QRectF& area, const std::vector<int>& ranks,
                    const Palette& palette);

/// Draws the step numbers under the strips and the heat map.
void drawStepRuler(DisplayList& list, const TimeAxis& axis, const QRectF& area,
                   const Palette& palette);

}  // namespace lockstep::ui
