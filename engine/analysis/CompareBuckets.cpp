#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "engine/analysis/Compare.h"

namespace lockstep::analysis {
namespace {

using Layout = trace::BucketsMessage;

/// The layout that the measured steps used, or none.
const Layout* layoutInForce(const RunToCompare& run) {
  const Layout* found = nullptr;
  for (const Layout& layout : run.data->layouts) {
    if (layout.step <= run.analysis->warmUp.firstMeasured &&
        (found == nullptr || layout.step >= found->step)) {
      found = &layout;
    }
  }
  return found;
}

bool sameBuckets(const Layout& a, const Layout& b) {
  return std::equal(a.buckets.begin(), a.buckets.end(), b.buckets.begin(), b.buckets.end(),
                    [](const auto& x, const auto& y) {
                      return x.parameters == y.parameters && x.bytes == y.bytes;
                    });
}

std::set<std::uint32_t> parametersIn(const Layout& layout) {
  std::set<std::uint32_t> parameters;
  for (const auto& bucket : layout.buckets) {
    parameters.insert(bucket.parameters.begin(), bucket.parameters.end());
  }
  return parameters;
}

/// Whether a number of a parameter means the same in both.
bool sameParameters(const RunToCompare& a, const RunToCompare& b, const Layout& layoutA,
                    const Layout& layoutB) {
  const auto& ofA = a.data->parameters;
  const auto& ofB = b.data->parameters;
  if (!ofA.empty() && !ofB.empty()) {
    // By size alone: a model that was renamed, or wrapped, has other names for the same.
    return std::equal(ofA.begin(), ofA.end(), ofB.begin(), ofB.end(),
                      [](const auto& x, const auto& y) { return x.numel == y.numel; });
  }
  // A run without a table of parameters: their numbers are all that is known.
  return parametersIn(layoutA) == parametersIn(layoutB);
}

/// Joins what shares a parameter.
/// A forest of parameters: those of one tree are to be compared together. Buckets {0 1}{2 3} of A
/// and {0}{1}{2 3} of B join to {0 1} and {2 3}: two groups. Had B {1 2} for a bucket, all would be
/// one.
class Joined {
 public:
  explicit Joined(std::uint32_t parameters) : parent_(parameters) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }

  void join(const Layout& layout) {
    for (const auto& bucket : layout.buckets) {
      for (const std::uint32_t parameter : bucket.parameters) {
        parent_[find(parameter)] = find(bucket.parameters.front());
      }
    }
  }

  [[nodiscard]] std::uint32_t find(std::uint32_t parameter) const {
    while (parent_[parameter] != parameter) {
      parameter = parent_[parameter];
    }
    return parameter;
  }

 private:
  std::vector<std::uint32_t> parent_;
};

// In the order in which A's buckets first name them; those that only B has follow.
std::vector<BucketGroup> groupsOf(const Layout& a, const Layout& b) {
  const std::set<std::uint32_t> parameters = parametersIn(a);
  Joined joined(parameters.empty() ? 0 : *parameters.rbegin() + 1);
  joined.join(a);
  joined.join(b);
  std::vector<BucketGroup> groups;
  std::vector<std::uint32_t> roots;
  const auto place = [&](std::uint32_t root) -> BucketGroup& {
    const auto at = std::find(roots.begin(), roots.end(), root);
    if (at == roots.end()) {
      roots.push_back(root);
      return groups.emplace_back();
    }
    return groups[static_cast<std::size_t>(at - roots.begin())];
  };
  for (std::size_t i = 0; i < a.buckets.size(); ++i) {
    if (!a.buckets[i].parameters.empty()) {
      place(joined.find(a.buckets[i].parameters.front()))
          .inA.push_back(static_cast<std::uint16_t>(i));
    }
  }
  for (std::size_t i = 0; i < b.buckets.size(); ++i) {
    if (!b.buckets[i].parameters.empty()) {
      place(joined.find(b.buckets[i].parameters.front()))
          .inB.push_back(static_cast<std::uint16_t>(i));
    }
  }
  return groups;
}

}  // namespace

BucketAlignment alignBuckets(const RunToCompare& a, const RunToCompare& b,
                             const std::string& letter) {
  const Layout* layoutA = layoutInForce(a);
  const Layout* layoutB = layoutInForce(b);
  BucketAlignment aligned;
  aligned.countA = layoutA == nullptr ? 0 : layoutA->buckets.size();
  aligned.countB = layoutB == nullptr ? 0 : layoutB->buckets.size();
  if (layoutA == nullptr || layoutB == nullptr) {
    aligned.same = layoutA == layoutB;
    if (!aligned.same) {
      aligned.sentence =
          fmt::format("No buckets of {} are known, so that those of {} are taken together.",
                      layoutA == nullptr ? "A" : letter, layoutA == nullptr ? letter : "A");
    }
    return aligned;
  }
  const bool sameModel = sameParameters(a, b, *layoutA, *layoutB);
  aligned.same = sameModel && sameBuckets(*layoutA, *layoutB);
  if (aligned.same) {
    return aligned;
  }
  if (!sameModel) {
    aligned.sentence = fmt::format(
        "The models of A and {} have other parameters, so that all buckets are taken together.",
        letter);
    return aligned;
  }
  aligned.groups = groupsOf(*layoutA, *layoutB);
  const std::string counts =
      fmt::format("The buckets differ ({} in A, {} in {})", aligned.countA, aligned.countB, letter);
  aligned.sentence =
      aligned.groups.size() > 1
          ? counts + ": those that hold the same parameters are set against each other."
          : counts + ", and no part of them holds the same parameters: all are taken together.";
  return aligned;
}

}  // namespace lockstep::analysis
