// Every task by phase, from left to right as work moves.

import { PageFrame, Panel } from '../../parts/page.tsx'
import { type AnswerOf, useOperation } from '../../data/queries.ts'
import { Badge } from '../../parts/badge.tsx'
import { Answer, Empty } from '../../parts/states.tsx'
import { Text } from '../../parts/text.tsx'
import { Ago } from '../../parts/time.tsx'
import { Command } from '../../parts/copy.tsx'
import { Link } from '../../shell/router.tsx'
import './tasks.css'

type TaskState = AnswerOf<'taskList'>['tasks'][number]

const phases = ['planning', 'implementing', 'testing', 'reviewing', 'completed'] as const

export default function Tasks() {
  const tasks = useOperation('taskList', {})
  return (
    <PageFrame title="Tasks" about="Typed state that passes from agent to agent through gates and phases.">
      <Answer query={tasks}>
        {({ tasks, problems }) =>
          tasks.length + problems.length === 0 ? (
            <Panel>
              <Empty icon="tasks" title="No tasks yet">
                <Command>baton task new LOGIN --title "Log in with a passkey"</Command>
              </Empty>
            </Panel>
          ) : (
            <>
              {problems.map(({ task_id, message }) => (
                <p key={task_id} className="panel panel-body tasks-problem" role="alert">
                  <Text>{`${task_id}: ${message}`}</Text>
                </p>
              ))}
              <div className="tasks-board">
                {phases.map((phase) => (
                  <Phase key={phase} phase={phase} tasks={tasks.filter((task) => task.phase === phase)} />
                ))}
              </div>
            </>
          )
        }
      </Answer>
    </PageFrame>
  )
}

function Phase({ phase, tasks }: { phase: string; tasks: readonly TaskState[] }) {
  return (
    <section className="tasks-phase" aria-label={phase}>
      <h2 className="label">
        {phase} <span className="number">{tasks.length}</span>
      </h2>
      {tasks.map((task) => (
        <Card key={task.task_id} task={task} />
      ))}
    </section>
  )
}

function Card({ task }: { task: TaskState }) {
  const waiting = task.blocking_issues.filter((issue) => issue.requires_human && issue.approved_by === undefined).length
  const blocked = task.blocking_issues.length - waiting
  return (
    <Link className="panel tasks-card" to={`/tasks/${encodeURIComponent(task.task_id)}`}>
      <span className="tasks-title">
        <Text max={200}>{task.task_title}</Text>
      </span>
      <span className="row wrap small muted">
        <Text className="mono" max={60}>
          {task.task_id}
        </Text>
        <span>v{task.version}</span>
        <Ago date={task.handoff_timestamp} />
      </span>
      <span className="row wrap">
        {task.target_agent !== '' && (
          <Badge tone="quiet">
            <Text max={40}>{task.target_agent}</Text>
          </Badge>
        )}
        {waiting > 0 && <Badge tone="baton">waiting for you</Badge>}
        {blocked > 0 && <Badge tone="bad">{blocked === 1 ? '1 issue' : `${blocked} issues`}</Badge>}
      </span>
    </Link>
  )
}
