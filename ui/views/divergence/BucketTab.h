#pragma once

#include "ui/views/divergence/BucketScene.h"
#include "ui/views/divergence/PlacesTab.h"

class QComboBox;

namespace lockstep::ui {

class TableView;

/// Rank by bucket: who comes late to which bucket, who waits, what moves, what is exposed.
/// [ui-thread]
class BucketTab : public PlacesTab<BucketScene, BucketFrame, BucketPlace> {
  Q_OBJECT

 public:
  explicit BucketTab(QWidget* parent = nullptr);

  void setFacts(std::shared_ptr<const DivergenceFacts> facts) override;
  void selectionChanged() override;
  /// The iteration of the view state moved: shown where one iteration is.
  void iterationChanged();

 private:
  [[nodiscard]] QString description() const override;
  void pointerPressed(const PointerInput& input) override;

  [[nodiscard]] BucketFrame frame(QSizeF size) const override;
  [[nodiscard]] std::optional<std::uint32_t> step() const;
  void showInTable(const BucketPlace& place);
  void choose(const BucketPlace& place);
  void refresh();

  QComboBox* measure_;
  QComboBox* scope_;
  TableView* table_;
};

}  // namespace lockstep::ui
