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
/// Between what the difference lies: "+1.20 … +1.80".
QString intervalText(analysis::Metric metric, const analysis::Delta& delta);
/// "▲ worse", "▼ better", "▲ too few runs", "not significant": the arrow says which way the figure
/// went.
QString verdictText(const analysis::Delta& delta);
/// Good, bad or muted.
QColor verdictColour(analysis::Verdict verdict, const Palette& palette);
/// Whether the difference is to be taken for one.
bool isTold(analysis::Verdict verdict);
/// "ddp.bucket_cap_mb [MiB]".
QString labelOf(const analysis::DifferingKey& key);
/// A TOML value without the quotes of a text; an en dash for none.
QString keyValueText(const std::optional<std::string>& value);
/// "+1.20 ms".
QString deltaMsText(double ms);

}  // namespace lockstep::ui
