# SPDX-License-Identifier: Apache-2.0
"""Each class of error that the SDK has for what a server says; and what is not offered, which says so."""
import json
import os
import urllib.request

import sdk
from sdk import Sandbox, box, case, equal, raises

OTHER_KEY = "e2b_" + "0" * 40
NOT_YET = "not offered yet"


@case()
async def a_wrong_key():
    for deed in (lambda: Sandbox.create(api_key=OTHER_KEY), lambda: Sandbox.kill("i" + "0" * 20, api_key=OTHER_KEY)):
        with raises("AuthenticationException"):
            await deed()


def make_key(**scope):
    request = urllib.request.Request(os.environ["E2B_API_URL"] + "/api-keys", json.dumps({"name": "k", "scope": scope}).encode(),
                                     {"X-API-Key": os.environ["E2B_API_KEY"], "Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["key"]


@case()
async def as_many_as_there_may_be():
    key = make_key(sandboxes=1)
    sandbox = await Sandbox.create(api_key=key)
    try:
        with raises(("RateLimitException", "SandboxException"), "as many sandboxes"):
            await Sandbox.create(api_key=key)
    finally:
        equal(await Sandbox.kill(sandbox.sandbox_id), True)


@case()
async def keys_do_not_see_each_other():
    key = make_key()
    async with box() as sandbox:
        equal(await Sandbox.kill(sandbox.sandbox_id, api_key=key), False)
        with raises(("SandboxNotFoundException", "NotFoundException", "SandboxException")):
            await Sandbox.connect(sandbox.sandbox_id, api_key=key)
        equal(await sandbox.is_running(), True)


@case()
async def a_template_that_is_none():
    with raises("SandboxException", "404", "nosuchtemplate"):
        await Sandbox.create("nosuchtemplate")


@case()
async def wishes_that_are_none():
    for wish in ({"timeout": -1}, {"timeout": 10**9}, {"envs": {"A=B": "x"}},
                 {"network": {"allow_out": ["example.com"]}}, {"network": {"deny_out": ["example.com"]}}):
        with raises("SandboxException", "400"):
            await Sandbox.create(**wish)


@case()
async def a_disk_that_is_full():
    async with box() as sandbox:
        with raises("NotEnoughSpaceException"):
            await sandbox.files.write("big", b"x" * (80 << 20))
        equal(await sandbox.files.exists("big"), False)
        await sandbox.files.write("small", "x")


@case()
async def a_sandbox_that_is_gone():
    sandbox = await Sandbox.create()
    await sandbox.kill()
    for deed in (lambda: sandbox.commands.run("true"), lambda: sandbox.files.read("x"), lambda: sandbox.files.write("x", "y"),
                 lambda: sandbox.files.list("/"), lambda: sandbox.commands.list()):
        with raises("TimeoutException"):
            await deed()


@case()
async def pausing():
    async with box() as sandbox:
        with raises("SandboxException", "501", NOT_YET):
            await sandbox.beta_pause()
        equal(await sandbox.is_running(), True)


@case(since=(2, 30, 0))
async def pausing_when_time_is_up():
    with raises("SandboxException", "501", NOT_YET):
        await Sandbox.create(lifecycle={"on_timeout": "pause"})


@case(since=(2, 36, 0))
async def snapshots_and_forks():
    async with box() as sandbox:
        with raises("SandboxException", NOT_YET):
            await sandbox.create_snapshot()
        with raises("SandboxException", NOT_YET):
            await sandbox.fork()


@case()
async def templates():
    template = sdk.e2b.Template().from_image("debian:12")
    build = sdk.e2b.AsyncTemplate.build if sdk.FACE == "async" else sdk.Patient(sdk.e2b.Template).build
    with raises(("BuildException", "TemplateException", "SandboxException"), NOT_YET):
        if sdk.VERSION < (2, 9, 0):
            await build(template, alias="mine")
        else:
            await build(template, "mine")


@case(since=(2, 43, 0))
async def names_and_tags_of_templates():
    template = sdk.e2b.AsyncTemplate if sdk.FACE == "async" else sdk.Patient(sdk.e2b.Template)
    for ask in (lambda: template.exists("mine"), lambda: template.get_tags("mine"), lambda: template.assign_tags("mine:v1", ["a"]),
                lambda: template.remove_tags("mine", ["a"])):
        with raises("TemplateException", "501", NOT_YET):
            await ask()


@case(since=(2, 43, 0))
async def wishes_that_are_not_offered():
    for wish in ({"mcp": {"github": {}}}, {"volume_mounts": {"/v": "mine"}}):
        with raises("SandboxException", "501", NOT_YET):
            await Sandbox.create(**wish)


@case(since=(2, 43, 0))
async def volumes_and_secrets():
    volumes, secrets = (sdk.e2b.AsyncVolume, sdk.e2b.AsyncSecret) if sdk.FACE == "async" else \
        (sdk.Patient(sdk.e2b.Volume), sdk.Patient(sdk.e2b.Secret))
    with raises("VolumeException", NOT_YET):
        await volumes.create("mine")
    with raises("VolumeException", NOT_YET):
        await volumes.list()
    with raises("VolumeException", NOT_YET):
        await volumes.destroy("mine")
    with raises("SecretException", NOT_YET):
        await secrets.create("mine", "value")
    with raises("SecretException", NOT_YET):
        await secrets.destroy("mine")


sdk.main()
