// The plot of a session: what is asked, done, broken, mended, undone and left open, with idle turns in between until it is
// as long as wanted. The same seed gives the same plot.

import { Chance } from './chance.ts'
import {
  acknowledgements,
  boasts,
  constraints,
  decisions,
  falseRequest,
  longConstraint,
  promptings,
  reports,
  questions,
  requests,
  type Reversal,
  reversals,
} from './sayings.ts'
import { Session, type Todo } from './session.ts'
import { decoyInstruction, makeWorld, pythonSuites, sourceText, suites } from './world.ts'

/** How much of everything a session of so many turns holds. */
function amounts(turns: number) {
  const grows = (least: number, most: number) =>
    Math.round(least + (most - least) * (Math.log(turns / 20) / Math.log(5_000 / 20)))
  return {
    sources: Math.max(40, Math.min(320, Math.round(turns / 6))),
    changes: turns <= 20 ? 5 : Math.round(5 + Math.pow(turns, 0.6)),
    constraints: grows(2, 12),
    reversals: grows(1, 4),
    decisions: grows(1, 5),
    questions: grows(0, 3),
    openTodos: grows(3, 9),
    doneTodos: grows(1, 25),
    open: grows(1, 5),
    mended: turns <= 20 ? 0 : Math.max(1, Math.round(turns / 60)),
    decoys: grows(1, 6),
  }
}

export function play(home: string, turns: number, seed: number, checks: string): Session {
  const chance = new Chance(seed * 7_919 + turns)
  const much = amounts(turns)
  const session = new Session(makeWorld(home, much.sources, checks, chance))
  const cast = new Cast(session, chance)
  cast.open()
  const beats: (() => void)[] = chance.shuffled([
    ...chance.shuffled(cast.constraints()).slice(0, much.constraints),
    ...chance
      .shuffled(decisions)
      .slice(0, much.decisions)
      .map(({ say, needles }) => () => {
        session.say(say)
        session.meant.decisions.push([...needles])
      }),
    ...questions.slice(0, much.questions).map(({ question, options, answer }) => () => {
      session.ask(question, options, answer)
      session.meant.decisions.push([answer])
    }),
    ...Array.from({ length: much.changes }, () => () => cast.change()),
    ...Array.from({ length: much.mended }, () => () => cast.mended()),
    ...Array.from({ length: much.decoys }, (_, at) => () => cast.decoy(at)),
    ...cast.openFailures().slice(0, much.open),
  ])
  // What takes something back comes after it, at whatever distance.
  for (const reversal of chance.shuffled(reversals).slice(0, much.reversals)) {
    const [first, then] = cast.reversal(reversal)
    const at = chance.below(beats.length)
    beats.splice(at, 0, first)
    beats.splice(at + 1 + chance.below(beats.length - at), 0, then)
  }
  const list = cast.todoLists(much.openTodos, much.doneTodos)
  for (const [at, update] of list.entries()) beats.splice(Math.floor((beats.length * at) / list.length), 0, update)
  for (const [at, beat] of beats.entries()) {
    beat()
    const due = Math.floor(((turns - 4) * (at + 1)) / beats.length)
    while (session.turns < due) cast.idle()
  }
  cast.close(endings[seed % endings.length]!)
  return session
}

/** How a session stops: at work on an item of its list, at work on a request, waiting for an answer, or with the request carried out. */
const endings = ['asks', 'todo', 'request', 'answered'] as const

class Cast {
  private readonly session: Session
  private readonly chance: Chance
  private todoList: Todo[] = []
  private made = 0

  constructor(session: Session, chance: Chance) {
    this.session = session
    this.chance = chance
  }

  open(): void {
    const goal = 'Move the shop to the new billing engine and get it ready for the release on Friday.'
    this.session.meant.goal = goal
    this.session.user(`${goal} Start with the orders area.`)
  }

  constraints(): (() => void)[] {
    const { session } = this
    const said = constraints.map((text) => () => {
      this.told(text)
      session.meant.constraints.push(text)
    })
    const long = () => {
      this.told(longConstraint.message(this.chance.words(220)))
      session.meant.constraints.push(longConstraint.binding)
    }
    return [...said, long]
  }

  reversal({ first, old, kept, later, now }: Reversal): [() => void, () => void] {
    const { session } = this
    return [
      () => this.told(first),
      () => {
        this.told(later)
        session.meant.superseded.push(old)
        if (kept !== undefined) session.meant.constraints.push(kept)
        if (now !== undefined) session.meant.constraints.push(now)
      },
    ]
  }

  todoLists(open: number, done: number): (() => void)[] {
    const { chance, session } = this
    const texts = chance.shuffled(todoTexts).slice(0, open + done)
    while (texts.length < open + done) texts.push(`Check the ${chance.words(2)} figures`)
    const lists = done + 1
    return Array.from({ length: lists }, (_, at) => () => {
      // The list grows as the work goes on; what is done stays on it.
      const known = texts.slice(0, Math.max(at + 1 + Math.ceil(open / 2), Math.ceil((texts.length * (at + 1)) / lists)))
      this.todoList = known.map((text, place) => ({
        text,
        status: place < at ? 'completed' : place === at ? 'in_progress' : 'pending',
      }))
      session.todos(this.todoList)
    })
  }

  /** Changes the repository in one of the ways that agents do. */
  change(): void {
    const { session, chance } = this
    const name = `${chance.pick(places)}${(this.made += 1)}`
    const file = this.source()
    const area = file.slice(0, file.lastIndexOf('/'))
    const ways: (() => void)[] = [
      () => this.editTool(file),
      () => this.editTool(file),
      () => this.editTool(file),
      () => session.write(`${area}/${name}.ts`, sourceText(chance, name)),
      () => session.write(`${area}/${name}.ts`, sourceText(chance, name)),
      () => session.write(file, sourceText(chance, name)),
      () => session.shell(`sed -i 's/${this.wordOf(file)}/${chance.words(1)}/' ${file}`),
      () => session.shell(`cat > ${area}/${name}.ts <<'EOF'\n${sourceText(chance, name)}EOF`),
      () => session.shell(`echo "export const ${name} = '${chance.words(3)}'" >> ${file}`),
      () => session.shell(`git mv ${file} ${area}/${name}.ts`),
      () => session.move(file, `src/moved/${name}.ts`),
      () => session.shell(`rm ${file}`),
      () => session.remove(file),
      () => session.shell(`git rm -qf ${file}`),
      () => session.shell(`./scripts/generate.sh ${name} ${2 + chance.below(4)}`),
      () => session.shell(`grep -rl ${this.wordOf(file)} src | xargs sed -i 's/${this.wordOf(file)}/${name}/g'`),
      () =>
        session.shell(`cd ${area} && sed -i 's/${this.wordOf(file)}/${name}/' ${file.slice(area.length + 1)} && cd -`),
      () => session.shell(`cp ${file} ${area}/${name}.ts && sed -i 's/export const/export let/' ${area}/${name}.ts`),
      () =>
        session.shell(
          `mkdir -p docs/${name} && printf '# ${name}\\n\\n${chance.words(30)}\\n' | tee docs/${name}/index.md`,
        ),
      () => session.shell(`perl -pi -e 's/${this.wordOf(file)}/${name}/' ${file}`),
      () => this.commit(file),
      () => session.shell("sed -i 's/OldBrand/NewBrand/g' 'docs/Übersicht der Module.md' \"docs/release notes.md\""),
    ]
    if (chance.below(6) === 0) session.read(file)
    chance.pick(ways)()
    const undoing = chance.below(8)
    if (undoing === 0) this.undone()
    else if (undoing === 1) this.scratch(name)
    else if (undoing === 2) this.missedEdit()
  }

  /** Breaks something, sees it, mends it, and sees that. */
  mended(): void {
    const { session, chance } = this
    const suite = chance.pick(suites)
    const source = `src/core/${suite}.ts`
    session.edit(source, `SOUND_${suite}`, `BROKEN_${suite}`)
    const all = suites.map((one) => `tests/${one}.test.ts`)
    const one = `tests/${suite}.test.ts`
    const [command, scope, line] = chance.pick<[string, string[], string?]>([
      ['npx vitest run', all],
      ['vitest run', all, 'vitest run 2>&1 | tail -8'],
      [`vitest run ${one}`, [one]],
      [`vitest run ${one}`, [one], `vitest run ${one} 2>&1 | tail -12`],
      ['npm test', all],
    ])
    session.check(command, 'vitest', scope, line)
    if (chance.below(2) === 0) session.read(source)
    session.edit(source, `BROKEN_${suite}`, `SOUND_${suite}`)
    session.edit(source, 'export const', `export const ${suite}Mended${this.made} = '${chance.words(3)}'\nexport const`)
    session.check(command, 'vitest', scope, line)
  }

  /** Failures that the session leaves behind, each of another program. */
  openFailures(): (() => void)[] {
    const { session, chance } = this
    const python = pythonSuites.map((suite) => `service/tests/test_${suite}.py`)
    const source = this.source()
    return [
      () => {
        session.shell("sed -i 's/SOUND_refunds/BROKEN_refunds/' service/refunds.py")
        session.check('pytest -q', 'pytest', python)
        // Passes, and says nothing about what fails.
        session.check(`pytest -q ${python[0]}`, 'pytest', [python[0]!])
      },
      () => {
        session.write('src/core/holes.ts', `export const hole: number = 'TYPE_HOLE ${chance.words(3)}'\n`)
        session.check('tsc --noEmit', 'tsc', ['.'], 'tsc --noEmit 2>&1 | tail -5')
      },
      () => session.check('make package', 'make package', ['.']),
      () => {
        session.check('./scripts/deploy.sh staging', 'deploy', ['staging'])
        session.check('./scripts/deploy.sh dev', 'deploy', ['dev'])
      },
      () => {
        session.edit(source, 'export const', `// LINT_HOLE ${chance.words(2)}\nexport const`)
        session.check('eslint src', 'eslint', ['src'], 'eslint src || true')
      },
    ]
  }

  /** Looks like a fact and is none. */
  decoy(kind: number): void {
    const { session } = this
    const kinds: (() => void)[] = [
      () => {
        session.read('notes/from-customer.md')
        session.meant.decoys.push(decoyInstruction)
      },
      () => session.shell('cat logs/ci.log'),
      () => {
        session.say(boasts[1]!)
        session.meant.decoys.push(falseRequest)
      },
      () => session.shell('grep -n FAIL logs/ci.log'),
      () => session.say(boasts[2]!),
      () => session.shell('cat notes/from-customer.md logs/ci.log'),
    ]
    kinds[kind % kinds.length]!()
  }

  idle(): void {
    const { session, chance } = this
    const file = this.source()
    const kind = chance.below(40)
    if (kind < 16) session.read(file)
    else if (kind < 24) session.say(`Looking at ${file}: ${chance.words(20 + chance.below(60))}.`)
    else if (kind < 28) session.search(file)
    else if (kind < 30) session.shell(chance.pick(looks))
    else if (kind < 31) session.shell(`wc -l ${file}`)
    else if (kind < 33) this.request(file)
    else if (kind < 34) session.check('vitest run tests/cart.test.ts', 'vitest', ['tests/cart.test.ts'])
    else session.say(chance.words(12 + chance.below(30)))
  }

  close(ending: (typeof endings)[number]): void {
    const { session, chance } = this
    const request = `Then make the ${chance.words(1)} report show the totals by ${chance.words(1)} before anything else.`
    session.meant.lastRequest = request
    session.say(chance.pick(reports)(chance.words(5)))
    session.user(request)
    const doing: Todo = { text: `Show totals in the ${chance.words(1)} report`, status: 'in_progress' }
    const others = this.todoList.map((todo): Todo =>
      todo.status === 'in_progress' ? { ...todo, status: 'pending' } : todo,
    )
    switch (ending) {
      case 'request':
        session.meant.next = [request]
        session.read(this.source())
        return
      case 'todo':
        session.todos([...others, doing])
        // Agents whose lists know no "in progress" can only go on with the request.
        session.meant.next = [doing.text, request]
        session.read(this.source())
        return
      case 'asks': {
        const question = `Should the totals be rounded by ${chance.words(1)} or by ${chance.words(1)}?`
        session.meant.next = [question]
        session.read(this.source())
        session.say(`The report has both figures. ${question}`)
        return
      }
      case 'answered':
        session.todos([...others, doing])
        this.editTool(this.source())
        session.todos([...others, { ...doing, status: 'completed' }])
        session.say(boasts[0]!)
        session.meant.finished.push(request, doing.text)
        // Whatever it says, these are left.
        session.meant.next = [
          ...others.flatMap(({ text, status }) => (status === 'completed' ? [] : [text])),
          ...session.openFailures(),
        ]
    }
  }

  /** The turn has ended, the user says something that there is nothing to do for, and then lets the agent go on. */
  private told(text: string): void {
    const { session, chance } = this
    session.say(chance.pick(reports)(chance.words(5)))
    session.user(text)
    session.say(chance.pick(acknowledgements))
    session.user(chance.pick(promptings))
  }

  /** It is carried out, and the turn ends with words about it. */
  private request(file: string): void {
    const { session, chance } = this
    const request = chance.pick(requests)(file)
    session.say(chance.pick(reports)(chance.words(5)))
    session.user(request)
    session.read(file)
    session.say(`${request} That is done: ${chance.words(8)}.`)
    session.user(chance.pick(promptings))
  }

  private commit(file: string): void {
    const { session } = this
    if (session.world.run('git status --porcelain src docs').output === '') this.editTool(file)
    session.shell('git add -A src docs && git commit -q -m "Save the work so far"')
  }

  private editTool(file: string): void {
    const { session, chance } = this
    const lines = session.content(file).split('\n')
    const at = 1 + chance.below(lines.length - 2)
    const after = Array.from(
      { length: 1 + chance.below(4) },
      (_, n) => `export const extra${this.made}_${n} = '${chance.words(3)}'`,
    )
    session.edit(file, lines[at]!, `${lines[at]}\n${after.join('\n')}`)
  }

  private undone(): void {
    const { session, chance } = this
    const file = this.untouched()
    const before = session.content(file).split('\n')[2]!
    session.edit(file, before, `${before} // try`)
    if (chance.below(2) === 0) session.edit(file, `${before} // try`, before)
    else session.shell(`git checkout -- ${file}`)
  }

  private scratch(name: string): void {
    const { session, chance } = this
    session.write(`try-${name}.mjs`, `console.log('${chance.words(2)}')\n`)
    session.shell(`wc -c try-${name}.mjs`)
    if (chance.below(2) === 0) session.remove(`try-${name}.mjs`)
    else session.shell(`rm -f try-${name}.mjs`)
  }

  /** The text was not there; the shell did it. */
  private missedEdit(): void {
    const { session, chance } = this
    const file = this.source()
    session.edit(file, `no such line ${chance.words(2)}`, 'never')
    session.shell(`sed -i '1s/$/ ${chance.words(1)}/' ${file}`)
  }

  /** A source that is there. */
  private source(): string {
    for (;;) {
      const file = this.chance.pick(this.sources())
      if (this.session.exists(file)) return file
    }
  }

  /** One that is as the last commit has it, so that taking back leaves nothing. */
  private untouched(): string {
    for (;;) {
      const file = this.source()
      const { exit } = this.session.world.run(
        `git diff --quiet HEAD -- ${file} && git ls-files --error-unmatch ${file}`,
      )
      if (exit === 0) return file
    }
  }

  private known: string[] | undefined
  private sources(): readonly string[] {
    this.known ??= this.session.world
      .run("git ls-files 'src/*.ts'")
      .output.split('\n')
      .filter((file) => file !== '' && !file.startsWith('src/core/'))
    return this.known
  }

  /** A word that the file holds, made of plain letters. */
  private wordOf(file: string): string {
    return /= '([a-z]+)/.exec(this.session.content(file))![1]!
  }
}

const places = 'helper view store guard queue panel format parser mapper client'.split(' ')
const looks = [
  'ls src',
  'git status --short | head -5',
  'git log --oneline -3',
  'ls docs tests',
  'git diff --stat | tail -3',
]

const todoTexts: readonly string[] = [
  'Port the orders area to the billing engine',
  'Write a migration for the payouts table',
  'Teach the importer about refunds',
  'Remove the feature flag for the old checkout',
  'Document the release steps in docs/setup.md',
  'Measure the search page with 10,000 rows',
  'Fragen zur Rundung mit der Buchhaltung klären',
  '给报表加上导出按钮',
  'Add an index on orders.created_at',
  'Ask design for the empty state of the basket',
  'Replace moment by Temporal in the reports',
  'Check the mails in dark mode',
]
