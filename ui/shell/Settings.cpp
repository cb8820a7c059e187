#include "ui/shell/Settings.h"

#include <algorithm>

namespace lockstep::ui {
namespace {

constexpr int kRecentRuns = 10;
constexpr std::size_t kRecentJobs = 10;
constexpr int kSmallestScale = 100;
constexpr int kLargestScale = 300;

}  // namespace

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
  return themeFromName(kept("theme").toString());
}

void Settings::setTheme(ThemeChoice choice) {
  keep("theme", themeName(choice));
}

Settings::LastSession Settings::lastSession() const {
  return {kept("session/run").toString(), kept("session/stage").toString(),
          kept("session/start").toDouble(), kept("session/end").toDouble()};
}

void Settings::setLastSession(const LastSession& session) {
  keep("session/run", session.run);
  keep("session/stage", session.stage);
  keep("session/start", session.startNs);
  keep("session/end", session.endNs);
}

int Settings::scale() const {
  return std::clamp(kept("scale", kSmallestScale).toInt(), kSmallestScale, kLargestScale);
}

std::optional<QList<QKeySequence>> Settings::keysOf(const QString& action) const {
  const QVariant keys = kept("keys/" + action);
  return keys.isValid() ? std::optional(QKeySequence::listFromString(keys.toString(),
                                                                     QKeySequence::PortableText))
                        : std::nullopt;
}

void Settings::setKeys(const QString& action, const QList<QKeySequence>& keys) {
  keep("keys/" + action, QKeySequence::listToString(keys, QKeySequence::PortableText));
}

void Settings::addRecentRun(const QString& path) {
  QStringList runs = recentRuns();
  runs.removeAll(path);
  runs.prepend(path);
  keep("recentRuns", runs.mid(0, kRecentRuns));
}

std::vector<JobRequest> Settings::recentJobs() const {
  std::vector<JobRequest> jobs;
  for (const QVariant& one : kept("recentJobs").toList()) {
    const QVariantMap job = one.toMap();
    jobs.push_back({job["command"].toString(), job["environment"].toStringList(),
                    job["folder"].toString(), job["everyModel"].toBool(), job["run"].toString(),
                    job["checkReplicas"].toInt(),
                    job.value("detail", JobRequest().detail).toString(), job["limitMb"].toInt()});
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
    // The name stays, so that the user is asked for the value (JobRequest.cpp) instead of missing
    // it.
    for (QString& variable : one.environment) {
      if (const QString name = variable.section('=', 0, 0); isSecretName(name)) {
        variable = name + '=';
      }
    }
    kept.append(QVariantMap{{"command", one.command},
                            {"environment", one.environment},
                            {"folder", one.folder},
                            {"everyModel", one.everyModel},
                            {"run", one.run},
                            {"checkReplicas", one.checkReplicas},
                            {"detail", one.detail},
                            {"limitMb", one.limitMb}});
  }
  keep("recentJobs", kept);
}

}  // namespace lockstep::ui
