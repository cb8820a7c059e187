#pragma once

#include <QColor>
#include <QString>
#include <QStringList>
#include <cstddef>

#include "engine/diagnosis/Diagnose.h"

namespace lockstep::ui {

/// What a finding, or that nothing was found, is to the reader; each has a colour and a mark.
enum class FindingTone {
  kWrong,
  kCost,
  kNote,
  kGood,     ///< nothing stands out
  kUnknown,  ///< the run cannot tell, or nothing is known yet
};
FindingTone toneOf(const diagnosis::Finding& finding);
/// In the theme that holds.
QColor inkOf(FindingTone tone);

/// What stands beside the tabs.
struct FindingsHeadline {
  FindingTone tone = FindingTone::kUnknown;
  /// Of the first finding, or that there is none: the same in ever fewer words.
  QStringList texts;
  std::size_t more = 0;  ///< findings after the first
  bool operator==(const FindingsHeadline&) const = default;
};
/// Null: the run has not been looked at yet.
FindingsHeadline headlineOf(const diagnosis::Diagnosis* found);

/// "3 findings in 190 measured steps of 28.10 ms"; of a run that goes on it says so.
QString summaryOf(const diagnosis::Diagnosis& found);

/// "Rank 2 is late".
QString titleOf(const diagnosis::Finding& finding);
/// What of the glossary a finding is about: "late rank".
QString termOf(const diagnosis::Finding& finding);
/// "20.40 ms a step"; empty where the finding is not about time.
QString savingOf(const diagnosis::Finding& finding);
/// Where that lies: "19.80 to 20.90 ms, 72 % of a step".
QString intervalOf(const diagnosis::Finding& finding, double stepMs);
/// "rank 2, step 20, bucket 3, layers.12.weight, backward"; empty: of none in particular.
QString placeOf(const diagnosis::Place& place);
/// "ddp.bucket_cap_mb = 25".
QString settingOf(const diagnosis::Setting& setting);

}  // namespace lockstep::ui
