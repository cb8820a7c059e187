#include "ui/panels/findings/VerdictWords.h"

#include <QCoreApplication>
#include <QGuiApplication>
#include <QPalette>
#include <algorithm>
#include <optional>
#include <string_view>

#include "ui/model/Format.h"
#include "ui/model/StartingLarge.h"
#include "ui/panels/CurrentPalette.h"

namespace lockstep::ui {
namespace {

using diagnosis::Topic;
using diagnosis::Weight;

struct Verdict {
  Q_DECLARE_TR_FUNCTIONS(Verdict)
};

/// The term of the glossary that a remark is about.
QString termOf(Topic topic) {
  switch (topic) {
    case Topic::kReplicas:
      return QStringLiteral("fingerprint");
    case Topic::kCost:
      return QStringLiteral("cost");
    case Topic::kLate:
      return QStringLiteral("late rank");
    case Topic::kOverlap:
      return QStringLiteral("overlap");
    case Topic::kSlowest:
      break;
  }
  return QStringLiteral("slowest step");
}

/// Where its link leads.
QString wayOf(Topic topic) {
  switch (topic) {
    case Topic::kReplicas:
      return Verdict::tr("Shows when which parameter was first another one");
    case Topic::kCost:
      return Verdict::tr("Shows where it was largest");
    case Topic::kLate:
      return Verdict::tr("Shows the iteration in which the others waited longest for it");
    case Topic::kOverlap:
      return Verdict::tr("Shows why the rest is exposed");
    case Topic::kSlowest:
      break;
  }
  return Verdict::tr("Shows it on the timeline");
}

/// What is known of an end before anybody has looked at the run; empty: nothing is wrong with it.
QString wrongEnd(const trace::RunInfo& info) {
  if (info.state == trace::RunState::kRecorderDied) {
    return Verdict::tr("The recorder died: how the run ended is not known");
  }
  if (info.state == trace::RunState::kFailed) {
    return info.failure.empty()
               ? Verdict::tr("The run failed and gave no reason")
               : Verdict::tr("Failed: %1").arg(QString::fromStdString(info.failure));
  }
  if (info.state != trace::RunState::kDiverged && !info.divergence) {
    return {};
  }
  // Of a run that has ended the failure is that, and what else was wrong.
  return Verdict::tr("Diverged: %1")
      .arg(QString::fromStdString(info.failure.empty() && info.divergence ? info.divergence->text
                                                                          : info.failure));
}

QString findingLink(std::size_t at) {
  return kFindingLink + QString::number(at);
}

/// The finding that tells of a bad end; none: there is none, or nobody has looked yet.
std::optional<std::size_t> findingOfEnd(const trace::RunInfo& info,
                                        const diagnosis::Diagnosis* found) {
  if (found == nullptr || found->findings.empty() ||
      found->findings.front().weight != Weight::kWrong) {
    return std::nullopt;
  }
  // Of a run that diverged, whatever else is wrong: what was not finite is told first.
  const auto differ = std::ranges::find(found->findings, std::string_view("replicas_differ"),
                                        &diagnosis::Finding::rule);
  return info.state == trace::RunState::kDiverged && differ != found->findings.end()
             ? static_cast<std::size_t>(differ - found->findings.begin())
             : std::size_t{0};
}

void sayHeadline(VerdictWords& words, const trace::RunInfo& info,
                 const diagnosis::Diagnosis* found) {
  const FindingsHeadline headline = headlineOf(info, found);
  words.tone = headline.tone;
  words.more = headline.more;
  words.headline = {kListLink, headline.texts.front(), headline.texts.back(), {}, {}};
  if (!wrongEnd(info).isEmpty()) {
    const auto told = findingOfEnd(info, found);
    words.headline.link = told ? findingLink(*told) : kProblemsLink;
    words.headline.tip =
        told ? Verdict::tr("Shows where it happened") : Verdict::tr("Shows the list of problems");
  } else if (found != nullptr && !found->findings.empty()) {
    words.headline.link = findingLink(0);
    words.headline.tip = QString::fromStdString(found->findings.front().sentence);
  }
}

QString escapedLink(const QString& link, const QString& text, const QColor& ink) {
  return QStringLiteral("<a href=\"%1\" style=\"color:%2;text-decoration:none\">%3</a>")
      .arg(link, ink.name(), text.toHtmlEscaped());
}

}  // namespace

FindingsHeadline headlineOf(const trace::RunInfo& info, const diagnosis::Diagnosis* found) {
  const QString end = wrongEnd(info);
  if (end.isEmpty()) {
    return headlineOf(found);
  }
  const std::size_t findings = found == nullptr ? 0 : found->findings.size();
  return {FindingTone::kWrong, {end}, findings - (findingOfEnd(info, found) ? 1 : 0)};
}

VerdictWords verdictWords(const trace::RunInfo& info, const QString& name, const QString& subject,
                          std::size_t steps, const diagnosis::Diagnosis* found) {
  VerdictWords words;
  sayHeadline(words, info, found);
  QStringList is{name};
  if (!subject.isEmpty()) {
    is << subject;
  }
  is << (info.plannedSteps > steps ? Verdict::tr("%1 of %2 iterations")
                                         .arg(formatCount(steps), formatCount(info.plannedSteps))
                                   : formatCounted(steps, "iteration"));
  words.subject = is.join(QStringLiteral(" · "));
  for (std::size_t i = 0; found != nullptr && i < found->verdict.size(); ++i) {
    const diagnosis::Remark& remark = found->verdict[i];
    if (remark.topic == Topic::kReplicas && info.divergence) {
      continue;  // the headline is about that
    }
    words.parts.push_back({QString::number(i), startingLarge(remark.text),
                           startingLarge(remark.brief), wayOf(remark.topic), termOf(remark.topic),
                           startingLarge(remark.bare)});
  }
  return words;
}

QString richTextOf(const VerdictWords& words, std::size_t whole, bool reasons) {
  const QColor plain = QGuiApplication::palette().color(QPalette::WindowText);
  const QColor first = words.tone == FindingTone::kWrong ? inkOf(words.tone) : plain;
  QString text =
      QStringLiteral("<b>%1</b>").arg(escapedLink(words.headline.link, words.headline.text, first));
  if (words.more > 0) {
    const QString more =
        Verdict::tr("and %1").arg(formatCounted(words.more, "more finding", "more findings"));
    text += QLatin1Char(' ') + escapedLink(kListLink, more, currentAccent());
  }
  text += QStringLiteral("<br/><span style=\"color:%1\">%2</span>")
              .arg(currentPalette().textMuted.name(), words.subject.toHtmlEscaped());
  for (std::size_t i = 0; i < words.parts.size(); ++i) {
    const VerdictWords::Part& part = words.parts[i];
    const QString& brief = reasons || part.bare.isEmpty() ? part.brief : part.bare;
    text += QStringLiteral(" · ") +
            escapedLink(part.link, i < whole ? part.text : brief, currentAccent());
  }
  return text;
}

QString plainTextOf(const VerdictWords& words) {
  QStringList parts{words.headline.text, words.subject};
  for (const VerdictWords::Part& part : words.parts) {
    parts << part.text;
  }
  return parts.join(QStringLiteral(". "));
}

}  // namespace lockstep::ui
