#pragma once

#include <QAction>
#include <QList>
#include <QString>
#include <vector>

#include "ui/help/HelpTopic.h"

namespace lockstep::ui {

/// What the keys do, read from the actions themselves so that it cannot be wrong, and what the
/// mouse does in the timeline: pages of the help. [ui-thread]
struct KeySheet {
  struct Group {
    QString title;
    QList<QAction*> actions;
  };

  static QString chapter();
  /// First a page with all that has a key, then one a group, with the commands that have none.
  static std::vector<HelpTopic> topics(const std::vector<Group>& groups);
};

}  // namespace lockstep::ui
