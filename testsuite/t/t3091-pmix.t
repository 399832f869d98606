#!/bin/bash
# testsuite/t/t3091-pmix.t - Debian's Open MPI, as it is, started by rrun: on one node and on two, and how its steps end.
. "$(dirname "$0")/lib.sh"
command -v mpicc >/dev/null || skip_all "no mpicc"
[[ -x $top_builddir/src/gpud/rota-pmix ]] || skip_all "built without PMIx"
((EUID == 0)) || skip_all "nodes with host names of their own need root"
mpicc -o "$test_dir/mpi_sum" "$top_srcdir/testsuite/t/mpi_sum.c" 2>"$test_dir/mpicc.err" ||
  skip_all "mpicc: $(tail -n 1 "$test_dir/mpicc.err")"
plan 24

cluster_start --nodes 2 --gpus 0 --hostnames
nodes=($(node_names))
cd "$test_dir" || exit 1
# Two cores for all of them: who waits lets others run. Other networks than TCP are not here.
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_tcp_if_include=lo
running() { pgrep -f -- "$test_dir/mpi_sum $1" >/dev/null; }
gone() { ! running "$1"; }
last_job() { rqueue --noheader -a -o %i | sort -n | tail -n 1; }
run() {
  timeout 90 "$@" >out 2>err </dev/null
  code=$?
}

run rrun --mpi pmix -n 2 "$test_dir/mpi_sum"
is "$code" 0 "two ranks on one node"
is "$(sort out)" "rank 0 of 2 on ${nodes[0]}: sum 3, from 1
rank 1 of 2 on ${nodes[0]}: sum 3, from 0" "find each other and add up"
diag "$(head -n 5 err)"
run rrun -N 2 -n 4 -l "$test_dir/mpi_sum"
is "$code" 0 "four on two nodes, without being told how"
is "$(sort out)" "0: rank 0 of 4 on ${nodes[0]}: sum 10, from 3
1: rank 1 of 4 on ${nodes[0]}: sum 10, from 0
2: rank 2 of 4 on ${nodes[1]}: sum 10, from 1
3: rank 3 of 4 on ${nodes[1]}: sum 10, from 2" "do the same"
diag "$(head -n 5 err)"
run rrun -N 2 -n 2 --mpi none "$test_dir/mpi_sum"
unlike "$(cat out)" "sum 3" "with --mpi none they do not find each other"

# ---- in a batch job, more than once ----
cat >mpi.sh <<S
#!/bin/bash
rrun "$test_dir/mpi_sum"
rrun -n 3 "$test_dir/mpi_sum" | grep -c 'sum 6'
rrun -N 1 -n 2 "$test_dir/mpi_sum" | grep -c 'sum 3'
S
chmod +x mpi.sh
run rsubmit --wait -Q -N 2 -n 4 -o batch.out mpi.sh
is "$code" 0 "steps of a batch job"
is "$(grep -c 'sum 10' batch.out):$(tail -n 2 batch.out | tr '\n' ,)" "4:3,2," "each is a world of its own"

# ---- ends ----
run rrun -N 2 -n 4 "$test_dir/mpi_sum" abort
is "$code" 7 "MPI_Abort's code comes back"
like "$(cat err)" "task 1 called for the end of the step" "rrun says who called for the end"
ok "nobody is left" wait_for 15 gone abort
run rrun -N 2 -n 4 "$test_dir/mpi_sum" killed
is "$code" 137 "a killed rank ends the step"
like "$(cat err)" "task 1 on ${nodes[0]} was ended by signal 9" "and rrun says so"
ok "nobody is left, either" wait_for 15 gone killed
rrun -N 2 -n 4 sh -c 'echo ready $PMIX_SERVER_TMPDIR; exec sleep 4371' >out 2>err &
pid=$!
four() { [[ $(grep -c ready out) == 4 ]]; }
wait_for 30 four
servers=($(pgrep -f -- "$top_builddir/src/gpud/rota-pmix"))
is "${#servers[@]}" 2 "there is a server on each node"
is "$(ps -o uid= -p "${servers[0]}" | tr -d ' ')" "$(id -u)" "with the owner's rights"
kill -KILL "${servers[1]}"
wait "$pid"
is $? 1 "without its server a step cannot go on"
like "$(cat err)" "the PMIx server on (${nodes[0]}|${nodes[1]}) failed: " "and rrun says so"
ok "the job has ended" wait_state "$(last_job)" 'FAILED|CANCELLED'
for left in $(sed -n 's/^ready //p' out | grep '^/tmp/rota-pmix\.' | sort -u); do rm -rf "$left"; done  # by SIGKILL

# ---- strangers ----
rrun -N 2 -n 2 sh -c "echo ready; exec sleep 4372" >out 2>err &
pid=$!
two() { [[ $(grep -c ready out) == 2 ]]; }
wait_for 30 two
for server in $(pgrep -f -- "$top_builddir/src/gpud/rota-pmix"); do
  for inode in $(find "/proc/$server/fd" -lname 'socket:*' -printf '%l\n' | tr -dc '0-9\n'); do
    awk -v inode="$inode" '$10 == inode && $4 == "0A" { sub(/.*:/, "", $2); print $2 }' /proc/net/tcp6 /proc/net/tcp
  done
done | sort -u >ports
ok "the servers listen" test -s ports
while read -r port; do
  # More than any caller may send before it has proved itself, and nonsense.
  head -c 200000 /dev/urandom | timeout 10 socat -u - "TCP:127.0.0.1:$((16#$port))" 2>/dev/null
done <ports
ok "who knows no secret does not disturb them" kill -0 "$pid"
kill -TERM "$pid"
wait "$pid"
is $? 143 "the step was alive until it was told to end"
is "$(rrun -N 2 -n 2 "$test_dir/mpi_sum" | grep -c 'sum 3')" 2 "and all goes well after that"
rrun -N 2 -n 2 sh -c 'echo $PMIX_SERVER_TMPDIR' >out
no_server() { ! pgrep -f -- "$top_builddir/src/gpud/rota-pmix"; }
ok "no server is left" wait_for 10 no_server
is "$(grep -c '^/tmp/rota-pmix\.' out):$(xargs ls -d <out 2>/dev/null)" "2:" "and none of its files"
