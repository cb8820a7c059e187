#pragma once

#include <QLabel>

namespace lockstep::ui {

/// A line of text that gives way where room is short: what does not fit is elided, and the tooltip
/// says it whole. [ui-thread]
class ElidedLabel : public QLabel {
  Q_OBJECT

 public:
  explicit ElidedLabel(QWidget* parent = nullptr);

  /// `tip` is what the tooltip says below the text.
  void setWords(const QString& text, const QString& tip = {});

  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace lockstep::ui
