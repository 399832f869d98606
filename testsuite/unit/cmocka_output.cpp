// testsuite/unit/cmocka_output.cpp - listens to GoogleTest and feeds CMocka's printers.
#include "unit/cmocka_output.h"

#include <gtest/gtest.h>
#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "cmocka_compat.h"
#include "unit/cmocka_printers.h"

namespace rota::testmain {
namespace {

Failure failure_from(const testing::TestPartResult& part) {
  Failure failure;
  if (part.file_name() != nullptr) failure.file = part.file_name();
  failure.line = part.line_number();
  failure.message = part.message();
  while (failure.message.ends_with('\n')) failure.message.pop_back();
  return failure;
}

Outcome outcome_of(const testing::TestInfo& test) {
  const testing::TestResult& result = *test.result();
  Outcome outcome;
  outcome.name_bare = test.name();
  outcome.name = cmocka::is_group(test.test_suite_name())
                     ? outcome.name_bare
                     : std::string(test.test_suite_name()) + "." + test.name();
  outcome.seconds = static_cast<double>(result.elapsed_time()) / 1000;
  for (int i = 0; i < result.total_part_count(); ++i) {
    const testing::TestPartResult& part = result.GetTestPartResult(i);
    if (part.failed()) outcome.failures.push_back(failure_from(part));
    if (part.skipped()) outcome.reason = part.message();
  }
  for (int i = 0; i < result.test_property_count(); ++i)
    if (result.GetTestProperty(i).key() == std::string(cmocka::error_property)) {
      outcome.status = Status::error;
      outcome.reason = result.GetTestProperty(i).value();
    }
  while (outcome.reason.ends_with('\n')) outcome.reason.pop_back();
  std::replace(outcome.reason.begin(), outcome.reason.end(), '\n', ' ');  // TAP has one line for it
  if (outcome.status == Status::error) return outcome;
  if (result.Failed()) outcome.status = Status::failed;
  if (result.Skipped()) outcome.status = Status::skipped;
  return outcome;
}

class CmockaListener : public testing::EmptyTestEventListener {
 public:
  explicit CmockaListener(std::vector<std::unique_ptr<Printer>> printers)
      : printers_(std::move(printers)) {}

  void OnTestIterationStart(const testing::UnitTest& program, int) override {
    groups_.clear();
    const auto count = static_cast<std::size_t>(program.test_to_run_count());
    for (auto& printer : printers_) printer->run_start(count);
  }
  void OnTestSuiteStart(const testing::TestSuite& suite) override {
    Group& group = groups_.emplace_back();
    group.name = suite.name();
    group.test_count = static_cast<std::size_t>(suite.test_to_run_count());
    for (auto& printer : printers_) printer->group_start(group);
  }
  void OnTestStart(const testing::TestInfo& test) override {
    in_test_ = true;
    const Outcome outcome = outcome_of(test);
    for (auto& printer : printers_) printer->test_start(outcome.name);
  }
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (in_test_ || !part.failed()) return;
    const Failure failure = failure_from(part);
    for (auto& printer : printers_) printer->stray_failure(failure);
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    in_test_ = false;
    const Outcome& outcome = groups_.back().outcomes.emplace_back(outcome_of(test));
    for (auto& printer : printers_) printer->test_end(outcome);
  }
  void OnTestSuiteEnd(const testing::TestSuite& suite) override {
    groups_.back().seconds = static_cast<double>(suite.elapsed_time()) / 1000;
    for (auto& printer : printers_) printer->group_end(groups_.back());
  }
  void OnTestIterationEnd(const testing::UnitTest&, int) override {
    for (auto& printer : printers_) printer->run_end(groups_);
  }

 private:
  std::vector<std::unique_ptr<Printer>> printers_;
  std::vector<Group> groups_;
  bool in_test_ = false;
};

/// Whether the comma-separated list has the word, in any case.
bool names(const std::string& list, const char* word) {
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    if (strcasecmp(list.substr(start, end - start).c_str(), word) == 0) return true;
    start = end + 1;
  }
  return false;
}

/// In the order in which CMocka calls its formats.
std::vector<std::unique_ptr<Printer>> printers_for(const std::string& list) {
  std::vector<std::unique_ptr<Printer>> printers;
  if (names(list, "stdout") || names(list, "standard"))
    printers.push_back(std::make_unique<StandardPrinter>());
  if (names(list, "subunit")) printers.push_back(std::make_unique<SubunitPrinter>());
  if (names(list, "tap")) printers.push_back(std::make_unique<TapPrinter>());
  if (names(list, "xml")) printers.push_back(std::make_unique<XmlPrinter>());
  // CMocka answers words it does not know with its default.
  if (printers.empty()) printers.push_back(std::make_unique<StandardPrinter>());
  return printers;
}

}  // namespace

std::size_t Group::count(Status status) const {
  return static_cast<std::size_t>(
      std::count_if(outcomes.begin(), outcomes.end(),
                    [status](const Outcome& outcome) { return outcome.status == status; }));
}

void install_listeners() {
  static bool installed = false;
  if (std::exchange(installed, true)) return;
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  const char* list = std::getenv("CMOCKA_MESSAGE_OUTPUT");
  if (list != nullptr && *list != '\0') {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new CmockaListener(printers_for(list)));
  }
  // The end of a test is told to the last listener first: the check speaks before the printers.
  listeners.Append(cmocka::make_leftover_check());
}

}  // namespace rota::testmain
