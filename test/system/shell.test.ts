import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { commandsIn, type List, type Node, parseShell, type Word } from '../../src/system/shell.ts'
import { runs } from '../support/full.ts'

/** One line for a script: words as they are, `$name` for variables, `?` behind what is opaque and `*` behind a pattern. */
function told(list: List): string {
  return list
    .map(({ node, next }, i) => `${toldNode(node)}${i < list.length - 1 || next === '&' ? ` ${next}` : ''}`)
    .join(' ')
}

function toldNode(node: Node): string {
  if (node.kind === 'pipeline') return node.stages.map(toldNode).join(' | ')
  const redirects = node.redirects.map(
    ({ op, target, body }) => `${op}${word(target)}${body === undefined ? '' : JSON.stringify(body)}`,
  )
  const inner = () => {
    if (node.kind === 'simple')
      return [...node.assigns.map(({ name, value }) => `${name}=${word(value)}`), ...node.words.map(word)]
    if (node.kind === 'for') return [`for(${node.name}: ${node.items.map(word).join(' ')})`, `[${told(node.body)}]`]
    return [`${node.kind}[${told(node.body)}]`]
  }
  return [...inner(), ...redirects].join(' ')
}

function word({ parts, opaque, glob }: Word): string {
  const text = parts.map((part) => (typeof part === 'string' ? part : `$${part.name}`)).join('')
  return `${/^$|\s/.test(text) && !opaque ? JSON.stringify(text) : text}${opaque ? '?' : ''}${glob ? '*' : ''}`
}

describe('a shell script', () => {
  it.each([
    // Lists
    ['', ''],
    ['# only a comment', ''],
    ['a b c', 'a b c'],
    ['a && b || c; d & e', 'a && b || c ; d & e'],
    ['a | b |& c', 'a | b | c'],
    ['a \\\n  && b', 'a && b'],
    ['a\r\nb\r\n', 'a ; b'],
    ['! a', 'a'],
    ['time a | b', 'a | b'],
    // Words
    [`a 'b c' "d e" f\\ g ''`, 'a "b c" "d e" "f g" ""'],
    [`a "b\\"c\\$d\\e" $'x\\ty\\x41'`, 'a b"c$d\\e "x\\tyA"'],
    ['a $b ${c} "x$d/y" ~/e', 'a $b $c x$d/y ~/e'],
    ['a $1 $? ${b:-c} ${#d} $(e) `f` $((1 + 2)) <(g)', 'a ? ? ? ? ? ? ? ?'],
    ['a *.ts x?y [ab]c {d,e} {1..3} @(f|g) "*" \\*', 'a *.ts* x?y* [ab]c* {d,e}* {1..3}* ?* * *'],
    [`a {b,'c d'}{"$e",f} {} {x`, 'a "{b,c d}{$e,f}"* {} {x'],
    ['a b#c #d', 'a b#c'],
    // Assignments
    ['A=1 B="x y" c', 'A=1 B="x y" c'],
    ['A=$(b) C+=d e[0]=f g=(h i)', 'A=? C=d? e=? g=?'],
    ['export A=b C=$d', 'export A=b C=$d'],
    ['env A=b c', 'env A=b c'],
    // Redirections and here-documents
    ['a > b 2>> c < d 2>&1', 'a >b >>c <d >&1'],
    ['a &> b', 'a >b'],
    ['a &>> b >| c <> d {e}> f', 'a >>b >c >d >f'],
    ['a <<< "b c"', 'a <<<"b c"'],
    ["cat > a <<'EOF' && b\nx $y\nEOF\nc", 'cat >a <<EOF"x $y\\n" && b ; c'],
    ['cat <<-EOF\n\tx\n\tEOF\na', 'cat <<EOF"\\tx\\n" ; a'],
    ['cat <<A <<B\n1\nA\n2\nB', 'cat <<A"1\\n" <<B"2\\n"'],
    ["cat <<'EOF'\nnever closed", 'cat <<EOF"never closed"'],
    [`git commit -m "$(cat <<'EOF'\nDon't (rm a\nEOF\n)" && touch z`, 'git commit -m ? && touch z'],
    // Compound commands
    ['(cd a; b) > c', 'subshell[cd a ; b] >c'],
    ['{ a; b; } 2> c', 'group[a ; b] >c'],
    ['for x in a b*; do c "$x"; done > d', 'for(x: a b**) [c $x] >d'],
    ['for x; do a; done', 'for(x: ) [a]'],
    ['if a; then b; elif c; then d; else e; fi', 'maybe[a ; b ; c ; d ; e]'],
    ['while a; do b; done', 'maybe[a ; b]'],
    ['until a; do b; done < c', 'maybe[a ; b] <c'],
    ['f() { a; }; function g { b; }; c', ' ;  ; c'],
    ['((i++)); a', ' ; a'],
    ['[[ -f a && $b == c* ]] && d', '[[ && d'],
    ['[ -f a ] && b', '[ -f a ] && b'],
    // The parser that this one replaced read these wrongly: it left out what a `case` runs, cut `[[ … ]]` at its `&&`,
    // ended `${…}` at the first brace and an array at the first parenthesis.
    ['case $1 in a) b;; *) c d;; esac; e', 'maybe[b ; c d] ; e'],
    ['for ((i = 0; i < 3; i++)); do a; done', 'maybe[a]'],
    ['select x in a b; do c; done', 'maybe[c]'],
    ['a ${b:-${c}} d', 'a ? d'],
    ['A=(b "c)" d) && e', 'A=? && e'],
    ['a "$(b ")")" c', 'a ? c'],
    ['a `b \\`c\\`` d', 'a ? d'],
    ['a $"b" c', 'a b c'],
  ])('%j is %j', (script, expected) => expect(told(parseShell(script))).toBe(expected))

  it.each([
    ['a; b && && c', 'a ; b'],
    ['a\n)b', 'a'],
    ['if a; then b', 'maybe[a ; b]'],
    ['a "b', 'a b'],
    ['a $(b', 'a ?'],
  ])('that is broken is read up to the error: %j is %j', (script, expected) =>
    expect(told(parseShell(script))).toBe(expected),
  )
})

describe('all commands of a script', () => {
  it.each([
    ['a b && c | d', ['a b', 'c', 'd']],
    ['a "$(b c)" `d` <(e) ${f:-$(g)}', ['a    ', 'b c', 'd', 'e', 'g']],
    ['f() { a b; }; case x in y) c;; esac', ['a b', 'c']],
    ['cat <<EOF\n$(a b)\nEOF', ['cat', 'a b']],
    ["cat <<'EOF'\n$(a b)\nEOF", ['cat']],
    ['A=$(b) > $(c) d', ['b', 'c', 'd']],
    ['x=(a $(b)); [[ -n $(c) ]]; echo $(( $(d) ))', ['b', 'c', 'echo ', 'd']],
    ['time a; ! b; coproc c', ['a', 'b', 'c']],
    ['$a b', ['$a b']],
  ])('%j runs %j', (script, expected) => {
    const { commands, understood } = commandsIn(script)
    expect(
      commands
        .map(({ words }) => words.join(' '))
        .filter((command) => command !== '')
        .toSorted(),
    ).toEqual(expected.toSorted())
    expect(understood).toBe(true)
  })

  it.each([
    'a && && b',
    'a )',
    'a (b c',
    'a "b',
    'a $(b',
    'a "$(b &&)"',
    'a `b (c`',
    'if a; then b',
    'case x in',
    'a @(b|c)',
    'a\rb',
  ])('are not vouched for where a part is not understood: %j', (script) =>
    expect(commandsIn(script).understood).toBe(false),
  )

  it('are not vouched for where a script is nested deeper, or has more braces, than is looked at', () => {
    for (const script of [
      `${'$('.repeat(40)}a${')'.repeat(40)}`,
      `${'coproc '.repeat(20_000)}a`,
      `{ ${'a{ '.repeat(2_000)}b; }`,
    ])
      expect(commandsIn(script).understood).toBe(false)
  })
})

describe('a hostile script', () => {
  const symbols = 'a ; & | $( ${ $(( )) ) ( { } , [ ] <<E \\ " $ # ! @( = =( += <( > é'
  const keywords = 'if then fi for x in do done case esac select time coproc function f() [[ ]]'
  const piece = fc.constantFrom(
    ...symbols.split(' '),
    ...keywords.split(' ').map((keyword) => ` ${keyword} `),
    ' ',
    '\n',
    'E\n',
    '`',
    "'",
    "$'",
    '\0',
    '\ud800',
    '\u{e000}',
  )

  it('never makes the parser fail', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const script = pieces.join('')
        expect(Array.isArray(parseShell(script))).toBe(true)
        expect(Array.isArray(commandsIn(script).commands)).toBe(true)
      }),
      { numRuns: runs(3_000) },
    )
  })

  const around = (open: string, close: string) => (count: number) => `${open.repeat(count)}a${close.repeat(count)}`
  it.each<[string, (count: number) => string]>([
    ...[
      '(',
      '$(',
      '${x:-',
      '$((',
      '`',
      '"',
      '\\',
      '<(',
      '{a,',
      '{a,b}',
      '{"a",',
      "{'a',",
      '<<A ',
      '<<A\n',
      'a|',
      'if ',
    ].map((text): [string, (count: number) => string] => [text, (count) => text.repeat(count)]),
    ...[
      'a[$(',
      '"${x:-"$(',
      '$(`',
      '!(a|',
      'f() { ',
      'case x in ',
      '[[ ( ',
      'coproc ',
      '$(cat <<E\n',
      'a=(',
      '{',
      '&&',
    ].map((text): [string, (count: number) => string] => [text, (count) => text.repeat(count)]),
    ['$( )', around('$(', ')')],
    ['"$( )"', around('"$(', ')"')],
    ['if then fi', around('if a; then ', '; fi')],
    ['((1+1…', (count) => `((${'1+'.repeat(count)}1))`],
    ['((((…', (count) => `((${'('.repeat(count)}`],
    ['heredocs', (count) => "cat > a <<'E'\n{b}\nE\n".repeat(count)],
    ['JSON', (count) => `cat > a <<'E'\n${'{"a":{"b":1},'.repeat(count)}\nE\n`],
    ['substitutions', (count) => 'a "$(b)" `c` ${d:-e}\n'.repeat(count)],
  ])('takes no more than linear time: %j', (name, make) => {
    // The searches for the end of a brace expansion and of a here-document would take quadratic time.
    const count = /^\{|^<</.test(name) ? 20_000 : 4_000
    const eighth = Math.max(cpuMs(make(count / 8)), 20)
    expect(cpuMs(make(count)) / eighth).toBeLessThan(24)
  })

  it('with more braces than are looked at keeps its text', () => {
    const body = `${'{"a":{"b":1},'.repeat(5_000)}\n`
    expect(parseShell(`cat > a <<'E' && b '${body}'\n${body}E\n`)).toMatchObject([
      { node: { words: [{ parts: ['cat'] }], redirects: [{ op: '>' }, { op: '<<', body }] }, next: '&&' },
      { node: { words: [{ parts: ['b'] }, { parts: [body] }] } },
    ])
  })
})

/** What it costs to read a script, whatever else the machine is doing. */
function cpuMs(script: string): number {
  const start = process.cpuUsage()
  parseShell(script)
  commandsIn(script)
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}
