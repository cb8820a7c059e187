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
// Elements stand in chunks, and pointers to chunks in a table. Neither is ever written again but at
// its end, within what was reserved for it, so whoever knows an earlier end may go on reading. A
// full table is followed by one twice as large, with the same pointers. A copy takes the pointer to
// the table, however long the list is. A copy that is added to goes on in chunks of its own, behind
// those that it shares:
//
//       list   ├─chunk─┼─chunk─┼─chu      it goes on in the last chunk
//       copy   ├───── shared ─────┤       and ends here,
//                                 ├─chunk─  or goes on in one of its own
//
// So neither a copy nor what is added to it costs more after an hour of a run than after a minute.
// Only a copy of such a copy, once added to, copies what that had of its own: a pointer a chunk,
// and the last chunk.

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

/// Goes through a list of `T` by their indices.
template <typename List, typename T>
class IndexIterator : public ForwardIterator<T> {
 public:
  IndexIterator() = default;
  IndexIterator(const List* list, std::size_t index) : list_(list), index_(index) {}
  const T& operator*() const { return (*list_)[index_]; }
  const T* operator->() const { return &(*list_)[index_]; }
  IndexIterator& operator++() {
    ++index_;
    return *this;
  }
  IndexIterator operator++(int) { return std::exchange(*this, IndexIterator(list_, index_ + 1)); }
  bool operator==(const IndexIterator&) const = default;

 private:
  const List* list_ = nullptr;
  std::size_t index_ = 0;
};

/// A list that only grows. A copy costs next to nothing and stays as it is: it shares the elements,
/// which never move, while the list that it was made of goes on growing on its own thread, past the
/// end that the copy knows. Elements of a copy may be read on another thread. What is added to a
/// copy is the copy's own.
template <typename T>
class Grown {
 public:
  using value_type = T;
  using Iterator = IndexIterator<Grown, T>;
  using const_iterator = Iterator;

  Grown() = default;
  Grown(std::initializer_list<T> elements) {
    for (const T& element : elements) {
      push_back(element);
    }
  }
  Grown(const Grown& other)
      : shared_(other.shared_),
        own_(other.own_),
        ofShared_(other.ofShared_),
        size_(other.size_),
        endIsShared_(true) {}
  Grown& operator=(const Grown& other) {
    Grown copy(other);
    return *this = std::move(copy);
  }
  Grown(Grown&&) noexcept = default;
  Grown& operator=(Grown&&) noexcept = default;

  void push_back(T element) {
    if (endIsShared_) {
      leaveShared();
    }
    if ((size_ - ofShared_) % kChunk == 0) {
      addChunk();
    }
    own_->back()->push_back(std::move(element));
    ++size_;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] const T& operator[](std::size_t index) const {
    return index < ofShared_ ? in(*shared_, index) : in(*own_, index - ofShared_);
  }
  [[nodiscard]] const T& front() const { return (*this)[0]; }
  [[nodiscard]] const T& back() const { return (*this)[size_ - 1]; }
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, size_}; }

 private:
  using Chunk = std::vector<T>;
  using Table = std::vector<std::shared_ptr<Chunk>>;

  // A power of two: 1024 elements, and fewer of those that are large.
  static constexpr std::size_t kChunk =
      std::clamp(std::bit_floor(8192 / sizeof(T)), std::size_t{16}, std::size_t{1024});

  static const T& in(const Table& table, std::size_t index) {
    // data() reads nothing that an append writes.
    return table.data()[index / kChunk]->data()[index % kChunk];
  }

  template <typename Element>
  static std::shared_ptr<std::vector<Element>> reserved(std::size_t count) {
    auto elements = std::make_shared<std::vector<Element>>();
    elements->reserve(count);
    return elements;
  }

  void addChunk() {
    if (own_ == nullptr || own_->size() == own_->capacity()) {
      const std::size_t chunks = own_ == nullptr ? 0 : own_->size();
      auto larger = reserved<std::shared_ptr<Chunk>>(chunks == 0 ? 1 : 2 * chunks);
      if (chunks > 0) {
        larger->assign(own_->begin(), own_->end());
      }
      own_ = std::move(larger);
    }
    own_->push_back(reserved<T>(kChunk));
  }

  /// Makes an end of its own, which nobody else reads.
  void leaveShared() {
    if (ofShared_ == 0) {
      shared_ = std::exchange(own_, nullptr);
      ofShared_ = size_;
    } else if (own_ != nullptr) {
      const auto copied = [](const auto& from, std::size_t capacity, std::size_t count) {
        auto own = reserved<typename std::remove_cvref_t<decltype(*from)>::value_type>(capacity);
        // Its owner may have gone on: what it has beyond `count` is not this list's.
        own->assign(from->begin(), from->begin() + static_cast<std::ptrdiff_t>(count));
        return own;
      };
      const std::size_t owned = size_ - ofShared_;
      const std::size_t chunks = (owned + kChunk - 1) / kChunk;
      own_ = copied(own_, 2 * chunks, chunks);
      if (owned % kChunk != 0) {
        own_->back() = copied(own_->back(), kChunk, owned % kChunk);
      }
    }
    endIsShared_ = false;
  }

  std::shared_ptr<Table> shared_;  // of the list that this is a copy of
  std::shared_ptr<Table> own_;     // of the elements behind those
  std::size_t ofShared_ = 0;       // how many elements are read there
  std::size_t size_ = 0;
  bool endIsShared_ = false;  // with the list that this is a copy of, which may go on there
};

/// Where the first element stands for which it is so, in a list in which it is so of all after
/// that; its size: of none.
template <typename T, typename Is>
std::size_t firstWhere(const Grown<T>& list, const Is& is) {
  return *std::ranges::partition_point(std::views::iota(std::size_t{0}, list.size()),
                                       [&](std::size_t at) { return !is(list[at]); });
}

}  // namespace lockstep::run
