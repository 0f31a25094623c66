#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ports of a sandbox that has a secret, through glovebox serve: its value is replaced in what programs say, and all else is as
without one."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, main  # noqa: E402
import server_ports_test as ports  # noqa: E402

VALUE = "ghp_aB3dE5gH7jK9mN1p/3sT5vW7yZ9bC1dE3fG5"
NETWORK = {"allowPublicTraffic": True, "allowOut": ["a.example"], "denyOut": ["0.0.0.0/0"]}


def give_secret(box):
    subprocess.run([GLOVEBOX, "policy", "secret", box.name, "KEY=env:S@a.example"], env={**os.environ, "S": VALUE},
                   capture_output=True, timeout=LIMIT, check=True)


class Searched(ports.Ports):
    def create(self, client=None, **body):
        box = super().create(client, **{**body, "network": NETWORK})
        give_secret(box)
        return box


class SearchedValues(Searched):
    def test_in_an_answer_with_a_length(self):
        answer = self.ask(fields={"X-Value": VALUE, "X-Other": "last"})
        self.assertEqual(answer.status, 200)
        self.assertNotIn(VALUE[4:].encode(), answer.body)
        self.assertIn(b"X-Value: ghp_", answer.body)
        self.assertIn(b"X-Other: last", answer.body)
        self.assertIn(b"X-Value: " + VALUE[:4].encode(), answer.body)
        self.assertEqual(len(answer.body), len(self.ask(fields={"X-Value": "x" * len(VALUE), "X-Other": "last"}).body))

    def test_in_frames_of_a_websocket(self):
        raw, _ = ports.Tunnels.open(self)
        frame = bytes([0x81, len(VALUE) + 2]) + b"<" + VALUE.encode() + b">"
        for step in (len(frame), 1):
            for at in range(0, len(frame), step):
                raw.send(frame[at:at + step])
            got = raw.exact(len(frame))
            self.assertNotIn(VALUE[4:].encode(), got)
            self.assertEqual((got[:3], got[-1:]), (frame[:3], b">"))

    ASK = ports.Tunnels.ASK


class SearchedBodies(Searched, ports.Bodies):
    pass


class SearchedEnds(Searched, ports.Ends):
    pass


class SearchedTunnels(Searched, ports.Tunnels):
    pass


class First(ports.Ports):
    def create(self, client=None, **body):
        return super().create(client, **{**body, "network": NETWORK})

    ASK = ports.Tunnels.ASK

    def test_a_secret_that_comes_ends_what_is_open(self):
        raw, _ = ports.Tunnels.open(self)
        raw.send(b"hello")
        self.assertEqual(raw.exact(5), b"hello")
        give_secret(self.box)
        raw.rest()  # comes to an end
        answer = self.ask(fields={"X-Value": VALUE})
        self.assertEqual(answer.status, 200)
        self.assertNotIn(VALUE[4:].encode(), answer.body)


if __name__ == "__main__":
    main(sys.modules[__name__])
