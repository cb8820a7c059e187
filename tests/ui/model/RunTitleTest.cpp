#include "ui/model/RunTitle.h"

#include <gtest/gtest.h>

#include "ui/model/RunModel.h"

namespace lockstep::ui {
namespace {

TEST(RunTitle, IsTheRunsNameElseItsFilesElseTheProgramsOwn) {
  RunModel unnamed;
  EXPECT_EQ(titleOfRun(unnamed), "Lockstep run");
  RunModel fromFile(std::filesystem::path("/nowhere/topk.lockstep"));
  EXPECT_EQ(titleOfRun(fromFile), "topk");
  trace::RunUpdate update;
  update.info.emplace();
  update.info->name = "Two ranks";
  fromFile.applyUpdate(update);
  EXPECT_EQ(titleOfRun(fromFile), "Two ranks");
}

}  // namespace
}  // namespace lockstep::ui
