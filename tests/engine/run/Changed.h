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

/// The same of the one at `index`.
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
