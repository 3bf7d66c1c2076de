// `baton up` and other commands as processes.
import { type ChildProcess, spawn } from 'node:child_process'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { program } from '../cli/cli.ts'

interface Up {
  readonly url: string
  readonly token: string
  readonly pid: number
}

/** `baton` in a folder that is the home of its user. `within`: a command that runs it. */
export function command(folder: string, args: readonly string[], within: readonly string[] = []): ChildProcess {
  const env = { ...process.env, HOME: folder, BATON_HOME: path.join(folder, '.baton'), BATON_TRUST: '1', NO_COLOR: '1' }
  const [first, ...rest] = [...within, process.execPath, program, ...args]
  return spawn(first!, rest, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
}

export async function ended(child: ChildProcess): Promise<{ code: number | null; out: string; err: string }> {
  let [out, err] = ['', '']
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (err += text))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, out, err }
}

/** A server that has told its address. */
export function up(folder: string, ...args: string[]): Promise<{ child: ChildProcess; up: Up }> {
  return announced(command(folder, ['up', '--json', '--no-supervisor', ...args]))
}

export async function announced(child: ChildProcess): Promise<{ child: ChildProcess; up: Up }> {
  onTestFinished(() => void child.kill('SIGKILL'))
  let out = ''
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      out += text
      if (out.includes('\n')) resolve(out)
    })
    child.stderr!.setEncoding('utf8').on('data', (text: string) => reject(new Error(text)))
    child.on('exit', (code) => reject(new Error(`ended with ${code}`)))
  })
  return { child, up: JSON.parse(line) as Up }
}
