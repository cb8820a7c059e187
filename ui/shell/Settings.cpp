#include "ui/shell/Settings.h"

#include <algorithm>

namespace lockstep::ui {
namespace {

constexpr int kRecentRuns = 10;
constexpr std::size_t kRecentJobs = 10;
const QString kJobsKey = QStringLiteral("recentJobs");
// Raised when docks or toolbars change, so that an old arrangement is not forced on them.
const QString kDocksKey = QStringLiteral("window/docks2/");
constexpr int kSmallestScale = 100;
constexpr int kLargestScale = 300;

}  // namespace

Settings::Settings() : store_(QStringLiteral("lockstep"), QStringLiteral("studio")) {}

QString themeName(ThemeChoice choice) {
  switch (choice) {
    case ThemeChoice::kLight: return QStringLiteral("light");
    case ThemeChoice::kDark: return QStringLiteral("dark");
    case ThemeChoice::kSystem: break;
  }
  return QStringLiteral("system");
}

ThemeChoice themeFromName(const QString& name) {
  if (name == QStringLiteral("light")) return ThemeChoice::kLight;
  if (name == QStringLiteral("dark")) return ThemeChoice::kDark;
  return ThemeChoice::kSystem;
}

ThemeChoice Settings::theme() const {
  return themeFromName(store_.value(QStringLiteral("theme")).toString());
}

void Settings::setTheme(ThemeChoice choice) {
  store_.setValue(QStringLiteral("theme"), themeName(choice));
}

QByteArray Settings::geometry() const {
  return store_.value(QStringLiteral("window/geometry")).toByteArray();
}

void Settings::setGeometry(const QByteArray& geometry) {
  store_.setValue(QStringLiteral("window/geometry"), geometry);
}

QByteArray Settings::docks(const QString& layout) const {
  return store_.value(kDocksKey + layout).toByteArray();
}

void Settings::setDocks(const QString& layout, const QByteArray& docks) {
  store_.setValue(kDocksKey + layout, docks);
}

QString Settings::layout() const { return store_.value(QStringLiteral("window/layout")).toString(); }

void Settings::setLayout(const QString& layout) {
  store_.setValue(QStringLiteral("window/layout"), layout);
}

Settings::LastSession Settings::lastSession() const {
  return {store_.value(QStringLiteral("session/run")).toString(),
          store_.value(QStringLiteral("session/stage")).toString(),
          store_.value(QStringLiteral("session/start")).toDouble(),
          store_.value(QStringLiteral("session/end")).toDouble()};
}

void Settings::setLastSession(const LastSession& session) {
  store_.setValue(QStringLiteral("session/run"), session.run);
  store_.setValue(QStringLiteral("session/stage"), session.stage);
  store_.setValue(QStringLiteral("session/start"), session.startNs);
  store_.setValue(QStringLiteral("session/end"), session.endNs);
}

bool Settings::restoresSession() const {
  return store_.value(QStringLiteral("session/restore"), true).toBool();
}

void Settings::setRestoresSession(bool restores) {
  store_.setValue(QStringLiteral("session/restore"), restores);
}

int Settings::scale() const {
  return std::clamp(store_.value(QStringLiteral("scale"), kSmallestScale).toInt(), kSmallestScale,
                    kLargestScale);
}

void Settings::setScale(int percent) { store_.setValue(QStringLiteral("scale"), percent); }

std::optional<QList<QKeySequence>> Settings::keysOf(const QString& action) const {
  const QVariant value = store_.value(QStringLiteral("keys/") + action);
  if (!value.isValid()) {
    return std::nullopt;
  }
  return QKeySequence::listFromString(value.toString(), QKeySequence::PortableText);
}

void Settings::setKeys(const QString& action, const QList<QKeySequence>& keys) {
  store_.setValue(QStringLiteral("keys/") + action,
                  QKeySequence::listToString(keys, QKeySequence::PortableText));
}

void Settings::forgetKeys(const QString& action) { store_.remove(QStringLiteral("keys/") + action); }

QStringList Settings::recentRuns() const {
  return store_.value(QStringLiteral("recentRuns")).toStringList();
}

void Settings::addRecentRun(const QString& path) {
  QStringList runs = recentRuns();
  runs.removeAll(path);
  runs.prepend(path);
  store_.setValue(QStringLiteral("recentRuns"), runs.mid(0, kRecentRuns));
}

std::vector<JobRequest> Settings::recentJobs() const {
  std::vector<JobRequest> jobs;
  for (const QVariant& kept : store_.value(kJobsKey).toList()) {
    const QVariantMap job = kept.toMap();
    jobs.push_back({job[QStringLiteral("command")].toString(),
                    job[QStringLiteral("environment")].toStringList(),
                    job[QStringLiteral("folder")].toString(),
                    job[QStringLiteral("everyModel")].toBool(),
                    job[QStringLiteral("run")].toString(),
                    job[QStringLiteral("checkReplicas")].toInt()});
  }
  return jobs;
}

void Settings::addRecentJob(const JobRequest& job) {
  std::vector<JobRequest> jobs = recentJobs();
  std::erase_if(jobs, [&](const JobRequest& other) {
    return other.command == job.command && other.folder == job.folder;
  });
  jobs.insert(jobs.begin(), job);
  jobs.resize(std::min(jobs.size(), kRecentJobs));
  QVariantList kept;
  for (JobRequest& one : jobs) {
    for (QString& variable : one.environment) {
      if (const QString name = variable.section('=', 0, 0); isSecretName(name)) {
        variable = name + '=';
      }
    }
    kept.append(QVariantMap{{QStringLiteral("command"), one.command},
                            {QStringLiteral("environment"), one.environment},
                            {QStringLiteral("folder"), one.folder},
                            {QStringLiteral("everyModel"), one.everyModel},
                            {QStringLiteral("run"), one.run},
                            {QStringLiteral("checkReplicas"), one.checkReplicas}});
  }
  store_.setValue(kJobsKey, kept);
}

QString Settings::experiment() const { return store_.value(QStringLiteral("experiment")).toString(); }

void Settings::setExperiment(const QString& path) {
  store_.setValue(QStringLiteral("experiment"), path);
}

}  // namespace lockstep::ui
