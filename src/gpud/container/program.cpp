// gpud/container/program.cpp - words and an environment, no shell. In rstepd, so without libfmt.
#include "gpud/container/program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "gpud/launch/file.h"

namespace rota::gpud {
namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

void say(int output, const std::string& text) {
  static_cast<void>(!::write(output, text.data(), text.size()));
}

void fresh_signals() {
  ::signal(SIGCHLD, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void run_words(const ContainerOrder& order, const std::vector<std::string>& words, int output) {
  become_words(order, words, -1, output, output);
}

void become_words(const ContainerOrder& order, const std::vector<std::string>& words, int input,
                  int output, int errors) {
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ::dup2(input >= 0 ? input : null.get(), 0);
  ::dup2(output, 1);
  ::dup2(errors, 2);
  const auto variables = pointers_to(order.environment);
  environ = const_cast<char**>(variables.data());  // execvpe looks for PATH there
  ::execvpe(words.front().c_str(), pointers_to(words).data(), variables.data());
  say(2, "cannot run " + words.front() + ": " + strerrordesc_np(errno));
  ::_exit(127);
}

int call_words(const ContainerOrder& order, const std::vector<std::string>& words, int output) {
  const pid_t pid = ::_Fork();
  if (pid == 0) run_words(order, words, output);
  int status = -1;
  while (pid > 0 && ::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

}  // namespace rota::gpud
