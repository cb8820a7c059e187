#include "engine/trace/SpanPages.h"

#include <endian.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>

#include "engine/trace/RunFileSchema.h"

namespace lockstep::trace {
namespace {

using Bytes = const unsigned char*;

// Note [Rows from pages]
//
// Most of what a statement takes for a row of nine small numbers goes to SQLite's machine, and a
// run of a thousand ranks has nine million rows. A run file that is not being recorded is a plain
// file, in which a table is a tree of pages (https://sqlite.org/fileformat2.html):
//
//   inner page   where its children stand, and up to which id their rows go
//   leaf         rows in the order of their ids: size, id, a type a column, the columns
//
// They are read through the connection's own file, while it has the lock of a reader, so that they
// are what a statement would see. What our writer never writes ends it: a WAL, in which newer pages
// may stand, other columns, a row that is no row of small numbers, ids that do not ascend. So a
// damaged file is for SQLite to judge.

constexpr std::size_t kPagesAtOnce = 16;
constexpr std::size_t kBeyond = 16;  // so far after a page a number at its end may be read
constexpr int kDeepest = 20;         // of a tree, in SQLite too
constexpr int kInner = 5;
constexpr int kLeaf = 13;
constexpr std::size_t kColumns = 9;

std::uint32_t bigEndian(Bytes at, int bytes) {
  std::uint32_t number = 0;
  for (int i = 0; i < bytes; ++i) {
    number = number << 8 | at[i];
  }
  return number;
}

/// Takes a number of one to nine bytes off, of which all but the ninth have seven bits.
std::int64_t takeNumber(Bytes& at) {
  std::uint64_t number = 0;
  for (int i = 0; i < 8; ++i) {
    const unsigned char byte = *at++;
    number = number << 7 | (byte & 0x7F);
    if (byte < 0x80) {
      return static_cast<std::int64_t>(number);
    }
  }
  return static_cast<std::int64_t>(number << 8 | *at++);
}

/// The pages of the file of a connection.
class Pages {
 public:
  /// None of a file that has a WAL.
  static std::optional<Pages> of(sqlite::Database& database) {
    Pages pages;
    std::array<unsigned char, 100> head;
    sqlite3_int64 size = 0;
    if (sqlite3_file_control(database.handle(), "main", SQLITE_FCNTL_FILE_POINTER, &pages.file_) !=
            SQLITE_OK ||
        pages.file_ == nullptr || pages.file_->pMethods == nullptr ||
        pages.file_->pMethods->xRead(pages.file_, head.data(), head.size(), 0) != SQLITE_OK ||
        pages.file_->pMethods->xFileSize(pages.file_, &size) != SQLITE_OK || head[18] != 1 ||
        head[19] != 1) {
      return std::nullopt;
    }
    const std::uint32_t bytes = bigEndian(head.data() + 16, 2);
    pages.bytes_ = bytes == 1 ? 65'536 : bytes;
    if (pages.bytes_ < 512) {
      return std::nullopt;
    }
    pages.usable_ = pages.bytes_ - head[20];
    pages.count_ = static_cast<std::uint64_t>(size) / pages.bytes_;
    return pages;
  }

  [[nodiscard]] std::size_t usable() const { return usable_; }

  /// The bytes of a page, until the next call. Null: it has no such page, or cannot be read.
  Bytes page(std::uint64_t number) {
    // The first has the head of the file, and is no page of this table.
    if (number < 2 || number > count_) {
      return nullptr;
    }
    if (number < first_ || number >= first_ + read_) {
      // A table mostly stands in pages that follow one another.
      read_ = std::min<std::uint64_t>(kPagesAtOnce, count_ - number + 1);
      first_ = number;
      window_.resize(kPagesAtOnce * bytes_ + kBeyond);
      if (file_->pMethods->xRead(file_, window_.data(), static_cast<int>(read_ * bytes_),
                                 static_cast<sqlite3_int64>((number - 1) * bytes_)) != SQLITE_OK) {
        read_ = 0;
        return nullptr;
      }
    }
    return window_.data() + (number - first_) * bytes_;
  }

 private:
  Pages() = default;

  sqlite3_file* file_ = nullptr;
  std::size_t bytes_ = 0;   // of a page
  std::size_t usable_ = 0;  // of these
  std::uint64_t count_ = 0;
  std::vector<unsigned char> window_;
  std::uint64_t first_ = 0;  // the first page in it
  std::uint64_t read_ = 0;   // how many
};

/// Walks over a part of the tree, and adds its rows.
class Walk {
 public:
  Walk(Pages& pages, std::int64_t after, std::int64_t last, std::vector<SpanRow>& rows)
      : pages_(pages), after_(after), last_(last), rows_(rows) {}

  bool visit(std::uint64_t number, int depth) {
    const Bytes page = depth > kDeepest ? nullptr : pages_.page(number);
    if (page == nullptr) {
      return false;
    }
    return page[0] == kInner ? takeInner(page, depth) : page[0] == kLeaf && takeLeaf(page);
  }

 private:
  bool takeInner(Bytes page, int depth) {
    constexpr std::size_t kHead = 12;
    const std::size_t cells = bigEndian(page + 3, 2);
    const std::size_t content = kHead + 2 * cells;
    if (cells == 0 || content > pages_.usable()) {
      return false;
    }
    const std::vector<unsigned char> own(page, page + pages_.usable() + kBeyond);
    for (std::size_t i = 0; i < cells; ++i) {
      const std::size_t at = bigEndian(own.data() + kHead + 2 * i, 2);
      if (at < content || at + 5 > pages_.usable()) {
        return false;
      }
      Bytes cell = own.data() + at + 4;
      const std::int64_t highest = takeNumber(cell);
      if (highest <= after_) {
        continue;
      }
      if (!visit(bigEndian(own.data() + at, 4), depth + 1)) {
        return false;
      }
      if (highest >= last_) {
        return true;
      }
    }
    return visit(bigEndian(own.data() + 8, 4), depth + 1);
  }

  bool takeLeaf(Bytes page) {
    constexpr std::size_t kHead = 8;
    const std::size_t cells = bigEndian(page + 3, 2);
    const std::size_t content = kHead + 2 * cells;
    if (cells == 0 || content > pages_.usable()) {
      return false;
    }
    for (std::size_t i = 0; i < cells; ++i) {
      const std::size_t at = bigEndian(page + kHead + 2 * i, 2);
      if (at < content || at >= pages_.usable()) {
        return false;
      }
      Bytes cell = page + at;
      const std::size_t size = *cell++;
      const std::int64_t id = takeNumber(cell);
      if (size >= 0x80 || cell + size > page + pages_.usable() || id <= seen_) {
        return false;
      }
      seen_ = id;
      if (id > last_) {
        return true;
      }
      if (id > after_ && !takeRow(id, cell, cell + size)) {
        return false;
      }
    }
    return true;
  }

  bool takeRow(std::int64_t id, Bytes record, Bytes end) {
    // By type: nothing, numbers of so many bytes, 0, 1. Others, and a real number (7), are not
    // ours.
    constexpr std::array<int, 10> kWidth{0, 1, 2, 3, 4, 6, 8, -1, 0, 0};
    constexpr std::size_t kRecordHead = kColumns + 1;
    if (static_cast<std::size_t>(end - record) < kRecordHead || record[0] != kRecordHead) {
      return false;
    }
    const Bytes types = record + 1;
    Bytes at = record + kRecordHead;
    std::array<std::int64_t, kColumns> numbers;
    for (std::size_t i = 0; i < kColumns; ++i) {
      const int width = types[i] < kWidth.size() ? kWidth[types[i]] : -1;
      if (width < 0 || width > end - at) {
        return false;
      }
      std::uint64_t bytes = 0;
      std::memcpy(&bytes, at, sizeof bytes);
      at += width;
      // Of its eight bytes those after the number are shifted out, and its sign is kept.
      numbers[i] = width == 0 ? (types[i] == 9 ? 1 : 0)
                              : static_cast<std::int64_t>(be64toh(bytes)) >> (64 - 8 * width);
    }
    SpanRow& row = rows_.emplace_back();
    row.id = id;
    row.track = static_cast<std::int32_t>(numbers[1]);
    row.kind = static_cast<EventKind>(numbers[2]);
    row.startTicks = static_cast<std::uint64_t>(numbers[3]);
    row.durationTicks = static_cast<std::uint64_t>(numbers[4]);
    row.step = static_cast<std::uint32_t>(numbers[5]);
    row.bucket = types[6] == 0 ? kNoBucket : static_cast<std::uint16_t>(numbers[6]);
    row.detail = static_cast<std::uint16_t>(numbers[7]);
    row.value = static_cast<std::uint64_t>(numbers[8]);
    return true;
  }

  Pages& pages_;
  const std::int64_t after_;
  const std::int64_t last_;
  std::vector<SpanRow>& rows_;
  std::int64_t seen_ = std::numeric_limits<std::int64_t>::min();  // the id before
};

}  // namespace

bool readSpanPages(sqlite::Database& database, std::int64_t after, std::int64_t last,
                   std::vector<SpanRow>& rows) {
  std::optional<Pages> pages = Pages::of(database);
  const std::int64_t root = pages ? schema::rootOfSpans(database) : 0;
  if (root < 2 || !database.ok()) {
    return false;
  }
  const std::size_t before = rows.size();
  const bool read = Walk(*pages, after, last, rows).visit(static_cast<std::uint64_t>(root), 0);
  if (!read) {
    rows.resize(before);
  }
  return read;
}

}  // namespace lockstep::trace
