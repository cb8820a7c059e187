#pragma once

#include <QWidget>

#include "ui/panels/findings/VerdictWords.h"

class QLabel;

namespace lockstep::ui {

/// What a run is and how it did, in a few lines in front of the views, each part a link to where it
/// is seen. Where room is short the last parts are said in brief, so that it takes few lines from
/// the picture below. [ui-thread]
class VerdictCard : public QWidget {
  Q_OBJECT

 public:
  static constexpr int kLines = 3;  ///< it takes no more, unless all is in brief

  explicit VerdictCard(QWidget* parent = nullptr);

  void setWords(VerdictWords words);
  [[nodiscard]] const VerdictWords& words() const { return words_; }
  [[nodiscard]] QLabel* label() const { return label_; }

 signals:
  /// The link of a part was pressed.
  void activated(const QString& link);
  /// It is in sight.
  void painted();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void fit();
  void say(const QString& link);

  VerdictWords words_;
  QLabel* label_;
};

}  // namespace lockstep::ui
