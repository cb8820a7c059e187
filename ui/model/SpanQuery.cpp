#include "ui/model/SpanQuery.h"

#include <algorithm>
#include <utility>

#include "ui/model/SpanFacts.h"

namespace lockstep::ui {
namespace {

// "2ms", "1.5 s"; a bare number is in ns.
std::optional<double> durationOf(const QString& text) {
  qsizetype digits = 0;
  while (digits < text.size() && (text[digits].isDigit() || text[digits] == QLatin1Char('.'))) {
    ++digits;
  }
  bool ok = false;
  const double number = text.left(digits).toDouble(&ok);
  const QString unit = text.mid(digits);
  // A unit that is none has factor 0, and the query then says that it is no duration.
  const double factor = unit.isEmpty() || unit == QLatin1String("ns")                 ? 1
                        : unit == QLatin1String("us") || unit == QStringLiteral("µs") ? 1e3
                        : unit == QLatin1String("ms")                                 ? 1e6
                        : unit == QLatin1String("s")                                  ? 1e9
                                                                                      : 0;
  return ok && factor > 0 ? std::optional(number * factor) : std::nullopt;
}

constexpr qsizetype kAnswersKept = 200'000;
constexpr QLatin1Char kQuote('"');
constexpr QLatin1Char kEscape('\\');

}  // namespace

SpanQuery::SpanQuery(const QString& text) : text_(text) {
  QString token;
  bool quoted = false;
  bool beganQuoted = false;
  bool escaped = false;
  // The blank at the end closes the last word.
  for (const QChar c : text + QLatin1Char(' ')) {
    if (std::exchange(escaped, false)) {
      // Before anything else a backslash stands for itself.
      token += c == kQuote || c == kEscape ? QString(c) : QString(kEscape) + c;
    } else if (c == kEscape && quoted) {
      escaped = true;
    } else if (c == kQuote) {
      quoted = !quoted;
      beganQuoted = beganQuoted || token.isEmpty();
    } else if (c.isSpace() && !quoted) {
      if (!token.isEmpty()) {
        take(token, beganQuoted);
      }
      token.clear();
      beganQuoted = false;
    } else {
      token += c;
    }
  }
  if (quoted) {
    // While it is being typed: what stands behind the quote is the word so far.
    take(token.trimmed(), beganQuoted);
  }
}

void SpanQuery::take(const QString& token, bool quoted) {
  const QString lower = token.toLower();
  if (!quoted && (lower.startsWith(QLatin1Char('>')) || lower.startsWith(QLatin1Char('<')))) {
    const bool orEqual = lower.mid(1).startsWith(QLatin1Char('='));
    const auto ns = durationOf(lower.mid(orEqual ? 2 : 1));
    if (!ns) {
      error_ = QStringLiteral("\"%1\" is not a duration: write >2ms or <=50us.").arg(token);
    } else {
      takeDuration(*ns, lower.startsWith(QLatin1Char('>')), !orEqual);
    }
    return;
  }
  const qsizetype colon = lower.indexOf(QLatin1Char(':'));
  const QString key = colon > 0 ? lower.left(colon) : QString();
  const QString value = lower.mid(colon + 1);
  std::optional<Numbers>* numbers =
      key == QLatin1String("rank")                                        ? &rank_
      : key == QLatin1String("bucket")                                    ? &bucket_
      : key == QLatin1String("step") || key == QLatin1String("iteration") ? &step_
                                                                          : nullptr;
  // bucket:none is no number: it asks for spans without one.
  if (numbers == &bucket_ && value == QLatin1String("none")) {
    withoutBucket_ = true;
    return;
  }
  if (numbers != nullptr) {
    const qsizetype dots = value.indexOf(QLatin1String(".."));
    bool firstOk = false;
    bool lastOk = true;
    Numbers range;
    range.first = value.left(dots < 0 ? value.size() : dots).toULongLong(&firstOk);
    range.last = dots < 0 ? range.first : value.mid(dots + 2).toULongLong(&lastOk);
    if (quoted && (!firstOk || !lastOk)) {
      words_ << lower;  // "step: load" is a name that somebody gave
    } else if (!firstOk || !lastOk) {
      error_ = QStringLiteral("\"%1\" needs a number or a range: %2:3 or %2:3..7.").arg(token, key);
    } else if (numbers->has_value()) {
      // Twice the same condition, such as step:1..9 step:5..20, means both: what they have in
      // common, which may be nothing.
      Numbers& both = **numbers;
      both = {std::max(both.first, range.first), std::min(both.last, range.last)};
    } else {
      *numbers = range;
    }
    return;
  }
  if (key == QLatin1String("kind")) {
    kinds_ << value;
    return;
  }
  if (key == QLatin1String("name")) {
    names_ << value;
    return;
  }
  // Titles have colons too ("fault: rank 1 killed"), so any other key is a part of a word. These
  // two would look like conditions and find nothing.
  if (!key.isEmpty() && !quoted && (key == QLatin1String("lane") || key == QLatin1String("hook"))) {
    error_ = QStringLiteral("\"%1:\" is not known: rank, bucket, step, kind and name are.").arg(key);
    return;
  }
  words_ << lower;
}

// Of two bounds the closer one holds; of two equal ones the strict.
void SpanQuery::takeDuration(double ns, bool atLeast, bool strict) {
  // Negative bounds stand for none: durations are never negative.
  double& bound = atLeast ? atLeastNs_ : atMostNs_;
  bool& boundStrict = atLeast ? atLeastStrict_ : atMostStrict_;
  if (ns == bound) {
    boundStrict = boundStrict || strict;
  } else if (bound < 0 || (atLeast ? ns > bound : ns < bound)) {
    bound = ns;
    boundStrict = strict;
  }
}

bool SpanQuery::wordsHold(const ParameterTable& parameters, const Span& span) const {
  // A run of millions of spans has a few thousand different titles, and making a title costs more
  // than all other conditions together. So answers are kept by titleKey.
  const std::optional<std::uint64_t> key = titleKey(span);
  if (key) {
    if (const auto known = known_.constFind(*key); known != known_.cend()) {
      return *known;
    }
  }
  const QString kind = kindName(span.kind);
  const QString title = words_.isEmpty() ? QString() : titleOf(parameters, span);
  bool holds = true;
  for (const QString& wanted : kinds_) {
    holds = holds && kind.contains(wanted, Qt::CaseInsensitive);
  }
  if (!names_.isEmpty()) {
    holds = holds && names_.contains(nameOf(span), Qt::CaseInsensitive);
  }
  for (const QString& word : words_) {
    holds = holds &&
            (title.contains(word, Qt::CaseInsensitive) || kind.contains(word, Qt::CaseInsensitive));
  }
  // Beyond this many the table would cost more than it saves.
  if (key && known_.size() < kAnswersKept) {
    known_.insert(*key, holds);
  }
  return holds;
}

QString SpanQuery::help() {
  return QStringLiteral(
      "Words stand in an event's name, kind or parameter. rank:, bucket: and step: take a number "
      "or a range, kind: part of a kind, name: a whole name, > and < a duration (ns, us, ms, s).");
}

bool SpanQuery::matches(const RunModel& model, const Span& span) const {
  return matches(model.parameters(), span);
}

bool SpanQuery::matches(const ParameterTable& parameters, const Span& span) const {
  // Numbers first: they are cheap, and sort out most spans before a title is made.
  if (rank_ && !rank_->holds(static_cast<std::uint64_t>(span.rank()))) {
    return false;
  }
  if (withoutBucket_ && span.hasBucket()) {
    return false;
  }
  if (bucket_ && (!span.hasBucket() || !bucket_->holds(span.bucket))) {
    return false;
  }
  if (step_ && !step_->holds(span.step)) {
    return false;
  }
  if (atLeastNs_ >= 0 &&
      (atLeastStrict_ ? span.durationNs <= atLeastNs_ : span.durationNs < atLeastNs_)) {
    return false;
  }
  if (atMostNs_ >= 0 &&
      (atMostStrict_ ? span.durationNs >= atMostNs_ : span.durationNs > atMostNs_)) {
    return false;
  }
  return (kinds_.isEmpty() && names_.isEmpty() && words_.isEmpty()) ||
         wordsHold(parameters, span);
}

QString condition(const QString& key, const QString& value) {
  const auto needsQuotes = [](QChar c) { return c.isSpace() || c == kQuote; };
  if (std::none_of(value.begin(), value.end(), needsQuotes)) {
    return key + QLatin1Char(':') + value;
  }
  QString quoted;
  for (const QChar c : value) {
    quoted += c == kQuote || c == kEscape ? QString(kEscape) + c : QString(c);
  }
  return key + QLatin1Char(':') + kQuote + quoted + kQuote;
}

QString queryFor(const Span& span) {
  const QString query = condition(QStringLiteral("name"), nameOf(span));
  return span.hasBucket() ? query + QStringLiteral(" bucket:%1").arg(span.bucket) : query;
}

}  // namespace lockstep::ui
