import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { findWorkspace } from '../../src/config/workspace.ts'
import { temporaryFolder } from '../support/workspace.ts'

test('what is named outright wins, flags before the environment', () => {
  const cwd = temporaryFolder()
  const env = { BATON_STORE: 'file:/s', BATON_HOME: 'h', HOME: cwd }
  expect(findWorkspace({ cwd, env, store: 'file:/x', workspace: 'y' }).address).toBe('file:/x')
  expect(findWorkspace({ cwd, env, workspace: 'y' }).address).toBe(path.join(cwd, 'y'))
  expect(findWorkspace({ cwd, env }).address).toBe('file:/s')
  expect(findWorkspace({ cwd, env: { BATON_HOME: 'h' } }).address).toBe(path.join(cwd, 'h'))
})

test('the nearest .baton upwards comes next', () => {
  const root = temporaryFolder()
  const deep = path.join(root, 'a', 'b')
  fs.mkdirSync(deep, { recursive: true })
  fs.mkdirSync(path.join(root, '.baton'))
  expect(findWorkspace({ cwd: deep, env: {} })).toEqual({ address: path.join(root, '.baton'), by: 'folder' })
})

test('the worktrees of a repository share one folder of the user', () => {
  const root = temporaryFolder()
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', path.join(root, 'repo'), '-c', 'user.name=t', '-c', 'user.email=t@t', ...args])
  fs.mkdirSync(path.join(root, 'repo', 'sub'), { recursive: true })
  git('init', '-q')
  git('commit', '-q', '--allow-empty', '-m', 'x')
  git('worktree', 'add', '-q', path.join(root, 'tree'))
  const env = { HOME: root }
  const main = findWorkspace({ cwd: path.join(root, 'repo', 'sub'), env })
  expect(main.by).toBe('repository')
  expect(main.address).toMatch(/\.local\/share\/baton\/repo-[0-9a-f]{12}$/)
  expect(findWorkspace({ cwd: path.join(root, 'tree'), env })).toEqual(main)
  const plain = findWorkspace({ cwd: root, env: { ...env, XDG_DATA_HOME: path.join(root, 'data') } })
  expect(plain.by).toBe('directory')
  expect(plain.address.startsWith(path.join(root, 'data', 'baton'))).toBe(true)
})
