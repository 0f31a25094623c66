#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives `glovebox policy check` and `glovebox policy explain`, runs the examples of docs/policy.md, and compares
docs/policy.schema.json with what the program takes.

    tests/e2e/policy_test.py [NAME...]     all cases, or those whose name has one of these words in it
"""
import copy
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, ROOT, Case, main  # noqa: E402
from readme_test import matches  # noqa: E402

PAGE = os.path.join(ROOT, "docs/policy.md")
SCHEMA = os.path.join(ROOT, "docs/policy.schema.json")


def policy(*words, text=b""):
    return subprocess.run([GLOVEBOX, "policy", *words], input=text, capture_output=True, timeout=LIMIT, check=False)


def check(document):
    """The report of check --json."""
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    done = policy("check", "--json", "-", text=text)
    report = json.loads(done.stdout)
    assert done.returncode == (0 if report["valid"] else 1), done
    return report


def rules(*rows):
    return {"version": 1, "rules": [dict(id=f"r{i}", **row) for i, row in enumerate(rows)]}


class Check(Case):
    def test_good(self):
        path = self.path("p.json", json.dumps(rules({"action": "allow", "to": {"domain": ["a.test"]}})))
        done = policy("check", path)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(done.stdout.decode(), f"{path}: a good policy: 1 rule, deny by default, 0 warnings\n")

    def test_what_run_takes(self):
        rule = {"action": "allow", "to": {"domain": ["a.test"]}}
        self.assertIsNone(check(rules(rule))["refused_by_run"])
        more = dict(rule, proto=["icmp"])
        self.assertIn("/rules/0/proto: ", check(rules(more))["refused_by_run"])
        path = self.path("p.json", json.dumps(rules(more)))
        done = policy("check", path)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"note: glovebox run refuses it: /rules/0/proto: ", done.stdout)
        for document, taken in ((rules(rule), True), (rules(more), False)):
            path = self.path("p.json", json.dumps(document))
            done = subprocess.run([GLOVEBOX, "run", "--policy", path, "--", "true"], capture_output=True,
                                  timeout=LIMIT, check=False, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode == 0, taken, done.stderr)

    def test_warnings(self):
        path = self.path("p.json", json.dumps(rules({"action": "allow", "to": "any"},
                                                    {"action": "deny", "to": {"domain": ["a.test"]}})))
        done = policy("check", path)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b'warning: rule "r1": can never match', done.stdout)
        report = check(rules({"action": "allow", "to": "any"}, {"action": "deny", "to": "any"}))
        self.assertEqual([(w["code"], w["rule"]) for w in report["warnings"]], [("unreachable_rule", "r1")])

    def test_refused(self):
        path = self.path("p.json", b'{"version": 1,\n "version": 1}')
        done = policy("check", path)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertEqual(done.stderr.count(b"\n"), 1)
        self.assertTrue(done.stderr.startswith(b"glovebox: policy: " + path.encode() + b": line 2, column "), done)
        report = check(b'{"version": 1, "rules": [{"id": "a", "action": "alow"}]}')
        self.assertEqual(report["error"]["pointer"], "/rules/0/action")
        self.assertEqual(report["error"]["position"], {"line": 1, "column": 48})
        report = check(b"[\n")
        self.assertEqual(report["error"]["position"]["line"], 2)

    def test_hostile(self):
        for text in (b"", b"\0", b"\xff", b"[" * 200000, b'{"version": 1, "a\\u001b[2Jb": 1}', b" " * (1 << 20),
                     b'{"version":1,"rules":' + b"[" * 3000, b'{"version": 1}\0', b"nul"):
            report = check(text)
            self.assertFalse(report["valid"])
            self.assertNotRegex(report["error"]["text"], "[\0-\x1f\x7f]")

    def test_files(self):
        for path, word in ((os.path.join(self.folder, "none"), b"No such file"), (self.folder, b"directory")):
            done = policy("check", path)
            self.assertEqual((done.returncode, done.stdout), (125, b""))
            self.assertIn(word, done.stderr)
        self.assertEqual(policy("check", "/dev/zero").returncode, 1)

    def test_wrong_use(self):
        for words in ([], ["chek", "x"], ["check"], ["check", "a", "b"], ["explain", "a"], ["check", "--all", "a"],
                      ["explain", "--address", "x", "a", "b"]):
            done = policy(*words)
            self.assertEqual((done.returncode, done.stdout), (125, b""), words)
            self.assertRegex(done.stderr, rb"^glovebox: .+\n$")

    def test_help(self):
        for words in (["policy", "--help"], ["policy", "-h"], ["help", "policy"], ["policy", "check", "--help"],
                      ["policy", "explain", "-h"]):
            done = subprocess.run([GLOVEBOX, *words], capture_output=True, timeout=LIMIT, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertIn(b"glovebox policy explain", done.stdout)
        with open(os.path.join(ROOT, "man/glovebox-policy.1"), encoding="utf-8") as f:
            manual = f.read().replace("\\-", "-")
        for option in re.findall(r"^  .{4}(--[a-z-]+)", done.stdout.decode(), re.MULTILINE):
            self.assertIn(option, manual)


class Explain(Case):
    def setUp(self):
        super().setUp()
        self.file = self.path("p.json", json.dumps(rules(
            {"action": "deny", "to": {"domain": ["no.a.test"]}, "reason": "ask for yes.a.test"},
            {"action": "allow", "to": {"domain": ["*.a.test"]}, "ports": [443],
             "http": {"method": ["GET"], "path": {"prefix": "/v1/"}}},
            {"action": "allow", "to": {"domain": ["git.b.test", "bücher.test"]}, "ports": [22]},
            {"action": "allow", "to": {"cidr": ["20.0.0.0/8", "2a00::/16"]}, "ports": [53, 80, 443]})))

    def explain(self, target, *words):
        done = policy("explain", "--json", *words, self.file, target)
        report = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0 if report["allowed"] else 1, done)
        return report

    def test_verdicts(self):
        for target, steps, reason in (
                ("https://x.a.test/v1/y", "dns connect hello request", "rule:r1"),
                ("https://x.a.test/", "dns connect hello request", "default"),
                ("https://x.a.test:8443/v1/y", "dns connect", "default"),
                ("http://x.a.test:443/v1/y?q", "dns connect request", "rule:r1"),
                ("https://no.a.test/v1/", "dns", "rule:r0"),
                ("https://x.a.test@evil.test/v1/", "dns", "dns_name"),
                ("git.b.test:22", "dns connect bytes", "rule:r2"),
                ("GIT.b.test.:22", "dns connect bytes", "rule:r2"),
                ("tcp://bücher.test:22", "dns connect bytes", "rule:r2"),
                ("git.b.test:23", "dns connect", "default"),
                ("20.1.1.1:80", "connect bytes", "rule:r3"),
                ("[2a00::1]:80", "connect bytes", "rule:r3"),
                ("udp://20.1.1.1:53", "connect", "rule:r3"),
                ("udp://127.1:53", "connect", "floor:loopback"),
                ("icmp://20.1.1.1", "connect", "default"),
                ("https://169.254.169.254/", "connect", "floor:metadata"),
                ("https://20.1.1.1/", "connect hello", "rule:r3"),
                ("dns:x.a.test", "dns", "rule:r1"),
                ("dns:x.a.test/TXT", "dns", "dns_type"),
                ("dns:metadata.google.internal", "dns", "floor:metadata")):
            report = self.explain(target)
            self.assertEqual((" ".join(s["step"] for s in report["steps"]), report["reason"]), (steps, reason), target)

    def test_what_helps(self):
        self.assertEqual(self.explain("git.b.test:23")["steps"][-1]["near_rule"], "r2")
        self.assertEqual(self.explain("https://x.a.test/")["steps"][-1]["near_rule"], "r1")
        self.assertEqual(self.explain("https://no.a.test/")["steps"][-1]["words"], "ask for yes.a.test")
        answers = {r["rule"]: r["answer"] for r in self.explain("git.b.test:22")["rules"]}
        self.assertEqual(answers, {"r0": "no", "r1": "no", "r2": "yes", "r3": "no"})

    def test_options(self):
        self.assertFalse(self.explain("https://x.a.test/v1/", "--method", "POST")["allowed"])
        report = self.explain("git.b.test:22", "--address", "20.1.1.1")
        self.assertEqual((report["steps"][-1]["step"], report["allowed"]), ("dial", True))
        report = self.explain("git.b.test:22", "--address=10.1.1.1")
        self.assertEqual(report["reason"], "floor:private")

    def test_no_target(self):
        for target in ("", "a.test", "a.test:0", "https://", "https://a b/", "tcp://a.test:1/x", "icmp://a.test:1",
                       "dns:1.2.3.4", "dns:a.test/ANY", "dns:a.test:5", "ftp://a.test/", "https://[::1/",
                       "https://a.test/" + 5000 * "x", "\x1b[2J:1"):
            done = policy("explain", self.file, target)
            self.assertEqual((done.returncode, done.stdout), (125, b""), target)
            self.assertRegex(done.stderr, rb"^glovebox: policy explain: [^\0-\x1f]+\n$")

    def test_without_a_network(self):
        """No call that could reach one is made: with none of them allowed, the answer is the same."""
        done = subprocess.run(["unshare", "-Urn", GLOVEBOX, "policy", "explain", self.file, "git.b.test:22"],
                              capture_output=True, timeout=LIMIT, check=False)
        if b"unshare" in done.stderr:
            self.skipTest("no network namespace of one's own")
        self.assertEqual(done.stdout, policy("explain", self.file, "git.b.test:22").stdout)


class Page(Case):
    """docs/policy.md."""

    def test_examples(self):
        with open(PAGE, encoding="utf-8") as f:
            page = f.read()
        for name, text in re.findall(r"^`([a-z.]+)`\n```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
            self.path(name, text)
        env = dict(os.environ, PATH=os.path.dirname(os.path.abspath(GLOVEBOX)) + ":" + os.environ["PATH"])
        examples = [part for block in re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
                    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
        self.assertGreater(len(examples), 3)
        for example in examples:
            command, *expected = example.splitlines()
            done = subprocess.run(["sh", "-c", command + " 2>&1"], cwd=self.folder, env=env, capture_output=True,
                                  timeout=LIMIT, check=False)
            got = done.stdout.decode().splitlines()
            self.assertTrue(matches(expected, got), f"{command}:\n" + "\n".join(got))

    def test_manual(self):
        with open(os.path.join(ROOT, "man/glovebox-policy.5"), encoding="utf-8") as f:
            example = re.search(r"^\.EX\n(\{.*?)^\.EE", f.read(), re.MULTILINE | re.DOTALL).group(1)
        self.assertIsNone(check(example.replace("\\-", "-").encode())["error"])

    def test_names_everything(self):
        with open(PAGE, encoding="utf-8") as f:
            page = f.read()
        with open(os.path.join(ROOT, "man/glovebox-policy.5"), encoding="utf-8") as f:
            manual = f.read()
        with open(SCHEMA, encoding="utf-8") as f:
            schema = json.load(f)
        for part in (schema, *schema["$defs"].values()):
            for name in part.get("properties", {}):
                self.assertRegex(page, f'[`"]{name}[`"]', name)
                self.assertRegex(manual, rf"(?m)(^\.BR? |[ q]){name}\b", name)
        source = os.path.join(ROOT, "lib/policy/lint.c")
        with open(source, encoding="utf-8") as f:
            codes = set(re.findall(r'warn\(&?l, "([a-z_]+)"', f.read()))
        self.assertGreater(len(codes), 5)
        for code in codes:
            self.assertIn(f"`{code}`", page)


# What JSON Schema asks, as far as policy.schema.json uses it.
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"type", "properties", "additionalProperties", "required", "items", "enum", "const", "minimum", "maximum",
         "minLength", "maxLength", "minItems", "maxItems", "maxProperties", "minProperties", "pattern", "propertyNames",
         "anyOf", "oneOf", "$ref", "$defs", "$schema", "title", "description", "default"}


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def validate(root, schema, value):
    """Whether value is as schema has it."""
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    if "$ref" in schema and not validate(root, root["$defs"][schema["$ref"].rpartition("/")[2]], value):
        return False
    types = schema.get("type", [])
    if types and not any(is_type(value, t) for t in ([types] if isinstance(types, str) else types)):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "const" in schema and (value != schema["const"] or isinstance(value, bool)):
        return False
    for key, count in (("anyOf", range(1, 99)), ("oneOf", (1,))):
        if key in schema and sum(validate(root, s, value) for s in schema[key]) not in count:
            return False
    check_kind = {int: validate_number, str: validate_text, list: validate_list, dict: validate_object}
    return check_kind.get(type(value), lambda *_: True)(root, schema, value)


def validate_number(_, schema, value):
    return schema.get("minimum", value) <= value <= schema.get("maximum", value)


def validate_text(_, schema, value):
    return (schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
            and re.search(schema.get("pattern", ""), value) is not None)


def validate_list(root, schema, value):
    return (schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
            and all(validate(root, schema.get("items", {}), v) for v in value))


def validate_object(root, schema, value):
    fields = schema.get("properties", {})
    rest = schema.get("additionalProperties", {})
    if not all(name in value for name in schema.get("required", [])):
        return False
    if not schema.get("minProperties", 0) <= len(value) <= schema.get("maxProperties", len(value)):
        return False
    for name, member in value.items():
        if name not in fields and rest is False:
            return False
        if not validate(root, fields.get(name, rest), member):
            return False
        if "propertyNames" in schema and not validate(root, schema["propertyNames"], name):
            return False
    return True


FULL = {
    "version": 1, "default": "deny", "nameless": "allow", "mode": "audit", "on_update": "new_only",
    "rules": [
        {"id": "a", "action": "allow", "to": {"domain": ["*.a.test"]}, "proto": ["tcp"], "ports": [443, "8000-8099"],
         "identity": "pinned", "tls": "terminate", "l7": "http", "connect": "deny", "dns_types": ["TXT", "TYPE99"],
         "http": {"method": ["GET"], "path": {"prefix": "/"}, "query": [{"name": "q", "value": {"exact": "x"}}],
                  "headers": [{"name": "X-Y", "value": {"glob": "*"}}]},
         "transforms": [{"match": {"method": ["POST"]}, "set_headers": {"X-Key": "${secret.K}"},
                         "remove_headers": ["Cookie"], "set_basic": "u:${secret.K}", "set_query": {"k": "${secret.K}"}, "forward": {"url": "https://b.test/"}, "scrub": "strict"}]},
        {"id": "b", "action": "deny", "to": {"cidr": ["192.0.2.0/24", "::1"]}, "reason": "no"},
        {"id": "c", "action": "allow", "to": {"group": ["public", "doh-resolvers"]}},
        {"id": "d", "action": "deny", "to": "any"}],
    "dns": {"mode": "policy", "answer": "virtual", "virtual_pool": "10.0.0.0/8", "types": ["A"], "max_qps": 1,
            "max_unique_names": 1, "ttl_shown": [0, 2], "resolvers": ["192.0.2.1"], "hosts": {"a.test": ["192.0.2.1"]}},
    "tls": {"mode": "auto", "ports": "any", "install_ca": True, "extra_ca_pem": ["-----BEGIN CERTIFICATE-----"],
            "client_certs": {"a.test": {"cert_ref": "c", "key_ref": "k"}}, "min_version": "1.3"},
    "secrets": {"K": {"source": {"env": "K"}, "placeholder": "auto", "env": ["K"],
                      "allow": {"hosts": ["a.test"], "ports": [443], "methods": ["GET"], "paths": [{"exact": "/"}]},
                      "inject": {"headers": True, "basic": True, "query": True, "body": False},
                      "on_violation": "block", "passthrough_hosts": ["b.test"], "require_tls": True, "scrub": "off"},
                "S": {"source": {"env": "S"}, "allow": {"hosts": ["a.test"]},
                      "sign": {"type": "aws_sigv4", "access_key_id_ref": "K", "session_token_ref": "K"}},
                "P": {"source": {"env": "P"}, "allow": {"hosts": ["a.test"]},
                      "postgres": {"user": "u", "database": "d", "tls": "off"}},
                "H": {"source": {"env": "H"}, "allow": {"hosts": ["a.test"]},
                      "ssh": {"user": "u", "host_keys": [
                          "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDx5RTl0Dt3GFpT1zb2zLGFv0xQv2P9T8oLQ8mVgq1Zs"]}}},
    "upstream": {"type": "http", "address": "p.test:80", "username": "u", "password_ref": "p", "no_proxy": ["*"],
                 "resolve": "local"},
    "limits": {"max_flows": 1, "max_new_per_s": 1, "max_udp_peers": 1, "bytes_up": 0, "bytes_down": None, "rate_up": 1,
               "rate_down": None, "connect_timeout_ms": 1, "first_flight_ms": 1, "nameless_wait_ms": 1,
               "header_timeout_ms": 1, "idle_tcp_s": 1, "idle_udp_s": 1, "idle_http_s": 1, "write_stall_s": 1,
               "header_bytes": 1024, "header_count": 1, "line_bytes": 256, "decode_ratio": 1, "decode_bytes": 1024},
    "log": {"level": "flows", "redact_query": False, "on_full": "drop"},
    "ingress": {"public": False, "token_header": "x", "host_mask": None},
}
STRANGE = [None, True, -1, 1.5, 1 << 60, "x\ny", [], {"x": 1}, [None]]


def places(value, path=()):
    """The path of every member and element."""
    found = []
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        found += [path + (key,), *places(value[key], path + (key,))]
    return found


def at(document, path):
    for key in path:
        document = document[key]
    return document


class Schema(Case):
    """The schema and the program are of one mind, as far as a schema can say it."""

    def setUp(self):
        super().setUp()
        with open(SCHEMA, encoding="utf-8") as f:
            self.schema = json.load(f)

    def is_valid(self, document):
        return validate(self.schema, self.schema, document)

    def test_full(self):
        self.assertTrue(self.is_valid(FULL))
        self.assertEqual(check(FULL)["error"], None)

    def test_fields(self):
        """In every object of a full document: the fields that may stand there are the schema's."""
        known = [part["properties"] for part in self.parts(self.schema) if "properties" in part]
        objects = [()] + [p for p in places(FULL) if isinstance(at(FULL, p), dict)]
        seen = []
        for path in objects:
            document = copy.deepcopy(FULL)
            at(document, path)["no_such_field"] = 1
            text = check(document)["error"]["text"]
            listed = re.search("those that may stand here are (.*)", text)
            if listed:
                names = sorted(listed.group(1).split(", "))
                seen.append(names)
                self.assertIn(names, [sorted(k) for k in known], path)
        # Objects of which only one member may be there are in the schema as alternatives.
        for fields in known:
            self.assertTrue(sorted(fields) in seen or len(fields) == 1, fields)

    def parts(self, schema):
        found = [schema]
        for key in ("properties", "$defs"):
            for part in schema.get(key, {}).values():
                found += self.parts(part)
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), dict):
                found += self.parts(schema[key])
        for key in ("anyOf", "oneOf"):
            for part in schema.get(key, []):
                found += self.parts(part)
        return found

    def test_strange_values(self):
        """Whatever stands in any place: what the schema refuses, the program does. Where it is stricter, it is for
        what a schema can't say, and there the values are texts."""
        strict = 0
        for path in places(FULL):
            for value in STRANGE:
                document = copy.deepcopy(FULL)
                at(document, path[:-1])[path[-1]] = value
                valid, report = self.is_valid(document), check(document)
                if not valid or not isinstance(value, (str, list, dict)):
                    self.assertEqual(report["valid"], valid, (path, value, report["error"]))
                strict += valid and not report["valid"]
        self.assertLess(strict, 60)

    def test_required(self):
        for path in places(FULL):
            document = copy.deepcopy(FULL)
            del at(document, path[:-1])[path[-1]]
            if not self.is_valid(document):
                self.assertFalse(check(document)["valid"], path)

    def test_defaults(self):
        """What the schema calls a default may be written."""
        def write(schema):
            return {name: part["default"] for name, part in schema["properties"].items() if "default" in part}
        defs = self.schema["$defs"]
        document = dict(write(self.schema), version=1, **{name: write(defs[name])
                                                          for name in ("dns", "tls", "limits", "log", "ingress")})
        del document["nameless"]
        self.assertTrue(self.is_valid(document))
        self.assertEqual(check(document)["error"], None)


if __name__ == "__main__":
    main(sys.modules[__name__])
