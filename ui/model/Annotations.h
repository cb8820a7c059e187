#pragma once

#include <QObject>
#include <QPointer>
#include <QString>
#include <QUndoStack>
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "ui/model/Span.h"

namespace lockstep::ui {

/// A point in time that somebody wants to find again, or a text about one or about a span.
struct Mark {
  enum class Kind : std::uint8_t { kBookmark, kNote };

  Kind kind = Kind::kBookmark;
  double ns = 0;           ///< since the origin of the run
  QString text;            ///< of a note; a bookmark may have none
  std::int64_t span = -1;  ///< Span::id that a note is about; -1: a time
  int lane = -1;           ///< of that span
  bool operator==(const Mark&) const = default;
};

/// Bookmarks, notes and stored views of one run, kept in a file beside it
/// (RUN.lockstep.notes.json), which is written whole and put in place at once. Changes can be
/// undone through the stack of the view state. A run without a file keeps them in memory.
///
/// A file that cannot be read is left as it is, and nothing is written over it: `failed` says so
/// once, and what is noted lives as long as this. [ui-thread]
class Annotations : public QObject {
  Q_OBJECT

 public:
  static constexpr int kViews = 10;

  explicit Annotations(QObject* parent = nullptr);

  /// Forgets everything and reads what belongs to `run`; an empty path: a run without a file.
  /// `undo` may be null, and outlives this or clears itself.
  void open(const std::filesystem::path& run, QUndoStack* undo);

  /// In order of time.
  [[nodiscard]] const std::vector<Mark>& marks() const { return values_.marks; }
  /// The range stored under a digit.
  [[nodiscard]] const std::optional<TimeRange>& view(int digit) const {
    return values_.views[static_cast<std::size_t>(digit)];
  }
  [[nodiscard]] bool empty() const { return values_ == Values{}; }

  /// Adds a bookmark; the one that stands at exactly this time is removed instead.
  void toggleBookmark(double ns);
  /// Adds a note, or, with one about the same span or exactly this time, changes its text. An
  /// empty text removes it.
  void setNote(const Mark& note);
  void remove(const Mark& mark);
  void storeView(int digit, TimeRange range);

  /// The bookmark after (`direction` 1) or before (-1) a time.
  [[nodiscard]] std::optional<Mark> bookmarkFrom(double ns, int direction) const;

  /// The file of a run's annotations. [any-thread]
  static std::filesystem::path fileOf(const std::filesystem::path& run);

 signals:
  void changed();
  /// The file cannot be read or written; one sentence.
  void failed(const QString& sentence);

 private:
  struct Values {
    std::vector<Mark> marks;
    std::array<std::optional<TimeRange>, kViews> views;
    bool operator==(const Values&) const = default;
  };
  class Change;

  void push(const QString& text, Values next);
  void apply(const Values& values);
  void read();
  void write();
  void fail(const QString& sentence);
  [[nodiscard]] QByteArray toJson() const;
  [[nodiscard]] static std::optional<Values> fromJson(const QByteArray& json);

  std::filesystem::path file_;
  QPointer<QUndoStack> undo_;
  Values values_;
  bool readable_ = true;
  bool failed_ = false;
};

}  // namespace lockstep::ui
