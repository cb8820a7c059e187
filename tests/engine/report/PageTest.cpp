#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/report/WriteHtml.h"
#include "engine/trace/Event.h"
#include "tests/bench/timeline/MadeRanks.h"
#include "tests/engine/export/ExportedRun.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::report {
namespace {

using exports::ExportedRun;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using trace::EventKind;

constexpr const char* kEvil = "<script>alert('x')</script>";

/// Pages of runs that are made event by event, a tick of which is a µs.
class PageTest : public testing::Test {
 protected:
  /// Steps of 10 ms of each rank, with a bucket that rank 1 comes to 2 ms after rank 0.
  static void addSteps(ExportedRun& run, int ranks, std::uint32_t steps) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (std::uint32_t step = 0; step < steps; ++step) {
        const std::uint64_t at = 10'000 * step;
        run.step(rank, EventKind::kStep, at, at + 10'000, step);
        run.step(rank, EventKind::kForward, at, at + 3'000, step);
        run.step(rank, EventKind::kBackward, at + 3'000, at + 6'000, step);
        run.step(rank, EventKind::kGradientReady, at + 4'000, at + 4'000, step, 0);
        run.collective(rank, at + 5'000 + 2'000 * static_cast<std::uint64_t>(rank), at + 8'000,
                       step, 1024, step, 0);
      }
    }
  }
  [[nodiscard]] std::filesystem::path file(const char* name) const { return folder_.path() / name; }
  [[nodiscard]] std::string pageOf(const std::filesystem::path& run) const {
    const auto bytes = writeHtml(run, file("page.html"));
    EXPECT_TRUE(bytes.ok()) << bytes.error().message();
    const std::string page = support::readFile(file("page.html"));
    EXPECT_EQ(page.size(), bytes.ok() ? bytes.value() : 0);
    return page;
  }
  static json dataOf(const std::string& page) {
    const std::string begin = "id=\"timeline-data\">";
    const std::size_t from = page.find(begin);
    return from == std::string::npos
               ? json()
               : json::parse(page.substr(from + begin.size(),
                                         page.find("</script>", from) - from - begin.size()));
  }

 private:
  support::TemporaryFolder folder_;
};

TEST_F(PageTest, SaysWhatTheRunIsInSections) {
  ExportedRun run(file("run.lockstep"), 2);
  addSteps(run, 2, 30);
  run.metric(0, "loss", 28, 280'000, 0.75).metric(0, "loss", 29, 290'000, 0.5);
  run.finish();
  const std::string page = pageOf(run.path());
  EXPECT_THAT(page, HasSubstr("<h1>demo</h1>"));
  for (const char* id : {"verdict", "figures", "pictures", "timeline", "tables"}) {
    EXPECT_THAT(page, AllOf(HasSubstr("<section id=\"" + std::string(id) + "\">"),
                            HasSubstr("<a href=\"#" + std::string(id) + "\">")));
  }
  EXPECT_THAT(page, Not(HasSubstr("<section id=\"problems\">"))) << "there are none";
  for (const char* title : {"Iterations", "What a step is made of", "Loss", "Ranks", "Collectives",
                            "What buckets cost, by rank and bucket"}) {
    EXPECT_THAT(page, HasSubstr("<h3>" + std::string(title) + "</h3>"));
  }
  EXPECT_THAT(page, Not(HasSubstr("still going on")));
}

TEST_F(PageTest, TheFiguresAndThePictureNameOneBucketThatCostsMost) {
  ExportedRun run(file("run.lockstep"), 2);
  addSteps(run, 2, 30);
  run.finish();
  // Rank 0 is in flight from 5 to 8 ms of a step, and computes until its last gradient, at 4.
  EXPECT_THAT(pageOf(run.path()),
              AllOf(HasSubstr("<dt>costs most</dt><dd>bucket 0 costs rank 0 3.00 ms a step (mean)"),
                    HasSubstr("Bucket 0 costs most, 3.00 ms a step (mean) on rank 0"),
                    HasSubstr("rank 0, bucket 0, cost 3.00 ms, exposed 3.00 ms"),
                    HasSubstr("; of a step, the cost as a mean and the others as medians")));
}

TEST_F(PageTest, LeadsNowhereAndLoadsNothing) {
  ExportedRun run(file("run.lockstep"), 2);
  addSteps(run, 2, 10);
  run.finish();
  const std::string page = pageOf(run.path());
  for (const char* way : {"http:", "https:", "src=", "url(", "@import", "<link", "<iframe",
                          "fetch(", "XMLHttpRequest", "import("}) {
    EXPECT_THAT(page, Not(HasSubstr(way)));
  }
  for (std::size_t at = page.find("href="); at != std::string::npos;
       at = page.find("href=", at + 1)) {
    EXPECT_EQ(page.substr(at, 7), "href=\"#");
  }
}

TEST_F(PageTest, WhatARunNamesIsTextAndNoMarkup) {
  ExportedRun run(file("run.lockstep"), 2);
  run.info.name = kEvil;
  run.info.hostName = kEvil;
  run.info.failure = kEvil;
  run.info.experimentToml = kEvil;
  run.info.environment["processor"] = kEvil;
  addSteps(run, 2, 12);
  run.writer().setParameters({{{kEvil, {2}, "float32", 2, 8}}});
  trace::BucketsMessage layout;
  layout.reason = kEvil;
  layout.buckets = {{{0}, {0}, 8, 0, kEvil}};
  run.writer().addLayout(layout);
  trace::RankInfo rank;
  rank.rank = 1;
  rank.state = kEvil;
  rank.lastWords = kEvil;
  rank.environment[kEvil] = kEvil;
  run.writer().setRank(rank);
  run.writer().addProblem({0, kEvil, 0, 1, kEvil});
  run.finish();
  const std::string page = pageOf(run.path());
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, AllOf(HasSubstr("<h1>&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;</h1>"),
                          HasSubstr("\\u003cscript>alert('x')\\u003c/script>")));
  EXPECT_THAT(dataOf(page)["texts"].dump(), HasSubstr("<script>alert")) << "a parameter's name";
}

TEST_F(PageTest, OfALiveRunSaysThatItGoesOn) {
  ExportedRun run(file("run.lockstep"), 2);
  run.info.hostName.clear();  // it is recorded here
  run.writer().setInfo(run.info);
  addSteps(run, 2, 12);
  run.commit();
  EXPECT_THAT(pageOf(run.path()),
              HasSubstr("This run was still going on when the report was made: all that it says is "
                        "of what had come by then."));
}

TEST_F(PageTest, OfAFailedRunSaysWhyAndShowsItsEnd) {
  ExportedRun run(file("run.lockstep"), 2);
  addSteps(run, 2, 12);
  run.step(0, EventKind::kForward, 120'000, 121'000, 12);
  run.info.failure = "rank 1 was ended by signal 9";
  run.info.state = trace::RunState::kFailed;
  trace::RankInfo rank;
  rank.rank = 1;
  rank.state = "killed";
  rank.signal = 9;
  rank.lastWords = "rank 1 was last in the backward of step 12";
  run.writer().setRank(rank);
  run.writer().setInfo(run.info);
  ASSERT_TRUE(run.writer().finish().ok());
  const std::string page = pageOf(run.path());
  EXPECT_THAT(page, AllOf(HasSubstr("<p class=\"banner wrong\">rank 1 was ended by signal 9</p>"),
                          HasSubstr("<li>rank 1 was last in the backward of step 12</li>"),
                          HasSubstr("killed, signal 9")));
  const json shown = dataOf(page)["iterations"];
  EXPECT_EQ(shown.at(0)["title"], "iteration 12");
  EXPECT_EQ(shown.at(0)["about"], "the last of which anything was recorded");
}

TEST_F(PageTest, OfARunWithoutAStepHasWhatThereIs) {
  ExportedRun run(file("run.lockstep"), 2);
  run.finish();
  const std::string page = pageOf(run.path());
  EXPECT_THAT(page, AllOf(HasSubstr("<section id=\"verdict\">"), HasSubstr("<h3>Ranks</h3>"),
                          Not(HasSubstr("<section id=\"timeline\">")),
                          Not(HasSubstr("<svg class=\"plot\""))));
}

TEST_F(PageTest, ShowsSpansOnTheTimeAxisOfTheirIteration) {
  ExportedRun run(file("run.lockstep"), 2);
  addSteps(run, 2, 12);
  run.finish();
  const json data = dataOf(pageOf(run.path()));
  const json& iteration = data["iterations"].at(0);
  EXPECT_EQ(iteration["ns"], 10'000'000);
  EXPECT_EQ(iteration["ranks"].at(1)["name"], "rank 1");
  bool found = false;
  for (const json& span : iteration["ranks"].at(1)["spans"]) {
    if (data["kinds"].at(span.at(0).get<std::size_t>())["name"] == "collective") {
      found = true;
      EXPECT_EQ(span, json::parse("[" + span.at(0).dump() + ",7000000,1000000,0," +
                                  span.at(4).dump() + ",1024]"));
      EXPECT_EQ(data["texts"].at(span.at(4).get<std::size_t>()), "allreduce");
    }
  }
  EXPECT_TRUE(found);
}

TEST_F(PageTest, AWaitForACoreCarriesHowMuchOfItWasWaited) {
  ExportedRun run(file("run.lockstep"), 2);
  addSteps(run, 2, 12);
  for (std::uint32_t step = 0; step < 12; ++step) {
    run.step(0, EventKind::kOffCore, 10'000 * step + 500, 10'000 * step + 2'500, step, 300'000);
  }
  run.finish();
  const json data = dataOf(pageOf(run.path()));
  bool found = false;
  for (const json& span : data["iterations"].at(0)["ranks"].at(0)["spans"]) {
    if (data["kinds"].at(span.at(0).get<std::size_t>())["name"] == "off_core") {
      found = true;
      EXPECT_EQ(span, json::parse("[" + span.at(0).dump() + ",500000,2000000,-1,-1,300000]"));
    }
  }
  EXPECT_TRUE(found);
}

TEST_F(PageTest, ShowsSpansOfWhichNoFigureIsMade) {
  ExportedRun run(file("run.lockstep"), 2);
  addSteps(run, 2, 12);
  for (std::uint32_t step = 0; step < 12; ++step) {
    run.step(0, EventKind::kJoinShadow, 10'000 * step + 8'500, 10'000 * step + 9'000, step);
  }
  run.finish();
  const json data = dataOf(pageOf(run.path()));
  const json& spans = data["iterations"].at(0)["ranks"].at(0)["spans"];
  ASSERT_EQ(spans.size(), 6U);
  const json& last = spans.back();
  EXPECT_EQ(data["kinds"].at(last.at(0).get<std::size_t>())["name"],
            trace::name(EventKind::kJoinShadow));
  EXPECT_EQ(last.at(1), 8'500'000);
  EXPECT_EQ(last.at(2), 500'000);
}

TEST_F(PageTest, OfManyRanksStaysBelowTwoMegabytesAndShowsThePlantedOne) {
  bench::MadeRanksOptions options;
  options.ranks = 256;
  options.steps = 60;
  options.planted = {{bench::PlantedRank::Kind::kSlow, 170, 12}};
  ASSERT_TRUE(bench::writeMadeRanks(file("many.lockstep"), options).ok());
  const std::string page = pageOf(file("many.lockstep"));
  EXPECT_LT(page.size(), 2u << 20);
  EXPECT_THAT(page, HasSubstr("Shown are 64 of 256 ranks"));
  EXPECT_THAT(page, HasSubstr("rank 170 on node21</text>"));
  const json ranks = dataOf(page)["iterations"].at(0)["ranks"];
  EXPECT_EQ(ranks.size(), 8u);
  EXPECT_NE(std::find_if(ranks.begin(), ranks.end(),
                         [](const json& rank) { return rank["name"] == "rank 170 on node21"; }),
            ranks.end());
}

TEST_F(PageTest, LeavesOutFineSpansWhereThereAreTooMany) {
  ExportedRun run(file("run.lockstep"), 1);
  for (std::uint32_t step = 0; step < 3; ++step) {
    const std::uint64_t at = 100'000 * step;
    run.step(0, EventKind::kStep, at, at + 100'000, step);
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      run.step(0, EventKind::kGradientReady, at + i, at + i, step, 0);
    }
  }
  run.finish();
  const std::string page = pageOf(run.path());
  EXPECT_THAT(page, HasSubstr("20,000 spans too fine for a report left out"));
  EXPECT_LT(page.size(), 200'000u);
}

TEST_F(PageTest, IsNotWrittenWhereItIsEndedOrCannotBe) {
  ExportedRun run(file("run.lockstep"), 1);
  addSteps(run, 1, 3);
  run.finish();
  const auto ended =
      writeHtml(run.path(), file("ended.html"), [](double part) { return part < 0.5; });
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code, base::ExitCode::kInterrupted);
  EXPECT_FALSE(std::filesystem::exists(file("ended.html")));
  const auto nowhere = writeHtml(run.path(), file("none/page.html"));
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.error().code, base::ExitCode::kEnvironment);
}

}  // namespace
}  // namespace lockstep::report
