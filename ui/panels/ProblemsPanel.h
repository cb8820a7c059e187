#pragma once

#include <QString>
#include <QWidget>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

class QPushButton;

namespace lockstep::ui {

class TableView;
class ViewOrEmpty;

/// One row of the Problems list: from a run file, or from the studio itself.
struct Problem {
  bool error = false;  ///< else a warning
  int rank = -1;       ///< -1: the supervisor or the studio
  std::optional<std::uint32_t> step;
  QString text;
};

/// Lists what went wrong. "Show" (or a double-click) asks for the place in the timeline.
/// [ui-thread]
class ProblemsPanel : public QWidget {
  Q_OBJECT

 public:
  explicit ProblemsPanel(QWidget* parent = nullptr);

  void clear();
  void add(Problem problem);
  /// Adds what the studio itself has to say.
  void report(bool error, const QString& text) { add({error, -1, std::nullopt, text}); }
  [[nodiscard]] std::size_t count() const { return problems_.size(); }

 signals:
  /// Of a problem that has an iteration.
  void showRequested(int rank, quint32 step);
  /// There are more than before, or none.
  void changed();

 private:
  void fill();
  void show(std::size_t row);

  std::vector<Problem> problems_;
  TableView* view_ = nullptr;
  QPushButton* show_ = nullptr;
  ViewOrEmpty* page_ = nullptr;
};

}  // namespace lockstep::ui
