#pragma once

#include <QString>
#include <vector>

namespace lockstep::ui {

/// A page of the help: a sentence or more, and lines of two columns under it.
struct HelpTopic {
  struct Line {
    QString label;  ///< a key, or "Formula"
    QString text;
    bool links = false;  ///< `text` names titles of topics, divided by ", "
  };

  QString chapter;  ///< "Glossary"
  QString title;
  QString text;  ///< plain
  std::vector<Line> lines{};
  QString otherWords{};    ///< by which it is found, too, divided by ", "
  bool isSummary = false;  ///< others hold all of it: it is not searched
};

/// Whether a topic holds every word that was typed, in any case.
bool answers(const HelpTopic& topic, const QString& typed);

/// How well it does: 0 not at all; more where the title itself is meant.
int answerScore(const HelpTopic& topic, const QString& typed);

/// The page as HTML. Where only some of its lines hold what was typed, these alone are shown. A
/// link is "topic:TITLE".
QString htmlOf(const HelpTopic& topic, const QString& typed);

}  // namespace lockstep::ui
