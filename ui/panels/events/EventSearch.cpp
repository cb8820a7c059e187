#include "ui/panels/events/EventSearch.h"

#include <QCollator>
#include <QHash>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/trace/UserPhases.h"
#include "ui/panels/events/StepStarts.h"

namespace lockstep::ui {

// Texts as numbers that sort as they do: Note [Sorting events].
class EventSearch::TextKeys {
 public:
  TextKeys(EventColumn column, const EventTerms& terms) : column_(column), terms_(terms) {}

  double of(const Span& span) {
    const std::uint64_t sort = sortOf(span);
    const auto known = known_.constFind(sort);
    if (known != known_.cend()) {
      return *known;
    }
    QString text = textOf(column_, terms_, span, std::nan(""));
    if (column_ == EventColumn::kName && !titleKey(span)) {
      text = nameOf(span);  // iterations stay in order of time
    }
    texts_.push_back(text);
    return *known_.insert(sort, static_cast<double>(texts_.size() - 1));
  }

  // The place of each text among all.
  [[nodiscard]] std::vector<double> places() const {
    std::vector<std::size_t> order(texts_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    QCollator collator(QLocale(QLocale::English));
    collator.setNumericMode(true);
    collator.setCaseSensitivity(Qt::CaseInsensitive);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return collator.compare(texts_[a], texts_[b]) < 0;
    });
    std::vector<double> places(texts_.size());
    for (std::size_t place = 0; place < order.size(); ++place) {
      const bool same = place > 0 && texts_[order[place]] == texts_[order[place - 1]];
      places[order[place]] = same ? places[order[place - 1]] : static_cast<double>(place);
    }
    return places;
  }

 private:
  [[nodiscard]] std::uint64_t sortOf(const Span& span) const {
    if (column_ == EventColumn::kThread) {
      return static_cast<std::uint64_t>(span.track);
    }
    if (column_ == EventColumn::kLane) {
      return static_cast<std::uint64_t>(span.role());
    }
    const bool named = trace::isNamed(span.kind);  // by its value
    return titleKey(span).value_or(static_cast<std::uint64_t>(span.kind) << 56 |
                                   (named ? span.value : span.detail));
  }

  EventColumn column_;
  const EventTerms& terms_;
  QHash<std::uint64_t, double> known_;
  std::vector<QString> texts_;
};

// Note [Sorting events]
//
// A search may find millions of spans, so it keeps of each only its start, its number in the slices
// and, sorted by anything but the start, one double to compare (keys_); what cells say is made
// again when they are shown. The key is
//
//   a number   what the column holds; NaN where it holds nothing
//   a text     the place of the text among all texts of the column
//
// There are few different texts. TextKeys numbers them as they come (of), by what they are made of,
// so that each is written once; when all have come, places() sorts them as people count ("bucket 2"
// before "bucket 10") and each number becomes the place of its text.
//
// Equal keys are ordered by start and then by number, also when the column descends. So the order
// of all rows is settled, and a live list that is searched anew does not shuffle its rows.
class EventSearch::Job : public SpanWalk::Job {
 public:
  Job(EventOrder order, EventTerms terms)
      : order_(std::move(order)), terms_(std::move(terms)), texts_(order_.column, terms_) {}

  bool take(const SpanChunk& chunk) override {
    for (std::size_t i = 0; i < chunk.spans.size(); ++i) {
      const Span& span = chunk.spans[i];
      if (!order_.query.empty() && !order_.query.matches(terms_.parameters, span)) {
        continue;
      }
      // Sorted by start, a row needs no key; keys_ stays empty.
      const auto at = static_cast<std::uint32_t>(found_.size());
      found_.push_back({span.startNs, chunk.first + static_cast<std::uint32_t>(i), at});
      if (isText(order_.column)) {
        keys_.push_back(texts_.of(span));
      } else if (order_.column != EventColumn::kStart) {
        keys_.push_back(numberOf(order_.column, terms_, span,
                                 chunk.stepStartNs.empty() ? std::nan("") : chunk.stepStartNs[i]));
      }
    }
    return true;
  }

  void finish() override {
    try {
      sort();
    } catch (const Dropped&) {
      return;  // nobody asks for the order any more
    }
    numbers.reserve(found_.size());
    for (const Found& found : found_) {
      numbers.push_back(found.number);
    }
    found_ = {};
    keys_ = {};
  }

  std::vector<std::uint32_t> numbers;

 private:
  // Leaves a sort.
  struct Dropped {};

  struct Found {
    double startNs;
    std::uint32_t number;
    std::uint32_t at;  // in keys_
  };

  static bool earlier(const Found& a, const Found& b) {
    return a.startNs != b.startNs ? a.startNs < b.startNs : a.number < b.number;
  }

  // A sort of millions takes seconds: it ends as soon as the job is dropped.
  template <typename Iterator, typename Less>
  void sortWhileWanted(Iterator begin, Iterator end, Less less) const {
    // std::sort can be left by an exception alone. A Found is plain data: nothing is lost half way.
    std::sort(begin, end, [&](const Found& a, const Found& b) {
      if (dropped()) {
        throw Dropped();
      }
      return less(a, b);
    });
  }

  void sort() {
    if (order_.column == EventColumn::kStart) {
      sortWhileWanted(found_.begin(), found_.end(), earlier);
      if (order_.descending) {
        std::reverse(found_.begin(), found_.end());
      }
    } else {
      sortByKeys();
    }
  }

  void sortByKeys() {
    if (isText(order_.column)) {
      const std::vector<double> places = texts_.places();
      for (double& key : keys_) {
        key = places[static_cast<std::size_t>(key)];
      }
    }
    // Rows without a value stand last in both directions.
    const auto none = std::partition(found_.begin(), found_.end(),
                                     [&](const Found& f) { return !std::isnan(keys_[f.at]); });
    sortWhileWanted(found_.begin(), none, [&](const Found& a, const Found& b) {
      const double keyA = keys_[a.at];
      const double keyB = keys_[b.at];
      return keyA != keyB ? (order_.descending ? keyA > keyB : keyA < keyB) : earlier(a, b);
    });
    sortWhileWanted(none, found_.end(), earlier);
  }

  EventOrder order_;
  EventTerms terms_;
  TextKeys texts_;
  std::vector<Found> found_;
  std::vector<double> keys_;
};

EventSearch::EventSearch(QObject* parent) : QObject(parent) {
  connect(&walk_, &SpanWalk::progressed, this, &EventSearch::progressed);
}

void EventSearch::start(const RunModel& model, const EventOrder& order) {
  clock_.start();
  auto rows = std::make_shared<EventRows>();
  rows->slices = SpanSlices(model, order.range);
  count_ = rows->slices.count();
  job_ = std::make_shared<Job>(order, EventTerms(model));
  walk_.disconnect(this);
  connect(&walk_, &SpanWalk::progressed, this, &EventSearch::progressed);
  connect(&walk_, &SpanWalk::finished, this, [this, rows] {
    rows->numbers = std::move(job_->numbers);
    job_.reset();
    tookMs_ = clock_.elapsed();
    emit found(rows);
  });
  // Starts of iterations are looked up by the source, since the model belongs to this thread; other
  // columns are spared that.
  const bool bySteps = order.column == EventColumn::kStep || order.column == EventColumn::kInStep;
  walk_.start(
      [&model, rows, next = std::uint32_t{0}, bySteps,
       starts = StepStarts()](SpanChunk& chunk) mutable {
        next = rows->slices.copy(model, next, SpanWalk::kChunkSpans, chunk.spans);
        if (bySteps) {
          for (const Span& span : chunk.spans) {
            chunk.stepStartNs.push_back(starts.of(model, span));
          }
        }
        return !chunk.spans.empty();
      },
      job_);
}

void EventSearch::cancel() {
  walk_.cancel();
  job_.reset();
}

double EventSearch::progress() const {
  return count_ == 0 ? 1 : static_cast<double>(walk_.handedOver()) / count_;
}

}  // namespace lockstep::ui
