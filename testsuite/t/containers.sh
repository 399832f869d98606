# testsuite/t/containers.sh - container engines of a test's own, and an image made from Debian's busybox.
#
# After `. "$(dirname "$0")/lib.sh"`:
#   have_docker | have_podman | have_enroot   whether the engine can be started here, as root
#   docker_start                a dockerd of this test in $test_dir/docker; `dock` is its client. For a second one
#                               set docker_name to its directory, for `dock` too
#   podman_start                a store of this test in $test_dir/podman; `pod` is its program
#   image_tar FILE              a root file system with busybox; extra files come from $test_dir/extra
#   registry_start [FILE]       Debian's docker-registry on loopback; $registry is its host:port; FILE: who may log in (htpasswd_line)
#   htpasswd_line USER PASSWORD a line of such a file
#   user_start                  a user's home in $test_dir/home, where the test goes; `as_user` runs a command as that user
#   kill_rstepd RUN             kill -9 of this cluster's rstepd for a run, and of what it has just forked
# Everything is ended by process id when the test ends.

# all_here PROGRAM...: every one of them; `command -v` is content with any.
all_here() {
  local program
  for program; do command -v "$program" >/dev/null || return 1; done
}
have_docker() { ((EUID == 0)) && all_here dockerd docker; }
have_podman() { ((EUID == 0)) && all_here podman runc; }
have_enroot() { ((EUID == 0)) && all_here enroot mksquashfs; }
have_busybox() { [[ -x /bin/busybox ]] && ! ldd /bin/busybox >/dev/null 2>&1; }

# ends PID: asks, waits, insists.
ends() {
  kill "$1" 2>/dev/null
  wait_gone "$1" 20 || kill -KILL "$1" 2>/dev/null
}

docker_start() {
  local home=$test_dir/${docker_name:-docker}
  mkdir -p "$home"
  dockerd --data-root "$home/data" --exec-root "$home/exec" -H "unix://$home/sock" --pidfile "$home/pid" \
    --iptables=false --ip6tables=false --bridge=none --exec-opt native.cgroupdriver=cgroupfs "$@" \
    >"$home/log" 2>&1 &
  at_exit "docker_name=${docker_name:-docker} docker_stop $!"
  wait_for 30 dock version || {
    diag "$(tail -n 20 "$home/log")"
    bail_out "dockerd does not start"
  }
}
docker_stop() {
  local left
  left=$(dock ps -aq 2>/dev/null)
  # shellcheck disable=SC2086
  [[ -z $left ]] || dock rm -f $left >/dev/null 2>&1
  ends "$1"
  # Its own network namespace stays mounted for the next dockerd.
  umount "$test_dir/${docker_name:-docker}/exec/netns/"* 2>/dev/null
}
dock() { docker -H "unix://$test_dir/${docker_name:-docker}/sock" "$@"; }

podman_start() {
  mkdir -p "$test_dir/podman"
  cat >"$test_dir/podman/podman" <<TEXT
#!/bin/sh
exec $(command -v podman) --root $test_dir/podman/root --runroot $test_dir/podman/run "\$@"
TEXT
  chmod 755 "$test_dir/podman/podman"
  at_exit "podman_stop"
}
podman_stop() {
  pod rm --all --force --time=0 >/dev/null 2>&1
  pod rmi --all --force >/dev/null 2>&1
  umount "$test_dir/podman/root/overlay" 2>/dev/null
}
pod() { "$test_dir/podman/podman" --cgroup-manager=cgroupfs --events-backend=file --runtime=runc "$@"; }

image_tar() {
  local root=$test_dir/rootfs program
  rm -rf "$root"
  mkdir -p "$root"/{bin,etc,tmp,proc,sys,dev,run,root,job}
  cp /bin/busybox "$root/bin/"
  for program in $(/bin/busybox --list); do
    [[ $program == busybox ]] || ln -s busybox "$root/bin/$program"
  done
  echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
  echo 'root:x:0:' >"$root/etc/group"
  chmod 1777 "$root/tmp"
  [[ ! -d $test_dir/extra ]] || cp -a "$test_dir/extra/." "$root/"
  tar -C "$root" -cf "$1" .
  rm -rf "$root"
}

registry_start() {
  local home=$test_dir/registry port
  mkdir -p "$home"
  port=$((20000 + RANDOM % 20000))
  cat >"$home/config.yml" <<TEXT
version: 0.1
storage:
  filesystem:
    rootdirectory: $home/data
http:
  addr: 127.0.0.1:$port
TEXT
  [[ -z ${1:-} ]] || printf 'auth:\n  htpasswd:\n    realm: rota-test\n    path: %s\n' "$1" >>"$home/config.yml"
  docker-registry serve "$home/config.yml" >"$home/log" 2>&1 &
  registry_pid=$!
  at_exit "ends $registry_pid"
  registry=127.0.0.1:$port
  wait_for 20 bash -c ": <>/dev/tcp/127.0.0.1/$port" || bail_out "docker-registry does not start"
}

htpasswd_line() { perl -e 'print "$ARGV[0]:", crypt($ARGV[1], q($2y$05$abcdefghijklmnopqrstuu)), "\n"' "$1" "$2"; }
user_start() {
  chmod 711 "$test_dir" "$cluster_dir" "$cluster_dir/nodes" "$cluster_dir/nodes/"* 2>/dev/null
  mkdir -m 755 "$test_dir/home"
  chown nobody:nogroup "$test_dir/home"
  cd "$test_dir/home" || exit 1
  as_user rqueue >/dev/null 2>&1 || skip_all "this build tree is not open to other users"
}
as_user() { setpriv --reuid nobody --regid nogroup --clear-groups env HOME="$test_dir/home" USER=nobody "$@"; }

kill_rstepd() {
  local file
  for file in $(grep -lzxF -- "$1" /proc/[0-9]*/cmdline 2>/dev/null); do
    # Others on this host may have a run of the same name.
    readlink "${file%/*}"/fd/* 2>/dev/null | grep -qF "$cluster_dir/" || continue
    file=${file%/*}
    kill -9 "${file#/proc/}" 2>/dev/null
  done
}
