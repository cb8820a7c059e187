#include "ui/help/HelpTopic.h"

#include <QStringList>
#include <algorithm>

namespace lockstep::ui {
namespace {

QStringList wordsOf(const QString& typed) {
  return typed.split(QLatin1Char(' '), Qt::SkipEmptyParts);
}

bool holds(const QString& text, const QStringList& words) {
  return std::ranges::all_of(
      words, [&text](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
}

/// Whether a list with commas, of which a part may have one, too, has this part.
bool listHas(const QString& list, const QString& part) {
  const QString comma = QStringLiteral(", ");
  return (comma + list + comma).contains(comma + part + comma, Qt::CaseInsensitive);
}

QString headOf(const HelpTopic& topic) {
  return topic.title + QLatin1Char(' ') + topic.otherWords + QLatin1Char(' ') + topic.text;
}

QString textOf(const HelpTopic::Line& line) {
  return line.label + QLatin1Char(' ') + line.text;
}

QString wholeOf(const HelpTopic& topic) {
  QString whole = headOf(topic);
  for (const HelpTopic::Line& line : topic.lines) {
    whole += QLatin1Char(' ') + textOf(line);
  }
  return whole;
}

QString linked(const QString& titles) {
  QStringList links;
  for (const QString& title : titles.split(QStringLiteral(", "), Qt::SkipEmptyParts)) {
    links << QStringLiteral("<a href=\"topic:%1\">%1</a>").arg(title.toHtmlEscaped());
  }
  return links.join(QStringLiteral(", "));
}

}  // namespace

bool answers(const HelpTopic& topic, const QString& typed) {
  const QStringList words = wordsOf(typed);
  return holds(wholeOf(topic), words) && (words.isEmpty() || !topic.isSummary);
}

int answerScore(const HelpTopic& topic, const QString& typed) {
  const QString wanted = typed.simplified();
  const QStringList words = wordsOf(typed);
  if (!answers(topic, typed)) {
    return 0;
  }
  return wanted.isEmpty()                                                                     ? 1
         : topic.title.compare(wanted, Qt::CaseInsensitive) == 0                              ? 5
         : listHas(topic.otherWords, wanted)                                                  ? 4
         : topic.title.startsWith(wanted, Qt::CaseInsensitive)                                ? 3
         : holds(topic.title, words)                                                          ? 2
                                                                                              : 1;
}

QString htmlOf(const HelpTopic& topic, const QString& typed) {
  const QStringList words = wordsOf(typed);
  const bool some = !holds(headOf(topic), words) &&
                    std::ranges::any_of(topic.lines, [&words](const HelpTopic::Line& line) {
                      return holds(textOf(line), words);
                    });
  QString html = QStringLiteral("<h3>%1</h3>").arg(topic.title.toHtmlEscaped());
  if (!topic.text.isEmpty()) {
    html += QStringLiteral("<p>%1</p>").arg(topic.text.toHtmlEscaped());
  }
  html += QStringLiteral("<table cellspacing=\"0\" cellpadding=\"3\">");
  for (const HelpTopic::Line& line : topic.lines) {
    if (!some || holds(textOf(line), words)) {
      html += QStringLiteral("<tr><td><b>%1</b>&nbsp;&nbsp;</td><td>%2</td></tr>")
                  .arg(line.label.toHtmlEscaped(),
                       line.links ? linked(line.text) : line.text.toHtmlEscaped());
    }
  }
  return html + QStringLiteral("</table>");
}

}  // namespace lockstep::ui
