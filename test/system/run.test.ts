import { describe, expect, test } from 'vitest'
import { processAt, runCommand, type ProgramOptions } from '../../src/system/index.ts'

const sh = (script: string, options: Partial<ProgramOptions> = {}) =>
  runCommand(['/bin/sh', '-c', script], { leftovers: 'end-all', ...options })
const printed = ({ output }: { output: { whole(): Buffer } }) => output.whole().toString()
const pidsIn = (text: string) => text.trim().split(/\s+/).map(Number)

describe('what a command prints', () => {
  test('standard output and error keep their order, and the exit code is reported', async () => {
    const run = await sh('echo one; echo two >&2; echo three; exit 3')
    expect(run).toMatchObject({ end: 'exit', code: 3 })
    expect(printed(run)).toBe('one\ntwo\nthree\n')
  })

  test('of a long output the beginning and the end are kept, with the size of the gap', async () => {
    const run = await sh(`printf first; head -c 100000 /dev/zero | tr '\\0' x; printf last`, { keptBytes: 2_000 })
    expect(run.output.bytes).toBe(100_009)
    expect(run.output.missing).toBeGreaterThan(30_000)
    expect(printed(run)).toMatch(/^firstx+\n\[\d+ bytes were not kept\]\nx+last$/)
  })

  test('the program reads its input; one that ends without reading does no harm', async () => {
    const input = 'x'.repeat(1 << 20)
    expect(printed(await runCommand(['wc', '-c'], { input, leftovers: 'keep' })).trim()).toBe(String(1 << 20))
    expect(await sh('exit 0', { input })).toMatchObject({ end: 'exit', code: 0 })
  })

  test('one of the two outputs can be asked for', async () => {
    expect(printed(await sh('echo out; echo err >&2', { keep: 'stderr' }))).toBe('err\n')
  })

  test('a program that does not exist rejects with the error of the system', async () => {
    await expect(runCommand(['/no/such/program'], { leftovers: 'keep' })).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

describe('the end of a command', () => {
  test('a command that takes too long is ended with everything it started, in its group or not', async () => {
    const run = await sh('sleep 600 & echo $!; setsid sleep 600 & echo $!; wait', {
      timeoutMs: 1_000,
      leftovers: 'keep',
    })
    expect(run).toMatchObject({ end: 'timeout', code: 'SIGKILL' })
    const pids = pidsIn(printed(run))
    expect(pids).toHaveLength(2)
    expect(pids.map((pid) => processAt(pid))).toEqual([undefined, undefined])
  })

  test('a command is first asked to end where it is given the time', async () => {
    const controller = new AbortController()
    const script = `trap 'echo asked; exit 0' TERM; echo ready; while :; do :; done`
    const run = await sh(script, {
      signal: controller.signal,
      onOutput: () => controller.abort(),
      graceMs: { timeout: 0, aborted: 10_000 },
    })
    expect(run.end).toBe('aborted')
    expect(printed(run)).toBe('ready\nasked\n')
  })

  test('a signal ends it, also one that was given before', async () => {
    const controller = new AbortController()
    const run = sh('echo ready; sleep 600', { signal: controller.signal, onOutput: () => controller.abort() })
    expect(await run).toMatchObject({ end: 'aborted' })
    expect(await sh('sleep 600', { signal: AbortSignal.abort() })).toMatchObject({ end: 'aborted' })
  })

  test('a command that was killed by somebody else names the signal', async () => {
    expect(await sh('kill -TERM $$')).toMatchObject({ end: 'signal', code: 'SIGTERM' })
  })
})

describe('what a command leaves running', () => {
  const script = 'sleep 600 >/dev/null 2>&1 & echo $!; setsid -f sleep 600 >/dev/null 2>&1; echo done'

  test('"end-all" finds a daemon that has left the session', async () => {
    const run = await sh(script)
    expect(run).toMatchObject({ end: 'exit', code: 0, alive: [] })
    // The daemon may be seen before it has become the program it runs.
    const sleeping = expect.stringMatching(/^(setsid -f )?sleep 600$/)
    expect(run.left.map(({ command }) => command)).toEqual([sleeping, sleeping])
    for (const { pid } of run.left) expect(processAt(pid)).toBeUndefined()
  })

  test('"end-group" ends what is in its group', async () => {
    const run = await sh('sleep 600 >/dev/null 2>&1 & echo $!', { leftovers: 'end-group' })
    await expect.poll(() => processAt(pidsIn(printed(run))[0]!)).toBeUndefined()
  })

  test('"keep" lets it run', async () => {
    const run = await sh('sleep 600 >/dev/null 2>&1 & echo $!', { leftovers: 'keep' })
    const [pid] = pidsIn(printed(run))
    expect(processAt(pid!)).toMatchObject({ args: ['sleep', '600'] })
    process.kill(pid!, 'SIGKILL')
  })
})
