#!/bin/bash
# testsuite/t/t3070-rproxy.t - rsubmit --url, rota url and rproxy: who gets to a job's port by the web, and what passes.
. "$(dirname "$0")/lib.sh"
for tool in curl jq openssl socat /usr/bin/python3; do command -v $tool >/dev/null || skip_all "no $tool"; done

printf 'proxy:\n  user_connections_max: 16\n' >"$test_dir/config.yaml"
cluster_start --nodes 1 --gpus 2 --proxy --config "$test_dir/config.yaml"
node=$(node_names)
chmod 711 "$test_dir" "$cluster_dir" 2>/dev/null
mkdir -m 777 "$test_dir/home"
cd "$test_dir/home" || exit 1
base=$(sed -n 's/^  url: //p' "$cluster_dir/rota.yaml")
as() { "${@:2}"; }
owner=$(id -un)
if ((EUID == 0)) && command -v setpriv >/dev/null; then
  as() { setpriv --reuid "$1" --regid "$(id -g "$1")" --clear-groups env HOME=/ "${@:2}"; }
  if as nobody rqueue >/dev/null 2>&1; then owner=nobody; fi
fi
cp "$top_srcdir/testsuite/t/web_job.py" server.py
chmod 755 server.py

pick_port() { /usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# serve LOG OPTIONS...: a job with the server on a free port; sets job, port, prefix.
serve() {
  local log=$1
  shift
  port=$(pick_port)
  job=$(as "$owner" rsubmit --parsable -o /dev/null --port "$port" "$@" -- ./server.py "$port" "$PWD/$log")
  prefix=/$job-$port/
  wait_state "$job" RUNNING >/dev/null || bail_out "the job does not run"
  wait_for 20 grep -q ^listens "$log" || bail_out "the server does not start"
}
status() { curl -s -m 60 -o body -w '%{http_code}' "$@"; }
# raw TEXT: what rproxy answers to these bytes.
raw() { printf "$1" | timeout 20 socat -t 20 - "TCP:${base#http://}" 2>/dev/null; }
code() { head -n 1 | sed -n 's/^HTTP[^ ]* \([0-9]*\).*/\1/p'; }

# ---- asking for it ----

is "$(rsubmit --url -- true 2>&1)" "rsubmit: an address for browsers needs a port: give --port as well" "--url needs a port"
like "$(rsubmit --port 0 -- true 2>&1)" "'0' is no list of ports" "a port is a number"
like "$(rsubmit --port 80 --url=alice -- true 2>&1)" "'alice' names nobody" "users are named as users:"
like "$(rsubmit --port "$(seq -s, 1 17)" -- true 2>&1)" '17 ports, at most 16' "there are not too many ports"
serve log --url=users:daemon
like "$(head -n 1 log)" "^listens [0-9]+ $prefix $base$prefix $port$" "the job knows its address"
is "$(rqueue -n -j "$job" -o '%{urls} %{ports}')" "$base$prefix $port" "rqueue shows it"
like "$(rqueue -l -j "$job")" "$base$prefix" "in the long table too"
is "$(rqueue --json -j "$job" | jq -c '.jobs[0] | [.urls, .ports]')" "[[\"$base$prefix\"],[$port]]" "and as JSON"
url=$(as "$owner" rota url "$job")
like "$url" "^$base$prefix\?rota_token=[A-Za-z0-9_.-]+$" "rota url prints it with a token"
token=${url#*rota_token=}
is "$(as "$owner" rota url "$job" --port "$port" --json | jq -r .url)" "$base$prefix" "of a port, as JSON"
like "$(as "$owner" rota url "$job" --port 1 2>&1)" "job $job was submitted with port $port, not with 1" "not of any port"
like "$(rota url 4242 2>&1)" 'no such job' "nor of any job"
pin="rota-who=$(id -u "$owner")"
cookie="rota-$job-$port=$token; $pin"

# ---- getting in ----

is "$(status "$base$prefix")" 401 "without a token nobody gets in"
like "$(cat body)" "rota url $job --port $port" "and is told how to"
is "$(status -H 'Accept: text/html' "$base$prefix"; head -c 15 body)" '401<!DOCTYPE html>' "in HTML for a browser"
curl -s -D headers -o body "$url&a=1"
is "$(code <headers)" 303 "the token is taken"
is "$(tr -d '\r' <headers | sed -n 's/^Location: //p')" "$prefix?a=1" "and the browser led to where it is not"
is "$(tr -d '\r' <headers | sed -n 's/^Set-Cookie: //p')" \
  "rota-$job-$port=$token; Path=$prefix; HttpOnly; SameSite=Lax"$'\n'"$pin; Path=/; HttpOnly; SameSite=Lax" \
  "with a cookie for this door, and one that says whose jobs"
is "$(status -L -c jar -b jar "$url")" 200 "a browser gets in by it"
is "$(status -b jar "$base${prefix}tree")" 200 "and in again by the cookie"
is "$(head -n 1 body)" "GET ${prefix}tree" "the job sees the whole path"
is "$(curl -s -b jar -b "$cookie; mine=1" "$base${prefix}x?a=1&rota_token=$token" -X POST -d x; tail -n 1 log)" \
  "1 $(printf x | sha256sum | cut -d' ' -f1)"$'\n'"POST ${prefix}x?a=1" "the token is not for the job"
curl -s -b "$cookie; mine=1" -H "X-Rota-Token: $token" -H "Referer: $url" -H 'X-Forwarded-For: 6.6.6.6' -H 'Connection: X-Hop' \
  -H 'X-Hop: 1' "$base$prefix" >body
unlike "$(cat body)" "$token|X-Hop|Referer|6.6.6.6" "nor is the cookie, nor what is between neighbours"
like "$(cat body)" "Cookie: mine=1" "other cookies are"
is "$(status -H "X-Rota-Token: $token" "$base$prefix")" 200 "a program may show it in a header"
is "$(status -b "$cookie" "$base${prefix%/}")" 308 "without the last slash it leads to it"
curl -s -b "$cookie" -D headers -o body "$base${prefix}cookies"
is "$(tr -d '\r' <headers | grep -iE '^(set-cookie|service-worker)')" "Set-Cookie: wide=1; Path=$prefix" \
  "a job's cookies are for itself, and never ours"
is "$(curl -s -b "$cookie" -o body -w '%{redirect_url}' "$base${prefix}away")" "$base${prefix}there" "its redirects pass"

# ---- keeping out ----

first_token=$token first_prefix=$prefix first_cookie=$cookie first_job=$job first_port=$port
serve log2 --url
second_token=$(as "$owner" rota url "$job" | sed 's/.*=//')
is "$(status -H "X-Rota-Token: $first_token" "$base$prefix")" 401 "a token of another job opens nothing"
like "$(cat body)" "the token is for job $first_job" "and says so"
is "$(status -b "rota-$job-$port=$first_token" "$base$prefix")" 401 "nor does its cookie under this job's name"
is "$(status -b "$first_cookie" "$base$prefix")" 401 "nor under its own"
is "$(status -H "X-Rota-Token: ${second_token%?}x" "$base$prefix")" 401 "a token that was changed"
is "$(status -H "X-Rota-Token: x" "$base$prefix")" 401 "or is none"
is "$(status -H "X-Rota-Token: $second_token" "$base/$job-22/")" 404 "a port that was not asked for"
like "$(cat body)" "submitted with port $port, not with 22" "and says so"
is "$(status "$base/")$(status "$base/x/")$(status "$base/0$job-$port/")" 404404404 "other addresses are nothing"
for path in "../$first_job-$first_port/" "%2e%2e/$first_job-$first_port/" "..%2f$first_job-$first_port/" '..\x'; do
  is "$(status --path-as-is -H "X-Rota-Token: $second_token" "$base$prefix$path")" 400 "no way up by $path"
done
is "$(status -H 'Origin: https://evil.example' -X POST -b "$first_cookie" "$base$first_prefix")" 403 "a page of another host cannot post"
is "$(status -H "Origin: $base" -X POST -b "$first_cookie" "$base$first_prefix")" 200 "one of this host can"
if [[ $owner == nobody ]]; then
  like "$(as bin rota url "$first_job" 2>&1)" "job $first_job belongs to nobody, who has not named bin" "others get no address"
  like "$(as daemon rota url "$job" 2>&1)" 'who has not named daemon' "who is named for one job gets none for another"
  is "$(status -L -c jar2 "$(as daemon rota url "$first_job")")" 200 "those who are named do"
  is "$(status -L -c jar2 "$(rota url "$first_job")")" 200 "and so does root"
else
  skip 4 "needs root and a build tree that is open to others"
fi

# ---- a browser is let in to one owner's jobs ----

# Where all are below one host, a page of mallory's job could act in the victim's notebook: all it takes is a link.
if [[ $owner == nobody ]]; then
  kept_job=$job kept_port=$port kept_prefix=$prefix
  is "$(status -L -c jar4 "$(as nobody rota url "$first_job")")" 200 "a browser with a notebook open"
  owner=bin serve log5 --url
  lure=$(as bin rota url "$job")
  is "$(status -L -c jar4 -b jar4 "$lure")" 409 "is not let in to another's job by a link of theirs"
  like "$(cat body)" "let in to jobs of uid '65534', and job $job is bin's" "and is told why"
  is "$(grep -c "rota-$job-" jar4)" 0 "it gets no cookie for that"
  is "$(status -b jar4 "$base$first_prefix")" 200 "the notebook is there as before"
  mine="rota-$job-$port=${lure#*rota_token=}"
  is "$(status -b "$mine; $pin" "$base$prefix")$(status -b "$mine; rota-who=$(id -u bin); $pin" "$base$prefix")$(status -b "$mine" "$base$prefix")" \
    409409401 "nor does a cookie help that a page has made"
  is "$(status "$base$prefix" -H "X-Rota-Token: ${lure#*rota_token=}")" 200 "a program that shows a token is no browser"
  status -H 'Accept: text/html' -b jar4 -D headers "$lure" >/dev/null
  like "$(cat body)" "<form method=\"post\" action=\"$prefix\?rota_token=[^\"]*&amp;rota_change=1\"><button>" "a person can change by a button"
  like "$(cat headers)" "frame-ancestors 'none'" "which no page can show in a frame of its own"
  is "$(status -b jar4 "$lure&rota_change=1")" 409 "not by a link"
  is "$(status -b jar4 -X POST "$lure&rota_change=1")$(status -b jar4 -X POST -H 'Origin: https://evil.example' "$lure&rota_change=1")$(status -b jar4 -X POST -H 'Origin: null' "$lure&rota_change=1")" \
    403403403 "nor by a form of another host's page"
  is "$(status -D headers -c jar4 -b jar4 -X POST -H "Origin: $base" "$lure&rota_change=1")" 303 "who presses it"
  like "$(cat headers)" 'Clear-Site-Data: "storage"' "leaves what pages have kept"
  is "$(status -L -c jar4 -b jar4 "$lure")" 200 "and gets in"
  is "$(status -b jar4 "$base$first_prefix")" 409 "but not to the notebook any more"
  is "$(status -c jar4 -b jar4 -X POST -H "Origin: $base" "$(as nobody rota url "$first_job")&rota_change=1")" 303 "until changing back"
  is "$(status -L -c jar4 -b jar4 "$(as nobody rota url "$first_job")")$(status -b jar4 "$base$prefix")" 200409 "then the other one is closed"
  as bin rcancel "$job"
  job=$kept_job port=$kept_port prefix=$kept_prefix
else
  skip 17 "needs root and a build tree that is open to others"
fi
mkfifo hold
running=$(as "$owner" rsubmit --parsable -o /dev/null -g 2 --wrap "read x <hold")
late=$(as "$owner" rsubmit --parsable --port 80 --url -g 2 --wrap true)
is "$(status "$(as "$owner" rota url "$late")" -L -c jar3)" 503 "a job that waits"
like "$(cat body)" "job $late is PENDING: .*GPU" "says why"
as "$owner" rcancel "$running" "$late"
ok "a job that has ended" wait_for 20 eval '[[ $(status -b jar3 "$base/$late-80/") == 410 ]]'
like "$(cat body)" "job $late is CANCELLED" "says so"
like "$(as "$owner" rota url "$late" 2>&1)" 'already ended' "and has no address any more"

# ---- bytes that have two meanings ----

host="Host: h\r\nX-Rota-Token: $first_token\r\n"
lines=$(wc -l <log)
is "$(raw "POST $first_prefix HTTP/1.1\r\n${host}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET ${first_prefix}smuggled HTTP/1.1\r\n$host\r\n" | code)" 400 \
  "a length and chunks are refused"
is "$(raw "POST $first_prefix HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\nGET ${first_prefix}smuggled HTTP/1.1\r\n$host\r\n" | code)" 400 \
  "the other way around"
is "$(raw "POST $first_prefix HTTP/1.1\r\n${host}Content-Length: 4\r\nContent-Length: 5\r\n\r\nxxxxx" | code)" 400 "two lengths too"
is "$(raw "POST $first_prefix HTTP/1.1\r\n${host}Transfer-Encoding: xchunked\r\nContent-Length: 1\r\n\r\nx" | code)" 400 "and other encodings"
is "$(raw "POST $first_prefix HTTP/1.1\r\n${host}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" | code)" 400 "and a blank before a colon"
is "$(raw "POST $first_prefix HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n0\r\n\r\n" | code | sed 's/^502$/400/')" 400 "and broken chunks"
is "$(raw "GET $first_prefix HTTP/1.1\r\nX-Rota-Token: $first_token\r\n\r\n" | code)" 400 "a request says its host"
is "$(raw "GET http://h$first_prefix HTTP/1.1\r\n$host\r\n" | code)" 400 "and a path"
is "$(raw "CONNECT h:80 HTTP/1.1\r\n$host\r\n" | code)" 405 "no tunnels for others"
is "$(raw "GET ${first_prefix} HTTP/1.1\r\n${host}X: $(head -c 40000 /dev/zero | tr '\0' x)\r\n\r\n" | code)" 431 "a huge header is refused"
is "$(raw 'no request\r\n\r\n' | code)" 400 "and what is no request"
is "$(tail -n "+$((lines + 1))" log | grep -c smuggled)" 0 "nothing of these was a second request"
is "$(raw "GET ${first_prefix}one HTTP/1.1\r\n$host\r\nGET ${first_prefix}two HTTP/1.1\r\n${host}Connection: close\r\n\r\n" | grep -c '^HTTP/1.1 200')" 2 \
  "two requests on one connection are two"
like "$(raw "GET ${first_prefix}big HTTP/1.0\r\n$host\r\n" | tr -d '\0' | head -n 5 | tr -d '\r')" 'Connection: close' "HTTP/1.0 gets no chunks"
is "$(raw "GET ${first_prefix}big HTTP/1.0\r\n$host\r\n" | sed '1,/^\r$/d' | wc -c)" "$((512 * 65536))" "but every byte"

# ---- what passes ----

get() { curl -s -m 60 -b "$first_cookie" "$@"; }
is "$(get "$base${first_prefix}big" | sha256sum)" "$(/usr/bin/python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 256 * 512)' | sha256sum)" "a large answer"
head -c 20000000 /dev/urandom >blob
is "$(get --data-binary @blob "$base${first_prefix}up")" "20000000 $(sha256sum <blob | cut -d' ' -f1)" "a large body"
is "$(get -H 'Transfer-Encoding: chunked' --data-binary @blob "$base${first_prefix}up")" "20000000 $(sha256sum <blob | cut -d' ' -f1)" "in chunks"
ok "both at once" cmp <(get -H 'Expect: 100-continue' --data-binary @blob "$base${first_prefix}echo") blob
is "$(get --data-binary @blob -o body -w '%{http_code}' "$base${first_prefix}early"; cat body)" 413enough "an answer before the end of the body"
mkfifo log.go
get -N "$base${first_prefix}drip" >drip &
drip=$!
ok "what comes is passed on at once" wait_for 20 grep -q first drip
echo >log.go
wait "$drip"
is "$(cat drip)" $'first\nsecond' "and the rest when it comes"
is "$(get "$base${first_prefix}until-end" "$base${first_prefix}until-end")" $'all there is\nall there is' "an answer that ends with its connection"
is "$(get -I -o body -w '%{http_code}' "$base${first_prefix}x")" 200 "HEAD has no body"
get "$base${first_prefix}broken" >body
is "$?" 18 "a body that is cut short is so here too"
is "$(get -o body -w '%{http_code}' "$base${first_prefix}nonsense")" 502 "what is no answer is told"
if /usr/bin/python3 -c 'import websocket' 2>/dev/null; then
  is "$(/usr/bin/python3 - "${base/http/ws}$first_prefix" "$first_cookie" <<'P'
import sys, websocket
url, cookie = sys.argv[1:]
ws = websocket.create_connection(url + "ws", cookie=cookie, timeout=20)
sizes = []
for size in (1, 125, 126, 70000, 3000000):
    ws.send_binary(bytes(size))
    sizes.append(len(ws.recv()))
for _ in range(600):  # credit for small pieces comes back too
    ws.send_binary(bytes(8000))
    assert len(ws.recv()) == 8000
ws.close()
print(sizes)
for headers in ({"cookie": None}, {"cookie": cookie, "origin": "https://evil.example"}):
    try:
        websocket.create_connection(url + "ws", timeout=20, **headers)
        print("got in")
    except websocket.WebSocketBadStatusException as error:
        print(error.status_code)
P
)" $'[1, 125, 126, 70000, 3000000]\n401\n403' "a WebSocket, of this host and with a token only"
else
  skip 1 "no python3-websocket"
fi

# ---- many, and nothing left ----

proxy_pid=$(daemon_pid rproxy) node_pid=$(daemon_pid "$node")
files() { ls "/proc/$1/fd" | wc -l; }
wait_for 20 eval '[[ $(ss -tnH state established "sport = :${base##*:}" | wc -l) == 0 ]]'
proxy_files=$(files "$proxy_pid") node_files=$(files "$node_pid")
holders=()
for i in $(seq 16); do
  (exec curl -s -N -b "$first_cookie" "$base${first_prefix}hold") >"hold.$i" &
  holders+=($!)
done
ok "as many connections as a user may have" wait_for 20 eval '(($(cat hold.[0-9]* | grep -c held) == 16))'
is "$(status -b "$first_cookie" "$base$first_prefix")" 429 "and no more"
kill "${holders[@]}"
wait "${holders[@]}" 2>/dev/null
ok "the job hears of each that goes" wait_for 20 eval '(($(grep -c released log) == 16))'
ok "rproxy keeps nothing of them" wait_for 20 eval '(($(files "$proxy_pid") <= proxy_files))' ||
  diag "$(files "$proxy_pid") of $proxy_files"
ok "nor does the node" wait_for 20 eval '(($(files "$node_pid") <= node_files))'

get -N "$base${first_prefix}hold" >held1 &
ok "one is held" wait_for 20 grep -q held held1
daemon_kill rproxy
ok "kill -9 of rproxy ends it in the job" wait_for 20 eval '(($(grep -c released log) == 17))'
is "$(state_of "$first_job")" RUNNING "which runs on"
ok "and the node keeps nothing" wait_for 20 eval '(($(files "$node_pid") < node_files))'
cluster_resume
is "$(status -b "$first_cookie" "$base$first_prefix")" 200 "a new rproxy knows the cookie"
daemon_kill "$node"
cluster_resume
ok "a node that was away is found again" wait_for 20 eval '[[ $(status -b "$first_cookie" "$base$first_prefix") == 200 ]]'

# ---- expiry ----

daemon_kill rctld
is "$(status -H "X-Rota-Token: $second_token" "$base$prefix")" 503 "without the controller nobody new gets in"
printf 'proxy:\n  token_life: 1s\n' >"$test_dir/config.yaml"
cluster_resume --config "$test_dir/config.yaml"
ok "tokens outlive the controller" wait_for 20 eval '[[ $(status -b "$first_cookie" "$base$first_prefix") == 200 ]]'
is "$(stat -c %a "$cluster_dir/ctld/url.key")" 600 "whose key nobody else can read"
short=$(as "$owner" rota url "$first_job" | sed 's/.*=//')
ok "but not their time" wait_for 20 eval '[[ $(status -H "X-Rota-Token: $short" "$base$first_prefix") == 401 ]]'
like "$(cat body)" 'the token has expired' "and say so"

# ---- a job without its server, and without itself ----

port=$(pick_port)
job=$(as "$owner" rsubmit --parsable -o /dev/null --port "$port" --url --wrap "./server.py $port $PWD/log3; read x <$PWD/hold")
wait_for 20 grep -q ^listens log3
daemon_kill rctld
printf 'proxy:\n  token_life: 1h\n' >"$test_dir/config.yaml"
cluster_resume --config "$test_dir/config.yaml"
cookie="rota-$job-$port=$(as "$owner" rota url "$job" | sed 's/.*=//'); $pin"
ok "a server" wait_for 20 eval '[[ $(status -b "$cookie" "$base/$job-$port/") == 200 ]]'
curl -s -N -b "$cookie" "$base/$job-$port/hold" >held2 &
holder=$!
wait_for 20 grep -q held held2
kill -KILL "$(awk '/^listens/ { print $2; exit }' log3)"
wait "$holder"
is "$?" 18 "kill -9 of it ends what it was about"
ok "and then nothing listens there" wait_for 20 eval '[[ $(status -b "$cookie" "$base/$job-$port/") == 502 ]]'
like "$(cat body)" "port $port of it cannot be reached: cannot connect to port $port: Connection refused" "which is said"
get -N "$base${first_prefix}hold" >held3 &
holder=$!
wait_for 20 grep -q held held3
as "$owner" rcancel "$first_job" "$job"
wait "$holder"
is "$?" 18 "the end of a job ends what is open"
proxy_pid=$(daemon_pid rproxy)
ok "and rproxy keeps nothing" wait_for 20 eval '(($(files "$proxy_pid") <= proxy_files))'

# ---- a cluster whose jobs are hosts of their own; TLS ----

openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost >/dev/null 2>&1
tls_port=$(pick_port)
sed -e "s|^  listen: 127.0.0.1:${base##*:}$|  listen: 127.0.0.1:$tls_port|" -e "s|^  url: .*|  url: https://*.jobs.test:$tls_port|" \
  -e "s|rproxy.log|tls.log|" "$cluster_dir/rproxy.yaml" >tls.yaml
printf '%s\n' "  certificate: $PWD/cert.pem" "  key: $PWD/key.pem" >keys
sed -i '/^proxy:/r keys' tls.yaml
rproxy=$top_builddir/src/proxy/rproxy
mkfifo ready
"$rproxy" --config tls.yaml --ready-fd 7 7>ready &
tls_pid=$!
at_exit "kill $tls_pid 2>/dev/null"
is "$(timeout 20 head -n 1 ready)" "127.0.0.1:$tls_port" "an rproxy with TLS"
serve log4 --url
token=$(as "$owner" rota url "$job" | sed 's/.*=//')
door=https://$job-$port.jobs.test:$tls_port
curl -sk --resolve "*:$tls_port:127.0.0.1" -D headers -o body "$door/?rota_token=$token"
is "$(tr -d '\r' <headers | sed -n 's/^Set-Cookie: //p')" "rota-$job-$port=$token; Path=/; HttpOnly; SameSite=Lax; Secure" \
  "its cookie is for TLS only"
is "$(curl -sk --resolve "*:$tls_port:127.0.0.1" -b "rota-$job-$port=$token" "$door/x" | head -n 1)" "GET /x" "a host of its own"
is "$(curl -sk --resolve "*:$tls_port:127.0.0.1" -b "rota-$job-$port=$token" "$door/big" | wc -c)" "$((512 * 65536))" "large answers by TLS"
not_ok "nothing without TLS" curl -s -o /dev/null "http://127.0.0.1:$tls_port/"
kill "$tls_pid"
wait "$tls_pid"
is "$?" 0 "SIGTERM ends it"
sed -e 's|^  listen: 127.0.0.1:|  listen: 0.0.0.0:|' -e '/^  certificate:/d' -e '/^  key:/d' tls.yaml >open.yaml
like "$("$rproxy" --config open.yaml 2>&1)" 'is open to other hosts and there is no certificate' "open to others only with TLS"
like "$("$rproxy" --check "$cluster_dir/rproxy.yaml")" 'is good' "--check"

# Without rproxy there is nothing to ask for.
minicluster start "$test_dir/bare" --nodes 1 --gpus 1 >/dev/null 2>&1
like "$(in_cluster "$test_dir/bare" rsubmit --port 80 --url -- true 2>&1)" 'this cluster has no rproxy' "a cluster without rproxy says so"
minicluster stop "$test_dir/bare"
done_testing
