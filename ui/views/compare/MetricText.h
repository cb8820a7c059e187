#pragma once

#include <QColor>
#include <QString>
#include <optional>

#include "engine/analysis/Compare.h"
#include "ui/canvas/Palette.h"

namespace lockstep::ui {

// Figures of a comparison as table, picture and clipboard show them, the same in every locale.

/// "step time [ms]".
QString nameOf(analysis::Metric metric);
/// "12.34", "8.69 KiB", an en dash for what is unknown.
QString valueText(analysis::Metric metric, const std::optional<double>& value);
/// The same with its sign.
QString differenceText(analysis::Metric metric, const std::optional<double>& difference);
/// "+12.3 %"; from ten times on the factor, "×13.6": nobody reads thousands of per cent.
QString changeText(const std::optional<double>& percent);
/// Between what the difference lies: "+1.20 … +1.80"; once where both ends read alike: "0 B".
QString intervalText(analysis::Metric metric, const analysis::Delta& delta);
/// "▲ worse", "▼ better", "▲ worse so far", "not significant": the arrow says which way the
/// figure went. "So far" is a difference of two runs that says nothing of what was changed.
QString verdictText(analysis::Metric metric, const analysis::Delta& delta);
/// Good or bad where the runs differ, else muted.
QColor verdictColour(analysis::Metric metric, const analysis::Delta& delta, const Palette& palette);
/// How many runs it takes to say more than "so far"; empty where no verdict on the run says
/// so.
QString fewRunsNote(const analysis::Comparison& comparison, std::size_t other);
/// "ddp.bucket_cap_mb [MiB]".
QString labelOf(const analysis::DifferingKey& key);
/// A TOML value without the quotes of a text; an en dash for none.
QString keyValueText(const std::optional<std::string>& value);
/// "+1.20 ms".
QString deltaMsText(double ms);

}  // namespace lockstep::ui
