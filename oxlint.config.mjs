// Lint rules, and the direction of imports. A module rather than JSON so that the house is one table: who may import
// whom. test/house.test.ts plants a file for every pair of rooms and proves that the table holds.

/** Rooms that anyone may use. */
const SMALL_ROOMS = ['config', 'notify', 'system', 'telemetry']
const FORMS = ['handoff', 'task', 'relay']
const RUNNERS = ['agent', 'supervisor', 'transcripts']
const DOORS = ['cli', 'server', 'mcp', 'web']
const FOUNDATION = ['tape', 'store', ...SMALL_ROOMS]
const BELOW_OPERATIONS = ['connect', ...RUNNERS, 'agents', 'approvals', 'fidelity', ...FORMS, ...FOUNDATION]

/** Room: the rooms it may import, from the ground floor up. @type {Record<string, string[]>} */
const MAY_IMPORT = {
  system: [],
  telemetry: ['system'],
  notify: ['system'],
  store: ['system'],
  config: ['system'],
  tape: ['store', ...SMALL_ROOMS],
  ...each(FORMS, FOUNDATION),
  // What documents are measured by knows nothing of how they are made.
  fidelity: FOUNDATION,
  // Tasks and the relay do not know each other; a task that waits for a person needs both.
  approvals: ['task', 'relay', ...FOUNDATION],
  agents: [...FORMS, ...FOUNDATION],
  ...each(RUNNERS, ['agents', ...FORMS, ...FOUNDATION]),
  // The proof of what a supervised agent did is read from its transcript.
  supervisor: ['transcripts', 'agents', ...FORMS, ...FOUNDATION],
  // Hooks and settings of the agents that people work with.
  connect: ['transcripts', 'agents', ...FORMS, ...FOUNDATION],
  // The agent of the demo is a program of its own: it knows nothing of Baton.
  demo: [...SMALL_ROOMS],
  operations: BELOW_OPERATIONS,
  // The client knows the operations by their types alone: a browser loads nothing else of Baton.
  client: ['operations'],
  // `baton mcp` serves it on a pipe, the server at /mcp.
  mcp: ['operations', ...BELOW_OPERATIONS],
  server: ['operations', 'mcp', ...BELOW_OPERATIONS],
  web: ['client'],
  // `baton up` starts the server.
  cli: ['server', 'mcp', 'client', 'operations', 'demo', ...BELOW_OPERATIONS],
}
const ROOMS = Object.keys(MAY_IMPORT)

/** How deep folders may be nested in a room: a path upwards tells by its length whether it leaves the room. */
const DEPTHS = [1, 2, 3, 4]

const ownName = { regex: '^@baton/baton(/|$)', message: 'Inside the package, import files by their relative path.' }
const argv = [
  { regex: '^commander$', message: 'Only src/cli reads command lines.' },
  { regex: '^(node:)?util$', importNamePattern: '^parseArgs$', message: 'Only src/cli reads command lines.' },
]
const http = { regex: '^(@?hono(/|$)|(node:)?https?$)', message: 'Only the doors speak HTTP.' }

/** @type {import('oxlint').OxlintConfig} */
export default {
  plugins: ['typescript', 'import', 'unicorn', 'oxc', 'node', 'promise', 'vitest'],
  categories: { correctness: 'error', suspicious: 'error' },
  options: { typeAware: true, reportUnusedDisableDirectives: 'error' },
  ignorePatterns: ['dist', 'dist.next', '**/fixtures/**', 'bench/.*'],
  rules: {
    'import/no-cycle': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    'typescript/no-explicit-any': 'error',
    'typescript/only-throw-error': 'error',
    'typescript/return-await': ['error', 'error-handling-correctness-only'],
    eqeqeq: 'error',
    // Shadowing a short name in a small scope reads better than a numbered one.
    'no-shadow': 'off',
    // Narrowing what was already parsed is fine; what comes from outside is `any` or `unknown`, caught below.
    'typescript/no-unsafe-type-assertion': 'off',
    // A helper lives beside its one user.
    'unicorn/consistent-function-scoping': 'off',
    // An assertion may be started first and awaited later; a forgotten one is a floating promise.
    'vitest/valid-expect': 'off',
    // The compiler knows an exhaustive switch; this rule does not.
    'typescript/consistent-return': 'off',
    // Sorting an array of one's own in place is fine.
    'unicorn/no-array-sort': 'off',
    'unicorn/no-array-reverse': 'off',
    'vitest/no-conditional-expect': 'off',
    'typescript/no-base-to-string': 'off',
    'typescript/no-unnecessary-type-conversion': 'off',
    'import/no-unassigned-import': 'off',
    'import/no-named-as-default': 'off',
    'import/no-named-as-default-member': 'off',
  },
  overrides: [
    { files: ['src/**'], rules: { ...outsideDataIsParsed(), ...onlyTheCliReadsArgv() } },
    {
      files: ['src/errors.ts'],
      rules: forbid([{ regex: '^\\.', message: 'errors.ts is the ground: it imports nothing.' }]),
    },
    {
      files: ['src/index.ts'],
      rules: forbid([closed('./', ROOMS, 'src/index.ts'), ownName]),
    },
    {
      files: ['src/exports/**'],
      rules: forbid([closed('../', DOORS, 'The library'), throughTheIndex('../', ROOMS), ownName]),
    },
    ...ROOMS.flatMap(roomRules),
    {
      files: ['src/web/**'],
      plugins: ['react', 'jsx-a11y'],
      rules: {
        // The compiler turns JSX into calls by itself.
        'react/react-in-jsx-scope': 'off',
        'react/rules-of-hooks': 'error',
        'react/exhaustive-deps': 'error',
        // Elements that browsers draw in their own way, such as meter, cannot be styled.
        'jsx-a11y/prefer-tag-over-role': 'off',
        // They warn of what the compiler of React would do; it is not used.
        'react/incompatible-library': 'off',
        // Text of others is shown as text.
        'react/no-danger': 'error',
      },
    },
    { files: ['src/cli/**'], rules: onlyMainTouchesTheProcess() },
    // The chat on a terminal owns the terminal of its process, and what happens to that process.
    {
      files: ['src/cli/main.ts', 'src/cli/start.ts', 'src/cli/chat/chat.ts', 'src/cli/chat/screen/screen.ts'],
      rules: { 'no-restricted-properties': 'off' },
    },
    { files: ['test/**'], rules: { 'vitest/no-disabled-tests': 'error', 'vitest/no-focused-tests': 'error' } },
  ],
}

/** @param {string} room */
function roomRules(room) {
  return DEPTHS.map((depth) => {
    const up = '../'.repeat(depth)
    const others = ROOMS.filter((other) => other !== room)
    const closedRooms = others.filter((other) => !MAY_IMPORT[room]?.includes(other))
    const patterns = [ownName, throughTheIndex(up, others)]
    if (closedRooms.length > 0) patterns.push(closed(up, closedRooms, `src/${room}`))
    if (room !== 'cli') patterns.push(...argv)
    if (!DOORS.includes(room)) patterns.push(http)
    return { files: [`src/${room}/${'*/'.repeat(depth - 1)}*.{ts,tsx}`], rules: forbid(patterns) }
  })
}

/** @param {string} up @param {string[]} rooms @param {string} who */
function closed(up, rooms, who) {
  const message = `Imports point downwards only: ${who} may not know ${rooms.join(', ')}.`
  return { regex: `^${up.replaceAll('.', '\\.')}(${rooms.join('|')})/`, message }
}

/** A room's files are its own: the others see what its index.ts names. @param {string} up @param {string[]} rooms */
function throughTheIndex(up, rooms) {
  // The engine behind these expressions has no look-ahead: this is "anything but index.ts", letter by letter.
  const index = 'index.ts'
  const others = index
    .split('')
    .map((letter, at) => `${index.slice(0, at).replace('.', '\\.')}[^${letter}]`)
    .join('|')
  const message = "Import another room's index.ts: its other files are its own."
  return { regex: `^${up.replaceAll('.', '\\.')}(${rooms.join('|')})/(${others})`, message }
}

/** @param {object[]} patterns @returns {import('oxlint').DummyRuleMap} */
function forbid(patterns) {
  return { 'no-restricted-imports': ['error', { patterns }] }
}

/** @param {string[]} rooms @param {string[]} may */
function each(rooms, may) {
  return Object.fromEntries(rooms.map((room) => [room, may]))
}

/** @returns {import('oxlint').DummyRuleMap} */
function onlyTheCliReadsArgv() {
  const message = 'Only src/cli reads command lines: take what you need as a parameter.'
  return { 'no-restricted-properties': ['error', { object: 'process', property: 'argv', message }] }
}

/** @returns {import('oxlint').DummyRuleMap} */
function onlyMainTouchesTheProcess() {
  const message = 'Only src/cli/main.ts knows the process: a command takes this from its `io`.'
  const names = ['argv', 'stdin', 'stdout', 'stderr', 'env', 'cwd', 'chdir', 'exit', 'exitCode', 'on', 'once', 'off']
  const properties = names.map((property) => ({ object: 'process', property, message }))
  return { 'no-restricted-properties': ['error', ...properties] }
}

/** @returns {import('oxlint').DummyRuleMap} */
function outsideDataIsParsed() {
  const rules = ['argument', 'assignment', 'call', 'member-access', 'return']
  return Object.fromEntries(rules.map((rule) => [`typescript/no-unsafe-${rule}`, 'error']))
}
