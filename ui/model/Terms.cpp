#include "ui/model/Terms.h"

#include <string>

namespace lockstep::ui {
namespace {

QString text(std::string_view words) {
  return QString::fromUtf8(words.data(), static_cast<qsizetype>(words.size()));
}

}  // namespace

const glossary::Entry* termOf(const QString& heading) {
  return glossary::find(heading.toStdString());
}

QString meaningOf(const QString& heading) {
  const glossary::Entry* entry = termOf(heading);
  return entry == nullptr ? QString()
                          : text(entry->term) + QStringLiteral(": ") + text(entry->meaning);
}

// As HTML, which a tooltip breaks into lines; plain text would be one line, wider than the screen.
QString tipWithTerm(const QString& heading, const QString& tip) {
  const glossary::Entry* entry = termOf(heading);
  if (entry == nullptr) {
    return tip;
  }
  const QString own =
      tip.isEmpty() ? QString() : QStringLiteral("<p>%1</p>").arg(tip.toHtmlEscaped());
  const QString unit = entry->unit.empty()
                           ? QString()
                           : QStringLiteral(" [%1]").arg(text(entry->unit).toHtmlEscaped());
  return own +
         QStringLiteral("<p><b>%1</b>%2: %3</p>")
             .arg(text(entry->term).toHtmlEscaped(), unit, text(entry->meaning).toHtmlEscaped());
}

}  // namespace lockstep::ui
