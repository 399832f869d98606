// commands/step_sinks.h - where the output of a step's tasks goes: standard output and errors, or
// files.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/output_thread.h"
#include "commands/step_output.h"
#include "common/result.h"
#include "model/output_path.h"

namespace rota::commands {

struct SinkOptions {
  bool label = false;
  std::string output;  // a pattern as rsubmit has it; "": standard output. "none": nowhere
  std::string error;   // the same; "": where the output's file is, else standard errors
};

/// Bytes of tasks in, lines out. Standard output is written by a thread, as it may keep us waiting;
/// files are not.
class StepSinks {
 public:
  /// So many bytes of this task's are out of the way; an errno: they could not be written.
  using Returned = std::function<void(std::uint32_t task, std::size_t bytes, int error)>;
  StepSinks(const boost::asio::any_io_executor& executor, std::uint32_t task_count,
            Returned returned);
  ~StepSinks();
  StepSinks(const StepSinks&) = delete;
  StepSinks& operator=(const StepSinks&) = delete;

  /// Opens the files, one for all tasks whose names are the same. `contexts` are the tasks'.
  Result<void> open(const SinkOptions& options, const std::vector<OutputContext>& contexts,
                    const std::string& directory);
  void put(std::uint32_t task, bool is_error, std::string_view data);
  /// The stream has ended: what is left of its last line is written.
  void end(std::uint32_t task, bool is_error);
  bool is_flushed() const { return pieces_[0].empty() && pieces_[1].empty(); }

 private:
  enum class Kind : std::uint8_t { standard, file, nowhere };
  struct Stream {
    LineCutter cutter;
    Kind kind = Kind::standard;
    int file = -1;
    std::size_t held = 0;  // bytes that came and are not written
    bool is_raw = false;   // of a task that is alone: as it comes
  };
  struct Piece {
    std::uint32_t task = 0;
    std::size_t bytes = 0;
  };
  Result<void> route(Stream& stream, const std::string& pattern, const OutputContext& context,
                     const std::string& directory);
  Stream& stream_of(std::uint32_t task, bool is_error) { return streams_[2 * task + is_error]; }
  void write(std::uint32_t task, bool is_error, std::string text);
  void written(bool is_error, int error);

  std::uint32_t task_count_;
  Returned returned_;
  std::vector<Stream> streams_;
  std::map<std::string, int> files_;
  std::deque<Piece> pieces_[2];
  OutputThread output_;
  OutputThread errors_;
};

}  // namespace rota::commands
