// testsuite/unit/cmocka_printers.cpp - the words of each format.
#include "unit/cmocka_printers.h"

#include <sys/stat.h>

#include <cstdlib>

namespace rota::testmain {
namespace {

/// Flushed at once: a test that crashes must not take the lines before it along, and one that
/// forks must not print them twice.
void print(std::FILE* file, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

std::string place_of(const Failure& failure) {
  if (failure.file.empty()) return "";
  return failure.file + ":" + std::to_string(failure.line) + ": error: Failure!";
}

/// The message, then the place: how CMocka lays out what went wrong.
std::string text_of(const Failure& failure, const std::string& before_message,
                    const std::string& before_place) {
  std::string text;
  if (!failure.message.empty()) text = before_message + failure.message + "\n";
  if (!failure.file.empty()) text += before_place + place_of(failure) + "\n";
  return text;
}

std::string text_of(const Outcome& outcome) {
  std::string text;
  for (const Failure& failure : outcome.failures) text += text_of(failure, "", "");
  if (!text.empty()) text.pop_back();
  return text;
}

std::string commented(const std::string& text) {
  std::string lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines += "# " + text.substr(start, end - start) + "\n";
    start = end + 1;
  }
  return lines;
}

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what;
}

/// What XML takes in an attribute; characters it has no way to write become '?'.
std::string attribute(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += byte < 0x20 && c != '\n' && c != '\t' ? '?' : c;
  }
  return out;
}

std::string cdata(const std::string& text) {
  std::string out = "<![CDATA[";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    // "]]>" would end the section: it is cut in two sections.
    if (c == '>' && out.ends_with("]]"))
      out += "]]><![CDATA[>";
    else
      out += byte < 0x20 && c != '\n' && c != '\t' ? '?' : c;
  }
  return out + "]]>";
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", seconds);
  return text;
}

std::string xml_of(const Outcome& outcome) {
  std::string xml = "    <testcase name=\"" + attribute(outcome.name_bare) + "\" time=\"" +
                    seconds_text(outcome.seconds) + "\" >\n";
  if (outcome.status == Status::skipped) xml += "      <skipped/>\n";
  if (outcome.status == Status::failed)
    xml += "      <failure>" + cdata(text_of(outcome)) + "</failure>\n";
  if (outcome.status == Status::error)
    xml += "      <failure>" + cdata(outcome.reason) + "</failure>\n";
  return xml + "    </testcase>\n";
}

std::string xml_of(const Group& group) {
  const auto number = [](const char* name, std::size_t value) {
    return std::string(name) + "=\"" + std::to_string(value) + "\" ";
  };
  std::string xml = "  <testsuite name=\"" + attribute(group.name) + "\" time=\"" +
                    seconds_text(group.seconds) + "\" " + number("tests", group.outcomes.size()) +
                    number("failures", group.count(Status::failed)) +
                    number("errors", group.count(Status::error)) +
                    number("skipped", group.count(Status::skipped)) + ">\n";
  for (const Outcome& outcome : group.outcomes) xml += xml_of(outcome);
  return xml + "  </testsuite>\n";
}

const char* xml_file() {
  const char* path = std::getenv("CMOCKA_XML_FILE");
  return path == nullptr || *path == '\0' ? nullptr : path;
}

bool has_group_mark(const char* path) {
  return path != nullptr && std::string(path).find("%g") != std::string::npos;
}

std::string path_for(std::string path, std::string group) {
  for (char& c : group)
    if (c == '/') c = '_';  // GoogleTest's names of parameterized suites
  for (std::size_t at = path.find("%g"); at != std::string::npos;
       at = path.find("%g", at + group.size()))
    path.replace(at, 2, group);
  return path;
}

}  // namespace

void StandardPrinter::group_start(const Group& group) {
  print(stdout,
        "[==========] " + group.name + ": Running " + counted(group.test_count, "test(s).\n"));
}

void StandardPrinter::test_start(const std::string& name) {
  print(stdout, "[ RUN      ] " + name + "\n");
}

void StandardPrinter::test_end(const Outcome& outcome) {
  switch (outcome.status) {
    case Status::passed:
      print(stdout, "[       OK ] " + outcome.name + "\n");
      break;
    case Status::skipped:
      print(stdout, "[  SKIPPED ] " + outcome.name + "\n");
      break;
    case Status::failed:
      for (const Failure& failure : outcome.failures)
        print(stderr, text_of(failure, "[  ERROR   ] --- ", "[   LINE   ] --- "));
      print(stdout, "[  FAILED  ] " + outcome.name + "\n");
      break;
    case Status::error:
      print(stderr,
            "Could not run test: " + outcome.reason + "\n[  ERROR   ] " + outcome.name + "\n");
      break;
  }
}

void StandardPrinter::group_end(const Group& group) {
  print(stdout,
        "[==========] " + group.name + ": " + counted(group.outcomes.size(), "test(s) run.\n"));
  std::string sums = "[  PASSED  ] " + counted(group.count(Status::passed), "test(s).\n");
  const auto list = [&](Status status, const std::string& mark) {
    sums +=
        mark + " " + group.name + ": " + counted(group.count(status), "test(s), listed below:\n");
    for (const Outcome& outcome : group.outcomes)
      if (outcome.status == status) sums += mark + " " + outcome.name + "\n";
  };
  if (const std::size_t skipped = group.count(Status::skipped); skipped > 0) {
    list(Status::skipped, "[  SKIPPED ]");
    sums += "\n " + counted(skipped, "SKIPPED TEST(S)\n");
  }
  if (const std::size_t failed = group.count(Status::failed); failed > 0) {
    list(Status::failed, "[  FAILED  ]");
    sums += "\n " + counted(failed + group.count(Status::error), "FAILED TEST(S)\n");
  }
  print(stderr, sums);
}

void StandardPrinter::stray_failure(const Failure& failure) {
  print(stderr, text_of(failure, "[  ERROR   ] --- ", "[   LINE   ] --- "));
}

void TapPrinter::run_start(std::size_t test_count) {
  if (!version_printed_) print(stdout, "TAP version 13\n");
  version_printed_ = true;
  number_ = 0;
  print(stdout, "1.." + std::to_string(test_count) + "\n");
}

void TapPrinter::test_end(const Outcome& outcome) {
  const std::string number = std::to_string(++number_);
  switch (outcome.status) {
    case Status::passed:
      print(stdout, "ok " + number + " - " + outcome.name + "\n");
      break;
    case Status::skipped:
      print(stdout, "ok " + number + " # SKIP " + outcome.name +
                        (outcome.reason.empty() ? "" : ": " + outcome.reason) + "\n");
      break;
    case Status::failed:
      print(stdout, "not ok " + number + " - " + outcome.name + "\n" + commented(text_of(outcome)));
      break;
    case Status::error:
      print(stdout, "not ok " + number + " - " + outcome.name +
                        " Could not run test: " + outcome.reason + "\n");
      break;
  }
}

void TapPrinter::group_end(const Group& group) {
  const bool good =
      group.count(Status::passed) + group.count(Status::skipped) == group.outcomes.size();
  print(stdout, std::string(good ? "# ok - " : "# not ok - ") + group.name + "\n");
}

void TapPrinter::stray_failure(const Failure& failure) {
  print(stdout, commented(text_of(failure, "", "")));
}

void SubunitPrinter::test_start(const std::string& name) { print(stdout, "test: " + name + "\n"); }

void SubunitPrinter::test_end(const Outcome& outcome) {
  switch (outcome.status) {
    case Status::passed:
      print(stdout, "success: " + outcome.name + "\n");
      break;
    case Status::skipped:
      print(stdout, "skip: " + outcome.name + "\n");
      break;
    case Status::failed:
      print(stdout, "failure: " + outcome.name + " [\n" + text_of(outcome) + "\n]\n");
      break;
    case Status::error:
      print(stdout, "error: " + outcome.name + " [ Could not run test: " + outcome.reason + " ]\n");
      break;
  }
}

void SubunitPrinter::stray_failure(const Failure& failure) {
  print(stderr, text_of(failure, "", ""));
}

void XmlPrinter::group_end(const Group& group) {
  const char* path = xml_file();
  if (has_group_mark(path)) write(path_for(path, group.name), xml_of(group));
}

void XmlPrinter::run_end(const std::vector<Group>& groups) {
  const char* path = xml_file();
  if (has_group_mark(path)) return;
  std::string suites;
  for (const Group& group : groups) suites += xml_of(group);
  if (path != nullptr) {
    write(path, suites);
  } else {
    write_document(stdout, suites, !header_printed_);
    header_printed_ = true;
  }
}

void XmlPrinter::write(const std::string& path, const std::string& suites) {
  struct stat status {};
  const bool there = stat(path.c_str(), &status) == 0;
  const bool ours = files_made_.contains(path);
  std::FILE* file = there && !ours ? nullptr : std::fopen(path.c_str(), ours ? "a" : "w");
  if (file == nullptr) {
    write_document(stderr, suites, !header_printed_);
    header_printed_ = true;
    return;
  }
  files_made_.insert(path);
  write_document(file, suites, !ours);
  std::fclose(file);
}

void XmlPrinter::write_document(std::FILE* file, const std::string& suites, bool with_header) {
  if (with_header) print(file, "<?xml version=\"1.0\" encoding=\"UTF-8\" ?>\n");
  print(file, "<testsuites>\n" + suites + "</testsuites>\n");
}

void XmlPrinter::stray_failure(const Failure& failure) { print(stderr, text_of(failure, "", "")); }

}  // namespace rota::testmain
