#!/bin/bash
# testsuite/t/t3011-gpu-files.t - jobs open their own GPUs only, and monitoring is told who has which.
. "$(dirname "$0")/lib.sh"
((EUID == 0)) || skip_all "not root: device files and their cgroups are for root"
mknod "$test_dir/nvidia0" c 195 0 2>/dev/null || skip_all "no device files can be made here"
plan 13
cat >"$test_dir/keys.yaml" <<TEXT
node:
  close_gpus: always
  dcgm_dir: $test_dir/dcgm
  jobstats_dir: $test_dir/gpustat
TEXT
for minor in 1 2 3 255; do mknod "$test_dir/nvidia$minor" c 195 $minor; done
cd "$test_dir" || bail_out "no directory"
chmod 666 nvidia*
cluster_start --nodes 1 --gpus 4 --config keys.yaml
files() { (cd "$1" && grep -H . -- * 2>/dev/null | tr '\n' ' '); }
cat >job.sh <<'TEXT'
#!/bin/bash
# Without a driver, opening a GPU's file fails with "No such device" where the kernel lets us through.
for minor in 0 1 2 3 255; do
  if (: <>nvidia$minor) 2>err.$$ || grep -q 'No such device' err.$$; then echo -n "$minor "; fi
done >opened.$ROTA_JOB_ID.part
mv "opened.$ROTA_JOB_ID.part" "opened.$ROTA_JOB_ID"
[[ -z ${1:-} ]] || read -r _ <"$1"
TEXT
chmod 755 job.sh
mkfifo one two
exec 8<>one 9<>two
one=$(rsubmit --parsable -G 2 -o one.out job.sh one)
ok "a job with two GPUs looks" wait_for 30 test -e "opened.$one"
gpus=$(rqueue --json -j "$one" | jq -r '.jobs[0].gpus')
is "$gpus" 2 "it has them"
is "$(wc -w <"opened.$one"),$(cut -d' ' -f 3 <"opened.$one")" 3,255 "it opens two GPUs and the control file"
two=$(rsubmit --parsable -G 1 -o two.out job.sh two)
ok "another one" wait_for 30 test -e "opened.$two"
is "$(wc -w <"opened.$two")" 2 "it opens one"
is "$(cat "opened.$one" "opened.$two" | tr ' ' '\n' | grep -v 255 | sort | uniq -d | grep .)" "" "and none that the first has"
none=$(rsubmit --parsable -o none.out job.sh)
ok "a job without GPUs ends" wait_state "$none" COMPLETED
is "$(cat "opened.$none")" "255 " "it opens none"
wanted=$(for gpu in $(cut -d' ' -f 1,2 <"opened.$one"); do echo "$gpu:$one"; done; echo "$(cut -d' ' -f 1 <"opened.$two"):$two")
is "$(files dcgm)" "$(sort <<<"$wanted" | tr '\n' ' ')" "the exporter can read who has which"
is "$(files gpustat)" "$(sort <<<"$wanted" | sed 's/$/ 0/' | tr '\n' ' ')" "and so can jobstats"
daemon_kill dgx1-1
echo >&8
cluster_resume
ok "one ends while its node's daemon is away" wait_state "$one" COMPLETED
is "$(files dcgm)" "$(cut -d' ' -f 1 <"opened.$two"):$two " "the files follow"
echo >&9
ok "nothing is left" wait_for 30 bash -c '[[ -z $(ls dcgm gpustat | grep -v :) ]]'
