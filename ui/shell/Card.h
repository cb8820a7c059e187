#pragma once

#include <QFrame>

namespace lockstep::ui {

/// A rounded surface with a thin border; `primary` has a border in the accent colour.
class Card : public QFrame {
  Q_OBJECT

 public:
  explicit Card(bool primary = false, QWidget* parent = nullptr);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  bool primary_;
};

}  // namespace lockstep::ui
