#!/bin/bash
# testsuite/t/t3071-notebook.t - a person at a notebook: Debian's Jupyter in a container, a real browser before rproxy.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/containers.sh"
have_docker || have_podman || skip_all "needs root, and docker or podman"
have_busybox || skip_all "needs Debian's busybox-static"
for tool in chromium jupyter-notebook setpriv; do command -v $tool >/dev/null || skip_all "no $tool"; done
/usr/bin/python3 -c 'import websocket' 2>/dev/null || skip_all "no python3-websocket"
plan 10

# An image with a shell; the programs are the node's own, mounted to be read.
mkdir -p "$test_dir/extra/usr" "$test_dir/extra/root"
for folder in lib lib32 lib64; do ln -s "usr/$folder" "$test_dir/extra/$folder"; done
image_tar "$test_dir/image.tar"
# The job's network is its own: the only way in is rproxy.
config='node:
  container_gpus: none
  container_network: none
'
if have_docker; then
  docker_start
  dock import "$test_dir/image.tar" rota-test:1 >/dev/null || bail_out "docker import fails"
  config+="  docker_socket: $test_dir/docker/sock
  container_runtime: docker
"
else
  podman_start
  pod import "$test_dir/image.tar" rota-test:1 >/dev/null 2>&1 || bail_out "podman import fails"
  config+="  podman: $test_dir/podman/podman
  container_runtime: podman
"
fi
printf '%s' "$config" >"$test_dir/config.yaml"
printf 'projects:\n  default: {quota: 1}\n' >"$test_dir/projects.yaml"
cluster_start --nodes 1 --gpus 1 --proxy --config "$test_dir/config.yaml" --projects "$test_dir/projects.yaml"
chmod 711 "$test_dir" "$cluster_dir" 2>/dev/null
mkdir "$test_dir/home"
cd "$test_dir/home" || exit 1
cat >work.ipynb <<'J'
{"cells": [{"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": []}],
 "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
 "nbformat": 4, "nbformat_minor": 2}
J
chown -R nobody:nogroup .
as_user() { setpriv --reuid nobody --regid nogroup --clear-groups env HOME="$test_dir/home" USER=nobody "$@"; }
as_user rqueue >/dev/null 2>&1 || skip_all "this build tree is not open to other users"

job=$(as_user rsubmit --parsable --interactive -g 1 --image rota-test:1 --volume "/usr:/usr:ro,$test_dir/home:/home" \
  --container-workdir /home --env HOME=/home --env PATH=/usr/bin:/bin --port 8888 --url -o out -- sh -c \
  'exec /usr/bin/jupyter-notebook --no-browser --ip=127.0.0.1 --port=$ROTA_PORT --NotebookApp.base_url=$ROTA_BASE_URL --NotebookApp.token=')
ok "a notebook as a job" wait_state "$job" RUNNING 60
url=$(rqueue -n -j "$job" -o '%{urls}')
like "$url" "/$job-8888/$" "rqueue shows its address"
whole=$(as_user rota url "$job")
is "${whole%%\?*}" "$url" "rota url prints the same, with a token"
ok "it listens" wait_for 60 grep -q "http://.*$job-8888/" out || diag "$(cat out)"

timeout 120 /usr/bin/python3 "$top_srcdir/testsuite/t/notebook_browser.py" "$test_dir/profile" "$url" \
  "${url}notebooks/work.ipynb?${whole#*\?}" 'import os; print("it is", 6 * 7, "for", os.getuid())' >seen 2>errors
is "$?" 0 "a browser uses it" || diag "$(cat errors seen; tail -n 20 out)"
is "$(sed -n 's/^stranger: //p' seen)" "Who are you?" "without a token it gets nowhere"
is "$(sed -n 's/^address: //p' seen)" "/$job-8888/notebooks/work.ipynb" "with it, it gets to the notebook, and the token is out of sight"
is "$(sed -n 's/^output: //p' seen)" "it is 42 for $(id -u nobody)" "a cell runs, in the job, as its owner"
unlike "$(sed -n 's/^cookies: //p' seen)" rota "and no script of the page sees our cookie"
as_user rcancel "$job"
ok "the job ends" wait_state "$job" CANCELLED
