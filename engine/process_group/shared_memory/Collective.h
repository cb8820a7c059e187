#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/process_group/Flat.h"
#include "engine/process_group/Reduction.h"
#include "engine/process_group/Request.h"

namespace lockstep::process_group::shared_memory {

/// A part of the string of bytes that a rank shows.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// What all ranks show, as far as it can be read now.
class Windows {
 public:
  Windows(int rank, int size, const Flat& own)
      : rank_(rank), own_(own), data_(static_cast<std::size_t>(size)) {}

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return static_cast<int>(data_.size()); }
  /// Of every rank's bytes, those that can be read.
  [[nodiscard]] Range range() const { return range_; }

  /// Returns the byte at `offset` of what a rank shows. This rank's own stand where they are.
  [[nodiscard]] const std::byte* at(int rank, std::uint64_t offset) const {
    if (rank == rank_) {
      return own_.at(offset);
    }
    const View& view = data_[static_cast<std::size_t>(rank)];
    return view.data + (offset - view.begin);
  }

  /// Copies what can be read now of a rank's bytes in `wanted` to its place in `out`, in which
  /// `wanted` begins at `place`.
  void copy(int rank, Range wanted, Flat& out, std::uint64_t place) const;

  /// For an alltoall: where what a rank has for this one begins among its bytes.
  [[nodiscard]] std::uint64_t beginFor(int rank) const {
    return beginsFor_[static_cast<std::size_t>(rank)];
  }

  void setBeginsFor(std::vector<std::uint64_t> begins) { beginsFor_ = std::move(begins); }
  void setRange(Range range) { range_ = range; }
  /// Says where a rank's bytes stand, from `begin` on.
  void set(int rank, const std::byte* data, std::uint64_t begin) {
    data_[static_cast<std::size_t>(rank)] = View{data, begin};
  }

 private:
  struct View {
    const std::byte* data = nullptr;
    std::uint64_t begin = 0;
  };
  int rank_;
  const Flat& own_;
  Range range_;
  std::vector<View> data_;
  std::vector<std::uint64_t> beginsFor_;
};

using reduction::Kernel;

/// Reduces [range.begin, range.end) of every rank's bytes, in rank order, to `out`.
void reduce(const Kernel& kernel, const Windows& windows, Range range, std::byte* out);

/// What one rank does in a collective: what it shows to the others, and what it takes.
class Collective {
 public:
  virtual ~Collective() = default;
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  /// This rank's own bytes; take() finds them as its own window.
  [[nodiscard]] const Flat& own() const { return own_; }
  /// How many of them the others may read.
  [[nodiscard]] std::uint64_t shown() const { return shows_ ? own_.bytes() : 0; }

  /// Takes what is wanted of the range that can be read. Called once for each range; together
  /// they cover everything.
  virtual void take(const Windows& windows) = 0;
  /// Called after the last take(), once nobody reads this rank's bytes any more.
  virtual void finish() {}

  /// For an allreduce, whose own bytes are one piece and are reduced in place; else null.
  [[nodiscard]] virtual const Kernel* reducesInPlace() const { return nullptr; }

 protected:
  Collective(Flat own, bool shows) : own_(std::move(own)), shows_(shows) {}

  Flat own_;
  const bool shows_;
};

using CollectivePtr = std::unique_ptr<Collective>;

/// What `rank` does for a request whose arguments are checked: of a reduction, and of all else.
[[nodiscard]] CollectivePtr makeReduction(const Request& request, int rank);
[[nodiscard]] CollectivePtr makeMove(const Request& request, int rank);

}  // namespace lockstep::process_group::shared_memory
