#include "engine/train/StopAgreement.h"

#include <algorithm>

namespace lockstep::train {
namespace {

constexpr const char* kRequestedKey = "lockstep/stop/requested";

}  // namespace

StopAgreement::StopAgreement(store::Store& store, int rank, int worldSize,
                             const std::atomic<bool>& requested,
                             std::chrono::milliseconds pollEvery)
    : store_(store),
      rank_(rank),
      requested_(requested),
      pollEvery_(pollEvery),
      nextPoll_(std::chrono::steady_clock::now() + pollEvery) {
  for (int r = 0; r < worldSize; ++r) {
    keys_.push_back("lockstep/stop/" + std::to_string(r));
  }
}

bool StopAgreement::shouldStop(std::int64_t nextStep) {
  if (!posted_) {
    passOn();
    bool asked = passedOn_;
    if (const auto now = std::chrono::steady_clock::now(); !asked && now >= nextPoll_) {
      nextPoll_ = now + pollEvery_;
      asked = store_.check({kRequestedKey});
    }
    if (!asked) {
      return false;
    }
    post(nextStep);
  }
  if (!store_.check(keys_)) {
    return false;
  }
  return std::all_of(keys_.begin(), keys_.end(), [&](const std::string& key) {
    return nextStep > std::stoll(store_.get(key));
  });
}

void StopAgreement::leave(std::int64_t nextStep) {
  if (!posted_) {
    post(nextStep);
  }
}

void StopAgreement::passOn() {
  if (!passedOn_ && requested_.load(std::memory_order_relaxed)) {
    store_.set(kRequestedKey, "1");
    passedOn_ = true;
  }
}

void StopAgreement::post(std::int64_t nextStep) {
  store_.set(keys_[static_cast<std::size_t>(rank_)], std::to_string(nextStep));
  posted_ = true;
}

}  // namespace lockstep::train
