#include "ui/panels/hooks/HookVerifier.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace lockstep::ui {

// All or nothing: a text that is half understood gives no verdict on any hook.
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
    : QObject(parent), program_(std::move(program)) {
  connect(&asked_, &AskedProgram::ended, this, &HookVerifier::take);
}

void HookVerifier::start(const QString& library) {
  // One at a time: it trains on up to four ranks and takes times, which two at once would spoil.
  if (!isRunning()) {
    library_ = library;
    cancelled_ = false;
    asked_.start(program_, {"hooks", library, "--verify", "--json"}, limitMs_);
  }
}

void HookVerifier::cancel() {
  // The program ends a little later: `take` then reports that it was cancelled.
  cancelled_ = isRunning();
  asked_.end();
}

void HookVerifier::take(const ProgramAnswer& answer) {
  // Verdicts count whatever the exit code: it is an error too where a hook does not keep its
  // promises.
  const auto fail = [this](const QString& sentence) { emit finished(library_, {}, sentence); };
  if (cancelled_) {
    fail(tr("it was cancelled"));
  } else if (answer.end == ProgramAnswer::End::kTooLong) {
    fail(tr("it did not end within %1 s and was stopped").arg(limitMs_ / 1000.0));
  } else if (answer.end == ProgramAnswer::End::kNotStarted) {
    fail(tr("%1 cannot be started: %2").arg(program_, answer.whyNot));
  } else if (const auto verdicts = verdictsOf(answer.output); verdicts && !verdicts->empty()) {
    emit finished(library_, *verdicts, QString());
  } else if (const QString said = lastLineIn(answer.errors); !said.isEmpty()) {
    fail(said);
  } else {
    fail(tr("lockstep hooks --verify ended with %1 and said nothing").arg(answer.exitCode));
  }
}

}  // namespace lockstep::ui
