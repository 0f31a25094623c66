// SPDX-License-Identifier: Apache-2.0
// What requests.c asks of a server, asked by E2B's SDK for JavaScript, as programs would.
//
//     node sdk.mjs VERB WORKERS COUNT [BYTES]     prints COUNT lines: nanoseconds of one operation
//
// The server and its key are those of the SDK's own variables.
import { Sandbox as Interpreter } from '@e2b/code-interpreter'
import { Sandbox } from 'e2b'

const [verb, workers, count, bytes] = [process.argv[2], ...process.argv.slice(3).map(Number)]

let shared, content

const operations = {
  async first() {
    const begin = process.hrtime.bigint()
    const sandbox = await Sandbox.create()
    await sandbox.commands.run('true')
    const took = process.hrtime.bigint() - begin
    await sandbox.kill()
    return took
  },
  async start() {
    const begin = process.hrtime.bigint()
    await shared.commands.run('true')
    return process.hrtime.bigint() - begin
  },
  async code() {
    const sandbox = await Interpreter.create()
    const took = await operations.cell(0, sandbox)
    await sandbox.kill()
    return took
  },
  async cell(number, sandbox = shared) {
    const begin = process.hrtime.bigint()
    const ran = await sandbox.runCode('1 + 1')
    if (ran.text !== '2') throw new Error(`run_code: ${JSON.stringify(ran.error)}`)
    return process.hrtime.bigint() - begin
  },
  async write(number) {
    const begin = process.hrtime.bigint()
    await shared.files.write(`/tmp/sdk-${number}`, content)
    return process.hrtime.bigint() - begin
  },
  async read(number) {
    const begin = process.hrtime.bigint()
    const read = await shared.files.read(`/tmp/sdk-${number}`, { format: 'bytes' })
    const took = process.hrtime.bigint() - begin
    if (read.length !== bytes) throw new Error(`read ${read.length} of ${bytes} bytes`)
    return took
  },
}

async function work(number) {
  const lines = []
  for (let i = 0; i < Math.ceil(count / workers); i++) lines.push(await operations[verb](number))
  return lines
}

if (verb === 'cell') shared = await Interpreter.create()
else if (verb !== 'first' && verb !== 'code') shared = await Sandbox.create()
if (bytes) content = new Uint8Array(bytes).fill(120).buffer
if (verb === 'read') for (let i = 0; i < workers; i++) await operations.write(i)
for (let i = 0; i < 3; i++) await operations[verb](0)
const all = await Promise.all(Array.from({ length: workers }, (_, number) => work(number)))
console.log(all.flat().join('\n'))
if (shared) await shared.kill()
