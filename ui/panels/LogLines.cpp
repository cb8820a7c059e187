#include "ui/panels/LogLines.h"

#include <QApplication>
#include <QFontDatabase>
#include <utility>

#include "ui/model/Format.h"
#include "ui/panels/CurrentPalette.h"

namespace lockstep::ui {
namespace {

constexpr std::size_t kBlock = 1024;

LineLevel levelOf(QStringView name) {
  return name == QLatin1String("debug") || name == QLatin1String("trace") ? LineLevel::kDebug
         : name == QLatin1String("info")                                  ? LineLevel::kInfo
         : name == QLatin1String("warning")                               ? LineLevel::kWarning
                                                                          : LineLevel::kError;
}

QString nameOf(LineLevel level) {
  static constexpr const char* kNames[] = {"", "debug", "info", "warning", "error"};
  return TableRows::tr(kNames[static_cast<std::size_t>(level)]);
}

QFont fixedFont() {
  QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  font.setPointSizeF(QApplication::font().pointSizeF());
  return font;
}

LogLines::Line lineOf(const trace::LogRow& row) {
  // base::logLine's "[rank 1] [level] text"; rank and level have columns of their own.
  static const QRegularExpression kPrefix(
      QStringLiteral("^(?:\\[rank \\d+\\] )?\\[(trace|debug|info|warning|error|critical)\\] "));
  LogLines::Line line{row.rank, row.ticks, LineLevel::kNone, QString::fromStdString(row.text)};
  if (const auto prefix = kPrefix.match(line.text); prefix.hasMatch()) {
    line.level = levelOf(prefix.capturedView(1));
    line.text.remove(0, prefix.capturedLength(0));
  }
  return line;
}

}  // namespace

// Time and rank stand side by side: what is beside a number keeps off it.
LogLines::LogLines()
    : TableRows(
          {{tr("Time"), tr("When it was written, since the run began"), true},
           {tr("Rank"), tr("The rank that wrote it; run: the supervisor"), false, true,
            Qt::AlignHCenter},
           {tr("Level"), tr("What its writer said of it; empty for plain output"), false, true},
           {tr("Text")}}) {}

LogLines::LogLines(const LogLines& before, Times times) : LogLines() {
  times_ = std::move(times);
  blocks_ = before.blocks_;
  size_ = before.size_;
}

// Note [Blocks of a log]
//
// The rows of a table never change once made (ui/table), so each batch of lines makes another
// LogLines. It must not copy a log of millions of lines for that. Lines lie in blocks of 1024; full
// blocks never change and are shared by all LogLines that hold them:
//
//   before   [1024] [1024] [ 300]
//               │      │
//   after    [1024] [1024] [ 300 + new ]   only the open block is copied
//
// So a batch costs its own lines, at most one block, and a pointer for each block before.
LogLines::LogLines(const LogLines& before, std::span<const trace::LogRow> rows)
    : LogLines(before, before.times_) {
  size_ += rows.size();
  std::shared_ptr<Block> open;
  for (const trace::LogRow& row : rows) {
    if (open == nullptr || open->size() == kBlock) {
      const bool goesOn = open == nullptr && !blocks_.empty() && blocks_.back()->size() < kBlock;
      open = goesOn ? std::make_shared<Block>(*blocks_.back()) : std::make_shared<Block>();
      if (goesOn) {
        blocks_.back() = open;
      } else {
        blocks_.push_back(open);
      }
    }
    open->push_back(lineOf(row));
  }
}

const LogLines::Line& LogLines::line(std::size_t row) const {
  return (*blocks_[row / kBlock])[row % kBlock];
}

QString LogLines::text(std::size_t row, std::size_t column) const {
  const Line& of = line(row);
  if (column == kTime) {  // "12.345 s", or nothing
    const auto ns = times_ && of.ticks != 0 ? times_(of.ticks) : std::nullopt;
    return ns ? formatTime(*ns, 1e6, 1e9) : QString();
  }
  return column == kLevel  ? nameOf(of.level)
         : column != kRank ? of.text
         : of.rank < 0     ? tr("run")
                           : QString::number(of.rank);
}

std::optional<double> LogLines::number(std::size_t row, std::size_t column) const {
  const Line& of = line(row);
  // Ticks and not the time that is shown: they sort alike, and are known before the clock is.
  return column == kTime   ? static_cast<double>(of.ticks)
         : column == kRank ? of.rank
                           : static_cast<double>(of.level);
}

QVariant LogLines::look(std::size_t row, std::size_t column, int role) const {
  if (role == Qt::FontRole && column == kText) {
    return fixedFont();
  }
  if (role == Qt::ForegroundRole && column == kLevel) {
    const LineLevel level = line(row).level;
    return level == LineLevel::kError     ? QVariant(currentPalette().error)
           : level == LineLevel::kWarning ? QVariant(currentPalette().warning)
                                          : QVariant();
  }
  return {};
}

void LogFilter::setText(const QString& wanted, bool isPattern) {
  text = wanted;
  pattern.reset();
  if (isPattern && !wanted.isEmpty()) {
    pattern.emplace(wanted, QRegularExpression::CaseInsensitiveOption);
  }
}

QString LogFilter::mistake() const {
  return !pattern || pattern->isValid() ? QString()
                                        : TableRows::tr("Not a pattern: %1 at letter %2.")
                                              .arg(pattern->errorString())
                                              .arg(pattern->patternErrorOffset());
}

bool LogFilter::accepts(const LogLines::Line& line) const {
  if ((rank && line.rank != *rank) || line.level < lowest) {
    return false;
  }
  if (pattern) {
    return !pattern->isValid() || pattern->match(line.text).hasMatch();
  }
  return text.isEmpty() || line.text.contains(text, Qt::CaseInsensitive);
}

}  // namespace lockstep::ui
