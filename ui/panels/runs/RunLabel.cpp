#include "ui/panels/runs/RunLabel.h"

#include <QCoreApplication>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>
#include <algorithm>
#include <optional>

namespace lockstep::ui {
namespace {

constexpr int kLabelVersion = 1;
constexpr qint64 kLargestLabel = 1'000'000;
constexpr qsizetype kLongestNote = 10'000;

QString labelPath(const std::filesystem::path& run) {
  return QString::fromStdString(labelFileOf(run).string());
}

QString sentence(const char* text) {
  return QCoreApplication::translate("RunLabel", text);
}

// Nothing: it is no label, or one of a later version.
std::optional<RunLabel> labelIn(QFile& file) {
  const QJsonObject json = QJsonDocument::fromJson(file.read(kLargestLabel)).object();
  if (json.value("version").toInt() != kLabelVersion) {
    return std::nullopt;
  }
  RunLabel label;
  label.name = json.value("name").toString();
  label.note = json.value("note").toString();
  for (const QJsonValue& tag : json.value("tags").toArray()) {
    label.tags << tag.toString();
  }
  label.tags = tagsOf(label.tags.join(','));
  return label;
}

}  // namespace

std::filesystem::path labelFileOf(const std::filesystem::path& run) {
  std::filesystem::path file = run;
  file += kLabelEnding;
  return file;
}

QStringList tagsOf(const QString& line) {
  QStringList tags;
  for (const QString& part : line.split(',')) {
    if (const QString tag = part.simplified(); !tag.isEmpty()) {
      tags << tag;
    }
  }
  tags.removeDuplicates();
  tags.sort();
  return tags;
}

RunLabel readRunLabel(const std::filesystem::path& run) {
  QFile file(labelPath(run));
  return file.open(QIODevice::ReadOnly) ? labelIn(file).value_or(RunLabel()) : RunLabel();
}

QString shownName(const std::filesystem::path& run, const std::string& name) {
  const QString given = readRunLabel(run).name;
  return given.isEmpty() ? QString::fromStdString(name) : given;
}

QString writeRunLabel(const std::filesystem::path& run, const RunLabel& label) {
  const QString path = labelPath(run);
  if (QFile there(path); there.exists() && (!there.open(QIODevice::ReadOnly) || !labelIn(there))) {
    return sentence("%1 is no label of a run that this version can read; it was left as it is.")
        .arg(path);
  }
  const QString failed = sentence(
      "%1 cannot be written: %2. Names, tags and notes stand beside the run: make its "
      "folder writable, or copy the run.");
  if (label.empty()) {
    QFile file(path);
    return !file.exists() || file.remove() ? QString() : failed.arg(path, file.errorString());
  }
  QJsonObject json{{"version", kLabelVersion}};
  if (!label.name.isEmpty()) {
    json.insert("name", label.name);
  }
  if (!label.tags.isEmpty()) {
    json.insert("tags", QJsonArray::fromStringList(label.tags));
  }
  if (!label.note.isEmpty()) {
    json.insert("note", label.note.left(kLongestNote));
  }
  QSaveFile file(path);
  const bool written = file.open(QIODevice::WriteOnly) &&
                       file.write(QJsonDocument(json).toJson()) >= 0 && file.commit();
  return written ? QString() : failed.arg(path, file.errorString());
}

}  // namespace lockstep::ui
