// gpud/container/http.h - one request to a daemon that listens on a Unix socket, and its answer.
#pragma once
#include <cstdint>
#include <string>

#include "common/time.h"
#include "gpud/launch/file.h"

namespace rota::gpud {

struct HttpAnswer {
  int status = 0;       // 0: there was none
  std::string body;     // the beginning of a long one
  std::string trouble;  // why there was none
};

/// Waits at most so long for each part of the answer. Linked into rstepd, so without Beast.
HttpAnswer http_call(const std::string& socket, const std::string& method, const std::string& path,
                     const std::string& body, Duration patience);

/// Asks for something long: the head of the answer and what came with it are in the result, the
/// rest comes from `stream`. With another status than 200 all of it is in the result.
HttpAnswer http_begin(const std::string& socket, const std::string& path, Fd& stream,
                      Duration patience);
/// A POST with the first `size` bytes of a file as its body.
HttpAnswer http_send(const std::string& socket, const std::string& path, int file,
                     std::uint64_t size, Duration patience);

/// What dockerd says in {"message":"..."}; else the answer as it is, in one line.
std::string message_of(const HttpAnswer& answer);

}  // namespace rota::gpud
