#pragma once

#include <QRectF>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/views/compare/CompareResult.h"

namespace lockstep::ui {

// The tables of a comparison of two runs, drawn: for pictures. Each returns the height that it
// took, or would take without a `list`; rows that do not fit in `rect` are counted in a last line.

/// Who is compared with whom, and over how many iterations.
double drawCompareHeader(DisplayList* list, const QRectF& rect, const CompareResult& result,
                         const Palette& palette);
/// The keys that differ.
double drawCompareKeys(DisplayList* list, const QRectF& rect, const CompareResult& result,
                       const Palette& palette);
/// The delta table.
double drawCompareMetrics(DisplayList* list, const QRectF& rect, const CompareResult& result,
                          const Palette& palette);
/// Why the step is longer or shorter.
double drawCompareWhy(DisplayList* list, const QRectF& rect, const CompareResult& result,
                      const Palette& palette);

}  // namespace lockstep::ui
