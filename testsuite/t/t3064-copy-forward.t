#!/bin/bash
# testsuite/t/t3064-copy-forward.t - rota cp and rota port-forward: files and ports of a running job.
. "$(dirname "$0")/lib.sh"
for tool in socat ss; do command -v $tool >/dev/null || skip_all "no $tool"; done
plan 30

cluster_start --nodes 1 --gpus 1
nodes=($(node_names))
cd "$test_dir" || exit 1
mkdir there here
chmod 777 there
mkfifo park
job=$(rsubmit --parsable -D "$test_dir/there" --wrap "read -r line <$test_dir/park")
wait_state "$job" RUNNING || bail_out "the job does not run"

# ---- cp ----
echo one >there/a
head -c 1000000 /dev/urandom >there/blob
mkdir -p "there/tree/sub dir"
echo x >"there/tree/sub dir/-n"
ln -s nowhere there/tree/link
ok "a file out of a job" rota cp "$job:a" here
is "$(cat here/a)" one "is the same here"
ok "under another name" rota cp "$job:blob" here/b2
ok "with all its bytes" cmp here/b2 there/blob
ok "a directory out of a job" rota cp "$job:tree" here
is "$(cd here/tree && find . | sort | tr '\n' ' ')" ". ./link ./sub dir ./sub dir/-n " "with all that is in it"
is "$(readlink here/tree/link)" nowhere "links stay links"
ok "by an absolute path" rota cp "$job:$test_dir/there/a" here/abs
echo two >here/in
ok "a file into a job" rota cp here/in "$job:."
is "$(cat there/in)" two "is there"
ok "under another name" rota cp here/in "$job:renamed"
is "$(cat there/renamed)" two "is there as well"
ok "a directory into a job, under another name" rota cp here/tree "$job:tree2"
is "$(cat "there/tree2/sub dir/-n")" x "with what is in it"
evil='$(touch hurt);`touch hurt`;-x'
echo evil >"there/$evil"
ok "a name that a shell would take for more" rota cp "$job:$evil" here/evil
is "$(cat here/evil):$(ls there here | grep -cx hurt)" "evil:0" "is only a name"
rota cp "$job:missing" here >out 2>err
is $? 2 "a file that is not there fails as tar does"
like "$(cat err)" "missing: Cannot stat" "in its words"
rota cp a b 2>err
is "$?:$(cat err)" "2:rota: one of the two has to be in a job, as in 12:data/x, and one here" "both here"
is "$(ls -A there | grep -c rota-cp):$(ls -A here | grep -c rota-cp)" "0:0" "nothing is left between"

# ---- port-forward ----
# A server in the job: sends back what it gets, and at the end of that says how much it was.
cat >there/serve <<'S'
#!/bin/sh
tee /tmp/null.$$ | cat
wc -c </tmp/null.$$
rm -f /tmp/null.$$
S
chmod +x there/serve
rexec "$job" socat TCP-LISTEN:0,fork,bind=127.0.0.1 EXEC:./serve >/dev/null 2>&1 &
server=$!
wait_for 10 pgrep -f 'EXEC:./serve'
port=$(wait_for 10 sh -c "ss -tlnpH 2>/dev/null | grep -q socat"; ss -tlnpH | awk '/socat/ { sub(/.*:/, "", $4); print $4; exit }')
rota port-forward "$job" "0:$port" >forward.out 2>forward.err &
forward=$!
ok "port-forward says where it listens" wait_for 10 grep -q "^Forwarding from 127.0.0.1:" forward.out
here_port=$(sed -nE 's/.*127.0.0.1:([0-9]+) to.*/\1/p' forward.out)
is "$(printf hello | socat -t 10 - "TCP:127.0.0.1:$here_port")" "hello5" "half-closed, it still answers"
for i in $(seq 20); do
  (head -c "$((i * 1000))" /dev/zero | socat -t 20 - "TCP:127.0.0.1:$here_port" | tail -c 6 | tr -d '\0\n' >"many.$i") &
  pids[i]=$!
done
for i in $(seq 20); do wait "${pids[i]}"; done
is "$(for i in $(seq 20); do cat "many.$i"; echo; done | tr '\n' ' ')" "$(seq -s ' ' 1000 1000 20000) " "twenty at once"
is "$(socat -t 20 - "TCP:127.0.0.1:$here_port" <there/blob | head -c 1000000 | cmp - there/blob && echo same)" same \
  "any bytes, both ways"
is "$(ss -tlnH "sport = :$here_port" | awk '{ print $4 }')" "127.0.0.1:$here_port" "only on the loopback"
rota port-forward "$job" 0:1 >refused.out 2>refused.err &
other=$!
wait_for 10 grep -q Forwarding refused.out
socat -t 2 - "TCP:127.0.0.1:$(sed -nE 's/.*127.0.0.1:([0-9]+) to.*/\1/p' refused.out)" </dev/null >/dev/null 2>&1
ok "a port where nobody listens is told" wait_for 10 grep -q "cannot connect to port 1: Connection refused" refused.err
kill -INT "$other"
wait "$other"
is $? 130 "an interrupt ends it"
rota port-forward "$job" x:1 2>err
is "$?:$(cat err)" "2:rota: 'x:1' is no pair of ports: write 8888:80, or 80" "bad ports"
kill "$server"
wait "$server" 2>/dev/null
rcancel "$job"
wait "$forward"
is $? 1 "and the end of the job"
like "$(cat forward.err)" "rota: job $job has ended: CANCELLED" "which it says"
