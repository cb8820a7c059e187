#pragma once

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace lockstep::run {

/// A list that only grows. A copy costs next to nothing and stays as it is: it shares the elements,
/// which never move, while the list that it was made of goes on growing on its own thread, past the
/// end that the copy knows. Elements of a copy may be read on another thread. What is added to a
/// copy is the copy's own: it takes its own last chunk first.
template <typename T>
class Grown {
 public:
  using value_type = T;

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    Iterator() = default;
    Iterator(const Grown* list, std::size_t index) : list_(list), index_(index) {}
    reference operator*() const { return (*list_)[index_]; }
    pointer operator->() const { return &(*list_)[index_]; }
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
  Grown(const Grown& other) : chunks_(other.chunks_), size_(other.size_), lastIsShared_(true) {}
  Grown& operator=(const Grown& other) {
    Grown copy(other);
    return *this = std::move(copy);
  }
  Grown(Grown&&) noexcept = default;
  Grown& operator=(Grown&&) noexcept = default;

  void push_back(T element) {
    if (size_ % kChunk == 0) {
      chunks_.push_back(std::make_shared<std::vector<T>>());
      chunks_.back()->reserve(kChunk);
      lastIsShared_ = false;
    } else if (lastIsShared_) {
      const auto begin = chunks_.back()->begin();
      auto own = std::make_shared<std::vector<T>>();
      own->reserve(kChunk);
      own->assign(begin, begin + static_cast<std::ptrdiff_t>(size_ % kChunk));
      chunks_.back() = std::move(own);
      lastIsShared_ = false;
    }
    chunks_.back()->push_back(std::move(element));
    ++size_;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] const T& operator[](std::size_t index) const {
    return chunks_[index / kChunk]->data()[index % kChunk];  // reads nothing that an append writes
  }
  [[nodiscard]] const T& back() const { return (*this)[size_ - 1]; }
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, size_}; }

 private:
  static constexpr std::size_t kChunk = 1024;

  std::vector<std::shared_ptr<std::vector<T>>> chunks_;
  std::size_t size_ = 0;
  bool lastIsShared_ = false;  // it belongs to the list that this is a copy of
};

}  // namespace lockstep::run
