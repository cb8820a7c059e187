#include "ui/panels/hooks/DisabledHooks.h"

#include <QStringList>

#include "ui/panels/StudioStore.h"

namespace lockstep::ui {
namespace {

const QString kKey = QStringLiteral("hooks/disabled");

QString entryOf(const QString& id, const QString& path) {
  // By both, for two libraries may have a hook of one name. Entries are compared whole and never
  // taken apart, so a path may hold spaces.
  return id + QLatin1Char(' ') + path;
}

}  // namespace

bool isHookDisabled(const QString& id, const QString& path) {
  return studioStore().value(kKey).toStringList().contains(entryOf(id, path));
}

void setHookDisabled(const QString& id, const QString& path, bool disabled) {
  QSettings store = studioStore();
  QStringList entries = store.value(kKey).toStringList();
  entries.removeAll(entryOf(id, path));
  if (disabled) {
    entries << entryOf(id, path);
  }
  store.setValue(kKey, entries);
}

}  // namespace lockstep::ui
