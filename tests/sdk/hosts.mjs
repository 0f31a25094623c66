// SPDX-License-Identifier: Apache-2.0
// Programs of a sandbox that listen, asked from outside by https and the host that the SDK names.
import { assert, runAll, test, until, withBox } from './sdk.mjs'

const PUBLIC = { allowPublicTraffic: true }
const TOKEN = 'e2b-traffic-access-token'

async function ask(sandbox, port, path = '/', headers = {}) {
  const answer = await fetch(`https://${sandbox.getHost(port)}${path}`, { headers })
  return [answer.status, await answer.text()]
}

/** Starts a program that listens there. */
async function serve(sandbox, port, script) {
  await sandbox.files.write('pages/note', 'of the sandbox')
  const command = script ? `python3 -c '${script}'` : `python3 -m http.server ${port}`
  await sandbox.commands.run(command, { background: true, cwd: '/home/user/pages', timeoutMs: 0 })
  const token = sandbox.trafficAccessToken ? { [TOKEN]: sandbox.trafficAccessToken } : {}
  await until(async () => (await ask(sandbox, port, '/', token))[0] !== 502)
}

test('a_page', () => withBox({ network: PUBLIC }, async (sandbox) => {
  await serve(sandbox, 8000)
  assert.deepEqual(await ask(sandbox, 8000, '/note'), [200, 'of the sandbox'])
  assert.equal((await ask(sandbox, 8000, '/none'))[0], 404)
  assert(sandbox.getHost(8000).startsWith(`8000-${sandbox.sandboxId}.`), sandbox.getHost(8000))
}))

test('nobody_there', () => withBox({ network: PUBLIC }, async (sandbox) => {
  const open = { sandboxId: sandbox.sandboxId, port: 8001, code: 502, message: 'The sandbox is running but port is not open' }
  let [status, said] = await ask(sandbox, 8001)
  assert.deepEqual([status, JSON.parse(said)], [502, open])
  await sandbox.kill();
  [status, said] = await ask(sandbox, 8001)
  assert.deepEqual([status, JSON.parse(said)], [502, { sandboxId: sandbox.sandboxId, code: 502, message: 'The sandbox was not found' }])
}))

test('for_those_with_a_token', async () => {
  for (const opts of [{}, { network: { allowPublicTraffic: false } }]) {
    await withBox(opts, async (sandbox) => {
      await serve(sandbox, 8000)
      assert.equal((await ask(sandbox, 8000, '/note'))[0], 403)
      assert.equal((await ask(sandbox, 8000, '/note', { [TOKEN]: 'x'.repeat(32) }))[0], 403)
      assert.deepEqual(await ask(sandbox, 8000, '/note', { [TOKEN]: sandbox.trafficAccessToken }), [200, 'of the sandbox'])
    })
  }
})

const ECHO = `
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        said = " ".join(str(self.headers.get(n)) for n in ("Host", "X-Forwarded-Host", "X-Forwarded-Proto")).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)
http.server.HTTPServer(("127.0.0.1", 8000), Handler).serve_forever()
`

test('by_another_name', () => withBox({ network: { ...PUBLIC, maskRequestHost: 'inside.test:${PORT}' } }, async (sandbox) => {
  await serve(sandbox, 8000, ECHO)
  assert.deepEqual(await ask(sandbox, 8000), [200, `inside.test:8000 ${sandbox.getHost(8000)} https`])
}))

test('many_at_once', () => withBox({ network: PUBLIC }, async (sandbox) => {
  await serve(sandbox, 8000)
  for (const said of await Promise.all([...Array(20)].map(() => ask(sandbox, 8000, '/note')))) assert.deepEqual(said, [200, 'of the sandbox'])
}))

test('addresses_of_files', () => withBox({}, async (sandbox) => {
  await sandbox.files.write('f', 'signed')
  const url = await sandbox.downloadUrl('f')
  const answer = await fetch(url)
  assert.deepEqual([new URL(url).protocol, answer.status, await answer.text()], ['https:', 200, 'signed'])
}))

await runAll()
