// The tools that a script of Codex's code mode calls, found without running it. Texts that stand in the script are taken as
// they are; what is computed when it runs is unknown, and stands in a command as `${name}`, the way a shell writes a variable.

import { type Node, parse } from 'acorn'
import { isFields } from '../fields.ts'

export interface ScriptCall {
  readonly name: string
  readonly arguments: unknown
  /** The call runs whenever the script does: it stands in no branch, and in no loop that may be empty. */
  readonly sure: boolean
}

/** Longer scripts and more calls are left alone: nobody writes them by hand. */
const limits = { characters: 500_000, calls: 200, rounds: 64, depth: 8 }

/** In the order in which they run. None where the text is no JavaScript: then nothing of it ran. */
export function callsIn(script: string): ScriptCall[] {
  if (script.length > limits.characters || !script.includes('tools')) return []
  let program: Node
  try {
    program = parse(script, { ecmaVersion: 'latest', sourceType: 'module', allowReturnOutsideFunction: true })
  } catch {
    return []
  }
  const walker = new Walker(script, program)
  walker.walk(program, new Map(), true)
  return walker.calls
}

/** A node as acorn makes it, seen as plain data: only the fields that are asked for matter. */
type Syntax = Readonly<Record<string, unknown>> & { readonly type: string }

class Unknown {
  readonly source: string
  constructor(source: string) {
    this.source = source
  }
}

/** A function of the script, with the names that it sees. */
class Closure {
  readonly node: Syntax
  readonly names: Names
  constructor(node: Syntax, names: Names) {
    this.node = node
    this.names = names
  }
}

type Names = Map<string, unknown>

class Walker {
  readonly calls: ScriptCall[] = []
  readonly #script: string
  readonly #reassigned: ReadonlySet<string>
  #depth = 0

  constructor(script: string, program: Node) {
    this.#script = script
    this.#reassigned = reassigned(program)
  }

  walk(value: unknown, names: Names, sure: boolean): void {
    if (Array.isArray(value)) {
      for (const each of value) this.walk(each, names, sure)
      return
    }
    if (!isSyntax(value) || this.calls.length >= limits.calls) return
    switch (value.type) {
      case 'Program':
      case 'BlockStatement':
        return this.#block(value, new Map(names), sure)
      case 'VariableDeclarator':
        this.walk(value.init, names, sure)
        this.#bind(value.id, this.#evaluate(value.init, names), names)
        return
      case 'ForOfStatement':
        return this.#forOf(value, names, sure)
      case 'ForStatement':
      case 'ForInStatement':
      case 'WhileStatement':
      case 'DoWhileStatement':
        return this.#children(value, new Map(names), value.type === 'DoWhileStatement' && sure)
      case 'IfStatement':
      case 'ConditionalExpression':
      case 'SwitchStatement':
        this.walk(value.test ?? value.discriminant, names, sure)
        return this.walk([value.consequent, value.alternate, value.cases], names, false)
      case 'LogicalExpression':
        this.walk(value.left, names, sure)
        return this.walk(value.right, names, false)
      case 'CatchClause':
        return this.walk(value.body, names, false)
      case 'CallExpression':
        return this.#call(value, names, sure)
      case 'FunctionDeclaration':
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        return // looked into where it is called
      default:
        return this.#children(value, names, sure)
    }
  }

  #children(node: Syntax, names: Names, sure: boolean): void {
    for (const key in node) if (key !== 'type') this.walk(node[key], names, sure)
  }

  /** Functions may be called before the line that declares them. */
  #block(node: Syntax, names: Names, sure: boolean): void {
    const body = Array.isArray(node.body) ? (node.body as unknown[]) : []
    for (const each of body) {
      if (isSyntax(each) && each.type === 'FunctionDeclaration' && isSyntax(each.id))
        names.set(String(each.id.name), new Closure(each, names))
    }
    for (const each of body) this.walk(each, names, sure)
  }

  #forOf(node: Syntax, names: Names, sure: boolean): void {
    this.walk(node.right, names, sure)
    const items = this.#evaluate(node.right, names)
    const left =
      isSyntax(node.left) && Array.isArray(node.left.declarations)
        ? (node.left.declarations as unknown[])[0]
        : node.left
    const pattern = isSyntax(left) && left.type === 'VariableDeclarator' ? left.id : left
    const known = Array.isArray(items) && items.length <= limits.rounds
    for (const item of known ? (items as unknown[]) : [this.#unknown(node.right)]) {
      const inner = new Map(names)
      this.#bind(pattern, item instanceof Unknown ? this.#unknown(pattern) : item, inner)
      this.walk(node.body, inner, sure && known)
    }
  }

  #call(node: Syntax, names: Names, sure: boolean): void {
    const { callee } = node
    const args = Array.isArray(node.arguments) ? (node.arguments as unknown[]) : []
    const tool = toolName(callee)
    if (tool !== undefined) {
      this.walk(args, names, sure)
      this.calls.push({ name: tool, arguments: plain(this.#evaluate(args[0], names)), sure })
      return
    }
    const method = memberName(callee)
    const object = isSyntax(callee) ? callee.object : undefined
    const [first] = args
    if (method !== undefined && /^(?:map|forEach|flatMap)$/.test(method)) {
      this.walk(object, names, sure)
      const items = this.#evaluate(object, names)
      const each = this.#evaluate(first, names)
      if (Array.isArray(items) && items.length <= limits.rounds) {
        items.forEach((item: unknown, index) => this.#enter(each, [item, index], sure))
        return
      }
      return this.#enter(each, [], false)
    }
    const called = this.#evaluate(callee, names)
    this.walk(callee, names, sure)
    this.walk(args, names, sure)
    if (called instanceof Closure) {
      this.#enter(
        called,
        args.map((each) => this.#evaluate(each, names)),
        sure,
      )
      return
    }
    // Whatever takes a function may call it; what follows a promise is called when that is kept.
    for (const each of args) this.#enter(this.#evaluate(each, names), [], sure && method === 'then')
  }

  #enter(called: unknown, args: readonly unknown[], sure: boolean): void {
    if (!(called instanceof Closure) || this.#depth >= limits.depth) return
    const names = this.#namesIn(called, args)
    this.#depth++
    this.walk(called.node.body, names, sure)
    this.#depth--
  }

  #namesIn({ node, names }: Closure, args: readonly unknown[]): Names {
    const inner = new Map(names)
    const params = Array.isArray(node.params) ? (node.params as unknown[]) : []
    params.forEach((param, index) => this.#bind(param, index < args.length ? args[index] : this.#unknown(param), inner))
    return inner
  }

  #bind(pattern: unknown, value: unknown, names: Names): void {
    if (!isSyntax(pattern)) return
    switch (pattern.type) {
      case 'Identifier': {
        const name = String(pattern.name)
        names.set(name, this.#reassigned.has(name) ? new Unknown(name) : value)
        return
      }
      case 'AssignmentPattern':
        return this.#bind(pattern.left, value instanceof Unknown ? this.#unknown(pattern.left) : value, names)
      case 'ArrayPattern':
        ;(pattern.elements as unknown[]).forEach((each, index) =>
          this.#bind(each, Array.isArray(value) ? value[index] : this.#unknown(each), names),
        )
        return
      case 'ObjectPattern':
        for (const each of pattern.properties as unknown[]) {
          if (!isSyntax(each) || each.type !== 'Property') continue
          const key = keyOf(each)
          this.#bind(each.value, isFields(value) && key !== undefined ? value[key] : this.#unknown(each.value), names)
        }
    }
  }

  /** What an expression is, as far as the script itself says it. */
  #evaluate(value: unknown, names: Names): unknown {
    if (!isSyntax(value)) return undefined
    switch (value.type) {
      case 'Literal':
        return value.value
      case 'TemplateLiteral':
        return this.#template(value, names, 'cooked')
      case 'TaggedTemplateExpression':
        return memberName(value.tag) === 'raw' && isSyntax(value.quasi)
          ? this.#template(value.quasi, names, 'raw')
          : this.#unknown(value)
      case 'Identifier':
        return names.has(String(value.name)) ? names.get(String(value.name)) : this.#unknown(value)
      case 'BinaryExpression': {
        const [left, right] = [this.#evaluate(value.left, names), this.#evaluate(value.right, names)]
        if (value.operator !== '+') return this.#unknown(value)
        if (typeof left === 'number' && typeof right === 'number') return left + right
        return typeof left === 'string' || typeof right === 'string'
          ? inText(left) + inText(right)
          : this.#unknown(value)
      }
      case 'ArrayExpression':
        return this.#array(value, names)
      case 'ObjectExpression':
        return this.#object(value, names)
      case 'MemberExpression': {
        const object = this.#evaluate(value.object, names)
        const key = memberName(value) ?? this.#evaluate(value.property, names)
        if (Array.isArray(object) && typeof key === 'number') return object[key] as unknown
        return isFields(object) && typeof key === 'string' && Object.hasOwn(object, key)
          ? object[key]
          : this.#unknown(value)
      }
      case 'CallExpression':
        return this.#result(value, names)
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        return new Closure(value, names)
      default:
        return this.#unknown(value)
    }
  }

  /** The result of a call that only puts texts together; undefined for any other. */
  #result(node: Syntax, names: Names): unknown {
    const method = memberName(node.callee)
    const object = isSyntax(node.callee) ? this.#evaluate(node.callee.object, names) : undefined
    const [first] = node.arguments as unknown[]
    const argument = this.#evaluate(first, names)
    if (method === 'join' && Array.isArray(object))
      return object.map(inText).join(first === undefined ? ',' : inText(argument))
    if (method === 'trim' && typeof object === 'string') return object.trim()
    if (method === 'concat' && typeof object === 'string') return object + inText(argument)
    if (method === 'map' && Array.isArray(object) && argument instanceof Closure && object.length <= limits.rounds) {
      const { node: each } = argument
      if (each.expression !== true || this.#depth >= limits.depth) return this.#unknown(node)
      this.#depth++
      const made = object.map((item: unknown, index) =>
        this.#evaluate(each.body, this.#namesIn(argument, [item, index])),
      )
      this.#depth--
      return made
    }
    return this.#unknown(node)
  }

  #template(node: Syntax, names: Names, form: 'cooked' | 'raw'): string {
    const holes = node.expressions as unknown[]
    return (node.quasis as { value: Record<string, string> }[])
      .map(
        ({ value }, index) =>
          (value[form] ?? '') + (index < holes.length ? inText(this.#evaluate(holes[index], names)) : ''),
      )
      .join('')
  }

  #array(node: Syntax, names: Names): unknown {
    const items: unknown[] = []
    for (const each of node.elements as unknown[]) {
      if (!isSyntax(each) || each.type !== 'SpreadElement') items.push(this.#evaluate(each, names))
      else {
        const spread = this.#evaluate(each.argument, names)
        if (!Array.isArray(spread)) return this.#unknown(node)
        items.push(...(spread as unknown[]))
      }
    }
    return items
  }

  #object(node: Syntax, names: Names): Record<string, unknown> {
    const object: Record<string, unknown> = {}
    for (const each of node.properties as unknown[]) {
      if (!isSyntax(each)) continue
      if (each.type === 'SpreadElement') {
        const spread = this.#evaluate(each.argument, names)
        if (isFields(spread) && !(spread instanceof Unknown)) Object.assign(object, spread)
        continue
      }
      const key = keyOf(each)
      if (key !== undefined) object[key] = this.#evaluate(each.value, names)
    }
    return object
  }

  #unknown(value: unknown): Unknown {
    if (!isSyntax(value) || typeof value.start !== 'number' || typeof value.end !== 'number')
      return new Unknown('unknown')
    return new Unknown(this.#script.slice(value.start, value.end))
  }
}

/** The names that are given another value somewhere: what they stand for depends on the run. */
function reassigned(value: unknown, found = new Set<string>()): ReadonlySet<string> {
  if (Array.isArray(value)) for (const each of value) reassigned(each, found)
  else if (isSyntax(value)) {
    const target =
      value.type === 'AssignmentExpression'
        ? value.left
        : value.type === 'UpdateExpression'
          ? value.argument
          : undefined
    if (isSyntax(target) && target.type === 'Identifier') found.add(String(target.name))
    for (const key in value) reassigned(value[key], found)
  }
  return found
}

function isSyntax(value: unknown): value is Syntax {
  return isFields(value) && typeof value.type === 'string'
}

/** `tools.exec_command`, `tools["exec_command"]`. */
function toolName(callee: unknown): string | undefined {
  if (!isSyntax(callee) || callee.type !== 'MemberExpression') return undefined
  const { object } = callee
  return isSyntax(object) && object.type === 'Identifier' && object.name === 'tools' ? memberName(callee) : undefined
}

function memberName(node: unknown): string | undefined {
  if (!isSyntax(node) || node.type !== 'MemberExpression' || !isSyntax(node.property)) return undefined
  const { property, computed } = node
  if (computed !== true) return String(property.name)
  return property.type === 'Literal' && typeof property.value === 'string' ? property.value : undefined
}

function keyOf(property: Syntax): string | undefined {
  const { key, computed } = property
  if (!isSyntax(key) || computed === true) return undefined
  return String(key.type === 'Literal' ? key.value : key.name)
}

/** How a value shows within a text; an unknown one as a variable of that name. */
function inText(value: unknown): string {
  if (value instanceof Unknown) return `\${${value.source.replaceAll(/\W+/g, '_').slice(0, 40)}}`
  if (value instanceof Closure || isFields(value)) return '${unknown}'
  return Array.isArray(value) ? value.map(inText).join(',') : String(value)
}

/** The value as JSON: texts for what is unknown. */
function plain(value: unknown): unknown {
  if (value instanceof Unknown || value instanceof Closure) return inText(value)
  if (Array.isArray(value)) return value.map(plain)
  if (!isFields(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]))
}
