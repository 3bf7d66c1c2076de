// The configuration in effect, to look at: each value, and whether it comes from the file or is the default.

import { PageFrame, Panel } from '../../parts/page.tsx'
import { useOperation } from '../../data/queries.ts'
import { Badge } from '../../parts/badge.tsx'
import { Answer } from '../../parts/states.tsx'
import { Text } from '../../parts/text.tsx'
import './machine.css'

export default function Settings() {
  const settings = useOperation('settingsShow', {})
  const workspace = useOperation('workspaceInfo', {})
  return (
    <PageFrame
      title="Settings"
      about="The configuration in effect. To change it, edit baton.config.json and open this page again."
    >
      <Answer query={workspace}>
        {({ place, project, guarantee, version }) => (
          <Panel label="Workspace">
            <dl className="panel-body machine-facts">
              <dt>Workspace</dt>
              <dd className="mono">
                <Text>{place}</Text>
              </dd>
              <dt>Project</dt>
              <dd className="mono">
                <Text>{project}</Text>
              </dd>
              <dt>Durability</dt>
              <dd>
                <Text>{guarantee}</Text>
              </dd>
              <dt>Baton</dt>
              <dd>{version}</dd>
            </dl>
          </Panel>
        )}
      </Answer>
      <Answer query={settings}>
        {({ file, problem, sections }) => (
          <>
            <p className="muted">
              {file === undefined ? (
                'There is no baton.config.json: the defaults apply.'
              ) : (
                <>
                  From <Text>{file}</Text>
                </>
              )}
            </p>
            {problem !== undefined && (
              <div className="panel">
                <Problem>{problem}</Problem>
              </div>
            )}
            <div className="machine-sections">
              {sections.map(({ name, problem: wrong, values }) => (
                <section key={name} className="panel" aria-label={name}>
                  <div className="panel-head">
                    <h2>{name}</h2>
                  </div>
                  {wrong !== undefined && <Problem>{wrong}</Problem>}
                  <table className="machine-table">
                    <tbody>
                      {values.map((each) => (
                        <tr key={each.name}>
                          <th scope="row" className="mono">
                            {each.name}
                          </th>
                          <td className="mono">
                            <Value json={each.value} />
                          </td>
                          <td>
                            {each.isDefault ? (
                              <span className="faint small">default</span>
                            ) : (
                              <Badge tone="live">set</Badge>
                            )}
                          </td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </section>
              ))}
            </div>
          </>
        )}
      </Answer>
    </PageFrame>
  )
}

/** A value of the configuration: what is in it line by line, instead of as JSON. */
function Value({ json }: { json: string }) {
  const value: unknown = JSON.parse(json)
  if (typeof value !== 'object' || value === null) return <Text max={400}>{plain(value)}</Text>
  const lines = Object.entries(value).map(([name, each]) => {
    return Array.isArray(value) ? plain(each) : `${name}: ${plain(each)}`
  })
  if (lines.length === 0) return <span className="faint">none</span>
  return (
    <ul className="machine-values">
      {lines.map((line) => (
        <li key={line}>
          <Text max={400}>{line}</Text>
        </li>
      ))}
    </ul>
  )
}

function plain(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value)
  return Object.entries(value)
    .map(([name, each]) => `${name}: ${plain(each)}`)
    .join(', ')
}

function Problem({ children }: { children: string }) {
  return (
    <p className="panel-body machine-problem" role="alert">
      <Text>{children}</Text>
    </p>
  )
}
