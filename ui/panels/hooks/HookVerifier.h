#pragma once

#include <QObject>
#include <QString>
#include <map>
#include <optional>
#include <vector>

#include "engine/plugin/Verification.h"
#include "ui/panels/AskedProgram.h"

namespace lockstep::ui {

/// What came of the verification of one hook.
struct HookVerdict {
  bool passes = false;
  std::vector<plugin::Verification> runs;  ///< one for each number of ranks
  QString error;                           ///< why there are none; empty: there are
};

/// Verifies all hooks of a library by `lockstep hooks LIBRARY --verify` in a process of its own,
/// so that whatever a hook does, the studio lives. One library at a time. [ui-thread]
class HookVerifier : public QObject {
  Q_OBJECT

 public:
  /// `program`: path of lockstep.
  explicit HookVerifier(QString program, QObject* parent = nullptr);

  void setProgram(const QString& program) { program_ = program; }
  /// The time after which a verification is given up.
  void setLimit(int ms) { limitMs_ = ms; }

  /// Does nothing while one runs.
  void start(const QString& library);
  /// Ends what runs and all that it started; `finished` follows.
  void cancel();
  [[nodiscard]] bool isRunning() const { return asked_.busy(); }
  /// Whether the last one ended by `cancel`.
  [[nodiscard]] bool wasCancelled() const { return cancelled_; }
  [[nodiscard]] QString library() const { return library_; }

 signals:
  /// By the hooks' ids; empty with a sentence in `error`: it did not come to a verdict.
  void finished(const QString& library,
                const std::map<QString, lockstep::ui::HookVerdict>& verdicts, const QString& error);

 private:
  void take(const ProgramAnswer& answer);

  QString program_;
  QString library_;
  int limitMs_ = 600'000;
  AskedProgram asked_;
  bool cancelled_ = false;
};

/// Reads what `lockstep hooks --verify --json` prints; nothing when it is no such text.
std::optional<std::map<QString, HookVerdict>> verdictsOf(const QByteArray& json);

}  // namespace lockstep::ui
