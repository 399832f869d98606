#!/bin/bash
# testsuite/t/t2012-notices.t - owners are told: mails by a real sendmail to a real SMTP server, webhooks by curl.
. "$(dirname "$0")/lib.sh"
command -v msmtp >/dev/null || skip_all "no msmtp"
/usr/bin/python3 -c 'import aiosmtpd' 2>/dev/null || skip_all "no python3-aiosmtpd"
command -v curl >/dev/null || skip_all "no curl"
plan 10

# A mail server and a web server on free ports; what they get lies in files.
cat >"$test_dir/servers.py" <<'TEXT'
import http.server, os, sys, threading
from aiosmtpd.controller import Controller

place = sys.argv[1]

class Mails:
    async def handle_DATA(self, server, session, envelope):
        with open(place + "/mails", "ab") as out:
            out.write(b"TO " + ",".join(envelope.rcpt_tos).encode() + b"\n" + envelope.content + b"\n")
        return "250 OK"

class Hooks(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(place + "/hooks", "ab") as out:
            out.write(self.path.encode() + b" " + body)
        self.send_response(204)
        self.end_headers()
    def log_message(self, *arguments):
        pass

import socket
probe = socket.socket()
probe.bind(("127.0.0.1", 0))
port = probe.getsockname()[1]
probe.close()
mails = Controller(Mails(), hostname="127.0.0.1", port=port)
mails.start()
hooks = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hooks)
with open(place + "/ports.new", "w") as out:
    out.write(f"{port} {hooks.server_port}\n")
os.rename(place + "/ports.new", place + "/ports")
hooks.serve_forever()
TEXT
/usr/bin/python3 "$test_dir/servers.py" "$test_dir" >"$test_dir/servers.log" 2>&1 &
servers=$!
at_exit "kill $servers"
wait_for 30 test -s "$test_dir/ports" || bail_out "no servers: $(cat "$test_dir/servers.log")"
read -r smtp_port http_port <"$test_dir/ports"
cat >"$test_dir/sendmail" <<TEXT
#!/bin/sh
exec msmtp --host=127.0.0.1 --port=$smtp_port --from=rota@localhost --file=/dev/null --tls=off --auth=off "\$@"
TEXT
chmod 755 "$test_dir/sendmail"
cat >"$test_dir/more.yaml" <<TEXT
notify:
  sendmail: $test_dir/sendmail
  from: rota@localhost
  webhooks: http://127.0.0.1:$http_port/allowed/
TEXT
cluster_start --nodes 1 --gpus 1 --config "$test_dir/more.yaml"
cd "$test_dir" || bail_out "no directory"

job=$(rsubmit --parsable -J 'train: x' --mail-type BEGIN,END,FAIL --mail-user ada@localhost -o /dev/null -- false)
wait_state "$job" FAILED
ok "three mails come" wait_for 30 bash -c '(( $(grep -c "^TO ada@localhost" mails) == 3 ))'
like "$(cat mails)" "Subject: [^ ]+ job $job \(train: x\) began: RUNNING" "that it began"
like "$(cat mails)" "Subject: [^ ]+ job $job \(train: x\) ended: FAILED" "that it ended"
like "$(cat mails)" "Exit code: 1:0" "with its exit code"
job=$(rsubmit --parsable --mail-type NONE -o /dev/null -- true)
wait_state "$job" COMPLETED
job=$(rsubmit --parsable --webhook "http://127.0.0.1:$http_port/allowed/x" -o /dev/null -- true)
wait_state "$job" COMPLETED
ok "a webhook is called" wait_for 30 test -s hooks
like "$(cat hooks)" "^/allowed/x \{.*\"event\":\"END\",\"job\":\"$job\".*\"state\":\"COMPLETED\"" "with the job's end"
job=$(rsubmit --parsable --webhook "http://127.0.0.1:$http_port/other" -o /dev/null -- true)
wait_state "$job" COMPLETED
ok "one that the site does not allow is not" wait_for 30 grep -q "is none that notify.webhooks allows" "$cluster_dir/log/rctld.log"
is "$(grep -c other hooks)" 0 "by nobody"
like "$(rsubmit --mail-user '-oQ/tmp' -- true 2>&1)" "'-oQ/tmp' is no mail address" "an address is no option"
like "$(rsubmit --webhook file:///etc/shadow -- true 2>&1)" "is no http:// or https:// address" "nor a file"
