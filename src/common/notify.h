// common/notify.h - tells whoever started a daemon that it is ready, or about to end.
#pragma once
#include <string_view>

#include "common/result.h"

namespace rota {

/// sd_notify(3) without libsystemd: sends `state` ("READY=1", "STOPPING=1", "STATUS=...") to
/// $NOTIFY_SOCKET. Without that variable nothing happens and that is no error.
Result<void> notify_systemd(std::string_view state);
inline Result<void> notify_ready() { return notify_systemd("READY=1"); }
inline Result<void> notify_stopping() { return notify_systemd("STOPPING=1"); }

/// What --ready-fd asks for: writes "HOST:PORT\n" to `fd` and closes it, also after an error.
Result<void> notify_ready_fd(int fd, std::string_view address);

}  // namespace rota
