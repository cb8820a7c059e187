#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace lockstep::run {

// Note [A list in chunks]
// Elements stand in chunks, and pointers to chunks in tables of 64. Neither is ever written again
// but at its end, within what was reserved for it, so whoever knows an earlier end may go on
// reading. A copy takes a pointer a table, which is one for some 64,000 numbers or 1,024 large
// rows: after an hour of a run about as much as after a minute. A copy that is added to needs a
// last chunk and a last table of its own, whose elements it copies; chunks of large rows are short,
// so that these are few.

/// What the standard library asks of an iterator that only goes on.
template <typename T>
struct ForwardIterator {
  using iterator_category = std::forward_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = const T*;
  using reference = const T&;
  bool operator==(const ForwardIterator&) const = default;
};

/// A list that only grows. A copy costs next to nothing and stays as it is: it shares the elements,
/// which never move, while the list that it was made of goes on growing on its own thread, past the
/// end that the copy knows. Elements of a copy may be read on another thread. What is added to a
/// copy is the copy's own.
template <typename T>
class Grown {
 public:
  using value_type = T;

  class Iterator : public ForwardIterator<T> {
   public:
    Iterator() = default;
    Iterator(const Grown* list, std::size_t index) : list_(list), index_(index) {}
    const T& operator*() const { return (*list_)[index_]; }
    const T* operator->() const { return &(*list_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    Iterator operator++(int) { return std::exchange(*this, Iterator(list_, index_ + 1)); }
    bool operator==(const Iterator&) const = default;

   private:
    const Grown* list_ = nullptr;
    std::size_t index_ = 0;
  };

  using const_iterator = Iterator;

  Grown() = default;
  Grown(std::initializer_list<T> elements) {
    for (const T& element : elements) {
      push_back(element);
    }
  }
  Grown(const Grown& other) : tables_(other.tables_), size_(other.size_), lastIsShared_(true) {}
  Grown& operator=(const Grown& other) {
    Grown copy(other);
    return *this = std::move(copy);
  }
  Grown(Grown&&) noexcept = default;
  Grown& operator=(Grown&&) noexcept = default;

  void push_back(T element) {
    if (lastIsShared_) {
      ownLast();
    }
    if (size_ % (kChunk * kTable) == 0) {
      tables_.push_back(reserved<std::shared_ptr<Chunk>>(kTable));
    }
    if (size_ % kChunk == 0) {
      tables_.back()->push_back(reserved<T>(kChunk));
    }
    tables_.back()->back()->push_back(std::move(element));
    ++size_;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] const T& operator[](std::size_t index) const {
    // data() reads nothing that an append writes.
    const std::size_t chunk = index / kChunk;
    return tables_[chunk / kTable]->data()[chunk % kTable]->data()[index % kChunk];
  }
  [[nodiscard]] const T& back() const { return (*this)[size_ - 1]; }
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, size_}; }

 private:
  using Chunk = std::vector<T>;
  using Table = std::vector<std::shared_ptr<Chunk>>;

  // A power of two: 1024 elements, and fewer of those that are large.
  static constexpr std::size_t kChunk =
      std::clamp(std::bit_floor(8192 / sizeof(T)), std::size_t{16}, std::size_t{1024});
  static constexpr std::size_t kTable = 64;

  template <typename Element>
  static std::shared_ptr<std::vector<Element>> reserved(std::size_t count) {
    auto elements = std::make_shared<std::vector<Element>>();
    elements->reserve(count);
    return elements;
  }

  /// Copies what an append to this would write into and others read.
  void ownLast() {
    const auto copied = [](const auto& from, std::size_t capacity, std::size_t count) {
      auto own = reserved<typename std::remove_cvref_t<decltype(*from)>::value_type>(capacity);
      // Its owner may have gone on: what it has beyond `count` is not this list's.
      own->assign(from->begin(), from->begin() + static_cast<std::ptrdiff_t>(count));
      return own;
    };
    if (const std::size_t inTable = size_ % (kChunk * kTable); inTable != 0) {
      tables_.back() = copied(tables_.back(), kTable, (inTable + kChunk - 1) / kChunk);
      if (const std::size_t inChunk = size_ % kChunk; inChunk != 0) {
        tables_.back()->back() = copied(tables_.back()->back(), kChunk, inChunk);
      }
    }
    lastIsShared_ = false;
  }

  std::vector<std::shared_ptr<Table>> tables_;
  std::size_t size_ = 0;
  bool lastIsShared_ = false;  // it belongs to the list that this is a copy of
};

/// Where the first element stands for which it is so, in a list in which it is so of all after
/// that; its size: of none.
template <typename T, typename Is>
std::size_t firstWhere(const Grown<T>& list, const Is& is) {
  return *std::ranges::partition_point(std::views::iota(std::size_t{0}, list.size()),
                                       [&](std::size_t at) { return !is(list[at]); });
}

}  // namespace lockstep::run
