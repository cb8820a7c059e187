#include "ui/views/ranks/RanksMap.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstep::ui {
namespace {

constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

// The largest of two of which one or both may be unknown.
float larger(float a, float b) {
  return std::isnan(a) || b > a ? b : a;
}

/// What a drawn line of `drawn` stands for, of `all` that there are.
std::pair<std::size_t, std::size_t> stretchAt(std::size_t line, std::size_t all,
                                              std::size_t drawn) {
  return {line * all / drawn, (line + 1) * all / drawn};
}

std::size_t lineOf(std::size_t one, std::size_t all, std::size_t drawn) {
  std::size_t line = one * drawn / all;
  // By proportion it may be one short, because stretchAt() rounds down.
  while (line + 1 < drawn && stretchAt(line, all, drawn).second <= one) {
    ++line;
  }
  return line;
}

}  // namespace

void RanksMap::show(const std::shared_ptr<const RanksContent>& content, RankFigure figure,
                    RankOrder order) {
  if (content == content_ && figure == figure_ && order == order_) {
    return;
  }
  content_ = content;
  figure_ = figure;
  order_ = order;
  rows_ = rankRows(*content, figure, order);
  rowOf_.assign(content->table.ranks.size(), 0);
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (const std::size_t rank : rows_[row]) {
      rowOf_[rank] = row;
    }
  }
  height_ = 0;
}

void RanksMap::fold(std::size_t mostRows, std::size_t mostColumns) {
  const std::size_t columns = content_->table.columns;
  const std::size_t height = std::min(rows_.size(), mostRows);
  const std::size_t width = std::min(columns, mostColumns);
  if (height == height_ && width == width_) {
    return;
  }
  height_ = height;
  width_ = width;
  cells_.assign(height * width, kNothing);
  if (!content_->table.has(figure_)) {
    return;
  }
  for (std::size_t y = 0; y < height; ++y) {
    const auto [first, end] = rowsAt(y);
    for (std::size_t row = first; row < end; ++row) {
      const std::vector<float> values = valuesOf(rows_[row]);
      for (std::size_t x = 0; x < width; ++x) {
        float& cell = cells_[y * width + x];
        const auto [from, to] = columnsAt(x);
        for (std::size_t column = from; column < to; ++column) {
          cell = larger(cell, values[column]);
        }
      }
    }
  }
}

std::vector<float> RanksMap::valuesOf(const std::vector<std::size_t>& ranks) const {
  const analysis::Landscape& table = content_->table;
  std::vector<float> values;
  std::vector<float> known;
  for (std::size_t column = 0; column < table.columns; ++column) {
    known.clear();
    for (const std::size_t rank : ranks) {
      if (const float value = table.at(figure_, rank, column); !std::isnan(value)) {
        known.push_back(value);
      }
    }
    const auto middle = known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
    if (known.size() > 1) {
      std::nth_element(known.begin(), middle, known.end());
    }
    values.push_back(known.empty() ? kNothing : *middle);
  }
  return values;
}

std::pair<std::size_t, std::size_t> RanksMap::rowsAt(std::size_t y) const {
  return stretchAt(y, rows_.size(), height_);
}

std::pair<std::size_t, std::size_t> RanksMap::columnsAt(std::size_t x) const {
  return stretchAt(x, content_->table.columns, width_);
}

std::size_t RanksMap::yOf(std::size_t rank) const {
  return lineOf(rowOf_[rank], rows_.size(), height_);
}

std::size_t RanksMap::xOf(std::size_t column) const {
  return lineOf(column, content_->table.columns, width_);
}

RankPlace RanksMap::worstAt(std::size_t y, std::size_t x) const {
  const auto [first, end] = rowsAt(y);
  const auto [from, to] = columnsAt(x);
  const analysis::Landscape& table = content_->table;
  RankPlace worst{rows_[first].front(), from};
  const auto value = [&](const RankPlace& of) { return table.at(figure_, of.rank, of.column); };
  for (std::size_t row = first; table.has(figure_) && row < end; ++row) {
    for (const std::size_t rank : rows_[row]) {
      for (std::size_t column = from; column < to; ++column) {
        const RankPlace place{rank, column};
        if (value(place) > value(worst) ||
            (std::isnan(value(worst)) && !std::isnan(value(place)))) {
          worst = place;
        }
      }
    }
  }
  return worst;
}

}  // namespace lockstep::ui
