// SPDX-License-Identifier: Apache-2.0
// Each class of error that the SDK has for what a server says; and what is not offered, which says so.
import { Sandbox, assert, e2b, isSince, raises, runAll, test, withBox } from './sdk.mjs'

const OTHER_KEY = 'e2b_' + '0'.repeat(40)
const NOT_YET = 'not offered yet'
const GONE = ['SandboxNotFoundError', 'NotFoundError', 'SandboxError']

test('a_wrong_key', async () => {
  await raises('AuthenticationError', () => Sandbox.create({ apiKey: OTHER_KEY }))
  await raises('AuthenticationError', () => Sandbox.kill('i' + '0'.repeat(20), { apiKey: OTHER_KEY }))
})

async function makeKey(scope) {
  const answer = await fetch(`${process.env.E2B_API_URL}/api-keys`, {
    method: 'POST', body: JSON.stringify({ name: 'k', scope }),
    headers: { 'X-API-Key': process.env.E2B_API_KEY, 'Content-Type': 'application/json' },
  })
  return (await answer.json()).key
}

test('as_many_as_there_may_be', async () => {
  const apiKey = await makeKey({ sandboxes: 1 })
  const sandbox = await Sandbox.create({ apiKey })
  await raises(['RateLimitError', 'SandboxError'], () => Sandbox.create({ apiKey }), 'as many sandboxes')
  assert.equal(await Sandbox.kill(sandbox.sandboxId), true)
})

test('keys_do_not_see_each_other', () => withBox({}, async (sandbox) => {
  const apiKey = await makeKey({})
  assert.equal(await Sandbox.kill(sandbox.sandboxId, { apiKey }), false)
  await raises(GONE, () => Sandbox.connect(sandbox.sandboxId, { apiKey }))
  assert.equal(await sandbox.isRunning(), true)
}))

test('a_template_that_is_none', () => raises('SandboxError', () => Sandbox.create('nosuchtemplate'), '404', 'nosuchtemplate'))

test('wishes_that_are_none', async () => {
  for (const wish of [{ timeoutMs: -1000 }, { timeoutMs: 1e12 }, { envs: { 'A=B': 'x' } },
    { network: { allowOut: ['example.com'] } }, { network: { denyOut: ['example.com'] } }]) {
    await raises('SandboxError', () => Sandbox.create(wish), '400')
  }
})

test('a_disk_that_is_full', () => withBox({}, async (sandbox) => {
  await raises('NotEnoughSpaceError', () => sandbox.files.write('big', new ArrayBuffer(80 << 20)))
  assert.equal(await sandbox.files.exists('big'), false)
  await sandbox.files.write('small', 'x')
}))

test('a_sandbox_that_is_gone', async () => {
  const sandbox = await Sandbox.create()
  await sandbox.kill()
  const kinds = ['TimeoutError', 'SandboxNotFoundError', 'NotFoundError']
  await raises(kinds, () => sandbox.commands.run('true'))
  await raises(kinds, () => sandbox.files.read('x'))
  await raises(kinds, () => sandbox.files.write('x', 'y'))
  await raises(kinds, () => sandbox.files.list('/'))
  await raises(kinds, () => sandbox.commands.list())
})

test('pausing', () => withBox({}, async (sandbox) => {
  await raises('SandboxError', () => sandbox.betaPause(), '501', NOT_YET)
  assert.equal(await sandbox.isRunning(), true)
}))

test('pausing_when_time_is_up', () =>
  raises('SandboxError', () => Sandbox.create({ lifecycle: { onTimeout: 'pause' } }), '501', NOT_YET), [2, 30])

test('snapshots_and_forks', () => withBox({}, async (sandbox) => {
  await raises('SandboxError', () => sandbox.createSnapshot(), NOT_YET)
  await raises('SandboxError', () => sandbox.fork(), NOT_YET)
}), [2, 36])

test('templates', async () => {
  const template = e2b.Template().fromImage('debian:12')
  const kinds = ['BuildError', 'TemplateError', 'SandboxError']
  await raises(kinds, () => isSince(2, 9) ? e2b.Template.build(template, 'mine') : e2b.Template.build(template, { alias: 'mine' }), NOT_YET)
})

test('names_and_tags_of_templates', async () => {
  for (const ask of [() => e2b.Template.exists('mine'), () => e2b.Template.getTags('mine'), () => e2b.Template.assignTags('mine:v1', ['a']),
    () => e2b.Template.removeTags('mine', ['a'])]) await raises('TemplateError', ask, '501', NOT_YET)
}, [2, 43])

test('wishes_that_are_not_offered', async () => {
  await raises('SandboxError', () => Sandbox.create({ mcp: { github: {} } }), '501', NOT_YET)
  await raises('SandboxError', () => Sandbox.create({ volumeMounts: { '/v': 'mine' } }), '501', NOT_YET)
}, [2, 43])

test('volumes_and_secrets', async () => {
  await raises('VolumeError', () => e2b.Volume.create('mine'), NOT_YET)
  await raises('VolumeError', () => e2b.Volume.list(), NOT_YET)
  await raises('VolumeError', () => e2b.Volume.destroy('mine'), NOT_YET)
  await raises('SecretError', () => e2b.Secret.create('mine', 'value'), NOT_YET)
  await raises('SecretError', () => e2b.Secret.destroy('mine'), NOT_YET)
}, [2, 43])

await runAll()
