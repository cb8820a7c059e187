#include "ui/panels/setup/SetupDraft.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QSaveFile>
#include <QStandardPaths>
#include <algorithm>
#include <utility>

#include "engine/experiment/FieldText.h"

namespace lockstep::ui {
namespace {

constexpr const char* kNew = "name = \"experiment\"\n\n[train]\nsteps = 200\n";
constexpr qint64 kLargestFile = 1 << 20;
constexpr std::size_t kMostSteps = 500;

/// The leaf of "faults.kind" and the like.
std::string leafOf(const std::string& key) {
  return key.substr(key.find('.') + 1);
}

}  // namespace

SetupDraft::SetupDraft(QObject* parent) : QObject(parent) {
  path_.clear();
  restart(kNew);
}

void SetupDraft::setShipped(const QString& folder) {
  shipped_ = folder;
}

void SetupDraft::begin(std::string text, const QString& title) {
  path_.clear();
  untitled_ = title;
  restart(text.empty() ? kNew : std::move(text));
  emit changed();
}

base::Status SetupDraft::open(const QString& path) {
  const auto refuse = [&path](const QString& what) {
    return base::Error{base::ExitCode::kBadInput, what.toStdString(), path.toStdString()};
  };
  QFile file(path);
  if (QFileInfo(path).isDir()) {
    return refuse(tr("is a folder; choose an experiment file (*.toml)"));
  }
  if (!file.open(QIODevice::ReadOnly)) {
    return refuse(tr("cannot be read: %1").arg(file.errorString()));
  }
  if (file.size() > kLargestFile) {
    return refuse(tr("is larger than 1 MiB, so it is no experiment file"));
  }
  path_ = QFileInfo(path).absoluteFilePath();
  restart(file.readAll().toStdString());
  emit changed();
  return {};
}

base::Status SetupDraft::save(const QString& path) {
  if (isShipped(path)) {
    return base::Error{
        base::ExitCode::kBadInput,
        tr("stands among the experiments that come with Lockstep, which stay as they are; save "
           "it in another folder")
            .toStdString(),
        path.toStdString()};
  }
  QSaveFile file(path);
  const std::string& text = current().text.text();
  if (!file.open(QIODevice::WriteOnly) ||
      file.write(text.data(), static_cast<qint64>(text.size())) < 0 || !file.commit()) {
    return base::Error{base::ExitCode::kEnvironment,
                       tr("cannot be written: %1").arg(file.errorString()).toStdString(),
                       path.toStdString()};
  }
  path_ = QFileInfo(path).absoluteFilePath();
  saved_ = text;
  read();  // paths in it are relative to the file's folder
  emit changed();
  return {};
}

bool SetupDraft::isShipped(const QString& path) const {
  // By its folder, since the file may be a new one; links are followed.
  const QString folder = QFileInfo(QFileInfo(path).absolutePath()).canonicalFilePath();
  const QString shipped = QFileInfo(shipped_).canonicalFilePath();
  return !path.isEmpty() && !shipped.isEmpty() && (folder + '/').startsWith(shipped + '/');
}

bool SetupDraft::canSaveInPlace() const {
  const QFileInfo file(path_);
  // QSaveFile writes another file beside it first.
  return !path_.isEmpty() && !isShipped(path_) && QFileInfo(file.absolutePath()).isWritable() &&
         (!file.exists() || file.isWritable());
}

QString SetupDraft::placeForACopy() const {
  if (canSaveInPlace()) {
    return path_;
  }
  QDir folder(QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation));
  if (!folder.exists()) {
    folder = QDir::home();
  }
  QString name = untitled_.isEmpty() ? QStringLiteral("experiment") : untitled_;
  return folder.filePath(path_.isEmpty() ? name.replace('/', '-') + QStringLiteral(".toml")
                                         : QFileInfo(path_).fileName());
}

QString SetupDraft::title() const {
  return !path_.isEmpty()      ? QFileInfo(path_).fileName()
         : untitled_.isEmpty() ? tr("New experiment")
                               : untitled_;
}

void SetupDraft::restart(std::string text) {
  saved_ = text;
  steps_.clear();
  // Step 0 has no name: no change is ever part of it.
  steps_.push_back({"", experiment::ExperimentText(std::move(text))});
  at_ = 0;
  read();
}

void SetupDraft::read() {
  parsed_ = experiment::parseText(text().text(), title().toStdString(), folder().toStdString());
  mistakes_ = parsed_.mistakes;
}

std::size_t SetupDraft::runCount() const {
  std::size_t runs = 1;
  for (const auto& axis : parsed_.sweep) {
    runs *= axis.values.size();
  }
  return runs;
}

QString SetupDraft::folder() const {
  return path_.isEmpty() ? QDir::currentPath() : QFileInfo(path_).absolutePath();
}

void SetupDraft::addMistakes(std::vector<experiment::Mistake> mistakes) {
  // Those that were added before may be of another answer.
  mistakes_ = parsed_.mistakes;
  for (auto& mistake : mistakes) {
    const bool known = std::any_of(mistakes_.begin(), mistakes_.end(), [&](const auto& other) {
      return other.message() == mistake.message();
    });
    if (!known) {
      mistakes_.push_back(std::move(mistake));
    }
  }
  emit changed();
}

QString SetupDraft::firstMistake(
    const std::function<bool(const experiment::Mistake&)>& matches) const {
  const auto found = std::find_if(mistakes_.begin(), mistakes_.end(), matches);
  return found == mistakes_.end() ? QString() : QString::fromStdString(found->text);
}

QString SetupDraft::mistakeOfAxis(const std::string& key) const {
  return firstMistake([&](const experiment::Mistake& mistake) {
    // A wrong value of a sweep is a mistake of the key that it varies: only the line tells that it
    // stands in [sweep].
    return mistake.key == "sweep." + key ||
           (mistake.key == key && text().isLineOf("sweep." + key, mistake.line));
  });
}

QString SetupDraft::mistakeOf(const std::string& key) const {
  return firstMistake([&](const experiment::Mistake& mistake) {
    return mistake.key == key && !text().isLineOf("sweep." + key, mistake.line);
  });
}

QString SetupDraft::mistakeOfFault(std::size_t fault, const std::string& leaf) const {
  return firstMistake([&](const experiment::Mistake& mistake) {
    return mistake.key.starts_with("faults.") && leafOf(mistake.key) == leaf &&
           text().faultAt(mistake.line) == fault;
  });
}

std::string SetupDraft::choice(const std::string& key) const {
  const experiment::Field* field = experiment::findField(key);
  if (field == nullptr) {
    return {};
  }
  return experiment::typedText(*field, text().value(key).value_or(field->initial));
}

bool SetupDraft::applies(const experiment::Field& field) const {
  return field.onlyFor.empty() ||
         experiment::appliesFor(field, choice(field.onlyFor.substr(0, field.onlyFor.find('='))));
}

void SetupDraft::setKey(const experiment::Field& field, const std::string& toml) {
  const bool leaveOut =
      toml.empty() || (!field.initial.empty() && experiment::sameValue(field, toml, field.initial));
  const bool changesChoice =
      field.type == experiment::FieldType::kChoice &&
      choice(field.key) != experiment::typedText(field, leaveOut ? field.initial : toml);
  edit(field.key, [&](experiment::ExperimentText& text) {
    if (leaveOut) {
      text.remove(field.key);
    } else {
      text.set(field.key, toml);
    }
    // The parser takes one of these two.
    if (field.key == "train.steps" && !leaveOut) {
      text.remove("train.epochs");
    } else if (field.key == "train.epochs" && !leaveOut) {
      text.remove("train.steps");
    }
    // What hangs on a choice is taken out with it, as the parser would refuse it; undo brings all
    // back.
    if (!changesChoice) {
      return;
    }
    const std::string now = experiment::typedText(field, leaveOut ? field.initial : toml);
    for (const experiment::Field& other : experiment::schema()) {
      if (other.onlyFor.starts_with(field.key + "=") && !experiment::appliesFor(other, now)) {
        text.remove(other.key);
      }
    }
  });
}

// Note [Steps of a draft]
//
// The text of the file is what counts; experiment and mistakes are made of it after each change. A
// step to undo is a whole text, since a file has a few KB: steps_[at_] is the present one,
// steps_[0] the file as it was opened.
//
// Typing "128" makes three changes and shall be one step, so a change of the name of the present
// step replaces its text. Not after an undo: the step that one has gone back to is kept as it is,
// and a new one cuts off those that were undone.
//
//   change   opened   lr=0.1   lr=0.15   undo   lr=0.2
//   steps_   0        0 lr     0 lr      0 lr   0 lr
//   at_      0        1        1         0      1        lr=0.15 cannot be redone any more
void SetupDraft::edit(const std::string& step,
                      const std::function<void(experiment::ExperimentText&)>& change) {
  experiment::ExperimentText text = current().text;
  change(text);
  if (text.text() == current().text.text()) {
    return;
  }
  const bool goesOn = at_ > 0 && current().name == step && !canRedo();
  steps_.resize(at_ + 1);
  if (goesOn) {
    steps_[at_].text = std::move(text);
  } else {
    steps_.push_back({step, std::move(text)});
    if (steps_.size() > kMostSteps) {
      steps_.erase(steps_.begin());
    }
    at_ = steps_.size() - 1;
  }
  read();
  emit changed();
}

void SetupDraft::undo() {
  if (canUndo()) {
    --at_;
    read();
    emit changed();
  }
}

void SetupDraft::redo() {
  if (canRedo()) {
    ++at_;
    read();
    emit changed();
  }
}

}  // namespace lockstep::ui
