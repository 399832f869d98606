// gpud/health/program.h - a site's program, run beside the daemon: bounded in time and in words.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/time.h"

namespace rota::gpud {

struct ProgramOrder {
  std::vector<std::string> words;        // the program, by an absolute path or for the PATH
  std::vector<std::string> environment;  // NAME=value, beside PATH and what rgpud was started with
  Duration limit{};                      // then it is killed, with all it has started
  bool on_terminal = false;              // what it prints goes to a terminal, for some draw on one
  // What it prints, as it comes. Not called after the end was told, nor from within the call.
  std::function<void(std::string_view)> heard = nullptr;
};

/// Good when it ends with 0. The error's detail is one line: the last that it printed, or how it
/// ended. `done` is called once, never from within the call, and not after the result is destroyed:
/// the program then goes on to its own end or its limit, and nobody hears of it.
class RunningProgram {
 public:
  virtual ~RunningProgram() = default;
};
std::unique_ptr<RunningProgram> run_program(boost::asio::any_io_executor executor,
                                            ProgramOrder order,
                                            std::function<void(Result<void>)> done);

}  // namespace rota::gpud
