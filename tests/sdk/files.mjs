// SPDX-License-Identifier: Apache-2.0
// Files of a sandbox: written, read, listed, moved, watched; and addresses that need no key.
import { randomBytes } from 'node:crypto'
import { assert, raises, runAll, test, until, withBox } from './sdk.mjs'

const MISSING = ['FileNotFoundError', 'NotFoundError']

test('written_and_read', () => withBox({}, async (sandbox) => {
  for (const path of ['a.txt', '/tmp/b.txt', 'deep/er/c.txt', 'sp ace/ü%41+&.txt']) {
    const wrote = await sandbox.files.write(path, `of ${path}`)
    assert.equal(wrote.path, path.startsWith('/') ? path : `/home/user/${path}`)
    assert.equal(await sandbox.files.read(path), `of ${path}`)
  }
  await sandbox.files.write('a.txt', 'again')
  assert.equal(await sandbox.files.read('~/a.txt'), 'again')
}))

test('bytes_and_streams', () => withBox({}, async (sandbox) => {
  const data = randomBytes(5 << 20)
  await sandbox.files.write('big', data.buffer.slice(data.byteOffset, data.byteOffset + data.length))
  assert(data.equals(Buffer.from(await sandbox.files.read('big', { format: 'bytes' }))))
  const pieces = []
  for await (const piece of await sandbox.files.read('big', { format: 'stream' })) pieces.push(piece)
  assert(data.equals(Buffer.concat(pieces)))
  assert(data.equals(Buffer.from(await (await sandbox.files.read('big', { format: 'blob' })).arrayBuffer())))
  await sandbox.files.write('blob', new Blob(['of a blob']))
  assert.equal(await sandbox.files.read('blob'), 'of a blob')
  const stream = new ReadableStream({
    start(c) { c.enqueue(new TextEncoder().encode('of a ')); c.enqueue(new TextEncoder().encode('stream')); c.close() },
  })
  await sandbox.files.write('stream', stream)
  assert.equal(await sandbox.files.read('stream'), 'of a stream')
  await sandbox.files.write('empty', '')
  assert.equal(await sandbox.files.read('empty'), '')
  assert((await sandbox.files.read('/proc/cpuinfo')).includes('processor'))
}))

test('many_at_once', () => withBox({}, async (sandbox) => {
  const paths = [...Array(30).keys()].map((i) => `many/${i}`)
  const wrote = await sandbox.files.write(paths.map((path) => ({ path, data: `of ${path}` })))
  assert.deepEqual(wrote.map((w) => w.path), paths.map((p) => `/home/user/${p}`))
  assert.equal(await sandbox.files.read('many/29'), 'of many/29')
}))

test('as_another_user', () => withBox({}, async (sandbox) => {
  await sandbox.files.write('r', "root's", { user: 'root' })
  assert.equal(await sandbox.files.read('/root/r', { user: 'root' }), "root's")
  assert.equal((await sandbox.files.getInfo('r', { user: 'root' })).owner, 'root')
  await raises(MISSING, () => sandbox.files.read('r'))
  await raises(['AuthenticationError', 'SandboxError'], () => sandbox.files.read('r', { user: 'nobodyhere' }))
}))

test('listed', () => withBox({}, async (sandbox) => {
  await sandbox.commands.run('mkdir -p d/sub/deep; echo 12345 > d/f; ln -s f d/link; chmod 1777 d/sub; ln -s none d/broken')
  const entries = Object.fromEntries((await sandbox.files.list('d')).map((e) => [e.name, e]))
  assert.deepEqual(Object.keys(entries).sort(), ['f', 'link', 'sub'])
  const { f, sub, link } = entries
  assert.deepEqual([f.type, Number(f.size), f.mode, f.permissions, f.owner, f.group], ['file', 6, 0o644, '-rw-r--r--', 'user', 'user'])
  assert.deepEqual([sub.type, sub.path, sub.permissions], ['dir', '/home/user/d/sub', 'dtrwxrwxrwx'])
  assert.deepEqual([link.symlinkTarget, f.symlinkTarget], ['/home/user/d/f', undefined])
  assert.deepEqual((await sandbox.files.list('d', { depth: 3 })).filter((e) => e.type === 'dir').map((e) => e.path),
    ['/home/user/d/sub', '/home/user/d/sub/deep'])
  await raises(MISSING, () => sandbox.files.list('nosuch'), 'nosuch')
  await raises('InvalidArgumentError', () => sandbox.files.list('d/f'))
}))

test('made_moved_removed', () => withBox({}, async (sandbox) => {
  const { files } = sandbox
  assert.equal(await files.makeDir('new/er'), true)
  assert.equal(await files.makeDir('new/er'), false)
  await files.write('new/f', 'content')
  await raises('InvalidArgumentError', () => files.makeDir('new/f'))
  const moved = await files.rename('new/f', 'other/place')
  assert.deepEqual([moved.path, moved.name], ['/home/user/other/place', 'place'])
  assert.deepEqual([await files.exists('new/f'), await files.exists('other/place')], [false, true])
  await raises(MISSING, () => files.rename('new/f', 'x'))
  await files.remove('other')
  await files.remove('other')
  assert.equal(await files.exists('other'), false)
  await raises(MISSING, () => files.read('other/place'), 'other/place')
  await raises('InvalidArgumentError', () => files.read('new'))
  await raises(MISSING, () => files.getInfo('other'))
}))

test('watched', () => withBox({}, async (sandbox) => {
  await sandbox.files.makeDir('w')
  const events = []
  const seen = (type, name) => until(() => events.find((e) => e.type === type && e.name === name), `${type} ${name}`)
  const handle = await sandbox.files.watchDir('w', (e) => { events.push(e) })
  await sandbox.commands.run('echo a > w/f; echo b >> w/f; chmod 600 w/f; mv w/f w/g; rm w/g')
  for (const [type, name] of [['create', 'f'], ['write', 'f'], ['chmod', 'f'], ['rename', 'f'], ['remove', 'g']]) {
    await seen(type, name)
  }
  await handle.stop()
  for (const path of ['nosuch', '/etc/passwd']) {
    await raises([...MISSING, 'SandboxError'], () => sandbox.files.watchDir(path, () => {}), path)
  }
}))

test('watched_with_what_is_below', () => withBox({}, async (sandbox) => {
  await sandbox.files.makeDir('w/there')
  const events = []
  const seen = (type, name) => until(() => events.find((e) => e.type === type && e.name === name), `${type} ${name}`)
  const handle = await sandbox.files.watchDir('w', (e) => { events.push(e) }, { recursive: true })
  await sandbox.files.write('w/there/f', 'x')
  await seen('write', 'there/f')
  await sandbox.commands.run('mkdir w/later')
  await seen('create', 'later')
  await sandbox.files.write('w/later/g', 'x')
  await seen('write', 'later/g')
  await handle.stop()
}))

test('watched_with_what_it_is', () => withBox({}, async (sandbox) => {
  await sandbox.files.makeDir('w')
  const events = []
  const handle = await sandbox.files.watchDir('w', (e) => { events.push(e) }, { includeEntry: true })
  await sandbox.files.write('w/f', 'five5')
  const { entry } = await until(() => events.find((e) => e.type === 'write'))
  assert.deepEqual([entry.path, entry.type, Number(entry.size), entry.owner], ['/home/user/w/f', 'file', 5, 'user'])
  await handle.stop()
}), [2, 45])

const form = () => {
  const body = new FormData()
  body.append('file', 'uploaded')
  return { method: 'POST', body }
}
const status = async (url, opts) => {
  const answer = await fetch(url, opts)
  return [answer.status, await answer.text()]
}

test('addresses_without_a_key', () => withBox({}, (sandbox) => withBox({}, async (other) => {
  await sandbox.files.write('s ü.txt', 'shared')
  const url = await sandbox.downloadUrl('s ü.txt')
  assert.deepEqual(await status(url), [200, 'shared'])
  assert.deepEqual(await status(await sandbox.downloadUrl('s ü.txt', { useSignatureExpiration: 1000 })), [200, 'shared'])
  assert.deepEqual(await status(await sandbox.downloadUrl('s ü.txt', { useSignatureExpiration: -10 })),
    [401, '{"code":401,"message":"signature is already expired"}'])
  assert.equal((await status(await sandbox.downloadUrl('nosuch')))[0], 404)
  assert.equal((await status(await other.downloadUrl('s ü.txt')))[0], 404)
  assert.equal((await status(url.replace('path=s', 'path=t')))[0], 401)
  assert.equal((await status(await sandbox.uploadUrl('up.txt', { useSignatureExpiration: 1000 }), form()))[0], 200)
  assert.equal(await sandbox.files.read('up.txt'), 'uploaded')
  assert.equal((await status(await sandbox.downloadUrl('up.txt'), form()))[0], 401)
  assert.equal((await status(await sandbox.uploadUrl('r.txt', { user: 'root' }), form()))[0], 200)
  assert.equal(await sandbox.files.read('/root/r.txt', { user: 'root' }), 'uploaded')
})))

test('with_words_beside', () => withBox({}, async (sandbox) => {
  const wrote = await sandbox.files.write('m', 'x', { metadata: { Purpose: 'a test' } })
  assert.deepEqual({ ...wrote.metadata }, { purpose: 'a test' })
  assert.deepEqual({ ...(await sandbox.files.getInfo('m')).metadata }, { purpose: 'a test' })
  await sandbox.files.write('m', 'x')
  assert.equal((await sandbox.files.getInfo('m')).metadata, undefined)
}), [2, 30])

test('packed_on_the_way', () => withBox({}, async (sandbox) => {
  const text = 'packed '.repeat(100000)
  await sandbox.files.write('z', text, { gzip: true })
  assert.equal(await sandbox.files.read('z', { gzip: true }), text)
}), [2, 20])

await runAll()
