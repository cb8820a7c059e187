#include "ui/help/GlossaryTopics.h"

#include <QCoreApplication>
#include <QStringList>

#include "engine/glossary/Glossary.h"

namespace lockstep::ui {
namespace {

QString text(std::string_view words) {
  return QString::fromUtf8(words.data(), static_cast<qsizetype>(words.size()));
}

}  // namespace

QString glossaryChapter() {
  return QCoreApplication::translate("Help", "Glossary");
}

std::vector<HelpTopic> glossaryTopics() {
  std::vector<HelpTopic> topics;
  for (const glossary::Entry& entry : glossary::entries()) {
    HelpTopic topic{glossaryChapter(), text(entry.term), text(entry.meaning)};
    QStringList others;
    for (const std::string_view other : entry.alsoCalled) {
      others << text(other);
    }
    topic.otherWords = others.join(QStringLiteral(", "));
    for (const glossary::Line& line : glossary::linesOf(entry)) {
      topic.lines.push_back(
          {text(line.label), QString::fromStdString(line.text), line.label == "See also"});
    }
    topics.push_back(std::move(topic));
  }
  return topics;
}

}  // namespace lockstep::ui
