// gpud/container/plan.cpp - containers spelled out: a request for dockerd, words for podman and
// enroot.
#include "gpud/container/plan.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "common/config_data.h"
#include "common/escape.h"
#include "common/format.h"
#include "gpud/container/engine.h"
#include "gpud/launch/record.h"

namespace rota::gpud {
namespace {

namespace json = boost::json;

constexpr std::string_view path_default =
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Of the submitter's, these speak of files and sockets that are not in the image.
constexpr std::array<std::string_view, 8> foreign{"PATH",
                                                  "LD_LIBRARY_PATH",
                                                  "LD_PRELOAD",
                                                  "TMPDIR",
                                                  "XDG_RUNTIME_DIR",
                                                  "DBUS_SESSION_BUS_ADDRESS",
                                                  "PYTHONHOME",
                                                  "PWD"};

std::string_view name_of_variable(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

void set_variable(std::vector<std::string>& list, const std::string& variable) {
  const std::string_view name = name_of_variable(variable);
  std::erase_if(list, [name](const std::string& each) { return name_of_variable(each) == name; });
  list.push_back(variable);
}

/// In the shape of the fields of /etc/passwd: what a name may not hold there becomes '_'.
std::string in_passwd(std::string text) {
  for (char& c : text)
    if (c == ':' || static_cast<unsigned char>(c) < 0x20) c = '_';
  return text;
}

std::string variable_of(const JobPayload& payload, std::string_view name) {
  for (const std::string& variable : payload.environment)
    if (name_of_variable(variable) == name) return variable.substr(name.size() + 1);
  return {};
}

json::array list_of(const std::vector<std::string>& words) {
  json::array list;
  for (const std::string& word : words) list.emplace_back(word);
  return list;
}

/// What NVIDIA's hooks look for.
std::string visible_devices(const proto::LaunchRun& launch, const ContainerFacts& facts) {
  if (launch.gpu_uuids.empty() || facts.gpus == "none") return "NVIDIA_VISIBLE_DEVICES=void";
  return format("NVIDIA_VISIBLE_DEVICES={}", fmt::join(launch.gpu_uuids, ","));
}
constexpr const char* driver_capabilities = "NVIDIA_DRIVER_CAPABILITIES=compute,utility";

/// Of the GPUs that it has. By the nvidia runtime's hook, or by names that the node's CDI files
/// describe.
json::array device_requests(const proto::LaunchRun& launch, const ContainerFacts& facts) {
  json::array requests;
  if (launch.gpu_uuids.empty() || facts.gpus == "none") return requests;
  json::array ids;
  for (const std::string& uuid : launch.gpu_uuids)
    ids.emplace_back(facts.gpus == "cdi" ? "nvidia.com/gpu=" + uuid : uuid);
  json::object request;
  request["Driver"] = facts.gpus == "cdi" ? "cdi" : "nvidia";
  request["DeviceIDs"] = std::move(ids);
  if (facts.gpus != "cdi") {  // braces in braces mean one list to one compiler, two to another
    json::array all_of;
    all_of.emplace_back("gpu");
    request["Capabilities"].emplace_array().emplace_back(std::move(all_of));
  }
  requests.emplace_back(std::move(request));
  return requests;
}

std::string box_bind(const std::string& directory) {
  return format("{}:{}:ro", directory, box_place);
}

std::uint64_t shm_of(const ContainerSpec& wish, const ContainerFacts& facts) {
  return wish.shm_bytes > 0 ? wish.shm_bytes : facts.shm_bytes;
}

std::string user_text(const Owner& owner) { return format("{}:{}", owner.uid, owner.gid); }

std::string docker_request(const proto::LaunchRun& launch, const ImageFacts& image,
                           const ContainerFacts& facts, const std::string& directory,
                           const std::string& cpu_list) {
  const ContainerSpec& wish = launch.payload.container;
  json::object host;
  host["Binds"] = json::array{box_bind(directory)};
  host["NetworkMode"] = facts.private_network ? "none" : "host";
  host["IpcMode"] = facts.private_ipc ? "private" : "host";
  host["UsernsMode"] = "host";
  host["ReadonlyRootfs"] = wish.read_only;
  if (wish.read_only) host["Tmpfs"] = json::object{{"/tmp", ""}, {"/var/tmp", ""}};  // as podman
  host["CapDrop"] = json::array{"ALL"};
  host["SecurityOpt"] = json::array{"no-new-privileges"};
  host["AutoRemove"] = true;
  host["Init"] = false;
  host["LogConfig"] = json::object{{"Type", "none"}};
  if (const std::uint64_t shm = shm_of(wish, facts); shm > 0) host["ShmSize"] = shm;
  if (launch.part.memory_bytes > 0) host["Memory"] = launch.part.memory_bytes;
  if (!cpu_list.empty()) host["CpusetCpus"] = cpu_list;
  if (!facts.docker_runtime.empty()) host["Runtime"] = facts.docker_runtime;
  if (json::array devices = device_requests(launch, facts); !devices.empty())
    host["DeviceRequests"] = std::move(devices);

  json::object body;
  body["Image"] = image.id;
  body["Entrypoint"] = json::array{format("{}/{}", box_place, box_pause)};
  body["Cmd"] = json::array{};
  body["User"] = user_text(launch.owner);
  body["WorkingDir"] = "/";
  body["Env"] =
      list_of({visible_devices(launch, facts), driver_capabilities});  // none of the job's
  body["Healthcheck"] = json::object{{"Test", json::array{"NONE"}}};
  body["Labels"] = json::object{{"rota.node", facts.node}, {run_label, run_name(launch.run)}};
  body["HostConfig"] = std::move(host);
  return json::serialize(body);
}

std::vector<std::string> podman_start(const proto::LaunchRun& launch, const ImageFacts& image,
                                      const ContainerFacts& facts, const std::string& directory,
                                      const std::string& cpu_list) {
  const ContainerSpec& wish = launch.payload.container;
  std::vector<std::string> words = podman_words(facts.podman);
  const auto add = [&words](std::string word) { words.push_back(std::move(word)); };
  for (const char* word : {"run", "--detach", "--rm", "--pull=never", "--log-driver=none",
                           "--cap-drop=all", "--security-opt=no-new-privileges", "--no-healthcheck",
                           "--userns=host", "--workdir=/", "--passwd=false"})
    add(word);
  for (const std::string& limit : facts.ulimits) add("--ulimit=" + limit);
  add(format("--name={}", container_name(launch.run, facts)));
  add(format("--label={}={}", run_label, run_name(launch.run)));
  add(format("--user={}", user_text(launch.owner)));
  add(format("--network={}", facts.private_network ? "none" : "host"));
  add(format("--ipc={}", facts.private_ipc ? "private" : "host"));
  add("--pid=private");
  add(format("--pidfile={}/{}", directory, box_pid));
  add(format("--volume={}", box_bind(directory)));
  add(format("--entrypoint={}/{}", box_place, box_pause));
  if (wish.read_only) add("--read-only");
  if (const std::uint64_t shm = shm_of(wish, facts); shm > 0) add(format("--shm-size={}", shm));
  if (launch.part.memory_bytes > 0) add(format("--memory={}", launch.part.memory_bytes));
  if (!cpu_list.empty()) add(format("--cpuset-cpus={}", cpu_list));
  if (facts.gpus != "none")
    for (const std::string& uuid : launch.gpu_uuids) add("--device=nvidia.com/gpu=" + uuid);
  add("--");
  add(image.id);
  return words;
}

std::vector<std::string> podman_remove(const std::string& name, const ContainerFacts& facts) {
  std::vector<std::string> words = podman_words(facts.podman);
  for (const char* word : {"rm", "--force", "--time=0", "--ignore", "--"}) words.push_back(word);
  words.push_back(name);
  return words;
}

/// As the image says of itself: the container has rota-pause there.
void plan_keep(const proto::LaunchRun& launch, const ImageFacts& image, const ContainerFacts& facts,
               ContainerOrder& order) {
  const std::string& name = launch.payload.container.name;
  if (name.empty()) return;
  order.keep = kept_image(order.kind, launch.owner.uid, kept_name(name)->name);
  if (order.kind == ContainerKind::docker) {
    json::object body;
    body["Entrypoint"] = list_of(image.entrypoint);
    body["Cmd"] = list_of(image.command);
    body["Env"] = list_of(image.environment);
    body["WorkingDir"] = image.workdir;
    body["Labels"] = json::object{{own_label, std::to_string(launch.owner.uid)}};
    order.keep_request = json::serialize(body);
    return;
  }
  order.keep_words = podman_words(facts.podman);
  const auto add = [&order](std::string word) { order.keep_words.push_back(std::move(word)); };
  for (const char* word : {"commit", "--quiet", "--pause=false"}) add(word);
  add("--change=ENTRYPOINT " + json::serialize(list_of(image.entrypoint)));
  add("--change=CMD " + json::serialize(list_of(image.command)));
  if (!image.workdir.empty()) add("--change=WORKDIR " + image.workdir);
  add(format("--change=LABEL {}={}", own_label, launch.owner.uid));
  for (const char* word : {"--"}) add(word);
  add(order.name);
  add(order.keep);
}

void plan_store(const proto::LaunchRun& launch, const ImageFacts& image,
                const ContainerFacts& facts, ContainerOrder& order) {
  const ContainerSpec& wish = launch.payload.container;
  order.save_limit_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(facts.save_limit).count();
  // The nodes of a run would all write the same file.
  if (launch.node_index == 0) order.save = wish.save;
  if (order.kind == ContainerKind::enroot) return;
  plan_keep(launch, image, facts, order);
  const auto podman = [&](std::initializer_list<std::string> words) {
    std::vector<std::string> all = podman_words(facts.podman);
    all.insert(all.end(), words);
    return all;
  };
  const bool is_podman = order.kind == ContainerKind::podman;
  if (is_podman) order.save_words = podman({"export", "--", order.name});
  if (!is_image_file(launch, order.kind)) return;
  order.file = launch.spec.image;
  order.import_name = image.id;
  if (!is_podman) return;
  order.import_words = podman({"import", "--quiet", "--", "-", image.id});
  order.unimport_words = podman({"rmi", "--force", "--", image.id});
}

/// The image is unpacked to a directory of the owner's, and everything enroot does it does as the
/// owner. rstepd adds the mounts and what is to be run.
void plan_enroot(const proto::LaunchRun& launch, const ImageFacts& image,
                 const ContainerFacts& facts, ContainerOrder& order) {
  const ContainerSpec& wish = launch.payload.container;
  const std::string data = format("{}/data/{}", facts.enroot_dir, launch.owner.uid);
  const std::string running = format("{}/run/{}", facts.enroot_dir, launch.owner.uid);
  order.own_directories = {data, running};
  order.root = format("{}/{}", data, order.name);
  if (const auto kept = kept_name(wish.name); kept && !wish.name.empty()) {
    order.keep = kept->name;
    order.is_fresh = kept->fresh;
    order.root = format("{}/{}", data, kept_root(kept->name));
  }
  order.create_words = {facts.enroot, "create", "--name", order.name, "--", image.id};
  // What enroot's own export writes.
  order.save_words = {"mksquashfs",   order.root,   "",   "-noappend", "-all-root",
                      "-no-progress", "-wildcards", "-e", "dev/*",     ".lock"};
  order.start_words = {facts.enroot, "start", "--rc", format("{}/{}", order.directory, box_rc)};
  if (!wish.read_only) order.start_words.push_back("--rw");
  if (facts.private_network) order.start_words.push_back("--net");
  const std::string home = variable_of(launch.payload, "HOME");
  // Its helpers lie beside it, wherever it is.
  order.environment = {
      format("PATH={}:{}", facts.enroot.substr(0, facts.enroot.rfind('/')), path_default.substr(5)),
      format("HOME={}", home.empty() ? "/" : home),
      format("ENROOT_DATA_PATH={}", data),
      format("ENROOT_RUNTIME_PATH={}", running),
      format("ENROOT_CACHE_PATH={}/.cache", running),
      visible_devices(launch, facts),
      driver_capabilities};
}

/// Opened as the owner, as all mounts are: a name gives nobody more than the path would.
Result<void> add_volumes(const proto::LaunchRun& launch, const ContainerFacts& facts,
                         std::vector<ContainerMount>& mounts) {
  for (const DataMount& data : launch.payload.container.data) {
    const DataVolume* volume = data_volume(facts.data, data.name, launch.spec.project);
    if (volume == nullptr)
      return Error{Errc::unsupported,
                   format("the configuration of this node has no volume {} for project {}",
                          quoted(data.name), quoted(launch.spec.project.str()))};
    mounts.push_back({volume->path, data.target.empty() ? volume->target : data.target,
                      volume->read_only || data.read_only});
  }
  return {};
}

Error lacks(std::string_view runtime) {
  return {Errc::unsupported, format("this node has no {} to run its image", runtime)};
}

}  // namespace

std::string container_name(RunId run, const ContainerFacts& facts) {
  return container_prefix(facts.node) + run_name(run);
}

Result<ContainerKind> container_kind(const proto::LaunchRun& launch, const ContainerFacts& facts) {
  const ContainerSpec& wish = launch.payload.container;
  if (launch.spec.image.empty() && wish.name.empty()) return ContainerKind::none;
  return container_kind(wish.runtime, facts);
}

Result<ContainerKind> container_kind(const std::string& wish, const ContainerFacts& facts) {
  const std::string& runtime = wish.empty() ? facts.runtime : wish;
  if (runtime == "none" && !wish.empty()) return ContainerKind::none;
  if (runtime.empty() || runtime == "none")
    return Error{Errc::unsupported,
                 "this node runs no images (node.container_runtime), and the job has one"};
  if (facts.pause_program.empty())
    return Error{Errc::unsupported, "this node's rota-pause was not found"};
  if (runtime == "enroot") {
    if (facts.enroot.empty()) return lacks(runtime);
    return ContainerKind::enroot;
  }
  if (runtime == "docker") {
    if (facts.docker_socket.empty()) return lacks(runtime);
    return ContainerKind::docker;
  }
  if (runtime == "podman") {
    if (facts.podman.empty()) return lacks(runtime);
    return ContainerKind::podman;
  }
  return lacks(runtime);
}

bool is_image_file(const proto::LaunchRun& launch, ContainerKind kind) {
  return kind != ContainerKind::enroot && launch.spec.image.str().starts_with('/');
}

std::vector<std::string> container_environment(const JobPayload& payload, const ImageFacts& image) {
  std::vector<std::string> list;
  for (const std::string& variable : payload.environment)
    if (std::ranges::find(foreign, name_of_variable(variable)) == foreign.end())
      list.push_back(variable);
  list.emplace_back(path_default);
  for (const std::string& variable : image.environment) set_variable(list, variable);
  for (const std::string& variable : payload.container.environment) set_variable(list, variable);
  return list;
}

Result<ContainerOrder> plan_container(const proto::LaunchRun& launch, ContainerKind kind,
                                      const ImageFacts& image, const ContainerFacts& facts,
                                      const std::string& directory, const std::string& cpu_list) {
  const JobPayload& payload = launch.payload;
  const ContainerSpec& wish = payload.container;
  ContainerOrder order;
  order.kind = kind;
  order.name = container_name(launch.run, facts);
  order.directory = directory;
  order.pause_program = facts.pause_program;
  order.digest = image.digest;
  order.start_limit_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(facts.start_limit).count();
  if (kind == ContainerKind::docker) {
    order.socket = facts.docker_socket;
    order.request = docker_request(launch, image, facts, directory, cpu_list);
  } else if (kind == ContainerKind::enroot) {
    plan_enroot(launch, image, facts, order);
  } else {
    order.start_words = podman_start(launch, image, facts, directory, cpu_list);
    order.remove_words = podman_remove(order.name, facts);
    order.environment = {std::string(path_default), "HOME=/root"};
  }
  plan_store(launch, image, facts, order);
  order.mounts = facts.mounts;
  ROTA_CHECK(add_volumes(launch, facts, order.mounts));
  order.mounts.insert(order.mounts.end(), wish.mounts.begin(), wish.mounts.end());

  const bool own_command = payload.mode == LaunchMode::tasks && payload.arguments.empty();
  if (wish.entrypoint || own_command) order.entry_words = image.entrypoint;
  // Images of enroot's have a script that goes to the working directory and runs the entry point
  // with what it is given, or with the image's own command.
  if (kind == ContainerKind::enroot && (wish.entrypoint || own_command))
    order.entry_words = {"/bin/sh", "/etc/rc"};
  if (own_command)
    order.entry_words.insert(order.entry_words.end(), image.command.begin(), image.command.end());
  if (own_command && order.entry_words.empty())
    return Error{Errc::launch_failed,
                 format("image {} has no command of its own: give one behind --",
                        quoted(launch.spec.image.str()))};

  if (!wish.workdir.empty()) {
    order.workdirs = {wish.workdir};
  } else {
    if (!image.workdir.empty() && image.workdir != "/") order.workdirs.push_back(image.workdir);
    order.workdirs.push_back(payload.working_directory);
    order.workdirs.push_back("/");
  }
  const std::string home = variable_of(payload, "HOME");
  const std::string user = in_passwd(launch.owner.user);
  order.passwd_line = format("{}:x:{}:{}::{}:/bin/sh", user, launch.owner.uid, launch.owner.gid,
                             in_passwd(home.empty() ? "/" : home));
  order.group_line = format("{}:x:{}:", user, launch.owner.gid);
  return order;
}

}  // namespace rota::gpud
