#pragma once

#include <QWidget>

#include "ui/canvas/Canvas.h"
#include "ui/panels/setup/BucketPreviewScene.h"

class QComboBox;
class QLabel;
class QScrollArea;
class QStackedWidget;
class QToolButton;

namespace lockstep::ui {

class TableView;

class ModelDescriber;

/// The buckets that the experiment in the form will have: a drawing, the same as a table, and
/// what there is to say in a sentence. [ui-thread]
class BucketPreview : public QWidget, private CanvasClient {
  Q_OBJECT

 public:
  /// `describer` outlives the preview.
  explicit BucketPreview(const ModelDescriber& describer, QWidget* parent = nullptr);

  /// Shows the forecast for an experiment whose model is, or will be, described.
  void show(const experiment::Experiment& experiment);
  /// Shows why there is no forecast.
  void showReason(const QString& sentence);

  [[nodiscard]] const BucketForecast& forecast() const { return forecast_; }
  [[nodiscard]] QString summary() const;
  [[nodiscard]] bool showsRebuilt() const;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void paintCanvas(DisplayList& list, QSizeF size) override;
  void pointerMoved(const PointerInput& input) override;
  void pointerLeft() override;
  void update();
  void fillTable();

  const ModelDescriber& describer_;
  BucketForecast forecast_;
  QLabel* summary_ = nullptr;
  QComboBox* when_ = nullptr;
  QToolButton* asTable_ = nullptr;
  QStackedWidget* stack_ = nullptr;
  QScrollArea* scroll_ = nullptr;
  Canvas* canvas_ = nullptr;
  TableView* table_ = nullptr;
};

}  // namespace lockstep::ui
