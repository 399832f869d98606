// gpud/container/image.cpp - reads JSON of container engines: the one door to Boost.JSON.
#include "gpud/container/image.h"

#include <arpa/inet.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <charconv>

#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"

namespace rota::gpud {
namespace {

namespace json = boost::json;

constexpr std::size_t line_bytes_max = 64 << 10;
constexpr std::size_t layers_max = 1024;

const json::value* find(const json::value& value, std::string_view key) {
  const json::object* object = value.if_object();
  return object == nullptr ? nullptr : object->if_contains(key);
}

std::string text_at(const json::value& value, std::string_view key) {
  const json::value* found = find(value, key);
  const json::string* text = found == nullptr ? nullptr : found->if_string();
  return text == nullptr ? std::string() : std::string(*text);
}

/// A list of words; a shell line, as old images have it, is one for the shell.
std::vector<std::string> words_at(const json::value& value, std::string_view key) {
  std::vector<std::string> words;
  const json::value* found = find(value, key);
  if (found == nullptr) return words;
  if (const json::string* line = found->if_string(); line != nullptr && !line->empty())
    return {"/bin/sh", "-c", std::string(*line)};
  if (const json::array* list = found->if_array())
    for (const json::value& word : *list)
      if (const json::string* text = word.if_string()) words.emplace_back(*text);
  return words;
}

std::uint64_t number_at(const json::value& value, std::string_view key) {
  const json::value* found = find(value, key);
  boost::system::error_code error;
  const auto number = found == nullptr ? 0 : found->to_number<std::int64_t>(error);
  return error || number < 0 ? 0 : static_cast<std::uint64_t>(number);
}

/// Docker leaves its own registry out of names, podman does not.
bool is_same_repository(std::string_view a, std::string_view b) {
  const auto bare = [](std::string_view name) {
    for (const std::string_view prefix : {"docker.io/", "library/", "localhost/"})
      if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    return name;
  };
  return bare(a) == bare(b);
}

bool has_own_label(const json::value& value) {
  const json::value* labels = find(value, "Labels");
  return labels != nullptr && find(*labels, own_label) != nullptr;
}

/// From the label that its container had.
std::uint64_t job_of(const json::value& image) {
  const json::value* labels = find(image, "Labels");
  const std::string run = labels == nullptr ? std::string() : text_at(*labels, run_label);
  std::uint64_t job = 0;
  std::from_chars(run.data(), run.data() + run.size(), job);
  return job;
}

std::string full_id(const json::value& image) {
  const std::string id = text_at(image, "Id");
  return id.empty() || id.starts_with("sha256:") ? id : "sha256:" + id;
}

}  // namespace

std::string_view image_repository(std::string_view name) {
  name = name.substr(0, name.find('@'));
  const std::size_t colon = name.rfind(':');
  const std::size_t slash = name.rfind('/');
  // The colon before a slash is a port's.
  if (colon == std::string_view::npos || (slash != std::string_view::npos && colon < slash))
    return name;
  return name.substr(0, colon);
}

std::string_view image_tag(std::string_view name) {
  if (const std::size_t at = name.find('@'); at != std::string_view::npos)
    return name.substr(at + 1);
  const std::size_t size = image_repository(name).size();
  return size < name.size() ? name.substr(size + 1) : std::string_view("latest");
}

bool is_on_loopback(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view registry = name.substr(0, slash);
  const std::size_t colon = std::min(registry.find(':'), registry.size());
  const std::string host(registry.substr(0, colon));
  if (host == "localhost") return colon < registry.size();  // without a port podman means itself
  in_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

std::string pinned_image(std::string_view name, std::string_view digest) {
  if (const std::size_t at = digest.find('@'); at != std::string_view::npos)
    return format("{}@{}", image_repository(name), digest.substr(at + 1));
  return std::string(digest);
}

/// podman would look for a name without a registry in those that it knows.
std::string file_image(ContainerKind kind, const std::string& container) {
  return format("{}{}:{}", kind == ContainerKind::podman ? "localhost/" : "", file_images,
                container);
}

std::string kept_image(ContainerKind kind, std::uint32_t uid, const std::string& name) {
  return format("{}{}:{}.{}", kind == ContainerKind::podman ? "localhost/" : "", kept_images, uid,
                name);
}

std::string kept_root(const std::string& name) { return "kept." + name; }

Result<ImageFacts> image_facts(std::string_view text, std::string_view name) {
  boost::system::error_code error;
  const json::value document = json::parse(json::string_view(text.data(), text.size()), error);
  const json::value* image = &document;
  if (const json::array* list = document.if_array())
    image = list->empty() ? nullptr : &list->front();
  const json::value* config = error || image == nullptr ? nullptr : find(*image, "Config");
  if (config == nullptr || text_at(*image, "Id").empty())
    return Error{Errc::malformed,
                 format("the description of image {} cannot be read", quoted(name))};
  ImageFacts facts;
  facts.id = full_id(*image);
  facts.digest = facts.id;
  for (const std::string& each : words_at(*image, "RepoDigests")) {
    if (!is_same_repository(image_repository(each), image_repository(name))) continue;
    facts.digest = each;
    // An image may have two digests in one repository: then the one counts that was asked for.
    if (image_tag(each) == image_tag(name)) break;
  }
  facts.environment = words_at(*config, "Env");
  std::erase_if(facts.environment, [](const std::string& variable) {
    const std::size_t equals = variable.find('=');
    return equals == 0 || equals == std::string::npos;
  });
  facts.entrypoint = words_at(*config, "Entrypoint");
  facts.command = words_at(*config, "Cmd");
  facts.workdir = text_at(*config, "WorkingDir");
  facts.size_bytes = number_at(*image, "Size");
  const auto is_own_name = [](const std::string& each) {
    return each.find(ContainerBounds::own_images) != std::string::npos;
  };
  facts.is_own =
      has_own_label(*config) || std::ranges::any_of(words_at(*image, "RepoTags"), is_own_name);
  return facts;
}

std::vector<OwnImage> own_images(std::string_view text) {
  std::vector<OwnImage> images;
  boost::system::error_code error;
  const json::value document = json::parse(json::string_view(text.data(), text.size()), error);
  const json::array* list = error ? nullptr : document.if_array();
  if (list == nullptr) return images;
  for (const json::value& item : *list) {
    const auto created = static_cast<std::int64_t>(number_at(item, "Created"));
    bool has_name = false;
    for (const char* key : {"RepoTags", "Names"})  // dockerd's, podman's
      for (const std::string& name : words_at(item, key)) {
        has_name = has_name || !name.starts_with("<none>");
        if (name.find(ContainerBounds::own_images) != std::string::npos)
          images.push_back({name, created, job_of(item)});
      }
    if (!has_name && has_own_label(item)) images.push_back({full_id(item), created, job_of(item)});
  }
  return images;
}

std::set<std::string> image_ids(std::string_view text) {
  std::set<std::string> ids;
  boost::system::error_code error;
  const json::value document = json::parse(json::string_view(text.data(), text.size()), error);
  if (const json::array* list = error ? nullptr : document.if_array())
    for (const json::value& item : *list) ids.insert(full_id(item));
  return ids;
}

PullProgress::Layer& PullProgress::layer(std::string_view id) {
  const auto found = std::ranges::find(layers_, id, &Layer::id);
  if (found != layers_.end()) return *found;
  if (layers_.size() < layers_max) layers_.push_back({std::string(id)});
  return layers_.back();
}

void PullProgress::take(std::string_view text) {
  rest_ += text;
  std::size_t at = 0;
  for (std::size_t end; (end = rest_.find('\n', at)) != std::string::npos; at = end + 1)
    if (const auto line = std::string_view(rest_).substr(at, end - at); of_ == Of::docker)
      take_line(line);
    else
      take_drawn(line);
  rest_.erase(0, at);
  if (rest_.size() > line_bytes_max) rest_.clear();
}

void PullProgress::take_line(std::string_view line) {
  boost::system::error_code error;
  const json::value event = json::parse(json::string_view(line.data(), line.size()), error);
  if (error) return;
  if (const std::string words = text_at(event, "error"); !words.empty()) {
    trouble_ = words;
    return;
  }
  const std::string status = text_at(event, "status");
  const std::string id = text_at(event, "id");
  if (id.empty()) return;
  const bool is_new = status == "Pulling fs layer";
  const bool is_done = status == "Pull complete" || status == "Already exists";
  if (!is_new && !is_done && status != "Downloading") return;
  Layer& one = layer(id);
  one.is_done = one.is_done || is_done;
  if (const json::value* detail = find(event, "progressDetail"); detail != nullptr && !is_done) {
    one.loaded = number_at(*detail, "current");
    one.total = std::max(one.total, number_at(*detail, "total"));
  }
}

/// "Copying blob ca7703c792d5 [====>---] 4.0MiB / 5.0MiB", "Copying blob ca7703c792d5 done", with
/// the terminal's orders to draw over what is there before it.
void PullProgress::take_drawn(std::string_view line) {
  constexpr std::string_view begin = "Copying blob ";
  const std::size_t at = line.find(begin);
  if (at == std::string_view::npos) return;
  line.remove_prefix(at + begin.size());
  const std::string_view id = line.substr(0, line.find(' '));
  line.remove_prefix(id.size());
  const std::size_t bar = line.rfind("] "), slash = line.rfind(" / ");
  const bool is_done = line.starts_with(" done") || line.starts_with(" skipped");
  if (!is_done && (bar == std::string_view::npos || slash == std::string_view::npos || slash < bar))
    return;
  Layer& one = layer(id);
  one.is_done = one.is_done || is_done;
  if (is_done) return;
  const std::string_view total = line.substr(slash + 3);
  const auto loaded_bytes = size_parse(line.substr(bar + 2, slash - bar - 2));
  const auto total_bytes = size_parse(total.substr(0, total.find_first_of(" \r|")));
  if (!loaded_bytes || !total_bytes) return;
  one.loaded = *loaded_bytes;
  one.total = std::max(one.total, *total_bytes);
}

unsigned PullProgress::percent() const {
  // A layer whose size is not known yet counts as one of the usual size.
  std::uint64_t known = 0, known_count = 0;
  for (const Layer& one : layers_)
    if (one.total > 0) known += one.total, ++known_count;
  const std::uint64_t usual = known_count > 0 ? std::max<std::uint64_t>(known / known_count, 1) : 1;
  std::uint64_t loaded = 0, total = 0;
  for (const Layer& one : layers_) {
    const std::uint64_t size = one.total > 0 ? one.total : usual;
    total += size;
    loaded += one.is_done ? size : std::min(one.loaded, size);
  }
  return total == 0 ? 0 : static_cast<unsigned>(loaded * 100 / total);
}

}  // namespace rota::gpud
