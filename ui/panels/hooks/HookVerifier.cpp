#include "ui/panels/hooks/HookVerifier.h"

#include <QProcess>
#include <QTimer>
#include <csignal>
#include <nlohmann/json.hpp>
#include <utility>

#include <unistd.h>

namespace lockstep::ui {
namespace {

QString lastLine(const QByteArray& text) {
  const QStringList lines = QString::fromUtf8(text).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  return lines.isEmpty() ? QString() : lines.back().trimmed();
}

}  // namespace

std::optional<std::map<QString, HookVerdict>> verdictsOf(const QByteArray& text) {
  const auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_array()) {
    return std::nullopt;
  }
  std::map<QString, HookVerdict> verdicts;
  try {
    for (const auto& entry : json) {
      if (!entry.contains("hook")) {
        continue;  // a library that was refused
      }
      HookVerdict verdict;
      verdict.passes = entry.at("passes").get<bool>();
      for (const auto& run : entry.at("runs")) {
        auto read = plugin::verificationFromJson(run.dump());
        if (!read.ok()) {
          return std::nullopt;
        }
        verdict.runs.push_back(std::move(read).value());
      }
      verdicts.emplace(QString::fromStdString(entry.at("hook").get<std::string>()),
                       std::move(verdict));
    }
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  return verdicts;
}

HookVerifier::HookVerifier(QString program, QObject* parent)
    : QObject(parent), program_(std::move(program)), limit_(new QTimer(this)) {
  limit_->setSingleShot(true);
  connect(limit_, &QTimer::timeout, this,
          [this] { end(tr("it did not end within %1 s and was stopped").arg(limitMs_ / 1000.0)); });
}

HookVerifier::~HookVerifier() {
  if (process_ != nullptr) {
    process_->disconnect(this);
    killAll();
    process_->waitForFinished();
  }
}

void HookVerifier::start(const QString& library) {
  if (process_ != nullptr) {
    return;
  }
  library_ = library;
  ended_.clear();
  cancelled_ = false;
  process_ = new QProcess(this);
  process_->setProgram(program_);
  process_->setArguments({"hooks", library, "--verify", "--json"});
  process_->setStandardInputFile(QProcess::nullDevice());
  // A group of its own: what it starts ends with it.
  process_->setChildProcessModifier([] { setpgid(0, 0); });
  connect(process_, &QProcess::finished, this, &HookVerifier::processEnded);
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) {
      ended_ = tr("%1 cannot be started: %2").arg(program_, process_->errorString());
      processEnded();
    }
  });
  limit_->start(limitMs_);
  process_->start();
}

void HookVerifier::cancel() {
  if (process_ != nullptr) {
    cancelled_ = true;
    end(tr("it was cancelled"));
  }
}

void HookVerifier::end(const QString& sentence) {
  if (process_ != nullptr) {
    ended_ = sentence;
    killAll();
  }
}

void HookVerifier::killAll() {
  if (process_->processId() > 0) {
    ::kill(-static_cast<pid_t>(process_->processId()), SIGKILL);
  }
  process_->kill();
}

void HookVerifier::processEnded() {
  limit_->stop();
  QProcess* process = std::exchange(process_, nullptr);
  process->deleteLater();
  if (!ended_.isEmpty()) {
    emit finished(library_, {}, ended_);
    return;
  }
  const auto verdicts = verdictsOf(process->readAllStandardOutput());
  if (verdicts && !verdicts->empty()) {
    emit finished(library_, *verdicts, QString());
    return;
  }
  const QString said = lastLine(process->readAllStandardError());
  emit finished(
      library_, {},
      !said.isEmpty()
          ? said
          : tr("lockstep hooks --verify ended with %1 and said nothing").arg(process->exitCode()));
}

}  // namespace lockstep::ui
