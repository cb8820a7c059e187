#pragma once

#include <cstddef>

#include "engine/run/Grown.h"

namespace lockstep::run {

/// Makes the list anew with `change` called of each element.
template <typename T, typename Change>
void changeEach(Grown<T>& list, Change change) {
  Grown<T> changed;
  for (T element : list) {
    change(element);
    changed.push_back(element);
  }
  list = changed;
}

/// Makes the list anew without the elements that `drop` is true of.
template <typename T, typename Drop>
void dropIf(Grown<T>& list, Drop drop) {
  Grown<T> kept;
  for (const T& element : list) {
    if (!drop(element)) {
      kept.push_back(element);
    }
  }
  list = kept;
}

/// Calls `change` of the one at `index`.
template <typename T, typename Change>
void changeAt(Grown<T>& list, std::size_t index, Change change) {
  std::size_t at = 0;
  changeEach(list, [&](T& element) {
    if (at++ == index) {
      change(element);
    }
  });
}

}  // namespace lockstep::run
