import { describe, expect, it } from 'vitest'
import { changes, Session } from '../session.ts'

/** What a command, run by Claude Code in /p with success, did to files. */
function done(command: string, ...before: [string, string?, number?][]): string[] {
  const session = new Session()
  for (const args of before) session.bash(...args)
  session.bash(command)
  return changes(session.ledger({ cwd: '/p' }))
}

describe('file changes made through the shell', () => {
  it.each([
    ["sed -i 's/a b/c/g' src/a.ts src/b.ts", ['edited src/a.ts', 'edited src/b.ts']],
    ["sed -i.bak -e 's/a/b/' -e 's/c/d/' x", ['edited x']],
    ["sed -i '' 's/a/b/' x.ts", ['edited x.ts']],
    ["sed -n '1,5p' x.ts", []],
    ["perl -pi -e 's/a/b/' x.ts", ['edited x.ts']],
    ["perl -0777 -i -pe 's/a/b/' x.ts y.ts", ['edited x.ts', 'edited y.ts']],
    ["perl -e 'print 1' x.ts", []],
    ["cat > 'my file.txt' <<'EOF'\nrm other\nEOF", ['created my file.txt']],
    ['cat <<EOF >> notes.md\nx\nEOF', ['edited notes.md']],
    ['echo hi > out.txt 2>&1', ['created out.txt']],
    ['npm test > /dev/null 2>&1', []],
    ['make 2> err.log | tee -a build.log', ['created err.log', 'edited build.log']],
    ['printf x | tee a b >/dev/null', ['created a', 'created b']],
    ['mv a.ts b.ts', ['renamed b.ts < a.ts']],
    ['git mv src/a.ts src/b.ts', ['renamed src/b.ts < src/a.ts']],
    ['mv a.ts b.ts lib/', ['renamed lib/a.ts < a.ts', 'renamed lib/b.ts < b.ts']],
    ['mkdir -p lib && mv a.ts lib', ['renamed lib/a.ts < a.ts']],
    ['cp a.ts b.ts', ['created b.ts']],
    ['rm -f a.ts b.ts', ['deleted a.ts', 'deleted b.ts']],
    ['git rm -q --cached a.ts', []],
    ['git rm a.ts', ['deleted a.ts']],
    ['touch new.ts', ['created new.ts']],
    ['cd src && rm a.ts', ['deleted src/a.ts']],
    ['cd src; (cd deep; touch x); touch y', ['created src/deep/x', 'created src/y']],
    ['cd /p/src && touch ../top.ts', ['created top.ts']],
    ['cd /elsewhere && touch x', ['created /elsewhere/x']],
    ['cd "$DIR" && touch x', []],
    ['bash -lc "cd src && sed -i s/a/b/ x.ts"', ['edited src/x.ts']],
    ['FOO=1 env BAR=2 timeout 5 sed -i s/a/b/ x.ts', ['edited x.ts']],
    ['for f in a.ts b.ts; do sed -i s/x/y/ "$f"; done', ['edited a.ts', 'edited b.ts']],
    ['F=src/a.ts; echo x >> $F', ['edited src/a.ts']],
    ['rm src/{a,b}.ts', ['deleted src/a.ts', 'deleted src/b.ts']],
    ['if [ -f a ]; then rm a; fi', []],
    ['test -f a || touch b', []],
    ['find . -name "*.ts" | xargs sed -i s/a/b/', []],
    ['rm $(git ls-files)', []],
    ['sed -i s/a/b/ src/*.ts', []],
    ["echo 'rm a.ts; mv b c'", []],
    ['# rm a.ts', []],
    ['ls \\\n  && touch a', ['created a']],
    ['npm init -y', ['created package.json']],
    ['npm install --save-dev vitest', ['edited package-lock.json', 'edited package.json']],
    ['npm install', []],
    ['npm install -g typescript', []],
    [
      "patch -p1 <<'EOF'\n--- a/src/x.c\n+++ b/src/x.c\n@@ -1,2 +1,2 @@\n--- gone\n+new\n same\nEOF",
      ['edited src/x.c'],
    ],
    ["git commit -m \"$(cat <<'EOF'\nDon't (rm a\nEOF\n)\" && touch z", ['created z']],
    ['dd if=/dev/zero of=disk.img count=1', ['created disk.img']],
    ['function f() { rm a; }; touch b', ['created b']],
    ['case $1 in a) rm x;; *) rm y;; esac; touch b', ['created b']],
  ])('[H13] %s', (command, expected) => {
    expect(done(command)).toEqual(expected)
  })

  it('[H13] lines of here-documents and patches are counted', () => {
    const session = new Session()
    session.bash("cat > a <<'EOF'\n1\n2\n3\nEOF")
    session.bash("git apply <<'EOF'\n--- a/b\n+++ b/b\n@@ -1,3 +1,2 @@\n 1\n-2\n-3\n+4\nEOF")
    expect(session.ledger().files).toMatchObject([
      { path: 'a', added: 3, removed: 0 },
      { path: 'b', added: 1, removed: 2 },
    ])
  })

  it('[H13] what was created and removed again is scratch, what was undone is undone', () => {
    const session = new Session()
    session.bash('touch tmp.js && node tmp.js && rm tmp.js')
    session.tool('Edit', { file_path: 'a.ts', old_string: 'x', new_string: 'y' }, 'updated')
    session.bash('git checkout -- a.ts')
    session.tool('Edit', { file_path: 'b.ts', old_string: 'x', new_string: 'y' }, 'updated')
    session.bash('git commit -am wip', '[main 1234567] wip')
    session.tool('Edit', { file_path: 'b.ts', old_string: 'y', new_string: 'z' }, 'updated')
    session.bash('git restore b.ts')
    const facts = session.ledger()
    expect(facts.files.map(({ path, state }) => [path, state])).toEqual([
      ['tmp.js', 'scratch'],
      ['a.ts', 'undone'],
      ['b.ts', 'changed'],
    ])
    expect(facts.git).toMatchObject({ branch: 'main', commit: '1234567' })
  })

  it('[H13] renames add up, and a folder takes its files along', () => {
    const session = new Session()
    session.tool('Read', { file_path: 'old/a.ts' }, 'x')
    session.tool('Write', { file_path: 'old/new.ts', content: 'x' }, 'File created successfully')
    session.bash('git mv old lib')
    session.bash('mv lib/a.ts lib/b.ts')
    expect(changes(session.ledger())).toEqual([
      'created lib/new.ts',
      'renamed lib < old',
      'renamed lib/b.ts < old/a.ts',
    ])
    session.bash('mv lib/b.ts old/a.ts')
    expect(session.ledger().files.find(({ path }) => path === 'old/a.ts')).toMatchObject({ state: 'undone' })
  })

  it('[H13] a folder or pattern that is removed takes known files along', () => {
    const session = new Session()
    session.bash('mkdir out && touch out/a out/b x.log y.log keep.txt')
    session.bash('rm -rf out *.log')
    expect(changes(session.ledger())).toEqual(['created keep.txt'])
    session.bash('rm -rf legacy')
    expect(session.ledger().files.at(-1)).toMatchObject({ path: 'legacy', folder: true, action: 'deleted' })
  })

  it('[H13] Claude Code stays in the folder it changed to', () => {
    const session = new Session()
    session.bash('cd packages/a && ls')
    session.bash('touch x')
    session.tool('bash', { command: 'touch y' }, '', false)
    session.bash('cd /tmp/elsewhere', 'Shell cwd was reset to /p')
    session.bash('touch z')
    expect(changes(session.ledger({ cwd: '/p' }))).toEqual(['created packages/a/x', 'created y', 'created z'])
  })

  it('[H13] a step that did not run or failed changes nothing, its redirections do', () => {
    const session = new Session()
    session.bash('sed -i s/a/b/ x.ts && npm test > log.txt && rm y.ts', '', 1)
    session.bash('mv nope.ts there.ts', "mv: cannot stat 'nope.ts': No such file or directory", 1)
    session.bash('rm gone.ts; touch new.ts', "rm: cannot remove 'gone.ts': No such file or directory")
    expect(changes(session.ledger())).toEqual(['created log.txt', 'created new.ts', 'edited x.ts'])
  })

  it('[H13] files elsewhere in temporary folders are scratch, unless the session lives there', () => {
    const session = new Session()
    session.bash('echo 1 > /tmp/x/notes')
    expect(session.ledger({ cwd: '/p' }).files).toMatchObject([{ path: '/tmp/x/notes', state: 'scratch' }])
    expect(session.ledger({ cwd: '/tmp/x' }).files).toMatchObject([{ path: 'notes', state: 'changed' }])
    expect(session.ledger().files).toMatchObject([{ path: '/tmp/x/notes', state: 'changed' }])
  })
})

describe('a program on the command line', () => {
  it.each([
    [
      "python3 - <<'EOF'\nfrom pathlib import Path\np = Path('src/a.ts')\ns = p.read_text()\np.write_text(s)\nEOF",
      ['edited src/a.ts'],
    ],
    ["python3 <<'EOF'\nwith open('out/new.json', 'w') as f:\n  f.write('{}')\nEOF", ['created out/new.json']],
    ["python -c \"open('b.txt','a').write('x')\"", ['created b.txt']],
    [
      "python3 - <<'EOF'\nname = 'src/c.py'\ntext = open(name).read()\nopen(name, 'w').write(text)\nEOF",
      ['edited src/c.py'],
    ],
    [
      "cd web && node -e \"const fs=require('fs'); fs.writeFileSync('d.json', fs.readFileSync('d.json'))\"",
      ['edited web/d.json'],
    ],
    ["python3 - <<'EOF'\nimport os\nos.remove('old.py')\nEOF", ['deleted old.py']],
    ["python3 - <<'EOF'\nprint(open('a.ts').read(), 'w')\nEOF", []],
    ["python3 build.py <<'EOF'\nopen('x.txt','w')\nEOF", []],
    ['cp "$SOURCE" themes/mine.json', ['created themes/mine.json']],
    ['cp "$SOURCE" themes', []],
  ])('[H13] changes the files that it names: %s', (command, expected) => {
    const session = new Session()
    session.bash(command)
    expect(changes(session.ledger())).toEqual(expected)
  })
})
