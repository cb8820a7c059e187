#include "ui/panels/hooks/DisabledHooks.h"

#include <QSettings>
#include <QStringList>

namespace lockstep::ui {
namespace {

const QString kKey = QStringLiteral("hooks/disabled");

QString entryOf(const QString& id, const QString& path) {
  return id + QLatin1Char(' ') + path;
}

}  // namespace

bool isHookDisabled(const QString& id, const QString& path) {
  const QSettings store(QStringLiteral("lockstep"), QStringLiteral("studio"));
  return store.value(kKey).toStringList().contains(entryOf(id, path));
}

void setHookDisabled(const QString& id, const QString& path, bool disabled) {
  QSettings store(QStringLiteral("lockstep"), QStringLiteral("studio"));
  QStringList entries = store.value(kKey).toStringList();
  entries.removeAll(entryOf(id, path));
  if (disabled) {
    entries << entryOf(id, path);
  }
  store.setValue(kKey, entries);
}

}  // namespace lockstep::ui
