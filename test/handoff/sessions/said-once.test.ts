// What the assistant said stands in a document once, and where it belongs: a decision among decisions, a report among what was
// done, a plan nowhere once it was carried out.

import { describe, expect, test } from 'vitest'
import { Claude, Codex, documentOf, Pi } from './transcripts.ts'

describe('what the assistant said [H13]', () => {
  test('items of a checklist are a plan, not decisions', async () => {
    const s = new Pi()
    s.user('Wie ziehen wir die Rechnungen in ein eigenes Paket um?')
    s.run('ls packages', 'core\nweb')
    s.ends(
      'Die Rechnungen hängen nur an `core/money.ts`, deshalb wird `money` zuerst ein Paket für sich.\n\n' +
        '- [ ] Paket `@hof/money` anlegen\n- [ ] Importe in `web` umstellen\n- [x] Abhängigkeiten von `core` prüfen\n\nSoll ich anfangen?',
    )
    s.user('ja, aber rühr die Druckvorlagen nicht an')
    s.edit('packages/money/package.json', '{}', '{"name":"@hof/money"}')
    const { section } = await documentOf(s.ends('Das Paket steht; die Importe in `web` zeigen darauf.'))
    expect(section('decisions')).toContain('deshalb wird `money` zuerst ein Paket für sich')
    expect(section('decisions')).not.toContain('Importe in `web` umstellen')
    expect(section('decisions')).not.toContain('Paket `@hof/money` anlegen')
  })

  test('a short sentence that names nothing is no decision', async () => {
    const s = new Claude()
    s.user('The nightly import skips the last page, find out why')
    s.says('I see the problem now.\n\nThe cursor of `readPages` is exclusive, so the last page is never asked for.')
    s.edit('src/import.ts', '<', '<=')
    s.run('npm test', 'Tests  31 passed (31)')
    const long = 'It reads every page again. '.repeat(10)
    const { section } = await documentOf(s.ends(`${long}\n\nNothing else was touched.`))
    expect(section('decisions')).toContain('The cursor of `readPages` is exclusive')
    expect(section('decisions')).not.toContain('I see the problem')
  })

  test('a reply that stands under what was done is not told again as decisions', async () => {
    const s = new Claude()
    s.user('予約フォームの電話番号を任意にして')
    s.edit('src/form.tsx', 'required', '')
    s.ends('電話番号を任意にしました。国番号は `libphonenumber` で検証するため、入力時だけ必須にしています。')
    s.user('次に、確認メールの件名に予約番号を入れて')
    s.edit('src/mail.ts', 'subject', 'subject + id')
    const { markdown } = await documentOf(s.ends('件名に予約番号を入れました。'))
    expect(markdown.split('`libphonenumber` で検証するため')).toHaveLength(2)
  })

  test('what the user takes up again is told in their words alone', async () => {
    const s = new Claude()
    s.user('Crea la entidad Pedido con su total')
    s.write('dominio/Pedido.cs', 'class Pedido {}')
    s.ends(
      'La entidad está creada en `dominio/Pedido.cs`, con constructor protegido y una fábrica para crearla desde fuera.\n\n' +
        'Los identificadores son `Guid`, porque los pedidos llegan también desde el almacén.\n\n' +
        'El total del pedido queda almacenado y se recalcula cada vez que cambia una línea.\n' +
        'Así las consultas lo leen sin cargar las líneas. Falta la fecha de entrega.',
    )
    s.user('El total no debe quedar almacenado, es un getter: quita lo que lo recalcula')
    s.edit('dominio/Pedido.cs', 'Total { get; set; }', 'Total => lineas.Sum()')
    const { section, markdown } = await documentOf(s.ends('`Total` es ahora un getter.'))
    expect(section('decisions')).not.toContain('El total del pedido queda almacenado')
    expect(section('decisions')).toContain('Los identificadores son `Guid`')
    expect(markdown).toContain('El total no debe quedar almacenado')
  })

  test('a report that things do not work yet, in some words of a finding, leaves the finding standing', async () => {
    const finding =
      'The blank login page comes from `useAccount`: it returns nothing until the cookie was read, so the guard renders nothing.'
    const told = async (reply: string) => {
      const s = new Claude()
      s.user('Some people see nothing after they signed in, find out why')
      s.edit('src/guard.tsx', 'a', 'b')
      s.ends(`${finding}\n\nThe guard waits for the cookie now.`)
      s.user(reply)
      s.edit('src/app.tsx', 'a', 'b')
      return (await documentOf(s.ends('The router waits for the guard as well. '.repeat(8)))).section('decisions')
    }
    expect(await told('still not working for me, the login page stays blank when I open it in a new window')).toContain(
      '`useAccount`',
    )
    const log = '10:02:11 GET /login 200 guard renders cookie'
    expect(await told(`Have a look at what the server says:\n${`${log}\n`.repeat(9)}`)).toContain('`useAccount`')
    expect(await told('No, the blank page comes from the guard itself: `useAccount` returns the cookie')).not.toContain(
      'until the cookie was read',
    )
  })

  test('a request behind a report answers nothing, and neither does a command for the program', async () => {
    const s = new Claude()
    s.user('Füge im Kalender die Ferien der Kantone hinzu')
    s.edit('src/calendar.ts', 'a', 'b')
    s.ends('Die Ferien aller 26 Kantone stehen im Kalender.')
    s.user('jetzt einspielen')
    s.run('git push', 'To git.example:hof/kalender.git\n   1a2b3c4..5d6e7f8  main -> main')
    const { markdown } = await documentOf(s.ends('Eingespielt.'))
    expect(markdown).not.toContain('That answers the assistant')

    const p = new Pi()
    p.user('/skill:review')
    p.run('git diff --stat', ' src/a.ts | 2 +-')
    p.ends('`src/a.ts` holds a branch that nothing reaches.')
    p.user('/skill:audit')
    const told = await documentOf(p.ends('The whole repository has 3 files without a caller.'))
    expect(told.section('goal')).toBe('/skill:review\n/skill:audit')
  })

  test('the last words of a turn that stopped are printed once', async () => {
    const s = new Codex()
    s.user('Publie la version 2 du greffon')
    s.says(
      "Le formulaire de publication demande une archive signée et le journal des modifications depuis la version 1, que je prépare d'abord.\n\n" +
        'Je lance maintenant le script qui rassemble les deux dans `dist/`, puis je vérifie la signature avec la clé du projet.',
    )
    s.script('const r = await tools.exec_command({"cmd":"sh release.sh","workdir":"."});\ntext(r.output);')
    const { markdown } = await documentOf(s)
    expect(markdown.split('Le formulaire de publication demande')).toHaveLength(2)
  })

  test('what the program says in the place of the model is not the assistant’s', async () => {
    const s = new Claude()
    s.user('Rename the option --dry to --dry-run')
    s.edit('src/cli.ts', '--dry', '--dry-run')
    s.ends('The option is `--dry-run` now; `--dry` still works and prints a notice.')
    const message = {
      model: '<synthetic>',
      role: 'assistant',
      content: [{ type: 'text', text: 'No response requested.' }],
    }
    s.line('assistant', { message })
    const { markdown, section } = await documentOf(s)
    expect(markdown).not.toContain('No response requested')
    expect(section('status')).toContain('Answered')
    expect(section('next')).toContain('`--dry` still works')
  })
})

test('what led to a change that the user refused is no finding [H13]', async () => {
  const s = new Claude()
  s.user('Pourquoi la page des tarifs plante-t-elle ?')
  s.says('La faute vient de `pricing.yaml` : la clé `devise` est mal écrite à la ligne 8, elle devrait être `monnaie`.')
  s.refuse('Edit', { file_path: '/home/ines/projects/atlas/pricing.yaml', old_string: 'devise', new_string: 'monnaie' })
  s.interrupted('tool')
  s.user('Ajoute plutôt une page pour les remises')
  s.says('Les remises viennent du service `deals`, donc la page les lit par son API et non dans la base.')
  s.edit('src/deals.tsx', 'a', 'b')
  const { section } = await documentOf(s.ends('La page des remises est là. '.repeat(12)))
  expect(section('decisions')).toContain('Les remises viennent du service `deals`')
  expect(section('decisions')).not.toContain('mal écrite à la ligne 8')
})

describe('what was refused or only proposed [H13]', () => {
  const path = '/home/ines/projects/atlas/.env.example'

  test('a change that was refused and then made is not told as refused; one that was only looked at is', async () => {
    const session = (after: (s: Claude) => void) => {
      const s = new Claude()
      s.user('Leg eine Vorlage für die Umgebungsvariablen an')
      s.refuse('Write', { file_path: path, content: 'PORT=' })
      s.interrupted('tool')
      s.user('Das war ein Versehen, bitte noch einmal')
      after(s)
      return documentOf(s.ends('Die Vorlage `.env.example` ist angelegt.'))
    }
    const made = await session((s) => s.write('.env.example', 'PORT='))
    expect(made.markdown).not.toContain('Rejected')
    const looked = await session((s) => s.read('.env.example'))
    expect(looked.section('decisions')).toContain('Rejected: Write .env.example')
  })

  test('of the ways that were proposed, the answer tells which one was chosen', async () => {
    const s = new Claude()
    s.user('보고서를 어디에 저장하면 좋을까?')
    s.ends(
      '저장소는 지금 `data/` 폴더만 백업합니다.\n\n**방법 1**: `data/reports`에 저장합니다. 백업에 바로 포함됩니다.\n\n' +
        '**방법 2**: 객체 저장소 `s3://reports`에 올립니다. 비용이 따로 듭니다.\n\n어느 방법으로 할까요?',
    )
    s.user('방법 1로 해줘')
    s.edit('src/report.ts', 'a', 'b')
    s.ends('보고서를 `data/reports`에 저장합니다.')
    s.user('이제 지난달 보고서를 다시 만들어줘')
    s.run('node src/report.js --month 4', 'written')
    const { section } = await documentOf(s.ends('지난달 보고서를 만들었습니다.'))
    expect(section('decisions')).toContain('어느 방법으로 할까요? → 방법 1로 해줘')
    expect(section('decisions')).not.toContain('s3://reports')
  })

  test('a wish for a change of a file that was made is no rule; one that keeps a file as it is stays one', async () => {
    const s = new Claude()
    s.user('Explique comment sont nommées les factures')
    s.read('src/names.ts')
    s.ends('Les factures portent le numéro du client, puis la date.')
    s.user(
      'Oui. Corrige aussi docs/noms.md, la tournure y est maladroite. Ne réécris jamais docs/archives.md, le notaire la cite.',
    )
    s.edit('docs/noms.md', 'a', 'b')
    s.ends('Page corrigée.')
    s.user('merci, et la date en toutes lettres')
    s.edit('src/names.ts', 'a', 'b')
    const { section } = await documentOf(s.ends('La date est écrite en toutes lettres.'))
    expect(section('constraints')).toContain('Ne réécris jamais docs/archives.md')
    expect(section('constraints')).not.toContain('tournure')
  })
})

test('rules of a short first message stand with it, and are not told again in part [H13]', async () => {
  const s = new Pi()
  s.user(
    'Rebuild the seating plan of the theatre as a component of its own, with the rows as they are today. Ushers carry it on old tablets, so nothing may load from elsewhere. Prices are not part of it, the box office keeps those.',
  )
  s.edit('src/seats.ts', 'a', 'b')
  const { markdown, section } = await documentOf(s.ends('The plan is a component of its own now.'))
  expect(markdown.split('nothing may load from elsewhere')).toHaveLength(2)
  expect(section('goal')).toContain('the box office keeps those')
})
