#include "ui/panels/LogModel.h"

#include <QApplication>
#include <QFontDatabase>

#include "ui/panels/CurrentPalette.h"

namespace lockstep::ui {
namespace {

LineLevel levelOf(QStringView name) {
  return name == QLatin1String("debug") || name == QLatin1String("trace") ? LineLevel::kDebug
         : name == QLatin1String("info")                                  ? LineLevel::kInfo
         : name == QLatin1String("warning")                               ? LineLevel::kWarning
                                                                          : LineLevel::kError;
}

// Time and rank stand side by side: what is beside a number keeps off it.
int alignmentOf(int column) {
  const Qt::Alignment across = column == LogModel::kTime   ? Qt::AlignRight
                               : column == LogModel::kRank ? Qt::AlignHCenter
                                                           : Qt::AlignLeft;
  return static_cast<int>(across | Qt::AlignVCenter);
}

QFont fixedFont() {
  QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  font.setPointSizeF(QApplication::font().pointSizeF());
  return font;
}

}  // namespace

void LogModel::clear() {
  beginResetModel();
  lines_.clear();
  endResetModel();
}

void LogModel::setTimes(Times times) {
  times_ = std::move(times);
  if (!lines_.empty()) {
    emit dataChanged(index(0, kTime), index(rowCount() - 1, kTime));
  }
}

// "12.345 s", or nothing.
QString LogModel::timeOf(const Line& line) const {
  const std::optional<double> ns = times_ && line.ticks != 0 ? times_(line.ticks) : std::nullopt;
  return ns ? QStringLiteral("%1 s").arg(*ns / 1e9, 0, 'f', 3) : QString();
}

void LogModel::append(std::span<const trace::LogRow> rows) {
  if (rows.empty()) {
    return;
  }
  // base::logLine's "[rank 1] [level] text"; rank and level have columns of their own.
  static const QRegularExpression kPrefix(
      QStringLiteral("^(?:\\[rank \\d+\\] )?\\[(trace|debug|info|warning|error|critical)\\] "));
  const int first = static_cast<int>(lines_.size());
  beginInsertRows({}, first, first + static_cast<int>(rows.size()) - 1);
  for (const trace::LogRow& row : rows) {
    Line line{row.rank, row.ticks, LineLevel::kNone, QString::fromStdString(row.text)};
    if (const auto prefix = kPrefix.match(line.text); prefix.hasMatch()) {
      line.level = levelOf(prefix.capturedView(1));
      line.text.remove(0, prefix.capturedLength(0));
    }
    lines_.push_back(std::move(line));
  }
  endInsertRows();
}

int LogModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(lines_.size());
}

int LogModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QVariant LogModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) {
    return {};
  }
  const Line& line = lines_.at(static_cast<std::size_t>(index.row()));
  switch (role) {
    case Qt::DisplayRole:
      switch (index.column()) {
        case kTime:
          return timeOf(line);
        case kRank:
          return line.rank < 0 ? tr("run") : QString::number(line.rank);
        case kLevel:
          switch (line.level) {
            case LineLevel::kNone:
              return {};
            case LineLevel::kDebug:
              return tr("debug");
            case LineLevel::kInfo:
              return tr("info");
            case LineLevel::kWarning:
              return tr("warning");
            case LineLevel::kError:
              return tr("error");
          }
          return {};
        default:
          return line.text;
      }
    case Qt::ToolTipRole:
      return index.column() == kText ? QVariant(line.text) : QVariant();
    case Qt::FontRole:
      return index.column() == kText ? QVariant(fixedFont()) : QVariant();
    case Qt::ForegroundRole:
      return index.column() != kLevel            ? QVariant()
             : line.level == LineLevel::kError   ? QVariant(currentPalette().error)
             : line.level == LineLevel::kWarning ? QVariant(currentPalette().warning)
                                                 : QVariant();
    case Qt::TextAlignmentRole:
      return alignmentOf(index.column());
    case kRankRole:
      return line.rank;
    case kLevelRole:
      return static_cast<int>(line.level);
    case kSortRole:
      switch (index.column()) {
        case kTime:
          return static_cast<qulonglong>(line.ticks);
        case kRank:
          return line.rank;
        case kLevel:
          return static_cast<int>(line.level);
        default:
          return line.text;
      }
    default:
      return {};
  }
}

QVariant LogModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) {
    return {};
  }
  if (role == Qt::TextAlignmentRole) {
    return alignmentOf(section);
  }
  if (role == Qt::ToolTipRole) {
    switch (section) {
      case kTime:
        return tr("When it was written, since the run began");
      case kRank:
        return tr("The rank that wrote it; run: the supervisor");
      case kLevel:
        return tr("What its writer said of it; empty for plain output");
      default:
        return {};
    }
  }
  if (role != Qt::DisplayRole) {
    return {};
  }
  switch (section) {
    case kTime:
      return tr("Time");
    case kRank:
      return tr("Rank");
    case kLevel:
      return tr("Level");
    case kText:
      return tr("Text");
    default:
      return {};
  }
}

LogFilter::LogFilter(QObject* parent) : QSortFilterProxyModel(parent) {
  setSortRole(LogModel::kSortRole);
  setSortCaseSensitivity(Qt::CaseInsensitive);
}

void LogFilter::setRank(std::optional<int> rank) {
  rank_ = rank;
  invalidateFilter();
}

void LogFilter::setLevel(LineLevel lowest) {
  lowest_ = lowest;
  invalidateFilter();
}

void LogFilter::setText(const QString& text, bool isPattern) {
  text_ = text;
  pattern_.reset();
  if (isPattern && !text.isEmpty()) {
    pattern_.emplace(text, QRegularExpression::CaseInsensitiveOption);
  }
  invalidateFilter();
}

QString LogFilter::mistake() const {
  return !pattern_ || pattern_->isValid() ? QString()
                                          : tr("Not a pattern: %1 at letter %2.")
                                                .arg(pattern_->errorString())
                                                .arg(pattern_->patternErrorOffset());
}

bool LogFilter::filterAcceptsRow(int row, const QModelIndex& /*parent*/) const {
  const QModelIndex index = sourceModel()->index(row, LogModel::kText);
  if (rank_ && index.data(LogModel::kRankRole).toInt() != *rank_) {
    return false;
  }
  if (index.data(LogModel::kLevelRole).toInt() < static_cast<int>(lowest_)) {
    return false;
  }
  if (pattern_) {
    return !pattern_->isValid() || pattern_->match(index.data().toString()).hasMatch();
  }
  return text_.isEmpty() || index.data().toString().contains(text_, Qt::CaseInsensitive);
}

}  // namespace lockstep::ui
