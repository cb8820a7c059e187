#include "ui/model/AnalysedRun.h"

#include <mutex>

namespace lockstep::ui {

struct AnalysedRun::Likeness {
  std::once_flag once;
  diagnosis::RankLikeness made;
};

std::shared_ptr<AnalysedRun::Likeness> AnalysedRun::makeLikeness() {
  return std::make_shared<Likeness>();
}

const diagnosis::RankLikeness& AnalysedRun::likeness() const {
  std::call_once(likeness_->once,
                 [this] { likeness_->made = diagnosis::rankLikeness(analysis, ranks, hosts); });
  return likeness_->made;
}

std::vector<trace::RankInfo> placesOf(const std::vector<trace::RankInfo>& ranks) {
  std::vector<trace::RankInfo> places;
  places.reserve(ranks.size());
  for (const trace::RankInfo& rank : ranks) {
    trace::RankInfo& place = places.emplace_back();
    place.rank = rank.rank;
    place.host = rank.host;
  }
  return places;
}

}  // namespace lockstep::ui
