#pragma once

#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

#include "engine/run/Grown.h"

namespace lockstep::run {

/// Lists that only grow, one for each key, read one after the other in the order of the keys. A
/// copy costs as little as one of Grown, and stays as it is.
template <typename Key, typename T>
class GrownBy {
 public:
  using Lists = std::map<Key, Grown<T>>;
  using value_type = T;

  class Iterator : public ForwardIterator<T> {
   public:
    Iterator() = default;
    explicit Iterator(typename Lists::const_iterator list) : list_(list) {}
    const T& operator*() const { return list_->second[index_]; }
    const T* operator->() const { return &list_->second[index_]; }
    Iterator& operator++() {
      if (++index_ == list_->second.size()) {  // no list is empty
        ++list_;
        index_ = 0;
      }
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    typename Lists::const_iterator list_;
    std::size_t index_ = 0;
  };

  using const_iterator = Iterator;

  void push_back(const Key& key, T element) {
    lists_[key].push_back(std::move(element));
    ++size_;
  }

  [[nodiscard]] const Lists& lists() const { return lists_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] Iterator begin() const { return Iterator(lists_.begin()); }
  [[nodiscard]] Iterator end() const { return Iterator(lists_.end()); }

 private:
  Lists lists_;
  std::size_t size_ = 0;
};

}  // namespace lockstep::run
