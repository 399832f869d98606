// gpud/container/box.h - a run's container inside rstepd: made, entered, gone.
//
// The container runs nothing but rota-pause. It calls through a socket that only this run's owner
// can open, which tells us that the container is there and which process to follow into it; tasks
// are our own children in its namespaces. So output, exit codes, signals, limits and cgroups of a
// job are the same with and without a container, whoever made it.
#pragma once
#include <sys/types.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "gpud/container/order.h"
#include "gpud/launch/file.h"
#include "gpud/launch/order.h"
#include "model/job.h"

namespace rota::gpud {

/// The way into a container: descriptors of its namespaces, for our children.
struct Enclosure {
  pid_t init = 0;
  Fd user;  // these two only where they differ from ours
  Fd net;
  Fd mnt, ipc, uts, cgroup;
  Fd pid;      // not ours, else none
  Fd own_pid;  // ours

  /// Children from now on are born into the container's process namespace, or again into ours. 0 or
  /// errno.
  int bear_inside() const;
  int bear_outside() const;
  /// In a child that is still root and has set its groups: enters the rest. 0 or errno.
  int enter() const;
};

class Caller;

class ContainerBox {
 public:
  /// Keeps the order; its shares and secrets are looked at when the container is there.
  ContainerBox(const StepOrder& step, Owner owner, std::vector<std::uint32_t> groups);

  /// Makes the run's directory with the door; before the script is written. One sentence when that
  /// fails, "" when all is well. The same for the others.
  std::string prepare();
  /// Begins to start the container; what runs as the owner is put into the run's cgroup by `join`
  /// (0 or errno). Until is_up(), wait for doorbell() and for the client's end.
  std::string start(const std::function<int()>& join);
  /// To poll; -1: nothing is waited for.
  int doorbell() const { return is_up() ? -1 : door_.get(); }
  int client_output() const { return client_output_.get(); }
  void read_client();
  /// Somebody is at the door. After that either is_up(), or there is trouble, or it was a stranger.
  std::string answer_door();
  /// A child of ours has ended: whether it was the client, and what is to be said if it failed.
  /// `by_node`: not by the job's own mistake.
  bool was_client(pid_t pid, int status, std::string& trouble, bool& by_node);

  bool is_up() const { return init_ > 0; }
  pid_t init() const { return init_; }
  /// What enroot, its hooks and the image have set for whoever runs in there.
  std::vector<std::string> environment() const;
  pid_t client() const { return client_; }
  /// Its files, to where they are wanted, while it is up.
  std::string store(std::uint32_t umask, const std::function<int()>& join) const;
  const Enclosure& enclosure() const { return enclosure_; }

  /// Ends the container with all that is in it, and waits until nothing is left of it.
  std::string remove();

 private:
  std::string adopt(const Caller& caller);
  std::string open_namespaces(const Caller& caller);
  std::string client_words() const;
  void end_client();
  void end_group() const;
  [[noreturn]] void become_client(int output, const std::function<int()>& join) const;

  const StepOrder& step_;
  const ContainerOrder& order_;  // of it
  Owner owner_;
  std::vector<std::uint32_t> groups_;
  Fd door_;
  Fd caller_;  // rota-pause lives while this is open
  pid_t client_ = 0;
  Fd client_output_;
  std::string said_;
  pid_t init_ = 0;
  Enclosure enclosure_;
  bool is_begun_ = false;
};

}  // namespace rota::gpud
