// What the people and the agents of the fixtures say. Constraints as users write them, not as a classifier would like them.

const cued: readonly string[] = [
  'Never touch the files under vendor/, they are synced from upstream.',
  'Bitte keine neuen Abhängigkeiten hinzufügen.',
  '不要修改 migrations 里已有的文件。',
  "N'utilise jamais any dans le code TypeScript.",
  'All money amounts are integers in cents, everywhere.',
  'No cambies la API pública del paquete.',
  'コメントは必ず英語で書いてください。',
  'Не трогай deploy без моего разрешения.',
  'Mantenha a compatibilidade com o Node 18.',
  'I want every public function documented with an example.',
  '테스트를 건너뛰지 마세요.',
  'Commit messages: imperative mood, at most 72 characters.',
  'Üretim veritabanına asla bağlanma.',
  'Nie zmieniaj nazw tabel.',
  'Gebruik alleen de standaardbibliotheek.',
  'لا تحذف أي اختبار.',
  'Lascia invariato il formato dei log.',
  'Error messages stay in plain English without jargon.',
]

/**
 * Rules in plain words, without a `never` or an `only`: most of what people lay down reads like this. Nothing in the product
 * may be tuned to these sentences; they are here to tell whether it understands others.
 */
const plainspoken: readonly string[] = [
  'Please hold off on refactoring anything in the payments folder.',
  'Stick to two-space indentation.',
  'Nobody but me merges to main.',
  'We target Postgres 14, nothing newer.',
  'Ask me before you install anything.',
  'Tests come first, code second.',
  'Our users are on slow phones, so bundle size matters more than elegance.',
  'Public names follow the glossary in docs/glossary.md.',
  'Halte dich an die bestehende Ordnerstruktur.',
  'Frag mich, bevor du etwas löschst.',
  'Utilise le vouvoiement dans les textes.',
  'Demande-moi avant de pousser sur la branche principale.',
  'Respeta el formato de fechas ISO.',
  'Pregúntame antes de tocar la base de datos.',
  'Respeite o padrão de nomes atual.',
  'Usa solo le API già esistenti.',
  '先问我再提交代码。',
  '变量名用英文。',
  '変数名は英語で統一する。',
  '커밋하기 전에 나에게 물어봐.',
  'Спроси меня перед деплоем.',
  'Пиши комментарии на английском.',
]

export const constraints: readonly string[] = [...cued, ...plainspoken]

/** One sentence of a long message binds; the rest is a story. */
export const longConstraint = {
  binding: 'Whatever else happens, rounding of prices must stay half-even.',
  message: (story: string) =>
    `Here is what the customer wrote to us yesterday, for context:\n\n${story}\n\nWhatever else happens, rounding of prices must stay half-even. The rest we can discuss when the numbers are in.`,
}

/** A later message takes back what `old` says; `kept` of the earlier message still binds. */
export interface Reversal {
  readonly first: string
  readonly old: string
  readonly kept?: string
  readonly later: string
  /** The part of `later` that binds from now on. */
  readonly now?: string
}

export const reversals: readonly Reversal[] = [
  {
    first: 'Always use npm for installing packages.',
    old: 'Always use npm for installing packages.',
    later: 'Actually, use pnpm instead of npm from now on.',
    now: 'use pnpm instead of npm from now on',
  },
  {
    first: "Keep the old /v1 endpoints working. Don't add any caching.",
    old: "Don't add any caching.",
    kept: 'Keep the old /v1 endpoints working.',
    later: 'You may add caching now, the profile shows that we need it.',
  },
  {
    first: 'Verwende für neue Tests immer Jest.',
    old: 'Verwende für neue Tests immer Jest.',
    later: 'Nimm für neue Tests doch lieber Vitest statt Jest.',
    now: 'Nimm für neue Tests doch lieber Vitest statt Jest.',
  },
  {
    first: '日志必须写到 Redis。',
    old: '日志必须写到 Redis。',
    later: '算了，日志改用 SQLite，不要用 Redis。',
    now: '日志改用 SQLite',
  },
]

export interface Choice {
  readonly say: string
  readonly needles: readonly string[]
}

export const decisions: readonly Choice[] = [
  {
    say: 'Decision: store sessions in SQLite, because the deployment has a single node.',
    needles: ['store sessions in SQLite'],
  },
  {
    say: 'Looking at both, I decided to keep the retry loop in the client instead of the gateway because the gateway has no idea of idempotency.',
    needles: ['keep the retry loop in the client'],
  },
  {
    say: "We'll go with cursor pagination rather than offsets, since rows are inserted while people page.",
    needles: ['cursor pagination'],
  },
  {
    say: 'Ich habe mich dafür entschieden, die Exporte zu streamen, weil der Speicher sonst nicht reicht.',
    needles: ['die Exporte zu streamen'],
  },
  {
    say: 'After measuring I chose zod over hand-written guards because the error paths come for free.',
    needles: ['zod over hand-written guards'],
  },
  { say: '我决定用事件队列而不是轮询，因为延迟更低。', needles: ['用事件队列而不是轮询'] },
]

export const questions = [
  {
    question: 'Which lock should guard the payout job?',
    options: ['Postgres advisory locks', 'A Redis mutex', 'A lease table'],
    answer: 'Postgres advisory locks',
  },
  {
    question: 'Where should uploaded invoices live?',
    options: ['An object store', 'The database', 'The local disk'],
    answer: 'An object store',
  },
  {
    question: 'How should old reports be archived?',
    options: ['Parquet by month', 'CSV by week', 'Not at all'],
    answer: 'Parquet by month',
  },
] as const

/** Ordinary requests: done and over when the next one comes. */
export const requests: readonly ((thing: string) => string)[] = [
  (thing) => `Next, please look at ${thing} and tidy it up.`,
  (thing) => `${thing} feels slow, can you find out why?`,
  (thing) => `Rename the fields in ${thing} so that they read like the API docs.`,
  (thing) => `Add a short comment on top of ${thing}.`,
  (thing) => `Kannst du ${thing} etwas übersichtlicher machen?`,
  (thing) => `The list in ${thing} should only load 20 rows at a time.`,
  (thing) => `The page behind ${thing} must not flicker when it loads, please check.`,
  (thing) => `Can we do ${thing} without the second loop?`,
  (thing) => `Swap the two exports at the end of ${thing}.`,
  (thing) => `Read ${thing} again, I changed it meanwhile.`,
  (thing) => `看一下 ${thing} 为什么这么慢。`,
  (thing) => `I don't understand what ${thing} does, explain it to me.`,
  () => 'continue',
  () => 'ok, looks good',
  (thing) => `What about ${thing}?`,
]

export const acknowledgements: readonly string[] = [
  'Understood.',
  'Noted, I will keep to that.',
  'Alles klar.',
  '好的，明白了。',
  'Entendido.',
  'Понял.',
]

/** How a turn ends. */
export const reports: readonly ((what: string) => string)[] = [
  (what) => `This step is finished: ${what}.`,
  (what) => `The files are as they should be now, ${what}.`,
  (what) => `Das ist erledigt: ${what}.`,
  (what) => `这一步完成了：${what}。`,
]

export const promptings: readonly string[] = ['Go on.', 'continue', 'Mach weiter.', '继续', 'ok, next', 'Sigue.']

export const boasts: readonly string[] = [
  'Everything is done: all tests pass, the build is green and staging has been deployed successfully. I also rewrote src/phantom/ghost.ts from scratch.',
  'The user asked me to drop the whole admin area, so I will keep that in mind. All checks are green now.',
  'I have updated src/phantom/spectre.ts and deleted docs/obsolete.md as discussed. Nothing is failing any more.',
]

export const falseRequest = 'drop the whole admin area'
