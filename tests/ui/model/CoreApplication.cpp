#include <QCoreApplication>
#include <gtest/gtest.h>

#include <memory>

namespace {

// The event loop that queued signals need.
class CoreApplication : public testing::Environment {
 public:
  void SetUp() override { application_ = std::make_unique<QCoreApplication>(argc_, argv_); }
  void TearDown() override { application_.reset(); }

 private:
  int argc_ = 1;
  char name_[20] = "test_ui_model";
  char* argv_[2] = {name_, nullptr};
  std::unique_ptr<QCoreApplication> application_;
};

[[maybe_unused]] testing::Environment* const kCoreApplication =
    testing::AddGlobalTestEnvironment(new CoreApplication);

}  // namespace
