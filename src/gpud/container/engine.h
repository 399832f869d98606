// gpud/container/engine.h - the images of one container engine: looked up, pulled and removed.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "common/result.h"
#include "common/time.h"
#include "gpud/container/image.h"
#include "gpud/launch/order.h"
#include "proto/messages.h"

namespace rota::gpud {

/// Asks an engine. Calls may overlap.
class ImageEngine {
 public:
  virtual ~ImageEngine() = default;

  /// The image, if the node has it.
  virtual boost::asio::awaitable<Result<std::optional<ImageFacts>>> find(std::string name) = 0;
  /// Has it brought from its registry, which is asked as `login` says even when the image is there;
  /// `percent` hears how far that is. An error has the registry's own words, with Errc::not_found
  /// or Errc::denied where trying again would not help.
  virtual boost::asio::awaitable<Result<void>> pull(std::string name, proto::RegistryLogin login,
                                                    std::function<void(unsigned)> percent) = 0;
  /// Takes the name from the image, which goes with its last name. Good when there is no such name;
  /// an error when a container needs it.
  virtual boost::asio::awaitable<Result<void>> remove(std::string name) = 0;
  /// The ids of all images that the node has; an error with Errc::unsupported: it never pulls as
  /// anybody, so that nobody has to know.
  virtual boost::asio::awaitable<Result<std::set<std::string>>> ids();
  /// Where on this host the images are; an error: that cannot be told.
  virtual boost::asio::awaitable<Result<std::string>> directory();
  /// Ends and removes every container of ours for which `is_wanted` says no, by its name.
  virtual boost::asio::awaitable<Result<void>> sweep(
      std::function<bool(const std::string& container)> is_wanted) = 0;
};

struct EngineOptions {
  std::string node;           // our containers' names begin with rota-NODE.
  std::string docker_socket;  // "": no docker
  std::string podman;         // "": no podman
  std::string enroot;         // "": no enroot
  std::string enroot_dir;
  std::uint64_t kept_max = 10;  // containers of a user
  Owner enroot_account;         // who imports its images
  std::function<boost::asio::awaitable<Result<std::string>>(UserOrder)> run_as;  // of Steps
  Duration call_limit = std::chrono::seconds(60);                                // of a question
  Duration pull_limit = std::chrono::minutes(60);                                // of a pull
  Duration pull_silence = std::chrono::minutes(5);  // without a word of its progress
};

std::unique_ptr<ImageEngine> docker_images(boost::asio::any_io_executor executor,
                                           EngineOptions options);
std::unique_ptr<ImageEngine> podman_images(boost::asio::any_io_executor executor,
                                           EngineOptions options);

std::unique_ptr<ImageEngine> enroot_images(boost::asio::any_io_executor executor,
                                           EngineOptions options);

/// Which of the images that we made are to go: those for a run's container that `is_wanted` says no
/// to, of each user's the oldest beyond `kept_max`, and those whose name another has taken.
std::vector<std::string> unwanted_images(
    std::vector<OwnImage> images, const std::string& node, std::uint64_t kept_max,
    const std::function<bool(const std::string& container)>& is_wanted);

/// "rota-NODE." with which the names of a node's containers begin, and all of it for a run.
std::string container_prefix(const std::string& node);
/// Which code an engine's complaint about a pull deserves.
Error pull_error(std::string words);

/// podman's own options, before the command: the same for every call.
std::vector<std::string> podman_words(const std::string& program);

}  // namespace rota::gpud
