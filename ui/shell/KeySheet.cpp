#include "ui/shell/KeySheet.h"

#include <QCoreApplication>
#include <QStringList>
#include <utility>

namespace lockstep::ui {
namespace {

QString keySheetText(const char* text) {
  return QCoreApplication::translate("KeySheet", text);
}

QString keysOf(const QAction* action) {
  QStringList keys;
  for (const QKeySequence& key : action->shortcuts()) {
    keys.append(key.toString(QKeySequence::NativeText));
  }
  return keys.join(keySheetText(" or "));
}

HelpTopic topicOf(const KeySheet::Group& group) {
  HelpTopic topic{KeySheet::chapter(), group.title, {}};
  for (const QAction* action : group.actions) {
    const QString keys = keysOf(action);
    topic.lines.push_back({keys.isEmpty() ? keySheetText("no key") : keys,
                           action->text().remove('&').remove(QStringLiteral("…"))});
  }
  return topic;
}

HelpTopic mouseTopic() {
  return {KeySheet::chapter(),
          keySheetText("Mouse in the timeline"),
          {},
          {{keySheetText("Wheel"), keySheetText("Zoom at the pointer")},
           {keySheetText("Shift + wheel"), keySheetText("Move in time")},
           {keySheetText("Alt + wheel"), keySheetText("Height of the lanes")},
           {keySheetText("Drag with the right or middle button"), keySheetText("Move in time")},
           {keySheetText("Drag over empty space"), keySheetText("Measure")},
           {keySheetText("Ctrl + drag"), keySheetText("Filter to a range of time")},
           {keySheetText("Click"), keySheetText("Select")},
           {keySheetText("Double-click"), keySheetText("Zoom to the bar")},
           {keySheetText("Right-click"), keySheetText("What can be done there")},
           {keySheetText("Double-click a note"), keySheetText("Edit it")},
           {keySheetText("Drag in the overview"), keySheetText("Move or stretch what is shown")}}};
}

}  // namespace

QString KeySheet::chapter() {
  return keySheetText("Keys and mouse");
}

std::vector<HelpTopic> KeySheet::topics(const std::vector<Group>& groups) {
  std::vector<HelpTopic> topics;
  for (const Group& group : groups) {
    topics.push_back(topicOf(group));
  }
  topics.push_back(mouseTopic());
  HelpTopic all{chapter(), keySheetText("All keys"), {}};
  all.isSummary = true;
  for (const HelpTopic& topic : topics) {
    all.lines.push_back({topic.title, {}});
    for (const HelpTopic::Line& line : topic.lines) {
      if (line.label != keySheetText("no key")) {
        all.lines.push_back(line);
      }
    }
  }
  topics.insert(topics.begin(), std::move(all));
  return topics;
}

}  // namespace lockstep::ui
