#pragma once

#include <QString>
#include <QStringList>

#include "engine/analysis/RunAnalysis.h"
#include "ui/views/overlap/OverlapContent.h"

/// What the overlap view says in words; all numbers carry their units.
namespace lockstep::ui::overlap_words {

/// The figures of the whole run in one line.
QString headline(const analysis::RunAnalysis& run);
/// What they are medians of, and what is left out.
QString medians(const OverlapContent& content, bool live);
/// A rank's figures, a line each.
QStringList labelOf(const OverlapContent::Rank& rank);
/// The same with what was left out as warm-up, and what each means.
QStringList meaningOf(const OverlapContent::Rank& rank);
/// What a faster or absent communication could give this rank at most: a sentence or two.
QString verdict(const analysis::RankOverlap& rank);
/// "Why 4.61 ms a step are exposed (mean, all ranks)": over all ranks, or of one.
QString reasonsTitle(const OverlapContent& content, std::optional<int> rank);
/// What a screen reader says about the canvas.
QString description(const OverlapContent& content);
/// The largest part of a step's exposed time: "late bucket 3, 2.10 ms".
QString causeOf(const analysis::StepOverlap& step);
/// Why rank by bucket has nothing to show; `communicates`: there are collectives of no bucket.
QString whyNoBuckets(std::size_t ranks, bool communicates);
/// What follows from there being a single bucket.
QString oneBucket();

}  // namespace lockstep::ui::overlap_words
