#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 where the gateway ends TLS, with clients and a server that people use."""
import json
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import inspect_test  # noqa: E402
from cases import main, run  # noqa: E402
from egress_test import domain, network  # noqa: E402
from internet import HTTP2_PORT, http2_is_there  # noqa: E402

SITE = f"https://api.good.test:{HTTP2_PORT}"
CLIENT = f"""
const http2 = require("http2");
const session = http2.connect("{SITE}");
session.on("error", (e) => say({{ error: e.code || e.message }}));
const said = [];
function say(what) {{ said.push(what); }}
// One request: its status, the fields that matter, its content and trailer.
function ask(headers, content) {{
  return new Promise((done) => {{
    const stream = session.request({{ ":path": "/", ...headers }}, {{ endStream: content === undefined }});
    const got = {{ content: "" }};
    stream.on("response", (h) => {{ got.status = h[":status"]; got.denied = h["x-egress-denied"]; }});
    stream.on("trailers", (t) => {{ got.trailer = t["grpc-status"]; }});
    stream.on("data", (d) => {{ got.content += d; }});
    stream.on("error", (e) => {{ got.error = e.code; }});
    stream.on("close", () => {{ got.code = stream.rstCode; done(got); }});
    if (content !== undefined) stream.end(content);
  }});
}}
async function finish() {{ console.log(JSON.stringify(said)); session.close(); }}
"""


def refuses_other_protocols():
    """Node 18's server shakes hands with a client of HTTP/1.1, and hangs up then."""
    version = subprocess.run(["node", "-p", "process.versions.node"], capture_output=True, text=True, check=True).stdout
    return int(version.partition(".")[0]) >= 20


class Http2(inspect_test.Inspect):
    def setUp(self):
        super().setUp()
        if not http2_is_there():
            self.skipTest("node is not there")

    def rules_of(self):
        return domain("api.good.test", ports=[HTTP2_PORT], tls="terminate"),

    def rules(self, **more):
        return self.policy(domain("api.good.test", "other.good.test", ports=[HTTP2_PORT], tls="terminate", **more))

    def shell(self, script, *options, status=0):
        done = run(*options, "--egress-log", self.log, "--", "/bin/sh", "-ec", script)
        self.expect(done, status)
        return done.stdout.decode()

    def node(self, script, *options):
        done = run(*options, "--egress-log", self.log, "--", "node", "-e", f"{CLIENT}(async () => {{ {script} await finish(); }})()")
        self.expect(done)
        return json.loads(done.stdout)

    def test_curl_speaks_it(self):
        if not shutil.which("curl"):
            self.skipTest("curl is not there")
        out = self.shell(f"curl -sS --http2 -d hello -o /tmp/answer -w '%{{http_version}} %{{http_code}}\\n' {SITE}/a?b=c; cat /tmp/answer",
                         *self.rules())
        line, _, answer = out.partition("\n")
        self.assertEqual(line, "2 200")
        answer = json.loads(answer)
        fields = dict(zip(answer["raw"][::2], answer["raw"][1::2]))
        self.assertEqual(answer["size"], 5)
        self.assertEqual([fields[name] for name in (":method", ":scheme", ":authority", ":path")],
                         ["POST", "https", f"api.good.test:{HTTP2_PORT}", "/a?b=c"])
        (request,) = self.decisions("request")
        self.assertEqual([request["method"], request["path"], request["status"]], ["POST", "/a", 200])

    def test_c3_c4_another_authority_on_the_same_connection(self):
        found = self.node(f"""
            for (const authority of ["evil.test", "other.good.test:{HTTP2_PORT}", "api.good.test:{HTTP2_PORT}"])
              say((await ask({{ ":authority": authority }})).status);
            say((await ask({{ ":authority": "api.good.test:{HTTP2_PORT}", host: "evil.test" }})).status);
            say((await ask({{}})).status);""", *self.rules())
        self.assertEqual(found, [421, 421, 200, 421, 200])

    def test_requests_are_judged_one_by_one(self):
        rules = domain("api.good.test", ports=[HTTP2_PORT], http={"method": ["GET"], "path": {"prefix": "/v1/"}}),
        found = self.node("""
            const all = await Promise.all([ask({ ":path": "/v1/a" }), ask({ ":path": "/v2/" }),
                                           ask({ ":path": "/v1/a", ":method": "POST" }, "x"), ask({ ":path": "/v1/b" })]);
            for (const one of all) say([one.status, one.denied || null]);""", *self.policy(*rules))
        self.assertEqual(found, [[200, None], [403, "default"], [403, "default"], [200, None]])

    def test_f7_fields_that_tell_who_asks_are_left_out(self):
        """Cookies come in crumbs here (RFC 9113, 8.2.3), of which none is left."""
        (content,) = self.node("""
            say((await ask({ cookie: ["a=1", "b=2"], referer: "https://api.good.test/private", "if-none-match": '"7"', "x-kept": "1" })).content);""",
                               *self.rules(transforms=[{"remove_headers": ["Cookie", "Referer", "If-None-Match"]}]))
        names = set(json.loads(content)["raw"][::2])
        self.assertEqual(names & {"cookie", "referer", "if-none-match", "x-kept"}, {"x-kept"})

    def test_streams_go_both_ways(self):
        found = self.node("""
            const stream = session.request({ ":path": "/both-ways", ":method": "POST" });
            const pieces = [];
            await new Promise((done) => {
              stream.on("data", (d) => {
                pieces.push(String(d));
                if (pieces.length < 3) stream.write("piece" + pieces.length); else stream.end();
              });
              stream.on("trailers", (t) => say(t["grpc-status"]));
              stream.on("close", done);
              stream.write("begin");
            });
            say(pieces);""", *self.rules())
        self.assertEqual(found, ["0", ["BEGIN", "PIECE1", "PIECE2"]])

    def test_much_at_once(self):
        found = self.node("""
            const size = 3 << 20, all = await Promise.all([0, 1, 2, 3].map((i) => i % 2 ? ask({ ":path": "/big" })
              : ask({ ":method": "POST" }, Buffer.alloc(size, "x"))));
            say(all.map((one, i) => i % 2 ? one.content.length : JSON.parse(one.content).size));""", *self.rules())
        self.assertEqual(found, [[3 << 20, 8 << 20, 3 << 20, 8 << 20]])

    def test_a_reset_is_of_one_stream(self):
        found = self.node("""
            say((await ask({ ":path": "/reset" })).code);
            say((await ask({})).status);""", *self.rules())
        self.assertEqual(found, [11, 200])

    def test_h3_who_lets_most_wait_goes_first(self):
        """Answers that nobody reads: their connections are ended before there is no memory for others."""
        found = self.node(f"""
            let ended = 0, count = 0;
            for (; ended === 0 && count < 100; count++) {{
              const stalled = http2.connect("{SITE}");
              stalled.on("error", () => {{}});
              stalled.on("close", () => {{ ended++; }});
              await Promise.all([...Array(8)].map(() => new Promise((done) => {{
                const stream = stalled.request({{ ":path": "/endless" }});
                stream.on("error", done);
                stream.on("response", done);
                stream.on("close", done);
              }})));
            }}
            say([(await ask({{}})).status, ended > 0, count > 10]);
            console.log(JSON.stringify(said));
            process.exit(0);""", *self.policy(*self.rules_of(), limits={"max_new_per_s": 1000}))
        self.assertEqual(found, [[200, True, True]])
        self.assertIn("limit:memory", [d.get("reason") for d in self.decisions("close")])

    def test_g23_a_secret_goes_in_and_does_not_come_out(self):
        value = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
        policy = {"version": 1, "tls": {"extra_ca_pem": [network().root]},
                  "rules": [{"id": "a", "action": "allow", "to": {"domain": ["api.good.test"]}, "ports": [HTTP2_PORT]}],
                  "secrets": {"KEY": {"source": {"file": self.path("value", value)}, "env": ["TOKEN"],
                                      "allow": {"hosts": ["api.good.test"], "ports": [HTTP2_PORT]}}}}
        found = self.node("""
            const one = await ask({ authorization: "Bearer " + process.env.TOKEN });
            say([one.status, one.content.includes(process.env.TOKEN)]);""",
                          "--policy", self.path("p.json", json.dumps(policy)))
        self.assertEqual(found, [[200, True]])
        (request,) = self.decisions("request")
        self.assertEqual(request["secrets"] if "secrets" in request else request.get("credentials"), ["KEY"])

    def test_c17_the_version_is_the_servers_choice(self):
        """Of those that the program offers; where there is none the program is told why."""
        if refuses_other_protocols():
            out = self.shell(f"curl -sS --http1.1 {SITE}/", *self.rules())
            self.assertIn("no application protocol", json.loads(out)["message"])
        out = self.shell("curl -sS --http2 -w ' %{http_version}' https://api.good.test/hello",
                         *self.policy(domain("api.good.test", tls="terminate")))
        self.assertTrue(out.endswith(" 1.1"), out)


if __name__ == "__main__":
    main(sys.modules[__name__])
