#pragma once

#include <QString>
#include <QWidget>
#include <optional>

#include "engine/diagnosis/WantedChange.h"
#include "engine/experiment/Experiment.h"

class QComboBox;

namespace lockstep::ui {

/// Which other link a forecast is to have, and how many buckets travel on it at once. [ui-thread]
class WhatIfLinks : public QWidget {
  Q_OBJECT

 public:
  explicit WhatIfLinks(QWidget* parent = nullptr);

  /// Offers what there is beside the run's own link, and goes back to that where it is another one;
  /// null: it is not known, and nothing is offered.
  void setOwn(const experiment::LinkConfig* own);
  void reset();

  /// Says in `wanted` what was chosen; nothing where it is the run's own.
  void addTo(diagnosis::WantedChange& wanted) const;

  [[nodiscard]] QComboBox* links() const { return links_; }
  [[nodiscard]] QComboBox* inFlight() const { return inFlight_; }

 signals:
  void changed();

 private:
  std::optional<experiment::LinkConfig> own_;
  QComboBox* links_;
  QComboBox* inFlight_;
};

}  // namespace lockstep::ui
