#pragma once

#include <QHash>
#include <QString>
#include <QStringList>
#include <cstdint>
#include <optional>

#include "ui/model/RunModel.h"
#include "ui/model/SpanNames.h"

namespace lockstep::ui {

/// A search for spans, as people type it: words that stand in a span's title or kind, in any
/// case, and conditions, all of which must hold:
///
///   rank:1  bucket:3  step:10..20  kind:wait  hook  "copy in"  fc1.weight  >2ms  <=50us
///
/// `rank`, `bucket` and `step` (or `iteration`) take a number or a range, `bucket` also `none`;
/// durations take ns, us, ms or s. `kind` takes part of a kind, `name` the whole of nameOf, one of
/// several where it is written more than once. A word in quotes may hold blanks and begin with < or
/// >; a quote in it is written \". One thread at a time; a copy is another's own.
class SpanQuery {
 public:
  SpanQuery() = default;
  /// Reads a query; what cannot be understood is said by `error`.
  explicit SpanQuery(const QString& text);

  [[nodiscard]] const QString& text() const { return text_; }
  /// True when nothing is asked: an empty line.
  [[nodiscard]] bool empty() const { return text_.trimmed().isEmpty(); }
  /// One sentence; empty when the query can be run.
  [[nodiscard]] const QString& error() const { return error_; }
  [[nodiscard]] bool valid() const { return error_.isEmpty() && !empty(); }

  /// What people can type, in a few sentences: for a tooltip.
  static QString help();

  [[nodiscard]] bool matches(const RunModel& model, const Span& span) const;
  /// The same without the model, for another thread.
  [[nodiscard]] bool matches(const ParameterTable& parameters, const Span& span) const;

 private:
  struct Numbers {
    std::uint64_t first = 0;
    std::uint64_t last = 0;  // below `first`: none
    [[nodiscard]] bool holds(std::uint64_t n) const { return n >= first && n <= last; }
  };

  /// `quoted`: it begins in quotes.
  void take(const QString& token, bool quoted);
  void takeDuration(double ns, bool atLeast, bool strict);
  [[nodiscard]] bool wordsHold(const ParameterTable& parameters, const Span& span) const;

  QString text_;
  QString error_;
  QStringList words_;  // in lower case
  QStringList kinds_;
  QStringList names_;
  std::optional<Numbers> rank_;
  std::optional<Numbers> bucket_;
  bool withoutBucket_ = false;
  std::optional<Numbers> step_;
  double atLeastNs_ = -1;
  double atMostNs_ = -1;
  bool atLeastStrict_ = false;
  bool atMostStrict_ = false;
  mutable QHash<quint64, bool> known_;  // answers about words, by what a title is made of
};

/// Returns a query for the likes of a span: of the same name, and bucket where it has one.
QString queryFor(const Span& span);
/// Returns a condition of a query, in quotes where its value needs them: `name:"copy in"`.
QString condition(const QString& key, const QString& value);

}  // namespace lockstep::ui
