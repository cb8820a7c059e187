#pragma once

#include "ui/canvas/Palette.h"
#include "ui/stage/RunPart.h"

class QAction;
class QComboBox;
class QHBoxLayout;
class QLabel;
class QToolButton;

namespace lockstep::ui {

/// The bar below a timeline: what the colours are about, with their legend, and what is out of
/// the ordinary: a filter, a view that stands still. [ui-thread]
class TimelineBar : public RunPart {
  Q_OBJECT

 public:
  /// Commands of the timeline whose keys the bar names.
  struct Commands {
    const QAction* colour = nullptr;
    const QAction* clear = nullptr;
    const QAction* freeze = nullptr;
  };

  explicit TimelineBar(QWidget* parent = nullptr);
  ~TimelineBar() override;

  void setTheme(Theme theme);
  void setCommands(const Commands& commands);
  /// Buttons beside the choice of colours.
  void addButton(QAction* action);
  /// Shows that the view stands still.
  void setFrozen(bool frozen);

 private:
  class Legend;

  void runChanged() override;
  void refresh();

  QHBoxLayout* row_ = nullptr;
  QComboBox* colourBy_ = nullptr;
  Legend* legend_ = nullptr;
  QLabel* status_ = nullptr;
  QToolButton* clear_ = nullptr;
  const QAction* freeze_ = nullptr;
  bool frozen_ = false;
};

}  // namespace lockstep::ui
