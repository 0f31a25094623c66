// SPDX-License-Identifier: Apache-2.0
// Sandboxes: made, found, connected to, given time, listed, ended.
import { LIMIT, Sandbox, assert, isSince, raises, runAll, test, until, withBox } from './sdk.mjs'

test('a_first_program', async () => {
  const sandbox = await Sandbox.create()
  await sandbox.files.write('/home/user/main.py', 'print(sum(range(10)))')
  const done = await sandbox.commands.run('python3 /home/user/main.py', { timeoutMs: 30_000 })
  assert.deepEqual([done.stdout, done.stderr, done.exitCode], ['45\n', '', 0])
  await sandbox.kill()
})

test('info_of_one', () => withBox({ timeoutMs: 120_000, metadata: { purpose: 'info', 'ü': 'a b&c=d' } }, async (sandbox) => {
  const info = await sandbox.getInfo()
  assert.equal(info.sandboxId, sandbox.sandboxId)
  assert.deepEqual({ ...info.metadata }, { purpose: 'info', 'ü': 'a b&c=d' })
  assert.equal(info.state, 'running')
  assert(info.cpuCount >= 1 && info.memoryMB >= 64)
  assert.equal(Math.round((info.endAt - info.startedAt) / 1000), 120)
  assert(Math.abs(info.startedAt - Date.now()) < LIMIT)
  assert.equal((await Sandbox.getInfo(sandbox.sandboxId)).sandboxId, sandbox.sandboxId)
  assert.equal(await sandbox.isRunning(), true)
}))

test('killed_once', async () => {
  const sandbox = await Sandbox.create()
  await sandbox.kill()
  assert.equal(await Sandbox.kill(sandbox.sandboxId), false)
  assert.equal(await sandbox.isRunning(), false)
})

test('one_that_never_was', async () => {
  const name = 'nonexistingsandbox'
  assert.equal(await Sandbox.kill(name), false)
  const kinds = ['SandboxNotFoundError', 'NotFoundError']
  await raises(kinds, () => Sandbox.connect(name), name)
  await raises([...kinds, 'SandboxError'], () => Sandbox.getInfo(name), name)
  await raises([...kinds, 'SandboxError'], () => Sandbox.setTimeout(name, 9000), name)
})

test('connected_to_from_elsewhere', () => withBox({ envs: { GREETING: 'hello' } }, async (sandbox) => {
  await sandbox.files.write('note', 'from one')
  const other = await Sandbox.connect(sandbox.sandboxId)
  assert.equal(other.sandboxId, sandbox.sandboxId)
  assert.equal(await other.files.read('note'), 'from one')
  assert.equal((await other.commands.run('echo $GREETING')).stdout, 'hello\n')
}))

test('connecting_does_not_shorten', () => withBox({ timeoutMs: 300_000 }, async (sandbox) => {
  const before = (await sandbox.getInfo()).endAt
  await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 10_000 })
  assert.deepEqual((await sandbox.getInfo()).endAt, before)
  await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 1_000_000 })
  assert((await sandbox.getInfo()).endAt > before)
}))

test('time_that_is_up', async () => {
  const sandbox = await Sandbox.create({ timeoutMs: 300_000 })
  await sandbox.setTimeout(1000)
  await until(async () => !(await sandbox.isRunning()))
  await raises(['TimeoutError', 'SandboxNotFoundError', 'NotFoundError'], () => sandbox.commands.run('true'))
})

test('found_by_what_it_was_given', async () => {
  const mark = `${process.hrtime.bigint()} & more=ä`
  const found = async (query, more = {}) => {
    const pages = Sandbox.list({ query, ...more })
    const names = []
    while (pages.hasNext) names.push(...(await pages.nextItems()).map((b) => b.sandboxId))
    return names
  }
  await withBox({ metadata: { mark, n: '1' } }, (one) => withBox({ metadata: { mark, n: '2' } }, async (two) => {
    const both = [two.sandboxId, one.sandboxId]
    assert.deepEqual(await found({ metadata: { mark } }), both)
    assert.deepEqual(await found({ metadata: { mark } }, { limit: 1 }), both)
    assert.deepEqual(await found({ metadata: { mark, n: '1' } }), [one.sandboxId])
    assert.deepEqual(await found({ metadata: { mark: 'other' } }), [])
    assert.deepEqual(await found({ metadata: { mark }, state: ['paused'] }), [])
    const pages = Sandbox.list({ query: { metadata: { mark } }, limit: 1 })
    await pages.nextItems()
    assert.equal(pages.hasNext, true)
    await pages.nextItems()
    assert.equal(pages.hasNext, false)
  }))
})

test('measured', () => withBox({}, async (sandbox) => {
  const found = await until(async () => { const m = await sandbox.getMetrics(); return m.length && m })
  const last = found.at(-1)
  assert(last.cpuCount >= 1 && last.memUsed > 0 && last.memUsed <= last.memTotal, JSON.stringify(last))
  const start = new Date(Date.now() - 3_600_000)
  const before = await sandbox.getMetrics({ start, end: new Date(+start + 60_000) })
  if (isSince(2, 10)) assert.deepEqual(before, []) // older ones leave the window out of what they send
}))

test('network_that_was_wished', async () => {
  const network = { allowOut: ['example.com', '192.0.2.7'], denyOut: ['0.0.0.0/0'] }
  await withBox({ network }, async (sandbox) => {
    const done = await sandbox.commands.run("bash -c 'echo > /dev/tcp/192.0.2.1/80'; echo $?")
    assert(done.stderr.includes('ermission denied'), done.stderr)
    const info = await sandbox.getInfo()
    if (info.network) {
      assert.deepEqual([info.network.allowOut, info.network.denyOut], [network.allowOut, network.denyOut])
    }
  })
})

test('nothing_leaves_by_itself', async () => {
  for (const opts of [{}, { allowInternetAccess: false }]) {
    await withBox(opts, async (sandbox) => {
      const done = await sandbox.commands.run("bash -c 'echo > /dev/tcp/192.0.2.1/80'; echo $?")
      assert(done.stderr.includes('unreachable'), done.stderr)
    })
  }
})

await runAll()
