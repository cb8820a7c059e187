#pragma once

#include <QObject>
#include <QString>
#include <optional>
#include <vector>

#include "engine/cost/Estimate.h"
#include "ui/model/BackgroundJob.h"

namespace lockstep::ui {

/// A forecast that was run, and what came of it.
struct PastForecast {
  static constexpr int kMeanOfRanks = -1;

  struct Measured {
    double stepNs = 0;
    double exposedNs = 0;
  };

  QString run;     ///< path of its run file
  QString change;  ///< "cap 8 MiB, 2 in flight"
  int rank = 0;    ///< whose figures they are; kMeanOfRanks
  cost::Estimate stepNs;
  cost::Estimate exposedNs;
  std::optional<Measured> measured;
  QString ended;  ///< why nothing was measured, a few words; empty: it was, or goes on

  [[nodiscard]] bool open() const { return !measured && ended.isEmpty(); }
  [[nodiscard]] bool stepHeld() const;
  [[nodiscard]] bool exposedHeld() const;
  /// By how much the step was another one, in per cent of what was measured.
  [[nodiscard]] double errorPercent() const;
};

/// The forecasts that were run, in a file of one JSON line each, and one more when its run has
/// ended. A line that cannot be read is skipped. [ui-thread]
class ForecastHistory : public QObject {
  Q_OBJECT

 public:
  /// `file` need not be there.
  explicit ForecastHistory(QString file, QObject* parent = nullptr);

  /// The earliest first.
  [[nodiscard]] const std::vector<PastForecast>& forecasts() const { return forecasts_; }
  [[nodiscard]] const QString& file() const { return file_; }
  /// How many lines could not be read.
  [[nodiscard]] std::size_t damaged() const { return damaged_; }
  /// Null: the run was not forecast.
  [[nodiscard]] const PastForecast* of(const QString& run) const;

  /// Its run begins.
  void begin(const PastForecast& forecast);
  /// Measures the runs that have ended since; `changed` follows where there are any.
  void measure();
  /// A run ended before there was a file of it.
  void giveUp(const QString& run);

 signals:
  void changed();
  /// The file cannot be written; a sentence.
  void failed(const QString& sentence);

 private:
  void read();
  bool take(const QByteArray& line);
  void write(const QByteArray& line);
  void end(const QString& run, const std::optional<PastForecast::Measured>& measured,
           const QString& ended);
  PastForecast* find(const QString& run);

  QString file_;
  std::vector<PastForecast> forecasts_;
  std::size_t damaged_ = 0;
  bool again_ = false;  // asked for while runs were being measured
  BackgroundJob job_{this};
};

/// How good the forecasts have been: how many were within their interval, and by how much the
/// middle one was off; and which lines were skipped.
QString historyWords(const ForecastHistory& history);

/// Of a run that was forecast: both figures side by side; empty while it goes on.
QString besideWords(const PastForecast& forecast);

}  // namespace lockstep::ui
