#pragma once

#include <QObject>
#include <QString>
#include <QTimer>

namespace lockstep::ui {

/// Where the studio finds what it starts and shows.
struct Programs {
  QString lockstep;     ///< path of the command line program; empty when there is none
  QString rank;         ///< path of `lockstep-rank`; empty when there is none
  QString folder;       ///< where both were looked for
  /// They are being built there: until that is over none counts as found, since one that is there
  /// may be of an earlier build or half written.
  bool building = false;
  QString progress;  ///< how far the build is, as it says itself; may be empty
};

/// Looks in `folder`, or beside the studio's own executable when that is empty.
Programs findPrograms(const QString& folder);

/// Why no run can be started, as a sentence without its full stop; empty when one can.
QString reasonAgainstStarting(const Programs& programs);

/// Looks for the programs, and again every second as long as they are being built. [ui-thread]
class BuildWatch : public QObject {
  Q_OBJECT

 public:
  /// `folder` as of findPrograms.
  explicit BuildWatch(QString folder, QObject* parent = nullptr);

  [[nodiscard]] const Programs& programs() const { return programs_; }

 signals:
  /// The build has come further, or is over.
  void changed();

 private:
  void look();

  QString folder_;
  Programs programs_;
  QTimer timer_;
};

/// Finds the shipped experiments, as base::shippedPlaces() does. Empty when there are none.
QString shippedExperiments();

/// Where runs are kept when nothing else is said: in the user's data folder.
QString defaultRunsFolder();

}  // namespace lockstep::ui
