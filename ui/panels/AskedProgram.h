#pragma once

#include <QByteArray>
#include <QObject>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <QTimer>

namespace lockstep::ui {

/// What came of asking a program.
struct ProgramAnswer {
  enum class End { kExited, kCrashed, kNotStarted, kTooLong };
  End end = End::kExited;
  int exitCode = 0;
  QByteArray output = {};  ///< what `takeOutput` has not taken
  QByteArray errors = {};  ///< empty where both channels are one
  QString whyNot = {};     ///< kNotStarted: the reason

  [[nodiscard]] bool good() const { return end == End::kExited && exitCode == 0; }
};

/// A program that is asked something, in a process of its own, which ends with this object and with
/// all that it started. One question at a time. [ui-thread]
class AskedProgram : public QObject {
  Q_OBJECT

 public:
  explicit AskedProgram(QObject* parent = nullptr,
                        QProcess::ProcessChannelMode channels = QProcess::SeparateChannels);
  ~AskedProgram() override;

  /// Drops what is under way. `ended` follows; with a limit, after that many ms at the latest.
  void start(const QString& program, const QStringList& arguments, int limitMs = 0);
  /// Has it end with all that it started: `ended` follows. One that is asked kindly has some
  /// seconds.
  void end();
  void endKindly();
  /// Ends it; no `ended` follows.
  void drop();

  [[nodiscard]] bool busy() const { return process_ != nullptr; }
  /// What it has written since the last call; only while it is busy.
  [[nodiscard]] QByteArray takeOutput() { return process_->readAll(); }

 signals:
  void said();
  void ended(const lockstep::ui::ProgramAnswer& answer);

 private:
  void finish(ProgramAnswer answer);
  void signal(int number);

  QProcess::ProcessChannelMode channels_;
  QProcess* process_ = nullptr;
  QTimer limit_;
  bool tooLong_ = false;
};

/// The lines that a program wrote, without those that say nothing. A progress bar returns to the
/// start of its line, and each of its states is one.
QStringList linesOf(const QByteArray& text);
/// The last of them; empty when there is none.
QString lastLineIn(const QByteArray& text);

}  // namespace lockstep::ui
