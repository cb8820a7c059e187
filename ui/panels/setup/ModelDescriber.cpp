#include "ui/panels/setup/ModelDescriber.h"

#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <chrono>
#include <utility>

#include "engine/experiment/Parse.h"

namespace lockstep::ui {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr auto kQuiet = 400ms;
constexpr auto kLimit = 30s;

}  // namespace

ModelDescriber::ModelDescriber(const QString& rank, QObject* parent) : QObject(parent) {
  timer_.setSingleShot(true);
  timer_.setInterval(kQuiet);
  connect(&timer_, &QTimer::timeout, this, &ModelDescriber::start);
  connect(&program_, &AskedProgram::ended, this, &ModelDescriber::take);
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
  // A failure is an answer too: the same model is asked about again only after setRank.
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
    fail(tr("%1 cannot be written: %2").arg(path, file.errorString()));
    return;
  }
  file.close();
  program_.start(rank_, {QStringLiteral("--describe-model"), path},
                 static_cast<int>(std::chrono::milliseconds(kLimit).count()));
}

void ModelDescriber::drop() {
  timer_.stop();
  program_.drop();
}

void ModelDescriber::fail(const QString& problem) {
  problem_ = problem;
  emit changed();
}

void ModelDescriber::take(const ProgramAnswer& answer) {
  parameters_.clear();
  problem_.clear();
  if (answer.end == ProgramAnswer::End::kTooLong) {
    fail(tr("lockstep-rank did not describe the model within %1 s.")
             .arg(std::chrono::seconds(kLimit).count()));
    return;
  }
  if (answer.end == ProgramAnswer::End::kNotStarted) {
    fail(tr("lockstep-rank cannot be started: %1").arg(answer.whyNot));
    return;
  }
  if (!answer.good()) {
    // The last line is what it ended with, as "lockstep-rank: no such file"; above it libraries may
    // have warned. The name helps in a terminal and not here.
    const QString line = lastLineIn(answer.errors);
    fail(line.isEmpty() ? tr("lockstep-rank could not describe the model.")
                        : line.mid(line.startsWith(QStringLiteral("lockstep-rank: ")) ? 15 : 0));
    return;
  }
  const QJsonArray described =
      QJsonDocument::fromJson(answer.output).object().value(QStringLiteral("parameters")).toArray();
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
