// testsuite/unit/cmocka_output.h - GoogleTest results in CMocka's output formats.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace rota::testmain {

/// Puts the printers that $CMOCKA_MESSAGE_OUTPUT names (stdout, tap, subunit, xml; several with
/// commas; any case) in place of GoogleTest's own, and the check for unused mock values behind
/// them. Without the variable GoogleTest prints as ever. A second call does nothing.
void install_listeners();

enum class Status { passed, failed, skipped, error };

/// One place where a test failed.
struct Failure {
  std::string file;  // "" when it is not known
  int line = 0;
  std::string message;
};

struct Outcome {
  std::string name;       // as printed: "Suite.Test", or a CMocka test's bare name
  std::string name_bare;  // within its group
  Status status = Status::passed;
  std::vector<Failure> failures;
  std::string reason;  // of a skip, or of an error: "Test setup failed"
  double seconds = 0;
};

struct Group {
  std::string name;
  std::size_t test_count = 0;  // to be run
  std::vector<Outcome> outcomes;
  double seconds = 0;

  std::size_t count(Status status) const;
};

/// One output format. A run has groups (GoogleTest's suites), a group has tests.
class Printer {
 public:
  virtual ~Printer() = default;
  virtual void run_start(std::size_t /*test_count*/) {}
  virtual void group_start(const Group&) {}
  virtual void test_start(const std::string& /*name*/) {}
  virtual void test_end(const Outcome&) {}
  virtual void group_end(const Group&) {}
  virtual void run_end(const std::vector<Group>&) {}
  /// A failure outside any test: in a suite's or the program's set-up.
  virtual void stray_failure(const Failure&) {}
};

}  // namespace rota::testmain
