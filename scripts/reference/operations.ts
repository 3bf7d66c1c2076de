// The page of the REST interface, from the table of operations.

import { type AnyOperation, isLive, table } from '../../src/operations/index.ts'
import { type Schema, schemaOf, typeText } from './schema-text.ts'

export function operationsPage(): string {
  const nounOf = ({ name }: AnyOperation) => name.split('.')[0]!
  const nouns = [...new Set(table.map(nounOf))]
  return [
    '# Reference: REST',
    '',
    `The ${table.length} operations that \`baton up\` serves under \`/v1\`. [The server](../server.md) explains tokens, scopes, errors, idempotency and`,
    'the live stream; `/openapi.json` of a running server says the same for programs. Fields in braces are part of the path. The other',
    'fields go into the query of a GET or DELETE, and into the JSON body of a POST or PUT. `?` marks what may be left out. The typed client',
    '(`@baton/baton/client`) and the MCP tools take the same fields.',
    '',
    ...nouns.flatMap((noun) => [
      `## ${noun}`,
      '',
      ...table.filter((each) => nounOf(each) === noun).flatMap(operationLines),
    ]),
  ].join('\n')
}

function operationLines(operation: AnyOperation): string[] {
  const [method = '', path = ''] = operation.route.split(' ')
  const input = schemaOf(operation.input, 'input')
  const output = schemaOf(isLive(operation) ? operation.each : operation.output, 'output')
  const answer = isLive(operation) ? 'Records, one after another' : 'Answer'
  return [
    `### ${operation.name}`,
    '',
    `\`${method} /v1${path}\`, scope \`${operation.scope}\`. ${operation.summary}`,
    '',
    ...fieldLines(input),
    `- ${answer}: \`${typeText(output, 2)}\``,
    '',
  ]
}

function fieldLines({ properties = {}, required = [] }: Schema): string[] {
  return Object.entries(properties).map(([name, field]) => {
    const mark = required.includes(name) ? '' : '?'
    const about = [
      field.description ?? '',
      field.default === undefined ? '' : `default \`${JSON.stringify(field.default)}\``,
    ].filter((each) => each !== '')
    return `- \`${name}${mark}\` (\`${typeText(field, 2)}\`)${about.length === 0 ? '' : `: ${about.join('; ')}`}`
  })
}
