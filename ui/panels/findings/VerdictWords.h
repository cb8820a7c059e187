#pragma once

#include <QString>
#include <QStringList>
#include <vector>

#include "engine/diagnosis/Diagnose.h"
#include "engine/trace/RunFile.h"
#include "ui/panels/findings/FindingWords.h"

namespace lockstep::ui {

/// What the card in front of the views says, part by part.
struct VerdictWords {
  /// A part that leads somewhere.
  struct Part {
    QString link;       ///< what leads there: the place of a remark in the verdict, or a name below
    QString text;       ///< a sentence without its full stop
    QString brief;      ///< the same in fewer words
    QString tip;        ///< said under the pointer: where it leads
    QString term;       ///< and what this term of the glossary means; empty: none
    QString bare = {};  ///< the brief one without its reason; empty: it gives none

    bool operator==(const Part&) const = default;
  };

  FindingTone tone = FindingTone::kUnknown;
  Part headline;            ///< whether the run is right, and what it suffers from first
  QString subject;          ///< what the run is
  std::vector<Part> parts;  ///< remarks, in their order
  std::size_t more = 0;     ///< findings besides the headline's

  bool operator==(const VerdictWords&) const = default;
};

/// The names of links that are no remarks; that of a finding has its place among them at the end.
inline const QString kFindingLink = QStringLiteral("finding");
inline const QString kProblemsLink = QStringLiteral("problems");
inline const QString kListLink = QStringLiteral("list");

/// What goes first: a bad end of the run, or else the first of what was found.
FindingsHeadline headlineOf(const trace::RunInfo& info, const diagnosis::Diagnosis* found);

/// `steps` have ended; `found` is null as long as nobody has looked at the run.
VerdictWords verdictWords(const trace::RunInfo& info, const QString& name, const QString& subject,
                          std::size_t steps, const diagnosis::Diagnosis* found);

/// The words as rich text, the first `whole` parts in full and the others in brief, with their
/// reasons or without.
QString richTextOf(const VerdictWords& words, std::size_t whole, bool reasons = true);
/// The same for a screen reader.
QString plainTextOf(const VerdictWords& words);

}  // namespace lockstep::ui
