// Lint rules, and the direction of imports. A module rather than JSON so that the house is one table: who may import
// whom. test/house.test.ts plants a file for every pair of rooms and proves that the table holds.

/** Rooms that anyone may use. */
const SMALL_ROOMS = ['config', 'notify', 'system', 'telemetry']
const FORMS = ['handoff', 'task', 'relay']
const RUNNERS = ['agent', 'supervisor', 'transcripts']

/** Room: the rooms it may import, from the ground floor up. @type {Record<string, string[]>} */
const MAY_IMPORT = {
  store: [...SMALL_ROOMS],
  tape: ['store', ...SMALL_ROOMS],
  ...each(FORMS, ['tape', 'store', ...SMALL_ROOMS]),
  ...each(RUNNERS, [...FORMS, 'tape', 'store', ...SMALL_ROOMS]),
  // The proof of what a supervised agent did is read from its transcript.
  supervisor: ['transcripts', ...FORMS, 'tape', 'store', ...SMALL_ROOMS],
  ...each(['server', 'web'], [...RUNNERS, ...FORMS, 'tape', 'store', ...SMALL_ROOMS]),
  // The agent of the demo is a program of its own: it knows nothing of Baton.
  demo: [...SMALL_ROOMS],
  // `baton serve` starts the server.
  cli: ['server', 'demo', ...RUNNERS, ...FORMS, 'tape', 'store', ...SMALL_ROOMS],
  config: ['store', 'notify', 'system', 'telemetry'],
  notify: ['config', 'system', 'telemetry'],
  system: [],
  telemetry: ['config', 'notify', 'system'],
}
const ROOMS = Object.keys(MAY_IMPORT)

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
    { files: ['src/index.ts'], rules: forbid([closed('./', ['cli', 'server', 'web'], 'The library'), ownName]) },
    ...ROOMS.map((room) => ({ files: [`src/${room}/**`], rules: roomRules(room) })),
    { files: ['src/cli/**'], rules: { 'no-restricted-properties': 'off' } },
    { files: ['test/**'], rules: { 'vitest/no-disabled-tests': 'error', 'vitest/no-focused-tests': 'error' } },
  ],
}

/** @param {string} room */
function roomRules(room) {
  const others = ROOMS.filter((other) => other !== room && !MAY_IMPORT[room]?.includes(other))
  const patterns = [ownName]
  if (others.length > 0) patterns.push(closed('(\\.\\./)+', others, `src/${room}`))
  if (room !== 'cli') patterns.push(...argv)
  if (!['cli', 'server', 'web'].includes(room)) patterns.push(http)
  return forbid(patterns)
}

/** @param {string} prefix @param {string[]} rooms @param {string} who */
function closed(prefix, rooms, who) {
  const message = `Imports point downwards only: ${who} may not know ${rooms.join(', ')}.`
  return { regex: `^${prefix}(${rooms.join('|')})/`, message }
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
function outsideDataIsParsed() {
  const rules = ['argument', 'assignment', 'call', 'member-access', 'return']
  return Object.fromEntries(rules.map((rule) => [`typescript/no-unsafe-${rule}`, 'error']))
}
