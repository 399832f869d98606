// testsuite/cmocka_mocks.cpp - the queues behind will_return(), expect_*() and
// expect_function_call().
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "cmocka_compat.h"

namespace rota::cmocka {
namespace {

/// A promise made by the test, to be taken by a mock.
struct Promise {
  Place declared;
  int count = 1;  // left; or always, maybe
  bool used = false;
  LargestIntegralType value = 0;
  Check check;
  std::string function;

  bool kept() const { return count == maybe || (count == always && used); }
};

struct Queue {
  std::deque<Promise> promises;
  std::optional<Place> taken_last;  // where the last one that is gone was declared
};

/// One test's promises. Values and checks queue up per function or parameter; calls in one line,
/// for their order counts across functions.
struct Mocks {
  std::map<std::string, Queue> returns;
  std::map<std::pair<std::string, std::string>, Queue> checks;
  Queue calls;
};
Mocks& mocks() {
  static Mocks all;
  return all;
}

/// "rota::f" and "f" are the same mock: inside it, __func__ has no namespace.
std::string bare(const char* function) {
  const std::string name = function;
  const std::size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

std::string at(Place place, const std::string& what) {
  return formatted("%s:%d: %s", place.file, place.line, what.c_str());
}

/// Uses up the first promise of the queue.
Promise take(Queue& queue) {
  Promise& first = queue.promises.front();
  first.used = true;
  const Promise taken = first;
  if (first.count > 0 && --first.count == 0) {
    queue.taken_last = first.declared;
    queue.promises.pop_front();
  }
  return taken;
}

/// A mock was called and nothing is promised.
[[noreturn]] void nothing_left(Place place, const Queue& queue, const std::string& function,
                               const std::string& wanted, const std::string& noun) {
  std::string message = "No entries for symbol " + function + ".\n" +
                        at(place, "error: Could not get value to " + wanted) + "\n";
  message += queue.taken_last
                 ? at(*queue.taken_last, "note: Previously " + noun + " value was declared here")
                 : "There were no previously " + noun + " values for this test.";
  stop_failed(place, message);
}

void report_leftovers(const Queue& queue, const std::string& what) {
  for (const Promise& promise : queue.promises) {
    if (promise.kept()) continue;
    const std::string message =
        what + "\n" + at(promise.declared, "note: remaining item was declared here");
    GTEST_MESSAGE_AT_(promise.declared.file, promise.declared.line, message.c_str(),
                      testing::TestPartResult::kNonFatalFailure);
  }
}

void report_leftovers() {
  for (const auto& [function, queue] : mocks().returns)
    report_leftovers(queue, function + "() has remaining non-returned values.");
  for (const auto& [key, queue] : mocks().checks)
    report_leftovers(queue, key.first + ": '" + key.second +
                                "' parameter still has values that haven't been checked.");
  for (const Promise& call : mocks().calls.promises) {
    Queue one;
    one.promises.push_back(call);
    report_leftovers(one, call.function + " function was expected to be called but was not.");
  }
}

class LeftoverCheck : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo&) override { mocks() = {}; }
  /// A test that failed left early: what it left behind tells nothing.
  void OnTestEnd(const testing::TestInfo& test) override {
    if (test.result()->Passed()) report_leftovers();
    mocks() = {};
  }
};

}  // namespace

void add_return(Place place, const char* function, LargestIntegralType value, int count) {
  Promise promise{.declared = place,
                  .count = count,
                  .used = false,
                  .value = value,
                  .check = {},
                  .function = {}};
  mocks().returns[bare(function)].promises.push_back(std::move(promise));
}

LargestIntegralType take_return(Place place, const char* function) {
  Queue& queue = mocks().returns[function];
  if (queue.promises.empty())
    nothing_left(place, queue, function, std::string("mock function ") + function, "returned mock");
  return take(queue).value;
}

void add_check(Place place, const char* function, const char* parameter, Check check, int count) {
  Promise promise{.declared = place,
                  .count = count,
                  .used = false,
                  .value = 0,
                  .check = std::move(check),
                  .function = {}};
  mocks().checks[{bare(function), parameter}].promises.push_back(std::move(promise));
}

void check_parameter(Place place, const char* function, const char* parameter,
                     LargestIntegralType value) {
  Queue& queue = mocks().checks[{function, parameter}];
  if (queue.promises.empty())
    nothing_left(place, queue, function,
                 formatted("check parameter %s of function %s", parameter, function),
                 "declared parameter");
  const Promise promise = take(queue);
  if (const auto problem = promise.check(value))
    stop_failed(place, *problem + "\n" +
                           at(place, formatted("error: Check of parameter %s, function %s failed",
                                               parameter, function)) +
                           "\n" + at(promise.declared, "note: Expected parameter declared here"));
}

void add_call(Place place, const char* function, int count) {
  Promise promise{.declared = place,
                  .count = count,
                  .used = false,
                  .value = 0,
                  .check = {},
                  .function = bare(function)};
  mocks().calls.promises.push_back(std::move(promise));
}

void note_call(Place place, const char* function) {
  auto& calls = mocks().calls.promises;
  auto call = calls.begin();
  while (call != calls.end() && call->function != function && call->kept()) ++call;
  if (call == calls.end())
    stop_failed(place,
                at(place, formatted("error: No mock calls expected but called() was invoked in %s",
                                    function)));
  if (call->function != function)
    stop_failed(place, at(place, formatted("error: Expected call to %s but received called() in %s",
                                           call->function.c_str(), function)) +
                           "\n" + at(call->declared, "note: Expected call was declared here"));
  call->used = true;
  if (call->count > 0 && --call->count == 0) calls.erase(call);
}

testing::TestEventListener* make_leftover_check() { return new LeftoverCheck; }

}  // namespace rota::cmocka
