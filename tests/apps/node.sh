#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# node: fs in its three forms, child_process, worker_threads, streams, http and timers.
command -v node > /dev/null || { echo "skip: no node"; exit 0; }
cd "$(mktemp -d)" || exit 1
cat > t.mjs <<'J'
import fs from 'node:fs'; import fsp from 'node:fs/promises'; import path from 'node:path'; import os from 'node:os';
import { spawn, execSync, fork, execFile } from 'node:child_process'; import { promisify } from 'node:util';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { pipeline } from 'node:stream/promises'; import { Transform, Readable } from 'node:stream'; import zlib from 'node:zlib';
import http from 'node:http'; import net from 'node:net'; import crypto from 'node:crypto'; import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
const self = fileURLToPath(import.meta.url);
const is = (name, a, b) => { if (String(a) !== String(b)) { console.log(`FAIL: ${name}: ${a}, not ${b}`); process.exit(1); } };
if (process.send && process.argv[2] === 'child') { process.on('message', m => { process.send(m * 2); process.disconnect(); }); }
else if (!isMainThread) { const a = new Int32Array(workerData); for (let i = 0; i < 1000; i++) Atomics.add(a, 0, 1); parentPort.postMessage('done'); }
else {
  fs.writeFileSync('a', 'hello'); is('sync', fs.readFileSync('a', 'utf8'), 'hello');
  await fsp.appendFile('a', ' world'); is('promises', (await fsp.stat('a')).size, 11);
  fs.mkdirSync('d/e/f', { recursive: true }); for (let i = 0; i < 200; i++) fs.writeFileSync(`d/e/${i}`, '' + i);
  is('readdir', (await fsp.readdir('d', { recursive: true })).length, 202);
  fs.symlinkSync('a', 'l'); is('realpath', path.basename(fs.realpathSync('l')), 'a');
  fs.renameSync('a', 'b'); fs.copyFileSync('b', 'c'); fs.rmSync('d', { recursive: true }); is('rm', fs.existsSync('d'), false);
  await Promise.all([...Array(100).keys()].map(i => fsp.writeFile('p' + i, 'x'.repeat(i)))); is('parallel', (await fsp.stat('p99')).size, 99);
  const w = fs.watch('.'); const seen = once(w, 'change'); setTimeout(() => fs.writeFileSync('watched', ''), 100); await seen; w.close();
  is('execSync', execSync('echo $((6*7))').toString().trim(), 42);
  const p = spawn('cat'); let out = ''; p.stdout.on('data', d => out += d); p.stdin.end('x'.repeat(300000)); const [code] = await once(p, 'close'); is('spawn', `${code} ${out.length}`, '0 300000');
  const k = spawn('sleep', ['30']); k.kill(); is('kill', (await once(k, 'exit'))[1], 'SIGTERM');
  try { await promisify(execFile)('sh', ['-c', 'exit 3']); is('status', 0, 3); } catch (e) { is('status', e.code, 3); }
  try { spawn('/no/such').on('error', () => 0); await new Promise(r => setTimeout(r, 50)); } catch (e) { is('missing', e, ''); }
  const f = fork(self, ['child']); f.send(21); is('fork', (await once(f, 'message'))[0], 42); await once(f, 'exit');
  const shared = new SharedArrayBuffer(4);
  await Promise.all([...Array(4)].map(async () => { const w = new Worker(self, { workerData: shared }); await once(w, 'message'); await w.terminate(); }));
  is('workers', new Int32Array(shared)[0], 4000);
  fs.writeFileSync('big', crypto.randomBytes(3e6).toString('hex'));
  await pipeline(fs.createReadStream('big'), zlib.createGzip(), fs.createWriteStream('big.gz'));
  const h = crypto.createHash('sha256'); await pipeline(fs.createReadStream('big.gz'), zlib.createGunzip(), h);
  is('streams', h.digest('hex'), crypto.createHash('sha256').update(fs.readFileSync('big')).digest('hex'));
  let n = 0; await pipeline(Readable.from([1, 2, 3]), new Transform({ objectMode: true, transform(c, _, cb) { n += c; cb(); } })); is('transform', n, 6);
  const s = http.createServer((q, r) => q.pipe(r)).listen(0, '127.0.0.1'); await once(s, 'listening');
  const r = await fetch(`http://127.0.0.1:${s.address().port}/`, { method: 'POST', body: 'y'.repeat(100000) }); is('http', (await r.text()).length, 100000); s.closeAllConnections?.(); s.close();
  const u = net.createServer(c => c.end('unix')).listen('./sock'); await once(u, 'listening'); let got = ''; const c = net.connect('./sock'); c.on('data', d => got += d); await once(c, 'close'); is('unix', got, 'unix'); u.close();
  const t = Date.now(); await new Promise(r => setTimeout(r, 60)); is('timer', Date.now() - t >= 59, true);
  process.once('SIGUSR2', () => n = 'usr2'); process.kill(process.pid, 'SIGUSR2'); await new Promise(r => setTimeout(r, 50)); is('signal', n, 'usr2');
  is('os', os.cpus().length > 0 && os.totalmem() > 0 && os.hostname().length > 0, true);
  console.log('ok'); process.exit(0);
}
J
exec node t.mjs
