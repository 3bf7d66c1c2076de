import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkAcyclic } from '../../src/task/dependencies.ts'
import { checkTransition, defaultGraph } from '../../src/task/settings.ts'
import { phases } from '../../src/task/schema.ts'
import { handoff, login, project } from './project.ts'

test('phases follow the declared graph; staying in one is always allowed [S8]', async () => {
  for (const from of phases) {
    for (const to of phases) {
      const isAllowed = from === to || defaultGraph[from].includes(to)
      const check = () => checkTransition(defaultGraph, from, to)
      if (isAllowed) expect(check).not.toThrow()
      else expect(check).toThrow(`A task cannot go from ${from} to ${to}`)
    }
  }
  const { tasks } = await project({ phases: { planning: ['completed'], completed: ['planning'] } })
  await tasks.create(login)
  await expect(tasks.handoff(handoff({ phase: 'implementing' }))).rejects.toThrow('planning leads to completed')
  await tasks.handoff(handoff({ phase: 'completed' }))
  await tasks.handoff(handoff({ phase: 'completed' }))
  await tasks.handoff(handoff({ phase: 'planning' }))
  expect(await tasks.get('TASK-001')).toMatchObject({ phase: 'planning', previous_phase: 'completed', version: 4 })
})

test('dependencies form no circle, whatever the order they are entered in; the circle is named [S9]', async () => {
  const { tasks } = await project()
  const make = (task_id: string, ...dependencies: string[]) =>
    tasks.create({ task_id, task_title: `Task ${task_id}`, spec: { dependencies } })
  await make('A', 'B')
  await make('B', 'C', 'D')
  await make('C')
  await expect(make('D', 'A')).rejects.toMatchObject({
    code: 'invalid',
    path: 'spec.dependencies',
    message: 'The dependencies of D form a circle: D → A → B → D',
  })
  await expect(make('E', 'E')).rejects.toThrow('E → E')
  await make('D')
  const spec = { dependencies: ['A'] }
  await expect(tasks.handoff(handoff({ task_id: 'C', spec }))).rejects.toThrow('C → A → B → C')
})

test('a task is ready when all it depends on is completed [S9]', async () => {
  const { tasks } = await project({ phases: { planning: ['completed'] } })
  const make = (task_id: string, ...dependencies: string[]) =>
    tasks.create({ task_id, task_title: `Task ${task_id}`, spec: { dependencies, success_criteria: ['it works'] } })
  await make('A')
  await make('B', 'A')
  await make('C', 'A', 'not yet made')
  const ids = async () => (await tasks.ready()).ready.map(({ task_id }) => task_id)
  expect(await ids()).toEqual(['A'])
  await tasks.handoff(handoff({ task_id: 'A', phase: 'completed' }))
  expect(await ids()).toEqual(['B'])
  expect((await tasks.ready()).waiting).toMatchObject([{ task: { task_id: 'C' }, on: ['not yet made'] }])
})

test('a circle is found exactly where there is one [S9]', () => {
  const nodes = ['a', 'b', 'c', 'd', 'e', 'f']
  const edges = fc.array(fc.tuple(fc.constantFrom(...nodes), fc.constantFrom(...nodes)), { maxLength: 15 })
  fc.assert(
    fc.property(edges, fc.constantFrom(...nodes), (edges, start) => {
      const graph = new Map(nodes.map((node) => [node, edges.filter(([from]) => from === node).map(([, to]) => to)]))
      const reach = new Set(graph.get(start))
      for (let size = -1; size !== reach.size;) {
        size = reach.size
        for (const node of reach) for (const next of graph.get(node)!) reach.add(next)
      }
      let circle: string[] | undefined
      try {
        checkAcyclic(graph, start)
      } catch (error) {
        circle = /circle: (.*)$/.exec((error as Error).message)![1]!.split(' → ')
      }
      expect(circle !== undefined).toBe(reach.has(start))
      if (circle === undefined) return
      expect([circle[0], circle.at(-1)]).toEqual([start, start])
      for (let i = 1; i < circle.length; i++) expect(graph.get(circle[i - 1]!)).toContain(circle[i])
    }),
  )
})
