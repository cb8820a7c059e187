#include "ui/shell/ExperimentCatalog.h"

#include <QDir>
#include <QFileInfo>
#include <algorithm>
#include <tuple>

#include "engine/experiment/Listing.h"

namespace lockstep::ui {
namespace {

// The file's name stands for the experiment: two files may give themselves the same one.
ExperimentEntry entryOf(const experiment::ListedExperiment& file, const QString& root) {
  ExperimentEntry entry;
  const QFileInfo info(QString::fromStdString(file.path.string()));
  entry.path = info.absoluteFilePath();
  entry.name = info.completeBaseName();
  entry.group = QDir(root).relativeFilePath(info.absolutePath());
  if (entry.group == QStringLiteral(".") || entry.group.startsWith(QStringLiteral(".."))) {
    entry.group.clear();
  }
  entry.shows = QString::fromStdString(file.shows).simplified();
  entry.lookFor = QString::fromStdString(file.lookFor).simplified();
  if (!file.mistakes.empty()) {
    entry.mistake = QString::fromStdString(file.mistakes.front().message());
  }
  return entry;
}

}  // namespace

ExperimentEntry readExperiment(const QString& path, const QString& root) {
  return entryOf(experiment::listExperiment(path.toStdString()), root);
}

std::vector<ExperimentEntry> listExperiments(const QString& folder, const QString& first) {
  std::vector<ExperimentEntry> entries;
  if (!folder.isEmpty()) {
    if (const auto listed = experiment::listExperiments(folder.toStdString()); listed.ok()) {
      for (const experiment::ListedExperiment& file : listed.value()) {
        entries.push_back(entryOf(file, folder));
      }
    }
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    const auto rank = [](const ExperimentEntry& entry) {
      // False comes before true.
      return std::tuple(entry.group != QStringLiteral("first_steps"), entry.group,
                        entry.name != QStringLiteral("demo"), entry.name);
    };
    return rank(a) < rank(b);
  });
  if (!first.isEmpty()) {
    const ExperimentEntry given = readExperiment(first, folder);
    std::erase_if(entries, [&](const ExperimentEntry& entry) { return entry.path == given.path; });
    entries.insert(entries.begin(), given);
  }
  return entries;
}

}  // namespace lockstep::ui
