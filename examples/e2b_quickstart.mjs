// SPDX-License-Identifier: Apache-2.0
// E2B's SDK for JavaScript, as it is published, with sandboxes on this machine.
//
//     npm install e2b
//     glovebox serve                                # in another terminal; paste the lines that it prints
//     node e2b_quickstart.mjs
import { ALL_TRAFFIC, CommandExitError, Sandbox, TimeoutError } from 'e2b'

const sandbox = await Sandbox.create({ timeoutMs: 120_000, envs: { GREETING: 'hello' } })
try {
  await sandbox.files.write('main.py', "import os\nprint(os.environ['GREETING'], sum(range(10)))\n")
  process.stdout.write((await sandbox.commands.run('python3 main.py', { timeoutMs: 30_000 })).stdout)

  // What fails says how, and what takes too long is ended.
  await sandbox.commands.run('echo no such luck >&2; exit 3').catch((e) => {
    if (!(e instanceof CommandExitError)) throw e
    process.stdout.write(`${e.exitCode} ${e.stderr}`)
  })
  await sandbox.commands.run('sleep 60', { timeoutMs: 1000 }).catch((e) => {
    if (!(e instanceof TimeoutError)) throw e
    console.log('too long')
  })

  // Nothing leaves the sandbox, since nothing was said of the network.
  const tried = await sandbox.commands.run('curl -sS --max-time 5 http://example.com 2>&1 || echo no way out')
  console.log(tried.stdout.trimEnd().split('\n').at(-1))
} finally {
  await sandbox.kill()
}

// Of this one requests go to one host, and to no other.
const careful = await Sandbox.create({ network: { allowOut: ['example.com'], denyOut: [ALL_TRAFFIC] } })
try {
  const tried = await careful.commands.run('curl -sS --max-time 5 http://example.org 2>&1 || echo not there')
  console.log(tried.stdout.trimEnd().split('\n').at(-1))
} finally {
  await careful.kill()
}
