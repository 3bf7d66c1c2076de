// Whole sessions in other languages, with the tools of other agents and another flow of work: what a successor is told.

import { describe, expect, test } from 'vitest'
import { makeDocument } from '../../../src/handoff/document/write/make.ts'
import { type HandoffDocument, sectionOf, type SectionKey } from '../../../src/handoff/document/document.ts'
import { Session } from '../ledger/session.ts'

async function documentOf(session: Session, budget: number): Promise<{ document: HandoffDocument; markdown: string }> {
  return makeDocument(session.ledger({ cwd: '/work/repo' }), { tape: 'main', budget })
}

function section(document: HandoffDocument, key: SectionKey): string {
  return (sectionOf(document, key)?.items ?? []).map(({ text, data = '' }) => `${text}\n${data}`).join('\n')
}

const patch = (path: string, line: string) => `*** Begin Patch\n*** Add File: ${path}\n+${line}\n*** End Patch`

describe('a session in Spanish with the tools of Codex, cut off in the middle', () => {
  const session = new Session()
  session.user(
    'Añade un endpoint para exportar facturas en CSV. Los importes van siempre en céntimos, nunca en euros con decimales.',
  )
  session.tool('apply_patch', { input: patch('facturas/exportar.py', 'def exportar(): ...') }, 'Success')
  session.assistant('El endpoint de exportación de facturas en CSV ya existe en facturas/exportar.py.')
  session.user('Ahora comprueba que las pruebas pasan y arregla lo que falle')
  session.tool(
    'shell',
    { command: ['bash', '-lc', 'pytest tests/test_exportar.py'] },
    {
      output: 'FAILED tests/test_exportar.py::test_vacio - AssertionError\n1 failed, 4 passed',
      metadata: { exit_code: 1 },
    },
  )
  session.assistant('Falla test_vacio: una lista sin facturas devuelve None. Lo corrijo en exportar.py:')
  session.call('apply_patch', { input: patch('facturas/vacio.py', 'x') })

  test.each([500, 2_000])('tells at %i tokens what to go on with, what binds and what fails', async (budget) => {
    const { document, markdown } = await documentOf(session, budget)
    expect(section(document, 'status')).toContain('Interrupted')
    expect(section(document, 'next').split('\n')[0]).toMatch(/Continue with the user's request.*/)
    expect(markdown).toContain('comprueba que las pruebas pasan')
    expect(section(document, 'constraints') + section(document, 'goal')).toContain('siempre en céntimos')
    expect(section(document, 'failures')).toContain('pytest tests/test_exportar.py')
    expect(section(document, 'files')).toContain('facturas/exportar.py')
  })
})

describe('a session in Japanese with the tools of pi, finished', () => {
  const session = new Session()
  session.user('検索ページに並び替え機能を追加してください。')
  session.tool('edit', { path: '/work/repo/src/search.ts', oldText: 'a', newText: 'sort()' }, 'Edited')
  session.tool('bash', { command: 'npm test' }, 'Tests  3 failed | 9 passed', true)
  session.tool('edit', { path: '/work/repo/src/sort.ts', oldText: 'b', newText: 'stable' }, 'Edited')
  session.tool('bash', { command: 'npm test' }, 'Tests  12 passed (12)')
  session.assistant(
    '検索ページに並び替え機能を追加しました。\n\n並び替えは安定ソートにしました。テストは全部通ります。',
  )

  test('says that nothing is open, and keeps the result', async () => {
    const { document, markdown } = await documentOf(session, 1_000)
    expect(section(document, 'next')).toContain('no request is waiting')
    expect(section(document, 'failures')).toContain('None')
    expect(markdown).toContain('安定ソート')
    expect(section(document, 'files')).toContain('src/sort.ts')
  })
})

describe('a session about servers, where the user refuses and is asked', () => {
  const session = new Session()
  session.user('The staging cluster runs out of memory every night, find out why')
  session.bash('kubectl top pods -n staging', 'indexer 3900Mi')
  const call = session.call('Bash', { command: 'kubectl delete pod indexer-0 -n staging' })
  session.result(
    call,
    "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nnever delete pods in staging, scale them down instead",
    true,
  )
  session.bash('kubectl scale statefulset indexer --replicas=0 -n staging', 'scaled')
  session.assistant(
    'The indexer leaks: it keeps every segment in memory until the nightly merge, so its heap doubles.\n\nRaising the limit only hides it; a merge after each batch would keep the heap flat.\n\nShall I change the merge policy to one merge per batch?',
  )

  test.each([700, 2_000])(
    'waits for the answer at %i tokens, with the reason, and keeps what was refused',
    async (budget) => {
      const { document, markdown } = await documentOf(session, budget)
      expect(section(document, 'status')).toContain('Waiting for the user')
      expect(section(document, 'next')).toContain('Shall I change the merge policy')
      expect(section(document, 'constraints')).toContain('never delete pods in staging')
      expect(markdown).toContain('keeps every segment in memory')
      expect(section(document, 'failures')).toContain('None')
    },
  )
})
