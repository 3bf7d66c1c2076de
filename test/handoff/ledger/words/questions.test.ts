import { describe, expect, it } from 'vitest'
import { conversation, Session } from '../session.ts'

function open(session: Session): string[] {
  return session.ledger().questions.map(({ text }) => text)
}

const asked = 'Should archived orders older than seven years be deleted or anonymised?'

describe('a question to the user', () => {
  it.each([
    asked,
    'Sollen archivierte Bestellungen gelöscht oder anonymisiert werden?',
    '归档的订单应该删除还是匿名化？',
    'هل يجب حذف الطلبات المؤرشفة؟',
    '古い注文も削除してよろしいですか。',
    'Να διαγράψω τις παλιές παραγγελίες ή να κάνω archive;',
    '需要我现在删除归档的订单吗',
    '보관된 주문을 삭제할까요.',
  ])('[H13] is open when the turn ends with it: %s', (question) => {
    const session = conversation('Clean up the archive', `The archive has two million rows. ${question}`)
    expect(session.ledger().questions).toMatchObject([{ text: question, source: 'text' }])
    expect(session.ledger().questions[0]!.passedOver).toBeUndefined()
  })

  it('[H13] is open when it stands in a list of questions, and only a remark follows', () => {
    const session = conversation('Räum das Archiv auf')
    session.assistant(
      'Das geht in zwei Schritten.\n\nVorher muss ich wissen:\n1. Ab welchem Alter?\n2. Löschen oder anonymisieren?\n\nDanach fange ich an.',
    )
    expect(open(session)).toEqual(['Ab welchem Alter?', 'Löschen oder anonymisieren?'])
  })

  it('[H13] is open when it stands in a line of questions, and only a remark follows', () => {
    const session = new Session()
    session.user('왜 지웠어')
    session.assistant('제가 실수했습니다.\n\n지금 되살릴까요? 아니면 그대로 둘까요?\n\n앞으로는 먼저 묻겠습니다.')
    expect(open(session)).toEqual(['지금 되살릴까요?', '아니면 그대로 둘까요?'])
  })

  it.each([
    ['a line asks and a remark answers', 'Can it read both formats?\n\nYes, it can read both of them.'],
    ['a text answers itself', 'Why was it slow? The index was missing.\n\nIt is fast now.'],
    ['a list also answers', 'Checked:\n- Old rows? All gone.\n- Index? In place.\n\nNothing is left to do.'],
  ])('[H13] is not one that %s', (_, words) => {
    const session = conversation('Clean up the archive', words)
    expect(open(session)).toEqual([])
  })

  it.each(['古い注文を削除しました。静かな一日です。', 'Die Bestellungen sind weg;', 'Οι παραγγελίες διαγράφηκαν.'])(
    '[H13] is not what a statement is: %s',
    (words) => {
      const session = conversation('Clean up the archive', words)
      expect(open(session)).toEqual([])
    },
  )

  it.each([
    ['assent right behind it', 'jo'],
    ['one of the things it names', 'anonymised, please, legal wants to keep the statistics'],
    ['words about it', 'anything older than seven years goes, the rest stays where it is'],
  ])('[H13] is answered by %s', (_, reply) => {
    const session = conversation('Clean up the archive', asked, reply, 'Fine.')
    expect(open(session)).toEqual([])
  })

  it.each([
    ['English', 'Translate the welcome mail into Portuguese next', 'The welcome mail is translated.'],
    ['Chinese', '先把欢迎邮件翻译成葡萄牙语', '欢迎邮件已经翻译好了。'],
  ])('[H13] stays open when the user speaks of something else, in %s', (_, reply, done) => {
    const session = conversation('Clean up the archive', asked, reply, done, 'Now the footer', 'The footer is done.')
    expect(session.ledger().questions).toMatchObject([{ text: asked, passedOver: reply }])
    expect(session.ledger().decisions.filter(({ by }) => by === 'user')).toEqual([])
  })

  it('[H13] is settled when the next turn takes up what it is about', () => {
    const session = conversation(
      'Clean up the archive',
      asked,
      'Surprise me, whatever you think our lawyers would prefer here',
    )
    session.bash('npm run anonymise -- --archived-orders --older-than "seven years"')
    session.assistant('Archived orders older than seven years are anonymised.')
    session.talk('good', 'Anything else is unchanged.')
    expect(open(session)).toEqual([])
  })

  it('[H13] about the moment is not kept: nobody answers it any more', () => {
    const session = conversation(
      'Clean up the archive',
      'Cleaned up. Shall I commit this?',
      'Translate the welcome mail into Portuguese next',
      'Translated.',
    )
    expect(open(session)).toEqual([])
  })

  it('[H13] in a dialog that the user left is open, what was chosen before that is decided', () => {
    const session = conversation('Set up the deployment')
    session.tool(
      'AskUserQuestion',
      {
        questions: [
          { question: 'Which region?', options: [] },
          { question: 'Which size of machine?', options: [] },
        ],
      },
      'The user doesn\'t want to proceed with this tool use. To tell you how to proceed, the user said:\nThe user wants to clarify these questions.\n\n    Questions asked:\n- "Which region?"\n  Answer: Frankfurt\n- "Which size of machine?"\n  (No answer provided)',
      true,
    )
    expect(open(session)).toEqual(['Which size of machine?'])
    expect(session.ledger().decisions).toMatchObject([{ text: 'Which region? → Frankfurt', by: 'user' }])
  })
})

describe('a dialog', () => {
  const dialog = (session: Session, answer: string) => {
    const question = { question: asked, options: [{ label: 'Delete them' }, { label: 'Which are those?' }] }
    const output = `User has answered your questions: "${asked}"="${answer}". You can now continue with the user's answers in mind.`
    session.user('Clean up the archive')
    return session.tool('AskUserQuestion', { questions: [question] }, output)
  }
  const decided = (session: Session) => session.ledger().decisions.filter(({ by }) => by === 'user')

  it.each([
    'What does the law say about the tax records?',
    'Was kostet uns das Anonymisieren?',
    '匿名化需要多长时间？',
    'ما الفرق بينهما؟',
  ])('[H13] that the user answers with a question decides nothing: %s', (answer) => {
    const session = new Session()
    dialog(session, answer)
    expect(decided(session)).toEqual([])
    expect(open(session)).toEqual([asked])
    session.assistant('Tax records have to be kept for ten years, so they would be anonymised and not deleted.')
    session.tool(
      'Edit',
      { file_path: 'a.ts', old_string: 'archived orders', new_string: 'older than seven years' },
      'ok',
    )
    session.assistant('Archived orders older than seven years are anonymised now.')
    expect(open(session)).toEqual([])
  })

  it.each(['Delete them', 'Which are those?', 'Only those of closed accounts'])(
    '[H13] that the user answers is decided, also by an option that is a question: %s',
    (answer) => {
      const session = new Session()
      dialog(session, answer)
      expect(decided(session)).toMatchObject([{ answered: { question: asked, answer } }])
      expect(open(session)).toEqual([])
    },
  )
})
