# SPDX-License-Identifier: Apache-2.0
"""Programs of a sandbox that listen, asked from outside by https and the host that the SDK names."""
import asyncio
import json
import time
import urllib.error
import urllib.request

import sdk
from sdk import box, case, equal

PUBLIC = {"allow_public_traffic": True}
TOKEN = "e2b-traffic-access-token"


def fetch(url, fields):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=fields), timeout=sdk.LIMIT) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


async def ask(sandbox, port, path="/", **fields):
    url = f"https://{sandbox.get_host(port)}{path}"
    return await asyncio.to_thread(fetch, url, {name.replace("_", "-"): value for name, value in fields.items()})


async def serve(sandbox, port, script=None):
    """A program that listens there."""
    await sandbox.files.write("pages/note", "of the sandbox")
    command = f"python3 -m http.server {port}" if script is None else f"python3 -c '{script}'"
    await sandbox.commands.run(command, background=True, cwd="/home/user/pages", timeout=0)
    token = {TOKEN: sandbox.traffic_access_token} if sandbox.traffic_access_token else {}
    end = time.monotonic() + sdk.LIMIT
    while (await ask(sandbox, port, **token))[0] == 502:
        assert time.monotonic() < end
        await asyncio.sleep(0.05)


@case()
async def a_page():
    async with box(network=PUBLIC) as sandbox:
        await serve(sandbox, 8000)
        equal(await ask(sandbox, 8000, "/note"), (200, "of the sandbox"))
        equal((await ask(sandbox, 8000, "/none"))[0], 404)
        assert f"8000-{sandbox.sandbox_id}." in sandbox.get_host(8000), sandbox.get_host(8000)


@case()
async def nobody_there():
    async with box(network=PUBLIC) as sandbox:
        status, said = await ask(sandbox, 8001)
        equal((status, json.loads(said)), (502, {"sandboxId": sandbox.sandbox_id, "port": 8001, "code": 502,
                                                 "message": "The sandbox is running but port is not open"}))
        await sandbox.kill()
        status, said = await ask(sandbox, 8001)
        equal((status, json.loads(said)), (502, {"sandboxId": sandbox.sandbox_id, "code": 502, "message": "The sandbox was not found"}))


@case()
async def for_those_with_a_token():
    for wish in ({}, {"network": {"allow_public_traffic": False}}):
        async with box(**wish) as sandbox:
            await serve(sandbox, 8000)
            equal((await ask(sandbox, 8000, "/note"))[0], 403)
            equal((await ask(sandbox, 8000, "/note", **{TOKEN: "x" * 32}))[0], 403)
            equal(await ask(sandbox, 8000, "/note", **{TOKEN: sandbox.traffic_access_token}), (200, "of the sandbox"))


ECHO = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        said = " ".join(str(self.headers.get(n)) for n in ("Host", "X-Forwarded-Host", "X-Forwarded-Proto")).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)
http.server.HTTPServer(("127.0.0.1", 8000), Handler).serve_forever()
"""


@case()
async def by_another_name():
    async with box(network={**PUBLIC, "mask_request_host": "inside.test:${PORT}"}) as sandbox:
        await serve(sandbox, 8000, ECHO)
        equal(await ask(sandbox, 8000), (200, f"inside.test:8000 {sandbox.get_host(8000)} https"))


@case()
async def many_at_once():
    async with box(network=PUBLIC) as sandbox:
        await serve(sandbox, 8000)
        equal(set(await asyncio.gather(*(ask(sandbox, 8000, "/note") for _ in range(20)))), {(200, "of the sandbox")})


@case()
async def addresses_of_files():
    async with box() as sandbox:
        await sandbox.files.write("f", "signed")
        url = sandbox.download_url("f")
        equal((url.split(":")[0], await asyncio.to_thread(fetch, url, {})), ("https", (200, "signed")))


sdk.main()
