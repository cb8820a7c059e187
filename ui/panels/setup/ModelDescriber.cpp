#include "ui/panels/setup/ModelDescriber.h"

#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <chrono>
#include <utility>

#include "engine/experiment/Parse.h"

namespace lockstep::ui {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr auto kQuiet = 400ms;
constexpr auto kLimit = 30s;

QString lastLine(const QByteArray& output) {
  const QList<QByteArray> lines = output.trimmed().split('\n');
  return QString::fromUtf8(lines.last()).trimmed();
}

}  // namespace

ModelDescriber::ModelDescriber(const QString& rank, QObject* parent) : QObject(parent) {
  timer_.setSingleShot(true);
  timer_.setInterval(kQuiet);
  connect(&timer_, &QTimer::timeout, this, &ModelDescriber::start);
  limit_.setSingleShot(true);
  limit_.setInterval(kLimit);
  connect(&limit_, &QTimer::timeout, this, [this] {
    drop();
    problem_ = tr("lockstep-rank did not describe the model within %1 s.")
                   .arg(std::chrono::seconds(kLimit).count());
    emit changed();
  });
  setRank(rank);
}

void ModelDescriber::setRank(const QString& rank, const QString& whyNot) {
  drop();
  asked_.clear();
  parameters_.clear();
  problem_.clear();
  rank_ = rank;
  if (rank_.isEmpty() || !QFileInfo(rank_).isExecutable()) {
    rank_.clear();
    problem_ = !whyNot.isEmpty()
                   ? whyNot
                   : tr("lockstep-rank is not installed here, and only it knows the shapes of a "
                        "model: build it, or start the studio with --programs FOLDER.");
  }
  emit changed();
}

ModelDescriber::~ModelDescriber() {
  drop();
}

void ModelDescriber::ask(const experiment::Experiment& experiment) {
  if (rank_.isEmpty()) {
    return;
  }
  experiment::Experiment bare;  // what does not change the shapes does not ask anew
  bare.model = experiment.model;
  bare.data = experiment.data;
  bare.train.steps = 1;
  std::string toml = experiment::toToml(bare);
  if (toml == asked_) {
    return;
  }
  asked_ = std::move(toml);
  toml_ = experiment::toToml(experiment);
  drop();
  timer_.start();
  emit changed();
}

void ModelDescriber::start() {
  const QString path = folder_.filePath(QStringLiteral("model.toml"));
  QFile file(path);
  if (!file.open(QIODevice::WriteOnly | QIODevice::Truncate) ||
      file.write(toml_.data(), static_cast<qint64>(toml_.size())) < 0) {
    problem_ = tr("%1 cannot be written: %2").arg(path, file.errorString());
    emit changed();
    return;
  }
  file.close();
  process_ = new QProcess(this);
  connect(process_, &QProcess::finished, this, [this](int exitCode, QProcess::ExitStatus status) {
    finish(exitCode, status == QProcess::CrashExit);
  });
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) {
      const QString why = process_->errorString();
      drop();
      problem_ = tr("lockstep-rank cannot be started: %1").arg(why);
      emit changed();
    }
  });
  limit_.start();
  process_->start(rank_, {QStringLiteral("--describe-model"), path});
}

void ModelDescriber::drop() {
  timer_.stop();
  limit_.stop();
  if (process_ == nullptr) {
    return;
  }
  process_->disconnect(this);
  process_->kill();
  process_->waitForFinished(1000);
  process_->deleteLater();
  process_ = nullptr;
}

void ModelDescriber::finish(int exitCode, bool crashed) {
  const QByteArray output = process_->readAllStandardOutput();
  const QByteArray errors = process_->readAllStandardError();
  limit_.stop();
  process_->deleteLater();
  process_ = nullptr;
  parameters_.clear();
  problem_.clear();
  if (crashed || exitCode != 0) {
    const QString line = lastLine(errors);
    problem_ = line.isEmpty()
                   ? tr("lockstep-rank could not describe the model.")
                   : line.mid(line.startsWith(QStringLiteral("lockstep-rank: ")) ? 15 : 0);
    emit changed();
    return;
  }
  const QJsonArray described =
      QJsonDocument::fromJson(output).object().value(QStringLiteral("parameters")).toArray();
  for (const QJsonValue& value : described) {
    const QJsonObject object = value.toObject();
    ModelParameter parameter;
    parameter.name = object.value(QStringLiteral("name")).toString();
    parameter.dtype = object.value(QStringLiteral("dtype")).toString();
    parameter.bytes = static_cast<std::uint64_t>(object.value(QStringLiteral("bytes")).toInteger());
    for (const QJsonValue& size : object.value(QStringLiteral("shape")).toArray()) {
      parameter.shape.push_back(size.toInteger());
    }
    parameters_.push_back(std::move(parameter));
  }
  if (parameters_.empty()) {
    problem_ = tr("The model has no parameters.");
  }
  emit changed();
}

}  // namespace lockstep::ui
