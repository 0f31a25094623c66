// SPDX-License-Identifier: Apache-2.0
// Programs of a sandbox: run, fed, looked for, ended; and terminals.
import { Sandbox, assert, raises, runAll, test, until, withBox } from './sdk.mjs'

test('output_and_status', () => withBox({}, async (sandbox) => {
  let out = '', err = ''
  const done = await sandbox.commands.run("echo one; echo two >&2; echo 'ä\"$`'", {
    onStdout: (text) => { out += text }, onStderr: (text) => { err += text },
  })
  assert.deepEqual([done.stdout, done.stderr, done.exitCode], ['one\nä"$`\n', 'two\n', 0])
  assert.deepEqual([out, err], [done.stdout, done.stderr])
}))

test('failure', () => withBox({}, async (sandbox) => {
  let e = await raises('CommandExitError', () => sandbox.commands.run('echo out; echo err >&2; exit 3'))
  assert.deepEqual([e.exitCode, e.stdout, e.stderr, e.error, e.message], [3, 'out\n', 'err\n', 'exit status 3', 'exit status 3'])
  e = await raises('CommandExitError', () => sandbox.commands.run('kill -9 $$'))
  assert.equal(e.exitCode, -1)
}))

test('much_output', () => withBox({}, async (sandbox) => {
  const done = await sandbox.commands.run("head -c 3000000 /dev/zero | tr '\\0' 'x'")
  assert.equal(done.stdout.length, 3000000)
}))

test('where_and_as_whom', () => withBox({}, async (sandbox) => {
  const words = 'id -un; pwd; echo $HOME'
  assert.equal((await sandbox.commands.run(words)).stdout, 'user\n/home/user\n/home/user\n')
  assert.equal((await sandbox.commands.run(words, { user: 'root' })).stdout, 'root\n/root\n/root\n')
  assert.equal((await sandbox.commands.run('pwd', { cwd: '/tmp' })).stdout, '/tmp\n')
  await raises('InvalidArgumentError', () => sandbox.commands.run('pwd', { cwd: '/nosuch' }), '/nosuch')
  await raises('AuthenticationError', () => sandbox.commands.run('pwd', { user: 'nobodyhere' }), 'nobodyhere')
}))

test('variables', () => withBox({ envs: { A: 'of the sandbox', B: 'too' } }, async (sandbox) => {
  const done = await sandbox.commands.run('echo $A, $B, $C, $E2B_SANDBOX', { envs: { B: 'of this one', C: 'new' } })
  assert.equal(done.stdout, 'of the sandbox, of this one, new, true\n')
  assert.equal((await sandbox.commands.run('echo $B$C; echo $E2B_SANDBOX_ID')).stdout, `too\n${sandbox.sandboxId}\n`)
}))

test('time_that_is_up', () => withBox({}, async (sandbox) => {
  const gone = (words) => until(async () => !(await sandbox.commands.run(`pgrep -fx '${words}' || true`)).stdout, words)
  await raises('TimeoutError', () => sandbox.commands.run('exec sleep 1000', { timeoutMs: 500 }))
  await gone('sleep 1000')
  const handle = await sandbox.commands.run('exec sleep 1001', { background: true, timeoutMs: 500 })
  await raises('TimeoutError', () => handle.wait())
  await gone('sleep 1001')
}))

test('in_the_background', () => withBox({}, async (sandbox) => {
  const handle = await sandbox.commands.run('sleep 0.1; echo done; exit 4', { background: true })
  assert(handle.pid > 0)
  const e = await raises('CommandExitError', () => handle.wait())
  assert.deepEqual([e.stdout, e.exitCode], ['done\n', 4])
}))

test('listed_and_killed', () => withBox({}, async (sandbox) => {
  const opts = { background: true, cwd: '/tmp', envs: { MINE: '1' } }
  const handle = await sandbox.commands.run('exec sleep 1000', opts)
  const found = (await sandbox.commands.list()).find((p) => p.pid === handle.pid)
  assert.deepEqual([found.cmd, [...found.args], found.cwd, found.envs.MINE],
    ['/bin/bash', ['-l', '-c', 'exec sleep 1000'], '/tmp', '1'])
  assert.equal(await sandbox.commands.kill(handle.pid), true)
  await raises('CommandExitError', () => handle.wait())
  assert.equal((await sandbox.commands.run(`kill -0 ${handle.pid} 2>&- || echo gone`)).stdout, 'gone\n')
  assert.equal(await sandbox.commands.kill(handle.pid), false)
  assert.equal(await sandbox.commands.kill(999999), false)
}))

test('fed', () => withBox({}, async (sandbox) => {
  const handle = await sandbox.commands.run('read a; read b; echo $b $a', { background: true, stdin: true })
  await sandbox.commands.sendStdin(handle.pid, 'first line\n')
  await sandbox.commands.sendStdin(handle.pid, 'second ü\n')
  assert.equal((await handle.wait()).stdout, 'second ü first line\n')
  await raises(['NotFoundError', 'SandboxError'], () => sandbox.commands.sendStdin(handle.pid, 'late\n'))
}))

test('not_fed', () => withBox({}, async (sandbox) => {
  assert.equal((await sandbox.commands.run('cat; echo end', { stdin: false })).stdout, 'end\n')
}))

test('input_that_ends', () => withBox({}, async (sandbox) => {
  const handle = await sandbox.commands.run('cat', { background: true, stdin: true })
  await sandbox.commands.sendStdin(handle.pid, 'x'.repeat(300000))
  await sandbox.commands.closeStdin(handle.pid)
  assert.equal((await handle.wait()).stdout.length, 300000)
}), [2, 30])

test('connected_to_from_elsewhere', () => withBox({}, async (sandbox) => {
  const handle = await sandbox.commands.run('read a; echo got $a', { background: true, stdin: true })
  await handle.disconnect()
  const other = await Sandbox.connect(sandbox.sandboxId)
  const again = await other.commands.connect(handle.pid)
  await other.commands.sendStdin(again.pid, 'it\n')
  assert.equal((await again.wait()).stdout, 'got it\n')
  await raises(['NotFoundError', 'SandboxError'], () => other.commands.connect(999999), '999999')
}))

test('killed_under_way', async () => {
  const sandbox = await Sandbox.create()
  const handle = await sandbox.commands.run('sleep 1000', { background: true, timeoutMs: 0 })
  const waits = handle.wait()
  await Promise.all([Sandbox.kill(sandbox.sandboxId), assert.rejects(waits)])
})

test('many_at_once', () => withBox({}, async (sandbox) => {
  const numbers = [...Array(20).keys()]
  const done = await Promise.all(numbers.map((i) => sandbox.commands.run(`sleep 0.1; echo ${i}`)))
  assert.deepEqual(done.map((d) => d.stdout), numbers.map((i) => `${i}\n`))
}))

/** A terminal, and what it printed. */
class Terminal {
  text = ''
  take = (data) => { this.text += new TextDecoder().decode(data) }

  async readUntil(words) {
    await until(() => this.text.includes(words), words)
    this.text = this.text.slice(this.text.indexOf(words) + words.length)
  }

  write = (text) => this.sandbox.pty.sendInput(this.handle.pid, new TextEncoder().encode(text))

  static async create(sandbox, opts = {}) {
    const t = new Terminal()
    t.sandbox = sandbox
    t.handle = await sandbox.pty.create({ rows: 30, cols: 100, onData: t.take, ...opts })
    return t
  }
}

test('a_terminal', () => withBox({}, async (sandbox) => {
  const t = await Terminal.create(sandbox, { envs: { MINE: 'var' } })
  await t.write('echo $MINE-$TERM; tty; stty size\n')
  await t.readUntil('var-xterm-256color')
  await t.readUntil('/dev/pts/')
  await t.readUntil('30 100')
  await sandbox.pty.resize(t.handle.pid, { rows: 40, cols: 120 })
  await t.write('stty size\n')
  await t.readUntil('40 120')
  await t.write('exit\n')
  assert.equal((await t.handle.wait()).exitCode, 0)
}))

test('a_terminal_from_elsewhere', () => withBox({}, async (sandbox) => {
  const first = await Terminal.create(sandbox)
  await first.write('MINE=kept\n')
  await first.readUntil('$ ')
  await first.handle.disconnect()
  const other = new Terminal()
  other.sandbox = await Sandbox.connect(sandbox.sandboxId)
  other.handle = await other.sandbox.pty.connect(first.handle.pid, { onData: other.take })
  await other.write('echo it is $MINE; exit\n')
  await other.readUntil('it is kept')
  assert.equal((await other.handle.wait()).exitCode, 0)
}), [2, 20])

test('a_terminal_killed', () => withBox({}, async (sandbox) => {
  const t = await Terminal.create(sandbox)
  assert.equal(await sandbox.pty.kill(t.handle.pid), true)
  await raises('CommandExitError', () => t.handle.wait())
  assert.equal(await sandbox.pty.kill(t.handle.pid), false)
}))

await runAll()
