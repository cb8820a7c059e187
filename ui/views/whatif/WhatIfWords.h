#pragma once

#include <QCoreApplication>
#include <QString>
#include <string_view>

#include "engine/cost/ForecastText.h"

namespace lockstep::ui {

// Words that the sentences of a forecast are made of.

/// A text of this view, in the user's language.
inline QString said(const char* text) {
  return QCoreApplication::translate("WhatIf", text);
}

/// Words of the engine.
inline QString shown(std::string_view words) {
  return QString::fromUtf8(words.data(), static_cast<qsizetype>(words.size()));
}

/// "7.20 ms (6.80 ms to 7.90 ms)".
inline QString shown(const cost::Estimate& estimate) {
  return shown(cost::estimateText(estimate));
}

}  // namespace lockstep::ui
