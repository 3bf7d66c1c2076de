// A graph that can be moved and zoomed: boxes in columns, joined by lines. It draws only what is on the screen, so thousands of boxes
// stay smooth.

import '@xyflow/react/dist/base.css'
import {
  Background,
  BaseEdge,
  Controls,
  type Edge,
  type EdgeProps,
  getBezierPath,
  Handle,
  MarkerType,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
  ReactFlowProvider,
} from '@xyflow/react'
import type { ReactNode } from 'react'
import './graph.css'

export interface GraphBox {
  readonly id: string
  readonly column: number
  readonly row: number
  readonly content: ReactNode
  readonly isMarked?: boolean
}

export interface GraphLine {
  readonly from: string
  readonly to: string
  readonly label?: string
  /** Drawn as something that happens now. */
  readonly isLive?: boolean
}

type BoxNode = Node<{ readonly content: ReactNode; readonly isMarked: boolean }, 'box'>

function Box({ data }: NodeProps<BoxNode>) {
  return (
    <div className={data.isMarked ? 'graph-box graph-marked' : 'graph-box'}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      {data.content}
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  )
}

type LineEdge = Edge<{ readonly labelAt: number }, 'line'>

function Line({ label, markerEnd, data, ...ends }: EdgeProps<LineEdge>) {
  const [line, middle] = getBezierPath(ends)
  const { sourceX, sourceY, targetX, targetY } = ends
  const at = data?.labelAt ?? 0.5
  const end = markerEnd === undefined ? {} : { markerEnd }
  return (
    <BaseEdge
      path={line}
      label={label}
      // Exact in the middle; towards the ends near enough for a label.
      labelX={middle + (at - 0.5) * (targetX - sourceX)}
      labelY={sourceY + (targetY - sourceY) * at * at * (3 - 2 * at)}
      {...end}
    />
  )
}

const boxTypes = { box: Box }
const lineTypes = { line: Line }

/** More boxes would be too small to read if all were shown at once: then the view begins at the first. */
const mostThatFit = 8
const beginning = { x: 24, y: 24, zoom: 1 }

interface GraphProps {
  readonly boxes: readonly GraphBox[]
  readonly lines: readonly GraphLine[]
  readonly label: string
  readonly boxWidth?: number
  readonly rowHeight?: number
  /** Where labels stand on their lines, from 0 to 1: near the beginning, those of lines that cross do not meet. */
  readonly labelAt?: number
}

export function Graph({ boxes, lines, label, boxWidth = 240, rowHeight = 84, labelAt = 0.5 }: GraphProps) {
  const boxHeight = rowHeight - 24
  // Where sizes and ends of lines are known, nothing is measured: boxes appear at once, stay when the data is refreshed, and those
  // off the screen are never drawn.
  const handles = [
    { type: 'target' as const, position: Position.Left, x: 0, y: boxHeight / 2 },
    { type: 'source' as const, position: Position.Right, x: boxWidth, y: boxHeight / 2 },
  ]
  const nodes: BoxNode[] = boxes.map(({ id, column, row, content, isMarked = false }) => ({
    id,
    type: 'box',
    position: { x: column * (boxWidth + 96), y: row * rowHeight },
    width: boxWidth,
    height: boxHeight,
    handles,
    data: { content, isMarked },
    draggable: false,
    connectable: false,
  }))
  const edges: LineEdge[] = lines.map(({ from, to, label: text, isLive = false }) => ({
    id: `${from}\n${to}`,
    type: 'line',
    data: { labelAt },
    source: from,
    target: to,
    ...(text === undefined ? {} : { label: text }),
    animated: isLive,
    markerEnd: { type: MarkerType.ArrowClosed },
  }))
  return (
    <div className="graph" role="region" aria-label={label}>
      <ReactFlowProvider>
        <ReactFlow
          nodes={nodes}
          edges={edges}
          nodeTypes={boxTypes}
          edgeTypes={lineTypes}
          onlyRenderVisibleElements
          nodesFocusable={false}
          edgesFocusable={false}
          elementsSelectable={false}
          minZoom={0.05}
          {...(boxes.length > mostThatFit
            ? { defaultViewport: beginning }
            : { fitView: true, fitViewOptions: { maxZoom: 1 } })}
          proOptions={{ hideAttribution: true }}
        >
          <Background gap={24} />
          <Controls showInteractive={false} position="bottom-right" />
        </ReactFlow>
      </ReactFlowProvider>
    </div>
  )
}
