#include "ui/panels/runs/RunSettings.h"

#include <QHash>
#include <algorithm>
#include <utility>

#include "engine/analysis/Compare.h"
#include "engine/experiment/FieldText.h"
#include "engine/experiment/Parse.h"
#include "engine/experiment/Schema.h"
#include "ui/panels/runs/RunEntry.h"

namespace lockstep::ui {
namespace {

// Where a key stands among others: as an experiment's file has it, others after these.
int placeOfKey(const QString& key) {
  static const QHash<QString, int> kPlaces = [] {
    QHash<QString, int> places;
    for (const experiment::Field& field : experiment::schema()) {
      places.insert(QString::fromStdString(field.key), static_cast<int>(places.size()));
    }
    return places;
  }();
  return kPlaces.value(key, static_cast<int>(kPlaces.size()));
}

QString typedValue(const std::string& key, const std::string& toml) {
  const experiment::Field* field = experiment::findField(key);
  QString text =
      QString::fromStdString(field == nullptr ? toml : experiment::typedText(*field, toml));
  if (field == nullptr && text.size() >= 2 && text.startsWith('"') && text.endsWith('"')) {
    text = text.mid(1, text.size() - 2);
  }
  return text;
}

// Of an experiment in which nothing was written.
const std::map<std::string, std::string>& defaults() {
  static const auto kDefaults =
      analysis::settingsOf(experiment::toToml(experiment::Experiment())).keys;
  return kDefaults;
}

QString withoutTable(const QString& key) {
  return key.mid(key.lastIndexOf('.') + 1);
}

// "hook.name" alone would be called "name".
QString calledInSubtitle(const QString& key) {
  const QString last = withoutTable(key);
  return last == QLatin1String("name") || last == QLatin1String("kind")
             ? key.left(key.lastIndexOf('.'))
             : last;
}

}  // namespace

RunSettings runSettingsOf(const trace::RunSummary& summary) {
  RunSettings settings;
  for (const auto& [key, value] : analysis::settingsOf(summary.info, summary.ranks).keys) {
    const auto usual = defaults().find(key);
    const experiment::Field* field = experiment::findField(key);
    const bool same = usual != defaults().end() &&
                      (usual->second == value ||
                       (field != nullptr && experiment::sameValue(*field, usual->second, value)));
    if (!same) {
      settings.insert(QString::fromStdString(key), typedValue(key, value));
    }
  }
  return settings;
}

QString settingText(const RunSettings& settings, const QString& key) {
  if (const auto own = settings.constFind(key); own != settings.constEnd()) {
    return *own;
  }
  const auto usual = defaults().find(key.toStdString());
  return usual == defaults().end() ? QString() : typedValue(usual->first, usual->second);
}

QString settingKey(const QString& written) {
  if (written.contains('.')) {
    return written;
  }
  for (const experiment::Field& field : experiment::schema()) {
    if (const QString key = QString::fromStdString(field.key); withoutTable(key) == written) {
      return key;
    }
  }
  return {};
}

QStringList differingSettings(const std::vector<const RunEntry*>& runs) {
  // A key that not all have set differs: the others have the default, and that is never kept.
  struct Seen {
    QString value;
    std::size_t count = 0;
    bool differs = false;
  };
  QHash<QString, Seen> seen;
  for (const RunEntry* run : runs) {
    for (auto at = run->settings.constBegin(); at != run->settings.constEnd(); ++at) {
      Seen& key = seen[at.key()];
      key.differs = key.differs || (key.count > 0 && key.value != at.value());
      key.value = at.value();
      ++key.count;
    }
  }
  QStringList keys;
  for (auto at = seen.constBegin(); at != seen.constEnd(); ++at) {
    if (at->differs || at->count < runs.size()) {
      keys << at.key();
    }
  }
  std::ranges::sort(keys, {}, [](const QString& key) { return std::pair(placeOfKey(key), key); });
  return keys;
}

void nameDifferences(std::vector<RunEntry>& runs) {
  QHash<QString, std::vector<RunEntry*>> byName;
  for (RunEntry& run : runs) {
    run.subtitle.clear();
    if (run.problem.isEmpty() && !run.unread) {
      byName[run.name].push_back(&run);
    }
  }
  for (const std::vector<RunEntry*>& named : std::as_const(byName)) {
    if (named.size() < 2) {
      continue;
    }
    const QStringList keys = differingSettings({named.begin(), named.end()});
    for (RunEntry* run : named) {
      QStringList parts;
      for (const QString& key : keys) {
        if (const QString value = settingText(run->settings, key); !value.isEmpty()) {
          parts << calledInSubtitle(key) + QLatin1Char(' ') + value;
        }
      }
      run->subtitle = parts.join(QStringLiteral(" · "));
    }
  }
}

}  // namespace lockstep::ui
