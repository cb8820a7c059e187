#include "ui/panels/setup/RunFiles.h"

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <string>

#include "engine/experiment/FieldText.h"
#include "engine/experiment/Schema.h"
#include "ui/panels/setup/HookCatalog.h"
#include "ui/panels/setup/SetupDraft.h"

namespace lockstep::ui {
namespace {

using Told = std::function<void(const QString&)>;

QString write(const QString& folder, const QString& name, const std::string& toml,
              const Told& failed) {
  QString plain;
  for (const QChar letter : name) {
    const bool kept = letter.isLetterOrNumber() || QStringLiteral("-_.=,").contains(letter);
    plain += kept ? letter : QChar('-');
  }
  QDir().mkpath(folder);
  // A file of this name that says the same is used again: Run, pressed twice, leaves one file.
  for (int number = 1;; ++number) {
    const QString path = folder + '/' + plain +
                         (number == 1 ? QString() : '-' + QString::number(number)) +
                         QStringLiteral(".toml");
    QFile file(path);
    if (file.exists()) {
      if (file.open(QIODevice::ReadOnly) && file.readAll().toStdString() == toml) {
        return path;
      }
      continue;  // of another draft, which may still wait in the queue
    }
    if (file.open(QIODevice::WriteOnly) &&
        file.write(toml.data(), static_cast<qint64>(toml.size())) >= 0) {
      return path;
    }
    failed(SetupDraft::tr("%1 cannot be written: %2").arg(path, file.errorString()));
    return {};
  }
}

/// As runs of a sweep are called: "bucket_cap_mb", "hook".
std::string shortName(const std::string& key) {
  const std::string table = key.substr(0, key.rfind('.'));
  const std::string leaf = key.substr(key.rfind('.') + 1);
  return leaf == "name" || leaf == "kind" ? table : leaf;
}

}  // namespace

QString reasonAgainstRun(const SetupDraft& draft, const HookCatalog& catalog) {
  const auto& mistakes = draft.mistakes();
  if (!mistakes.empty()) {
    const QString first = QString::fromStdString(
        (mistakes.front().key.empty() ? "" : mistakes.front().key + ": ") + mistakes.front().text);
    return mistakes.size() == 1
               ? first
               : SetupDraft::tr("%1 mistakes, the first: %2").arg(mistakes.size()).arg(first);
  }
  // Of an engine's own hook the parser knows all, so Run need not wait for the plugins.
  const bool own = draft.parsed().experiment.hook.isOwn();
  if (catalog.isAsking() && (!own || !draft.parsed().sweep.empty())) {
    return own ? SetupDraft::tr("Checking the runs of the sweep…")
               : SetupDraft::tr("Asking the plugin of hook %1…")
                     .arg(QString::fromStdString(draft.parsed().experiment.hook.name));
  }
  return {};
}

QStringList writeRuns(const SetupDraft& draft, const HookCatalog& catalog, const QString& folder,
                      const std::function<void(const QString&)>& failed) {
  if (!draft.parsed().sweep.empty()) {
    // Out of the answer of the plugins, in which the paths of libraries are settled and each run
    // has its label. It has to be of this text: SetupPanel::reasonAgainstRun holds Run back while
    // several runs are checked. The time in the group's name tells one sweep from the next.
    QStringList files;
    experiment::SweptExperiment swept = catalog.answer().swept;
    const std::string name = swept.runs.front().parsed.experiment.name;
    swept.nameRuns(name + ' ' +
                   QDateTime::currentDateTimeUtc().toString("yyyyMMdd-HHmmss").toStdString());
    for (const experiment::SweptRun& run : swept.runs) {
      const QString path =
          write(folder, QString::fromStdString(name + '-' + experiment::fileNamePart(run.label)),
                experiment::toToml(run.parsed.experiment), failed);
      if (path.isEmpty()) {
        return {};
      }
      files << path;
    }
    return files;
  }
  if (!draft.isDirty() && !draft.path().isEmpty()) {
    return {draft.path()};
  }
  // Relative paths and plugins beside the file are settled, since the draft stands elsewhere.
  const auto& experiment = draft.parsed().experiment.hook.isOwn()
                               ? draft.parsed().experiment
                               : catalog.answer().swept.runs.front().parsed.experiment;
  const QString path = writeExperiment(experiment, folder, failed);
  return path.isEmpty() ? QStringList() : QStringList(path);
}

QString writeExperiment(const experiment::Experiment& experiment, const QString& folder,
                        const std::function<void(const QString&)>& failed) {
  return write(folder, QString::fromStdString(experiment.name), experiment::toToml(experiment),
               failed);
}

QString writeChanged(const std::string& experiment,
                     const std::vector<experiment::ExperimentText::Pair>& keys,
                     const QString& folder, const std::function<void(const QString&)>& failed) {
  SetupDraft draft;
  draft.begin(experiment);
  std::string name = draft.parsed().experiment.name;
  for (const auto& [key, value] : keys) {
    const experiment::Field& field = *experiment::findField(key);
    if (key == "hook.name") {  // what the hook before was told, and hooks in it, mean nothing now
      draft.edit(key, [](experiment::ExperimentText& text) { text.removeBelow("hook."); });
    }
    draft.setKey(field, value);
    name += (name == draft.parsed().experiment.name ? " " : ", ") + shortName(key) + '=' +
            experiment::typedText(field, value);
  }
  // It is no run of the sweep that the one before was of.
  draft.edit("sweep", [](experiment::ExperimentText& text) { text.removeBelow("sweep."); });
  const experiment::Field& called = *experiment::findField("name");
  draft.setKey(called, experiment::tomlText(called, name));
  if (!draft.mistakes().empty()) {
    failed(QString::fromStdString(draft.mistakes().front().message()));
    return {};
  }
  return write(folder, QString::fromStdString(name), draft.text().text(), failed);
}

}  // namespace lockstep::ui
