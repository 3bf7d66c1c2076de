// Format, lint (with types and the direction of imports), types and dead code, side by side: seconds in total.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { root } from './stamps.mjs'

const CHECKS = {
  format: ['oxfmt', '--check'],
  lint: ['oxlint', '-c', 'oxlint.config.mjs'],
  types: ['tsc', '--noEmit'],
  'types of the dashboard': ['tsc', '-p', 'src/web'],
  'dead code': ['knip', '--no-progress'],
}

const results = await Promise.all(Object.entries(CHECKS).map(([name, command]) => check(name, command)))
process.exit(results.every(Boolean) ? 0 : 1)

/** @param {string} name @param {string[]} command @returns {Promise<boolean>} */
function check(name, [tool = '', ...args]) {
  const start = performance.now()
  return new Promise((resolve, reject) => {
    const child = spawn(join(root, 'node_modules/.bin', tool), args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
    /** @type {Buffer[]} */
    const output = []
    child.stdout.on('data', (chunk) => output.push(chunk))
    child.stderr.on('data', (chunk) => output.push(chunk))
    child.on('error', reject)
    child.on('close', (code) => {
      const seconds = ((performance.now() - start) / 1000).toFixed(1)
      console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name} (${tool}, ${seconds} s)`)
      if (code !== 0) console.log(Buffer.concat(output).toString())
      resolve(code === 0)
    })
  })
}
