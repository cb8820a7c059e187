#pragma once

#include <utility>

#include "engine/base/Result.h"

namespace lockstep::base::detail {

template <typename T>
T taken(Result<T>& result) {
  return std::move(result).value();
}
inline void taken(Status& /*status*/) {}

}  // namespace lockstep::base::detail

/// The value of a Result; of one that failed, the enclosing function returns the Error:
///
///     auto signals = LOCKSTEP_TRY(SignalQueue::create());
///     LOCKSTEP_TRY(peers.start());
///
/// It is the whole of an initializer, of the right side of an assignment or of a statement: what
/// else stands in an expression might be left half evaluated.
#define LOCKSTEP_TRY(...)                    \
  __extension__({                            \
    auto tried_ = __VA_ARGS__;               \
    if (!tried_.ok()) {                      \
      return tried_.error();                 \
    }                                        \
    ::lockstep::base::detail::taken(tried_); \
  })
