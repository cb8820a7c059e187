#include "engine/ddp/Handshake.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/GatherAll.h"
#include "engine/process_group/Majority.h"

namespace lockstep::ddp {

namespace {

/// FNV-1a. Two seeds give the two halves of a 128-bit hash.
std::uint64_t hash(std::string_view text, std::uint64_t seed) {
  std::uint64_t value = 0xcbf29ce484222325 ^ seed;
  for (const char byte : text) {
    value = (value ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return value;
}

std::string joined(const std::vector<Fact>& facts) {
  std::string text;
  for (const Fact& fact : facts) {
    // One line a fact: "parameter 3", what ranks are compared by, then what an error says of it.
    text += fmt::format("{} {}\t{} {}\n", fact.kind, fact.number, fact.kind, fact.value);
  }
  return text;
}

std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> result;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    result.push_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return result;
}

std::pair<std::string_view, std::string_view> subjectAndFact(std::string_view line) {
  const std::size_t tabulator = line.find('\t');
  return {line.substr(0, tabulator), line.substr(tabulator + 1)};
}

using Facts = std::map<std::string_view, std::string_view>;  // by subject

// What `facts` say of a subject, or "no parameter 3" where they do not have it.
std::string about(std::string_view subject, const Facts& facts) {
  const auto found = facts.find(subject);
  return found != facts.end() ? std::string(found->second) : fmt::format("no {}", subject);
}

/// Reports how rank `other` differs from rank `most`, which is of the majority or, without a
/// majority, rank 0. `culprits` are all ranks that differ from it.
[[noreturn]] void reportDifference(const std::vector<std::string>& texts, std::size_t most,
                                   std::size_t other, const std::vector<int>& culprits) {
  Facts ours;
  Facts theirs;
  std::vector<std::string_view> subjects;  // most ranks', then what the other has beyond them
  for (auto& [text, facts] : {std::pair(&texts[most], &ours), std::pair(&texts[other], &theirs)}) {
    for (const std::string_view line : lines(*text)) {
      subjects.push_back(facts->insert(subjectAndFact(line)).first->first);
    }
  }
  for (const std::string_view subject : subjects) {
    const std::string own = about(subject, ours);
    const std::string others = about(subject, theirs);
    if (own != others) {
      throw DdpError(
          fmt::format(
              "rank {} did not build the same model and settings as rank {}: rank {} has "
              "{}; rank {} has {}. Make the model, the settings of DistributedDataParallel and "
              "the version of Lockstep the same on every rank.",
              other, most, most, own, other, others),
          culprits);
    }
  }
  LOCKSTEP_CHECK(false, "the facts of rank {} stand in another order than rank {}'s", other, most);
}

}  // namespace

void verifySameOnAllRanks(process_group::ProcessGroup& group, const std::vector<Fact>& facts) {
  const std::string text = joined(facts);
  at::Tensor own = at::empty({2}, at::kLong);
  own.data_ptr<std::int64_t>()[0] = static_cast<std::int64_t>(hash(text, 0));
  own.data_ptr<std::int64_t>()[1] = static_cast<std::int64_t>(hash(text, 0x9e3779b97f4a7c15));
  const at::Tensor hashes = gatherAll(group, own);
  if (at::equal(hashes, own.expand_as(hashes))) {
    return;
  }
  const auto texts = gatherTexts(group, text, Readers::kAll);
  std::vector<std::pair<int, std::uint64_t>> values;
  for (const std::string& of : texts) {
    values.emplace_back(static_cast<int>(values.size()), hash(of, 0));
  }
  const std::vector<int> culprits = process_group::outvoted(values, group.size());
  // A rank of the majority; without one, rank 0 as good as any.
  std::size_t most = 0;
  while (culprits.size() < texts.size() &&
         std::count(culprits.begin(), culprits.end(), static_cast<int>(most)) != 0) {
    ++most;
  }
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    if (texts[rank] != texts[most]) {
      reportDifference(texts, most, rank, culprits);
    }
  }
  LOCKSTEP_CHECK(false, "hashes differ and texts do not");
}

}  // namespace lockstep::ddp
