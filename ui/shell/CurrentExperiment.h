#pragma once

#include <QObject>
#include <QString>

namespace lockstep::ui {

struct Frame;
class Launcher;
class RunBar;
class Settings;

/// The experiment of the window, which is the draft in Setup: shown and chosen by the toolbar's
/// box, started by Run. [ui-thread]
class CurrentExperiment : public QObject {
  Q_OBJECT

 public:
  CurrentExperiment(Frame& frame, RunBar& bar, Launcher& launcher, Settings& settings,
                    QObject* parent = nullptr);

  /// Opens the first one of the session; empty: a new one stands in Setup.
  void begin(const QString& path);
  /// Runs it as Setup shows it; with mistakes, says so and shows them.
  void runShown();
  /// Opens a file in Setup and runs it. Does nothing where the user would rather keep what stands
  /// there.
  void run(const QString& path);
  /// Opens a copy of the experiment of a run in Setup.
  void editCopy(const QString& run);

 private:
  void choose(const QString& path);
  void show();
  void start(const QString& path);

  Frame& frame_;
  RunBar& bar_;
  Launcher& launcher_;
  Settings& settings_;
};

}  // namespace lockstep::ui
