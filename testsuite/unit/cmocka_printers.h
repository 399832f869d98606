// testsuite/unit/cmocka_printers.h - CMocka's four output formats, as its release 1.1.8 writes
// them.
#pragma once
#include <cstdio>
#include <set>

#include "unit/cmocka_output.h"

namespace rota::testmain {

/// "[ RUN      ] name" and "[       OK ] name" on standard output; errors and sums on standard
/// error.
class StandardPrinter : public Printer {
 public:
  void group_start(const Group& group) override;
  void test_start(const std::string& name) override;
  void test_end(const Outcome& outcome) override;
  void group_end(const Group& group) override;
  void stray_failure(const Failure& failure) override;
};

/// TAP version 13. CMocka writes a plan per group, which no harness takes; here one plan spans the
/// run, and with one group, as CMocka programs have, the two are the same.
class TapPrinter : public Printer {
 public:
  void run_start(std::size_t test_count) override;
  void test_end(const Outcome& outcome) override;
  void group_end(const Group& group) override;
  void stray_failure(const Failure& failure) override;

 private:
  std::size_t number_ = 0;
  bool version_printed_ = false;
};

class SubunitPrinter : public Printer {
 public:
  void test_start(const std::string& name) override;
  void test_end(const Outcome& outcome) override;
  void stray_failure(const Failure& failure) override;
};

/// JUnit's XML, to standard output or to $CMOCKA_XML_FILE. With %g, the group's name, in the file's
/// name each group gets its own file. A file that was there before this run is left alone and the
/// report goes to standard error, as CMocka does.
class XmlPrinter : public Printer {
 public:
  void group_end(const Group& group) override;
  void run_end(const std::vector<Group>& groups) override;
  void stray_failure(const Failure& failure) override;

 private:
  void write(const std::string& path, const std::string& suites);
  void write_document(std::FILE* file, const std::string& suites, bool with_header);

  std::set<std::string> files_made_;
  bool header_printed_ = false;
};

}  // namespace rota::testmain
