#pragma once

#include "ui/views/divergence/BucketScene.h"
#include "ui/views/divergence/DivergenceTab.h"

class QComboBox;

namespace lockstep::ui {

class TableView;

/// Rank by bucket: who comes late to which bucket, who waits, what moves, what is exposed.
/// [ui-thread]
class BucketTab : public DivergenceTab {
  Q_OBJECT

 public:
  explicit BucketTab(QWidget* parent = nullptr);

  void setFacts(std::shared_ptr<const DivergenceFacts> facts) override;
  void selectionChanged() override;
  /// The iteration of the view state moved: shown where one iteration is.
  void iterationChanged();

  /// Where a cell is, in coordinates of the canvas, for tests and tours.
  [[nodiscard]] QRectF rectOf(const BucketPlace& place) const;

 private:
  void runChanged() override;
  void paintFacts(DisplayList& list, QSizeF size) override;
  [[nodiscard]] QString description() const override;
  void pointerPressed(const PointerInput& input) override;
  void pointerDoubleClicked(const PointerInput& input) override;

  [[nodiscard]] BucketFrame frame(QSizeF size) const;
  [[nodiscard]] BucketScene scene() const;
  [[nodiscard]] std::optional<std::uint32_t> step() const;
  void showInTable(const BucketPlace& place);
  void choose(const BucketPlace& place);
  void refresh();

  std::optional<BucketPlace> selected_;
  QComboBox* measure_;
  QComboBox* scope_;
  TableView* table_;
};

}  // namespace lockstep::ui
