// How sessions end, as the agents write them: what the document says of the state, and what to do first.

import { describe, expect, test } from 'vitest'
import { Claude, Codex, documentOf, folder, Opencode, Pi } from './transcripts.ts'

function chineseWaiting(): Codex {
  const s = new Codex()
  s.user('登录接口在高并发下会返回 500，请找出原因。线上数据库只能读，绝对不要在上面执行写操作。')
  s.says('我先看登录接口的代码和连接池配置。')
  s.run('sed -n 1,120p src/auth/login.py', 'pool = create_pool(size=5)')
  s.run(
    'rg -n "create_pool" src',
    'src/auth/login.py:12:pool = create_pool(size=5)\nsrc/jobs/mail.py:4:pool = create_pool(size=5)',
  )
  s.run(
    'python -m pytest tests/test_login_load.py -q',
    'FAILED tests/test_login_load.py::test_two_hundred_logins - asyncio.TimeoutError\n1 failed, 3 passed in 12.41s',
    1,
  )
  return s.ends(
    '原因找到了：每个进程的连接池只有 5 个连接，邮件任务会长时间占用它们，登录请求排队超时后返回 500。\n\n有两种修法：\n\n1. 把连接池扩大到 30。\n2. 给邮件任务单独建一个连接池。\n\n你希望我用哪一种？',
  )
}

function spanishInterrupted(): Pi {
  const s = new Pi()
  s.user(
    'Migra los formularios de alta a la librería nueva de validación. No toques la carpeta legacy, la mantiene otro equipo.',
  )
  s.says('Empiezo por el formulario de clientes.').tool(
    'read',
    { path: 'src/forms/cliente.tsx' },
    'export const Cliente = 1',
  )
  s.edit('src/forms/cliente.tsx', 'yup', 'zod')
  s.run(
    'npx tsc --noEmit',
    "src/forms/cliente.tsx(14,7): error TS2322: Type 'string' is not assignable to type 'number'.",
    2,
  )
  s.says('El esquema devuelve texto donde el formulario espera un número; lo convierto en el propio esquema.')
  s.edit('src/forms/cliente.tsx', 'z.string()', 'z.coerce.number()')
  s.run('npx tsc --noEmit', '')
  s.says('Ahora el formulario de proveedores.')
  s.edit('src/forms/proveedor.tsx', 'yup', 'zod')
  s.call('bash', { command: 'npm run test:forms' })
  return s
}

function russianError(): Opencode {
  const s = new Opencode()
  s.user(
    'Добавь в админку страницу со списком возвратов. Тексты интерфейса бери только из файла переводов, в коде строк быть не должно.',
  )
  s.says(
    'Сначала посмотрю, как устроены другие страницы.',
    s.tool('read', { filePath: `${folder}/admin/orders.vue` }, '<template/>'),
  )
  s.says(
    'Страница возвратов будет построена по образцу заказов.',
    s.tool('write', { filePath: `${folder}/admin/refunds.vue`, content: '<template/>' }, 'Wrote file successfully.'),
  )
  s.says(
    '',
    s.edit('locales/ru.json', '{', '{"refunds":'),
    s.run(
      'pnpm vitest run admin',
      ' FAIL  admin/refunds.spec.ts > shows the list\nError: missing translation refunds.title\n Tests  1 failed | 11 passed (12)',
      1,
    ),
  )
  s.says('Не хватает ключа refunds.title, добавляю его.', s.edit('locales/ru.json', 'refunds', 'refunds.title'))
  return s.fails('APIError', 'Overloaded: the service is temporarily unavailable')
}

function codeModeCut(): Codex {
  const s = new Codex()
  s.user('Make the search index rebuild incremental. Log lines must stay machine readable, one JSON object per line.')
  s.script(
    "const r = await Promise.all([tools.exec_command({cmd: 'rg -n rebuild src', workdir: '/home/ines/projects/atlas'}), tools.exec_command({cmd: 'cat src/index/rebuild.rs'})]); for (const x of r) text(x.output)",
    ['src/index/rebuild.rs:3:fn rebuild()', 'fn rebuild() {}'],
  )
  s.says('I keep a watermark per shard and rebuild only what is newer.')
  s.script(
    'const patch = `*** Begin Patch\n*** Update File: src/index/rebuild.rs\n@@\n-fn rebuild() {}\n+fn rebuild(since: u64) {}\n*** End Patch`; text(await tools.apply_patch(patch))',
    ['{}'],
  )
  s.changed({
    '/home/ines/projects/atlas/src/index/rebuild.rs': {
      type: 'update',
      unified_diff: '@@ -1 +1 @@\n-fn rebuild() {}\n+fn rebuild(since: u64) {}\n',
      move_path: null,
    },
    '/home/ines/projects/atlas/src/index/watermark.rs': { type: 'add', content: 'pub struct Watermark;\n' },
  })
  s.script(
    "const r = await tools.exec_command({cmd: 'cargo test -p index'}); text(JSON.stringify({exit_code: r.exit_code, output: r.output}))",
    [
      '{"exit_code":101,"output":"test shard_is_skipped ... FAILED\\n\\nfailures:\\n    shard_is_skipped\\n\\ntest result: FAILED. 11 passed; 1 failed"}',
    ],
  )
  s.says('The skipped shard never stores its watermark; I set it also when nothing was rebuilt.')
  s.changed({
    '/home/ines/projects/atlas/src/index/rebuild.rs': {
      type: 'update',
      unified_diff: '@@ -1 +1 @@\n-a\n+b\n',
      move_path: null,
    },
  })
  return s.script("const r = await tools.exec_command({cmd: 'cargo test --workspace'}); text(r.output)")
}

function codexPlan(): Codex {
  const s = new Codex()
  s.user('Upgrade the project to Django 5. Keep Python 3.10 working, two customers are stuck on it.')
  s.plan([
    ['Bump the requirement', 'in_progress'],
    ['Replace removed APIs', 'pending'],
    ['Run the test suite on 3.10 and 3.12', 'pending'],
  ])
  s.patch('requirements.txt', '@@\n-Django==4.2\n+Django==5.0')
  s.run(
    'pip install -r requirements.txt',
    'exec_command failed: CreateProcess { message: "Rejected(\\"network access is disabled\\")" }',
    1,
  )
  s.plan([
    ['Bump the requirement', 'completed'],
    ['Replace removed APIs', 'in_progress'],
    ['Run the test suite on 3.10 and 3.12', 'pending'],
  ])
  s.patch('shop/urls.py', '@@\n-from django.conf.urls import url\n+from django.urls import re_path')
  s.says('`ugettext` is gone in 5.0, so I replace it everywhere with `gettext`.')
  s.patch('shop/forms.py', '@@\n-ugettext\n+gettext')
  return s.aborted()
}

function chinesePlanRefused(): Claude {
  const s = new Claude()
  s.user('给订单服务加上缓存。所有新代码都要写单元测试，评审时会检查。')
  s.read('src/order/service.go')
  s.refuse(
    'ExitPlanMode',
    { plan: '# 用 Redis 缓存订单\n\n1. 加客户端\n2. 缓存读取' },
    '不要引入 Redis，用进程内缓存就够了',
  )
  s.says('好的，改用进程内缓存。')
  s.write('src/order/cache.go', 'package order')
  s.write('src/order/cache_test.go', 'package order')
  s.run('go test ./src/order/...', 'ok  \torder\t0.210s')
  s.ends('订单服务现在使用进程内缓存，过期时间 60 秒，单元测试已通过。')
  s.user('过期时间改成可配置的')
  s.edit('src/order/cache.go', '60', 'cfg.TTL')
  return s.interrupted()
}

function todosVanished(): Claude {
  const s = new Claude()
  s.user('Port the settings page to the new design system')
  s.todos({ 'Port the form': 'in_progress', 'Port the sidebar': 'pending' })
  s.edit('app/settings/form.tsx', 'Old', 'New')
  s.interrupted()
  s.user('stop, the design system is being redone next week. just fix the typo in the page title and leave the rest')
  s.run('git checkout app/settings/form.tsx', 'Updated 1 path from the index')
  s.tool('TodoWrite', { todos: [] }, 'Todos have been modified successfully.')
  s.edit('app/settings/title.tsx', 'Setings', 'Settings')
  return s.ends('Fixed: the title reads "Settings" now. The port is reverted, `form.tsx` is as it was before.')
}

function leftovers(): Claude {
  const s = new Claude()
  s.user('Move all cron jobs to the new scheduler')
  s.edit('jobs/invoice.py', 'cron', 'scheduler')
  s.edit('jobs/mail.py', 'cron', 'scheduler')
  s.run('make test', 'OK (34 tests)')
  return s.ends(
    'Moved:\n- the invoice job\n- the mail job\n\nNot moved yet: `jobs/archive.py`. It needs the S3 credentials of the scheduler account, which I do not have. Once they are in the vault, the job can be moved the same way.',
  )
}

function offerAtEnd(): Claude {
  const s = new Claude()
  s.user('Can you look at why the CI takes 40 minutes?')
  s.run('gh run view 991 --json jobs', '{"jobs":[{"name":"e2e","conclusion":"success"}]}')
  s.read('.github/workflows/ci.yml')
  s.ends(
    'Most of the time goes to the e2e job: it installs the browsers on every run (11 min) and runs its 212 specs on one worker.\n\nCaching the browsers and four shards would bring it to about 12 minutes.\n\nIf you like, I can open a pull request with both.',
  )
  s.user('not now, we freeze until the release on friday')
  return s.ends('Understood, I leave the workflow as it is until after the release.')
}

describe('how a session ended [H10]', () => {
  test('a question in Chinese waits for its answer, told once, with what led to it', async () => {
    const { markdown, first, section } = await documentOf(chineseWaiting())
    expect(section('status')).toContain('Waiting for the user')
    expect(first).toBe("Get the user's answer to: 你希望我用哪一种？")
    expect(markdown.split('你希望我用哪一种？')).toHaveLength(2)
    expect(section('next')).toContain('给邮件任务单独建一个连接池')
    // What is proposed is no decision.
    expect(section('decisions')).not.toContain('连接池')
    expect(section('failures')).toContain('tests/test_login_load.py')
  })

  test('a call of pi without a result is where the work stopped', async () => {
    const { first, section } = await documentOf(spanishInterrupted())
    expect(section('status')).toContain('Interrupted in the middle of `npm run test:forms` (result unknown)')
    expect(first).toMatch(/^Continue with the user's request: Migra .*otro equipo\. It stopped in the middle of/)
    expect(section('failures')).toBe('None')
    expect(section('constraints')).toBe("None besides the user's own words")
  })

  test('an error of the provider stops the work, and is nothing to fix in it', async () => {
    const { first, section } = await documentOf(russianError())
    expect(section('status')).toContain('Stopped by an error: `Overloaded')
    expect(first).toMatch(/^Continue with the user's request: Добавь/)
    expect(section('next')).not.toContain('Fix `APIError`')
    expect(section('next')).toContain('Fix `pnpm vitest run admin`')
  })

  test("a script of Codex's code mode that never ended is named by the command that it runs", async () => {
    const { section } = await documentOf(codeModeCut())
    expect(section('status')).toContain('Interrupted in the middle of `cargo test --workspace` (result unknown)')
    expect(section('files')).toContain('src/index/watermark.rs')
    expect(section('failures')).toContain('cargo test -p index')
  })

  test('a turn that the user stopped goes on with the plan, and a refused command was not run', async () => {
    const { first, section, markdown } = await documentOf(codexPlan())
    expect(section('status')).toContain('Interrupted by the user')
    expect(first).toMatch(/^Finish: Replace removed APIs\. The user stopped it/)
    expect(section('pending')).toContain('Run the test suite on 3.10 and 3.12')
    expect(markdown).not.toContain('pip install')
  })

  test('what the user said when refusing a plan is kept with what was refused', async () => {
    const { section, first } = await documentOf(chinesePlanRefused())
    expect(section('decisions')).toContain('用 Redis 缓存订单')
    expect(section('decisions')).toContain('不要引入 Redis')
    expect(first).toMatch(/The user stopped it/)
  })

  test('a todo list that was emptied leaves nothing to do', async () => {
    const { first, section, markdown } = await documentOf(todosVanished())
    expect(first).toMatch(/^Wait for the user/)
    expect(markdown).not.toContain('Port the sidebar')
    expect(section('files')).not.toContain('form.tsx')
  })

  test('what the closing words call open stands in the first step', async () => {
    const { first } = await documentOf(leftovers())
    expect(first).toMatch(
      /nothing is known to be open beyond what the assistant said last: .*Not moved yet: `jobs\/archive.py`/,
    )
  })

  test('an offer that the user turned down is not repeated as a decision', async () => {
    const { first, section } = await documentOf(offerAtEnd())
    expect(first).toMatch(/^Wait for the user/)
    expect(section('decisions')).not.toContain('I can open a pull request')
    expect(section('goal')).toContain('we freeze until the release')
  })
})
