// commands/step_sinks.cpp - lines to files.
#include "commands/step_sinks.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/format.h"

namespace rota::commands {

StepSinks::StepSinks(const boost::asio::any_io_executor& executor, std::uint32_t task_count,
                     Returned returned)
    : task_count_(task_count),
      returned_(std::move(returned)),
      streams_(std::size_t{2} * task_count),
      output_(executor, STDOUT_FILENO, [this](std::size_t, int error) { written(false, error); }),
      errors_(executor, STDERR_FILENO, [this](std::size_t, int error) { written(true, error); }) {}

StepSinks::~StepSinks() {
  for (const auto& [path, file] : files_) ::close(file);
}

Result<void> StepSinks::open(const SinkOptions& options, const std::vector<OutputContext>& contexts,
                             const std::string& directory) {
  const std::string& error = options.error.empty() ? options.output : options.error;
  for (std::uint32_t task = 0; task < task_count_; ++task)
    for (const bool is_error : {false, true}) {
      Stream& stream = stream_of(task, is_error);
      stream.is_raw = task_count_ == 1 && !options.label;
      if (options.label) stream.cutter = LineCutter(task_label(task, task_count_));
      ROTA_CHECK(route(stream, is_error ? error : options.output, contexts[task], directory));
    }
  return {};
}

Result<void> StepSinks::route(Stream& stream, const std::string& pattern,
                              const OutputContext& context, const std::string& directory) {
  if (pattern.empty()) return {};
  if (pattern == "none") {
    stream.kind = Kind::nowhere;
    return {};
  }
  ROTA_TRY(const std::string path, output_path(pattern, context, directory));
  stream.kind = Kind::file;
  if (const auto found = files_.find(path); found != files_.end()) {
    stream.file = found->second;
    return {};
  }
  stream.file =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOCTTY | O_CLOEXEC, 0666);
  if (stream.file < 0)
    return Error{Errc::io_failed, format("cannot open {}: {}", path, std::strerror(errno))};
  files_.emplace(path, stream.file);
  return {};
}

void StepSinks::put(std::uint32_t task, bool is_error, std::string_view data) {
  Stream& stream = stream_of(task, is_error);
  stream.held += data.size();
  std::string text = stream.is_raw ? std::string(data) : stream.cutter.take(data);
  if (!text.empty()) write(task, is_error, std::move(text));
}

void StepSinks::end(std::uint32_t task, bool is_error) {
  std::string text = stream_of(task, is_error).cutter.finish();
  if (!text.empty()) write(task, is_error, std::move(text));
}

void StepSinks::write(std::uint32_t task, bool is_error, std::string text) {
  Stream& stream = stream_of(task, is_error);
  const std::size_t held = std::exchange(stream.held, 0);
  if (stream.kind == Kind::standard) {
    pieces_[is_error].push_back({task, held});
    (is_error ? errors_ : output_).write(std::move(text), 0);
    return;
  }
  std::string_view rest = stream.kind == Kind::file ? text : std::string_view();
  int error = 0;
  while (!rest.empty() && error == 0) {
    const ssize_t size = ::write(stream.file, rest.data(), rest.size());
    if (size >= 0)
      rest.remove_prefix(static_cast<std::size_t>(size));
    else if (errno != EINTR)
      error = errno;
  }
  returned_(task, held, error);
}

void StepSinks::written(bool is_error, int error) {
  const Piece piece = pieces_[is_error].front();
  pieces_[is_error].pop_front();
  returned_(piece.task, piece.bytes, error);
}

}  // namespace rota::commands
