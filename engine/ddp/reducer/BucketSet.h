#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/buckets/BucketPlan.h"
#include "engine/ddp/Bucket.h"
#include "engine/ddp/reducer/ReducerContext.h"
#include "engine/trace/Messages.h"

namespace lockstep::ddp {

/// The buckets now in use, and where in them each parameter has its place. The contents of a
/// bucket belong to the one thread that launches it, or that finalises; the rest is guarded by the
/// Reducer's mutex.
class BucketSet {
 public:
  struct Place {
    std::uint32_t bucket = 0;
    std::uint32_t slot = 0;
  };

  explicit BucketSet(const ReducerContext& context) : context_(context) {}

  /// Gives back the memory of the old buckets and takes that of new ones. `views`: gradients that
  /// are there move into them.
  void use(buckets::BucketPlan plan, bool views);

  [[nodiscard]] const buckets::BucketPlan& plan() const { return plan_; }
  [[nodiscard]] std::size_t size() const { return buckets_.size(); }
  [[nodiscard]] Bucket& operator[](std::size_t number) { return *buckets_[number]; }
  [[nodiscard]] Place placeOf(std::size_t parameter) const { return places_[parameter]; }
  /// How many the communication hook sees: those up to the last dense one.
  [[nodiscard]] std::size_t hooked() const { return hooked_; }

  /// All gradients of the iteration are still to come.
  void empty();

  /// As the recorder gets them.
  [[nodiscard]] trace::BucketsMessage message(std::uint32_t layout,
                                              const std::string& reason) const;

 private:
  [[nodiscard]] std::unique_ptr<Bucket> make(const buckets::BucketPlan::Bucket& planned) const;

  const ReducerContext& context_;
  buckets::BucketPlan plan_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
  std::size_t hooked_ = 0;
  std::vector<Place> places_;
};

}  // namespace lockstep::ddp
