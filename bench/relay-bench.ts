// What the benches of the relay share: the processes that they start, callers side by side, and the report.

import { type ChildProcess, spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { isMet, keepResults, machine, render, type Section } from './table.ts'

const args = process.argv.slice(2)
const script = process.argv[1]!
export const quick = args.includes('--quick')
export const callers = 64

/** A folder of this run, which is removed at its end. */
export let folder = ''
const children = new Set<ChildProcess>()

/** Measures and reports; in a process that `child` has started, runs what its mode says instead. */
export async function bench(
  modes: Readonly<Record<string, (...args: string[]) => Promise<void>>>,
  measures: readonly (() => Promise<Section>)[],
  name: string,
): Promise<void> {
  const [mode = '', ...more] = args
  if (Object.hasOwn(modes, mode)) return modes[mode]!(...more)
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-bench-'))
  process.on('exit', () => {
    for (const each of children) each.kill('SIGKILL')
    fs.rmSync(folder, { recursive: true, force: true })
  })
  const sections: Section[] = []
  for (const measure of measures) sections.push(await measure())
  const about = machine(folder)
  const line = `${about.cpu}, ${about.cores} cores, Node ${about.node}, ${about.system}, ${about.fileSystem}`
  process.stdout.write(render(line, sections, args.includes('--markdown')))
  const bars = sections.flatMap((section) => section.bars)
  keepResults(name, folder, sections, { quick })
  if (!bars.every(isMet)) process.exitCode = 1
}

/** Another process of this bench, with pipes to its standard input and output. */
export function child(...mode: string[]): ChildProcess {
  const started = spawn(process.execPath, [script, ...mode], { stdio: ['pipe', 'pipe', 'inherit'] })
  children.add(started)
  started.once('close', () => children.delete(started))
  return started
}

/** Does work so many times by as many callers; returns how often a second. */
export async function among(count: number, work: (i: number) => Promise<unknown>): Promise<number> {
  let next = 0
  const start = performance.now()
  await Promise.all(
    Array.from({ length: Math.min(callers, count) }, async () => {
      for (let i = next++; i < count; i = next++) await work(i)
    }),
  )
  return count / ((performance.now() - start) / 1000)
}

export function median(values: readonly number[]): number {
  return share(values, 0.5)
}

export function share(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * part)]!
}
