import { describe, expect, it } from 'vitest'
import { conversation, Session } from '../session.ts'

function said(session: Session): string[] {
  return session
    .ledger()
    .decisions.filter(({ source }) => source === 'said')
    .sort((a, b) => a.rank! - b.rank!)
    .map(({ text }) => text)
}

describe('what the assistant says that it decided', () => {
  it.each([
    'The queue lives in Redis, because two workers share it.',
    'Ich nehme Redis für die Warteschlange, weil zwei Prozesse sie teilen.',
    '队列放在 Redis 里，因为两个进程共享它。',
    'Очередь хранится в Redis, потому что её делят два процесса.',
    'キューはRedisに置きます、二つのワーカーが共有するためです。',
  ])('[H13] is told with its reason, in any language: %s', (sentence) => {
    const session = conversation('Make the import faster')
    session.tool('Edit', { file_path: 'import.ts', old_string: 'a', new_string: 'b' }, 'ok')
    const id = session.assistant(sentence)
    expect(said(session).join('')).toBe(sentence)
    expect(session.ledger().decisions[0]).toMatchObject({ by: 'assistant', source: 'said', id, rank: 0 })
  })

  it.each([
    ['Chinese', '订单编号加唯一索引，先查询再插入的做法在并发请求下仍然会重复入账，所以这里不用它。'],
    ['Japanese', '分かち書きが弱いライブラリは使わず、二文字ずつの索引を自分で作ることにします。'],
    ['Korean', '수량은 입력을 받을 때 한 번만 숫자로 바꾸고 계산하는 곳마다 다시 바꾸지는 않겠습니다.'],
  ])('[H13] may be all that was said before a change: a sentence in %s needs fewer characters', (_, sentence) => {
    const session = conversation('Make the import faster', `Two ways are possible here. ${sentence}`)
    session.tool('Edit', { file_path: 'import.ts', old_string: 'a', new_string: 'b' }, 'ok')
    session.assistant('Done.')
    expect(said(session)).toContain(sentence)
  })

  it.each([
    ['Renewing it halfway is better than a longer life, because a long token can be shared.'],
    ['Renovarlo a mitad de vida es mejor que alargarlo, porque un token largo se puede compartir.'],
  ])('[H13] may be the reason that stands last before an edit: %s', (reason) => {
    const session = conversation(
      'Find out why the stream stops',
      `The player never renews the token of the stream. ${reason}`,
    )
    session.tool('Edit', { file_path: 'token.ts', old_string: 'a', new_string: 'b' }, 'ok')
    session.assistant('Done.')
    expect(said(session)).toContain(reason)
  })

  it('[H13] is not cut where a full stop belongs to the sentence', () => {
    const sentence =
      'Le serveur répond { data: … } alors que la page lit les unités (poids, volume, etc.) au premier niveau.'
    const session = new Session()
    session.user('La liste des unités reste vide')
    session.tool('Edit', { file_path: 'units.ts', old_string: 'a', new_string: 'b' }, 'ok')
    const next = 'La fonction getUnits retourne désormais le contenu de cette enveloppe.'
    session.assistant(`${sentence} ${next}`)
    expect(said(session).toSorted()).toEqual([next, sentence])
  })

  it('[H13] stands before a change, not before a look', () => {
    const session = conversation('Make the import faster', 'The parser probably allocates one buffer for every line.')
    session.tool('Read', { file_path: 'parser.ts' }, '')
    session.assistant('Batches of five hundred rows keep the transaction below one second.')
    session.tool('Edit', { file_path: 'import.ts', old_string: 'a', new_string: 'b' }, 'ok')
    session.assistant('Done.')
    expect(said(session)).toEqual(['Batches of five hundred rows keep the transaction below one second.'])
  })

  it.each([
    [
      'Now I will stage the importer and commit it.',
      'Two passes over the file are cheaper than one large index in memory.',
    ],
    [
      'Jetzt stelle ich den Importer bereit und committe ihn.',
      'Zwei Durchläufe sind billiger als ein großer Index im Speicher.',
    ],
    ['現在我來提交匯入程式的變更。', '讀取檔案兩次比在記憶體中保存一個大型索引便宜。'],
    ['Теперь я добавлю импортёр и сделаю коммит.', 'Два прохода по файлу дешевле, чем большой индекс в памяти.'],
  ])('[H13] is not what announces the next call: %s', (announced, decided) => {
    const session = conversation('Make the import faster', `${decided} ${announced}`)
    session.bash('git commit -qam "Read twice"', '')
    expect(said(session)).toEqual([decided])
    session.assistant(`${decided} ${announced}`)
    session.tool('Edit', { file_path: 'import.ts', old_string: 'a', new_string: 'b' }, 'ok')
    expect(said(session)[0]).toBe(decided)
  })

  it('[H13] is neither code, a heading, a quote, a question nor an announcement', () => {
    const session = conversation('Make the import faster')
    session.assistant(
      '## Decision about the importer\n```\nimporter decision inside code\n```\n> quoted decision about the importer\n' +
        'Next I am changing the importer configuration:\nShould the importer validate every column?',
    )
    session.user('yes')
    expect(said(session)).toEqual([])
  })

  it('[H13] comes in the order of what it tells: first what nothing else tells', () => {
    const session = conversation('Rename the customer table to clients')
    session.tool('Edit', { file_path: 'schema.sql', old_string: 'a', new_string: 'b' }, 'ok')
    session.assistant(
      'The customer table is renamed to clients. Foreign keys stay deferred, since the nightly loader inserts children before their parents.',
    )
    session.talk('Thanks', 'Gladly.')
    expect(said(session)[0]).toMatch(/^Foreign keys stay deferred/)
  })

  it('[H13] is not told twice: of two sentences about the same, the later one comes first', () => {
    const session = new Session()
    for (const port of ['eight thousand', 'nine thousand']) {
      session.user('go on')
      session.tool('Edit', { file_path: 'server.ts', old_string: 'a', new_string: port }, 'ok')
      session.assistant(`The development server listens on port ${port}.`)
    }
    session.talk('and now?', 'Nothing.')
    expect(said(session)[0]).toContain('nine thousand')
  })

  it('[H13] does not fill a large document: of a hundred sentences it tells the thirty that tell most', () => {
    const session = new Session()
    for (let module = 0; module < 100; module += 1) {
      session.user(`Next module, number ${module}`)
      session.tool('Edit', { file_path: `m${module}.ts`, old_string: 'a', new_string: 'b' }, 'ok')
      session.assistant(
        `Reader${module} keeps its cursor${module} in table${module}, because worker${module} restarts often.`,
      )
    }
    session.talk('Grazie', 'Prego.')
    expect(said(session)).toHaveLength(30)
  })
})
