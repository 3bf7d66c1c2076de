// The page of baton.config.json, from the schemas that check it.

import { sections } from '../../src/cli/config.ts'
import { type Schema, schemaOf, typeText } from './schema-text.ts'

export function configurationPage(): string {
  return [
    '# Reference: configuration',
    '',
    'Every setting of `baton.config.json`, which Baton finds in the current folder or above it. Without the file, every setting has its',
    'default. `baton config check` validates it, `baton config check --json` prints what is in effect, and `baton config schema` prints a',
    'schema for editors. A file that came with somebody else’s project has no effect until you run `baton trust` ([security](../security.md)).',
    '',
    '## `store`',
    '',
    '- `store` (string): the address of the [store](../store.md), such as `postgres://localhost/baton`; without it, files.',
    '',
    ...Object.entries(sections).flatMap(([name, section]) => [
      `## \`${name}\``,
      '',
      ...fieldLines(schemaOf(section, 'input'), name),
      '',
    ]),
  ].join('\n')
}

/** One line for a field; the fields of objects, and of the items of lists, follow on lines of their own. */
function fieldLines(schema: Schema, above: string): string[] {
  return Object.entries(schema.properties ?? {})
    .filter(([, field]) => field.const === undefined)
    .flatMap(([name, field]) => {
      const path = `${above}.${name}`
      const inner = innerOf(field)
      const isRequired = schema.required?.includes(name) === true
      const about = [
        meaningOf(field, path),
        isRequired ? 'required' : '',
        field.default === undefined ? '' : `default \`${JSON.stringify(field.default)}\``,
      ].filter((each) => each !== '')
      const line = `- \`${path}\` (${inner?.type ?? typeText(field)}): ${about.join('; ')}`
      return [line, ...(inner === undefined ? [] : innerLines(inner, path))]
    })
}

function meaningOf({ description }: Schema, path: string): string {
  if (description === undefined) throw new Error(`The schema of ${path} does not say what it means: add .describe()`)
  return description
}

function innerLines({ suffix, schemas }: Inner, path: string): string[] {
  const [only] = schemas
  if (schemas.length === 1) return fieldLines(only!, `${path}${suffix}`)
  return schemas.flatMap((each) => {
    const fixed = Object.entries(each.properties ?? {}).flatMap(([name, field]) =>
      field.const === undefined ? [] : [`"${name}": ${JSON.stringify(field.const)}`],
    )
    const inside = fieldLines(each, `${path}${suffix}`).map((line) => `  ${line}`)
    return [`- \`${path}${suffix}\` with \`${fixed.join(', ')}\`${inside.length === 0 ? '' : ':'}`, ...inside]
  })
}

interface Inner {
  readonly type: string
  readonly suffix: string
  /** The object, or each of those that may stand there. */
  readonly schemas: readonly Schema[]
}

function innerOf(field: Schema): Inner | undefined {
  if (field.properties !== undefined) return { type: 'object', suffix: '', schemas: [field] }
  const named = typeof field.additionalProperties === 'object' ? objectsIn(field.additionalProperties) : []
  if (named.length > 0) return { type: 'objects by name', suffix: '.NAME', schemas: named }
  const items = typeof field.items === 'object' ? objectsIn(field.items) : []
  return items.length > 0 ? { type: 'list of objects', suffix: '[]', schemas: items } : undefined
}

function objectsIn(schema: Schema): Schema[] {
  if (schema.properties !== undefined) return [schema]
  return (schema.anyOf ?? schema.oneOf ?? []).flatMap(objectsIn)
}
