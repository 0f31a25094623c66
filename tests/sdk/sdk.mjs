// SPDX-License-Identifier: Apache-2.0
// What the JavaScript programs of this folder share.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import * as e2b from 'e2b'

export { assert, e2b }
export const { Sandbox } = e2b
export const LIMIT = 60_000 // ms after which nothing comes any more
const main = import.meta.resolve ? new URL(import.meta.resolve('e2b')) : null
const found = JSON.parse(readFileSync(new URL('../package.json', main)))
export const VERSION = found.version.split('.').map(Number)

export function isSince(...version) {
  for (let i = 0; i < version.length; i++) if (VERSION[i] !== version[i]) return VERSION[i] > version[i]
  return true
}

/** Runs work with a sandbox, which is killed at the end. */
export async function withBox(opts, work) {
  const sandbox = await Sandbox.create(opts)
  try {
    return await work(sandbox)
  } finally {
    await sandbox.kill()
  }
}

export async function until(condition, what = String(condition)) {
  const end = Date.now() + LIMIT
  let value
  while (!(value = await condition())) {
    assert(Date.now() < end, what)
    await new Promise((r) => setTimeout(r, 20))
  }
  return value
}

/** kinds: names of classes of the SDK, of which an older one may not have all. */
export async function raises(kinds, work, ...words) {
  const classes = [kinds].flat().map((k) => e2b[k]).filter((c) => c)
  assert(classes.length, String(kinds))
  let error
  try {
    await work()
  } catch (e) {
    error = e
  }
  assert(error, `${kinds}: not raised`)
  assert(classes.some((c) => error instanceof c), `${kinds}, but: ${error?.stack ?? error}`)
  for (const word of words) assert(String(error).includes(word), `${word} in: ${error}`)
  return error
}

const cases = []

/** since: the version with which the SDK began to offer it. */
export function test(name, work, since) {
  if (!since || isSince(...since)) cases.push([name, work])
}

export async function runAll() {
  let broken = 0
  const words = process.argv.slice(2)
  for (const [name, work] of cases) {
    if (words.length && !words.some((w) => name.includes(w))) continue
    let timer
    const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error('it hangs')), 3 * LIMIT) })
    try {
      await Promise.race([work(), late])
      console.log('ok', name)
    } catch (e) {
      broken++
      console.log(e)
      console.log('FAIL', name)
    }
    clearTimeout(timer)
  }
  process.exit(broken ? 1 : 0)
}
