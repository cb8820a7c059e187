#include "engine/glossary/Glossary.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "engine/glossary/Terms.h"

namespace lockstep::glossary {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::Not;

TEST(Glossary, SaysOfEachTermWhatItIsAndWhereItIsSeen) {
  ASSERT_GE(entries().size(), 50U);
  for (const Entry& entry : entries()) {
    EXPECT_FALSE(entry.meaning.empty()) << entry.term;
    EXPECT_TRUE(entry.meaning.ends_with('.')) << entry.term;
    EXPECT_FALSE(entry.seen.empty()) << entry.term;
    EXPECT_LT(std::ranges::count(entry.meaning, '.'), 5) << entry.term << " says too much";
  }
}

TEST(Glossary, HasAUnitForEachFigureAndNoneElsewhere) {
  for (const Entry& entry : entries()) {
    EXPECT_EQ(entry.formula.empty(), entry.unit.empty()) << entry.term;
  }
}

TEST(Glossary, HasNoWordTwice) {
  std::map<std::string_view, std::string_view> of;
  for (const Entry& entry : entries()) {
    EXPECT_TRUE(of.emplace(entry.term, entry.term).second) << entry.term;
    for (const std::string_view other : entry.alsoCalled) {
      const auto [at, isNew] = of.emplace(other, entry.term);
      EXPECT_TRUE(isNew) << other << " stands for " << at->second << " and " << entry.term;
    }
  }
}

TEST(Glossary, StandsInTheOrderOfTheAlphabet) {
  for (const auto& part : {stepTerms(), bucketTerms(), runTerms(), entries()}) {
    EXPECT_TRUE(std::ranges::is_sorted(part, {}, &Entry::term));
  }
}

TEST(Glossary, PointsToEntriesThatAreThere) {
  for (const Entry& entry : entries()) {
    EXPECT_THAT(entry.related, Not(IsEmpty())) << entry.term;
    for (const std::string_view other : entry.related) {
      const Entry* found = find(other);
      ASSERT_NE(found, nullptr) << entry.term << " points to " << other;
      EXPECT_EQ(found->term, other) << "by its own name, not another word for it";
      EXPECT_NE(found, &entry) << entry.term << " points to itself";
    }
  }
}

TEST(Glossary, FindsEachEntryByEachOfItsWords) {
  for (const Entry& entry : entries()) {
    EXPECT_EQ(find(entry.term), &entry);
    for (const std::string_view other : entry.alsoCalled) {
      EXPECT_EQ(find(other), &entry) << other;
    }
  }
}

TEST(Glossary, FindsTheTermOfAHeading) {
  const std::map<std::string, std::string> headings{{"Exposed ms", "exposed time"},
                                                    {"Exposed", "exposed time"},
                                                    {"Cost (ms)", "cost"},
                                                    {"exposed on rank 0 [ms]", "exposed time"},
                                                    {"Ready ms, rank 1", "ready"},
                                                    {"OVERLAP %", "overlap"},
                                                    {"Wire bytes a step", "wire bytes"},
                                                    {"Steps/s", "steps per second"},
                                                    {"straggler", "late rank"},
                                                    {"World", "world lane"}};
  for (const auto& [heading, term] : headings) {
    const Entry* found = find(heading);
    ASSERT_NE(found, nullptr) << heading;
    EXPECT_EQ(found->term, term);
  }
  EXPECT_EQ(find("tea"), nullptr);
  EXPECT_EQ(find(""), nullptr);
  EXPECT_EQ(find(" ms"), nullptr);
}

TEST(Glossary, KnowsTheWordThatIsMeant) {
  EXPECT_EQ(nearest("overlep"), "overlap");
  EXPECT_EQ(nearest("zzzzzzzz"), "");
}

TEST(Glossary, TellsFormulaUnitPlacesAndWaysOn) {
  EXPECT_THAT(linesOf(*find("overlap")),
              ElementsAre(Field(&Line::label, "Formula"), Field(&Line::label, "Unit"),
                          Field(&Line::label, "Seen in"), Field(&Line::label, "Also called"),
                          Field(&Line::label, "See also")));
  EXPECT_THAT(linesOf(*find("process group")),
              ElementsAre(Field(&Line::label, "Seen in"), Field(&Line::label, "See also")));
}

// The terms that a reader of the views and of the reports asks for.
TEST(Glossary, HasTheTermsThatAreAskedFor) {
  for (const char* term :
       {"overlap",     "exposed time", "ready",          "launched",    "bucket",     "rebuild",
        "straggler",   "World lane",   "lateness",       "wire bytes",  "hook phase", "headroom",
        "noop bound",  "warm-up",      "in-order stall", "late bucket", "slow link",  "no core",
        "waiting",     "transfer",     "finding",        "saving",      "efficiency", "replica",
        "fingerprint", "diverged",     "payload bytes"}) {
    EXPECT_NE(find(term), nullptr) << term;
  }
}

}  // namespace
}  // namespace lockstep::glossary
