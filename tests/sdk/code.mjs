// SPDX-License-Identifier: Apache-2.0
// Cells of code, with the SDK of the code interpreter.
import { Sandbox, NotFoundError, SandboxError, TimeoutError } from '@e2b/code-interpreter'
import { assert, isSince, runAll, test } from './sdk.mjs'

async function withBox(work, opts = {}) {
  const sandbox = await Sandbox.create(opts)
  try {
    return await work(sandbox)
  } finally {
    await sandbox.kill()
  }
}

const text = (lines) => lines.join('')

test('a_first_program', () => withBox(async (sandbox) => {
  await sandbox.runCode('x = 1')
  const execution = await sandbox.runCode('x += 1; x')
  assert.deepEqual([execution.text, execution.error, execution.executionCount], ['2', undefined, 2])
}))

test('output_results_and_errors_as_they_come', () => withBox(async (sandbox) => {
  const [out, err, results, errors] = [[], [], [], []]
  const execution = await sandbox.runCode("import sys\nprint('o \u2028 \x85')\nprint('e', file=sys.stderr)\ndisplay('d')\n1/0", {
    onStdout: (m) => { out.push(m.line) },
    onStderr: (m) => { err.push(m.line) },
    onResult: (r) => { results.push(r.text) },
    onError: (e) => { errors.push(e.name) },
  })
  assert.deepEqual([text(out), text(err), results, errors], ['o \u2028 \x85\n', 'e\n', ['d'], ['ZeroDivisionError']])
  assert.match(execution.error.traceback, /----> 5 1\/0/)
  assert.equal(text(execution.logs.stdout), text(out))
}))

test('charts', () => withBox(async (sandbox) => {
  if ((await sandbox.runCode('import matplotlib')).error) return
  const execution = await sandbox.runCode("import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4], label='l'); plt.show()")
  const [result] = execution.results
  assert(result.png)
  assert.deepEqual([result.chart.type, result.chart.elements], ['line', [{ label: 'l', points: [[1, 3], [2, 4]] }]])
}))

test('contexts', () => withBox(async (sandbox) => {
  const context = await sandbox.createCodeContext({ cwd: '/tmp', language: 'python' })
  assert.deepEqual([context.language, context.cwd], ['python', '/tmp'])
  await sandbox.runCode('v = 1; import os', { context })
  assert.equal((await sandbox.runCode('v, os.getcwd()', { context })).text, "(1, '/tmp')")
  assert.equal((await sandbox.listCodeContexts()).at(-1).id, context.id)
  await sandbox.restartCodeContext(context)
  assert.equal((await sandbox.runCode('v', { context })).error.name, 'NameError')
  await sandbox.removeCodeContext(context.id)
  await assert.rejects(() => sandbox.runCode('v', { context }), NotFoundError)
}))

test('languages', () => withBox(async (sandbox) => {
  assert.equal(text((await sandbox.runCode('echo $A', { language: 'bash', envs: { A: 'b' } })).logs.stdout), 'b\n')
  await assert.rejects(() => sandbox.runCode('1', { language: 'cobol' }), SandboxError)
}))

test('r_and_java', () => withBox(async (sandbox) => {
  for (const [language, program, text] of [['r', 'R', '[1] 2'], ['java', 'jshell', '2']]) {
    if (!(await sandbox.commands.run(`command -v ${program} || true`)).stdout) {
      await assert.rejects(() => sandbox.runCode('1 + 1', { language }), SandboxError)
      continue
    }
    assert.equal((await sandbox.runCode('1 + 1', { language })).text, text)
    const context = await sandbox.createCodeContext({ language })
    assert.equal(context.language, language)
  }
}))

test('a_cell_that_takes_too_long', () => withBox(async (sandbox) => {
  await sandbox.runCode('v = 1')
  await assert.rejects(() => sandbox.runCode('import time\nwhile True: time.sleep(1)', { timeoutMs: 2000 }), TimeoutError)
  assert.equal((await sandbox.runCode('v')).text, '1')
}))

test('a_sandbox_that_is_killed_meanwhile', async () => {
  const sandbox = await Sandbox.create()
  let started
  const begun = new Promise((resolve) => { started = resolve })
  const running = sandbox.runCode('print(1)\nwhile True: pass', { onStdout: () => started() })
  const failed = assert.rejects(running, isSince(2, 16) ? TimeoutError : TypeError) // an older SDK lets fetch speak
  await begun
  await sandbox.kill()
  await failed
})

await runAll()
